// The PMIx server of one host: tells its ranks about the job and lets them meet and exchange.
//
// **Thread:** the public functions are called by ptlrun's main thread; the handlers are called by libpmix's own thread and
// must only pass the news on. The `done` of a request may be called by any thread, once.
// **Invariants:** one per process, because libpmix keeps its state in globals.
// **Source:** PMIx standard 4.1, chapter 16 (server-specific interfaces).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/tools/ptlrun_job.hpp"

namespace portunus::launch {

// Bytes from somewhere else, or the news that there are none.
using Answer = std::function<void(bool good, const std::string& bytes)>;

// All local participants have arrived; `done` wants the contributions of all hosts, put one behind the other.
struct FenceRequest {
  std::string key;         // the same on every host that takes part, different for sets of ranks that differ
  std::vector<int> hosts;  // that take part, this one included, ascending
  std::string data;
  Answer done;
};

// A local rank wants what `rank`, on another host, has put; in particular what is under `key`.
struct ModexRequest {
  int rank = 0;
  std::string key;
  Answer done;
};

struct ServerHandlers {
  std::function<void(int rank, int status)> aborted;
  std::function<void(FenceRequest)> fence;  // only for fences that reach beyond this host
  std::function<void(ModexRequest)> modex;
};

class PmixServer {
 public:
  // Starts the server and registers the job. Throws Refusal.
  PmixServer(const JobPlan& plan, const std::string& folder, ServerHandlers handlers);
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  // What a rank needs in its environment to find this server: NAME=VALUE each.
  std::vector<std::string> environment_of(int rank) const;

  // Fetches all that a local rank has put, once it has committed something.
  void serve_modex(int rank, Answer answer);

  struct Inside;  // the callbacks of libpmix need it; of no use to others

 private:
  void register_job();
  void register_rank(int rank);
};

}  // namespace portunus::launch
