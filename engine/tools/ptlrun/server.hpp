// ptlrun's side of the process that serves PMIx: starts it, answers what it cannot know alone, and ends it.
//
// Thread: ptlrun's main thread; construct while it is the only one, because it forks.
// Invariants: news of a rank is there before the end of that rank is: service() between waiting for ends and judging them.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/tools/ptlrun/channel.hpp"
#include "engine/tools/ptlrun/job.hpp"

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

// A rank wants programs to be started as a job of their own. `done`: good, and the name of the job; or a word on what stands against it.
struct SpawnRequest {
  int rank = 0;
  std::string note;
  struct Program {
    int ranks = 0;
    std::string folder, path, hosts;  // empty: not said
    std::vector<std::string> command;
  };
  std::vector<Program> programs;
  Answer done;
};
inline constexpr char kNoProgram[] = "program", kNoFolder[] = "folder", kNoRoom[] = "room", kNotHere[] = "here";

struct ServerHandlers {
  std::function<void(int rank, int status)> aborted;
  std::function<void(int rank, bool left)> left;  // a rank has left the job, or come back to it
  std::function<void(FenceRequest)> fence;        // only for fences that reach beyond this host
  std::function<void(ModexRequest)> modex;
  std::function<void(int rank)> absent;  // a rank of this host has ended without joining the job: tell the other hosts
  std::function<void(SpawnRequest)> spawn;
};

class PmixServer {
 public:
  // Starts the server and registers the job. Throws Refusal.
  PmixServer(const JobPlan& plan, const std::string& folder, ServerHandlers handlers);
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  pid_t pid() const { return pid_; }

  // The variables that a rank of this host needs in its environment to find the server: NAME=VALUE each.
  const std::vector<std::string>& environment_of(int rank) const { return environments_.at(rank); }

  // Fetches all that a local rank has put, once it has committed something.
  void serve_modex(int rank, Answer answer);

  // A rank of this host has ended. If it never joined, whoever waits for it is told, and handlers.absent is called.
  void rank_ended(int rank) { tell_rank(Word::ended, rank); }
  // A job that a rank of this one has asked for has ended: whoever waits for it to come is told.
  void job_over(const std::string& name);
  // A rank of another host never will join.
  void rank_absent(int rank) { tell_rank(Word::absent, rank); }

  void watch(std::vector<pollfd>& list) const;
  void service();

  // The server has ended by itself: ranks that still need it will not get far.
  bool lost() const { return !channel_.open(); }

 private:
  void await_ready();
  void end();
  void take(const Message& message);
  void tell_rank(Word word, int rank);
  void send_answer(uint32_t id, bool good, const std::string& bytes);

  const JobPlan& plan_;
  ServerHandlers handlers_;
  pid_t pid_ = -1;
  int handle_ = -1;  // a pidfd: the number alone may name a stranger once the server has been buried
  Channel channel_;
  std::map<int, std::vector<std::string>> environments_;
  std::map<uint32_t, Answer> fetches_;
  uint32_t next_fetch_ = 0;
};

}  // namespace portunus::launch
