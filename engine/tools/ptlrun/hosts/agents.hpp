// The processes by which ptlrun starts ptlruns on other hosts: ssh, or what --agent names, one for each host.
//
// Thread: ptlrun's main thread.
// Invariants: no agent outlives ptlrun; each leads a process group of its own, so that a terminal's signals do not reach it.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "engine/tools/ptlrun/options.hpp"

namespace portunus::launch {

class Agents {
 public:
  Agents() = default;
  ~Agents();  // kills those that are left
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;

  // Starts a ptlrun for each of options.remote, which join host 0 at `port` of this host. Throws Refusal.
  void start(const Options& options, int port);

  // For poll() while they have not joined; throws Refusal if one has ended, which none should have.
  void watch(std::vector<pollfd>& list) const;
  void must_all_run() const;

  // Waits until all have ended and brought all output, but not for ever.
  void await_end();

  std::vector<pid_t> pids() const;

 private:
  struct Agent {
    std::string host;
    pid_t pid;
    int handle;  // a pidfd
  };
  std::vector<Agent> agents_;
};

}  // namespace portunus::launch
