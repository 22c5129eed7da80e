// What the user asked ptlrun for, checked; and the way ptlrun says no.
//
// **Thread:** ptlrun's main thread, before anything is started.
// **Invariants:** an Options that parse_options() returned is consistent: ranks >= 1, a program is named, host_id < hosts.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace portunus::launch {

inline constexpr int kBadUse = 2;           // the command line cannot be obeyed
inline constexpr int kTimedOut = 124;       // --timeout ended the job, as timeout(1) says it
inline constexpr int kNotExecutable = 126;  // the program exists but cannot be run, as shells say it
inline constexpr int kNotFound = 127;       // the program does not exist
inline constexpr int kMaxRanks = 4096;      // per host: far above what one host can run, below what overflows a count
inline constexpr int kMaxHosts = 64;

// A reason not to start the job, or to end it: one sentence for stderr, and ptlrun's exit status.
class Refusal : public std::runtime_error {
 public:
  Refusal(int status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

struct Options {
  int ranks = 0;  // on this host
  bool bind_core = false;
  double timeout_s = 0;     // 0: none
  int peer_timeout_s = 30;  // PTL_PEER_TIMEOUT: a launcher on another host that is silent for that long is lost
  bool tag_output = false;
  bool keep_going = false;           // a rank that dies does not end the others
  std::vector<std::string> exports;  // NAME=VALUE, ready for the environment
  int hosts = 1;
  int host_id = 0;
  std::string rendezvous;            // ADDR:PORT of host 0; empty with one host
  std::vector<std::string> command;  // the program and its arguments
  std::string program_path;          // the file to execute
  bool asked_for_text = false;       // --help or --version: `text` is all that is wanted
  std::string text;
};

// Throws Refusal.
Options parse_options(int argc, char** argv);

// The file that `name` means, sought in PATH when it has no slash. Throws Refusal with kNotFound or kNotExecutable.
std::string find_program(const std::string& name);

}  // namespace portunus::launch
