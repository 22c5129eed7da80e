// The options of ptlrun, checked; and the way ptlrun says no.
//
// Thread: ptlrun's main thread, before anything is started.
// Invariants: an Options that parse_options() returned is consistent: ranks >= 1 (0 where `remote` takes them all), each app names a
// program, host_id < hosts.
#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/tools/ptlrun/places.hpp"

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

// One program of the job and the ranks that run it; several of them are divided by ':' on the command line.
struct App {
  int ranks = 0;
  std::vector<std::string> command;                // the program and its arguments
  std::string program_path;                        // the file to execute
  std::string folder;                              // where it starts; empty: where ptlrun was started
  std::string path;                                // folders where it is sought, divided by ':'; empty: PATH
  std::vector<std::string> environment;            // NAME=VALUE, over what the ranks inherit
  std::optional<std::set<std::string>> inherited;  // the variables that the ranks inherit; all, if none are listed
};

// The processors that each rank is bound to when it starts, where there are as many cores as ranks.
enum class Binding : uint8_t { none, core, share };

struct Options {
  int ranks = 0;  // on this host, of all programs
  Binding binding = Binding::share;
  double timeout_s = 0;     // 0: none
  double grace_s = 5;       // between asking the ranks to end and killing them; 0: they are never killed for being asked
  double finish_s = 10;     // for ranks that have left the job to end by themselves when another fails
  int peer_timeout_s = 30;  // PTL_PEER_TIMEOUT: a launcher on another host that is silent for that long is lost
  bool tag_output = false;
  bool find_hangs = true;   // ranks that wait for one another for ever end the job
  bool keep_going = false;  // a rank that dies does not end the others
  std::string record;       // the file that the run shall be recorded to; empty: it is not
  std::vector<App> apps;    // at least one; ranks are numbered in this order
  int universe = 0;         // MPI_UNIVERSE_SIZE, at least; 0: what the processors have room for
  int hosts = 1;
  int host_id = 0;
  std::string rendezvous;                         // ADDR:PORT of host 0; empty with one host
  std::vector<HostSlots> remote;                  // hosts on which we start ptlruns ourselves, and how many ranks each takes
  std::string agent = "ssh -x -o BatchMode=yes";  // by what; the host and a command for its shell follow
  bool asked_for_text = false;                    // --help or --version: `text` is all that is wanted
  std::string text;
};

// Throws Refusal.
Options parse_options(int argc, char** argv);

// The file that `name` means, sought in `path` (empty: in PATH) when it has no slash, else from `folder`, if that is not empty. Throws
// Refusal with kNotFound or kNotExecutable.
std::string find_program(const std::string& name, const std::string& folder, const std::string& path = "");

// Without enough descriptors for the PMIx server libpmix's listener takes no callers, and ranks wait for it for ever. Throws Refusal.
void must_have_descriptors(int ranks);

}  // namespace portunus::launch
