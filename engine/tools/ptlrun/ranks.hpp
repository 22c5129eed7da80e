// The processes of this host's ranks: started, signalled, reaped, and swept away with everything they started.
//
// Thread: ptlrun's main thread only: the ranks are told to die with the thread that started them.
// Invariants: each rank leads its own process group; a group is signalled only while somebody of it is known to exist.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/tools/ptlrun/options.hpp"
#include "engine/tools/ptlrun/workspace.hpp"

namespace portunus::launch {

// How one rank is to be started. Descriptors below 0 mean: /dev/null for input, ptlrun's own for output.
struct RankPlan {
  int job = 0;
  int rank = 0;
  const App* app = nullptr;
  std::vector<std::string> environment;
  int input = -1;
  int output = -1;
  int error = -1;
  std::optional<cpu_set_t> cpus;
};

// The end of one rank, as wait() told it.
struct RankEnd {
  int job = 0;
  int rank = 0;
  int wait_status = 0;
  bool finalized = false;  // it had left the job before
  bool good() const;
  int status() const;            // the exit status, or 128 + the signal
  std::string sentence() const;  // "rank 3 was killed by signal 9 (Killed)"
};

// "rank 3", "rank 3 of spawned job 1"
std::string name_of_rank(int job, int rank);

class Ranks {
 public:
  // `mask` is the signal mask that the ranks shall start with.
  Ranks(const sigset_t& mask, Workspace& workspace) : mask_(mask), workspace_(workspace) {}

  // Returns once the program runs. Throws Refusal when it cannot be executed.
  void start(const RankPlan& plan);

  // Sends a signal to every process of every rank.
  void signal_all(int number);
  // The same without those that have left the job: they only end.
  void signal_unfinalized(int number);

  // A rank has left the job, or has come back to it.
  void set_finalized(int job, int rank, bool finalized);

  void kill_job(int job);

  // The ranks that have ended since the last call; descendants that ended are buried, too. Calls hear(), which takes in what they have told
  // before, when it is known which these are.
  std::vector<RankEnd> reap(const std::function<void()>& hear);

  int running() const { return running_; }
  // Calls each(job, rank, pid) for those that run.
  template <class Each>
  void for_each_running(Each&& each) const {
    for (const Process& process : processes_)
      if (process.running) each(process.job, process.rank, process.pid);
  }
  int running(int job) const;

  // Names a child of ptlrun that is no part of the job.
  void spare(pid_t pid) { spared_.push_back(pid); }
  void spare_no_more(pid_t pid) { std::erase(spared_, pid); }

  // Kills whatever is left of the ranks and their descendants, and waits for it.
  void sweep();

 private:
  struct Process {
    int job;
    int rank;
    pid_t pid;
    bool running = true;
    bool group_left = true;  // somebody may still be in the group
    bool finalized = false;
  };

  void signal(Process& process, int number);
  void check_group(Process& process);
  std::vector<pid_t> children_left() const;

  sigset_t mask_;
  Workspace& workspace_;
  std::vector<Process> processes_;
  std::vector<pid_t> spared_;
  int running_ = 0;
};

// The processors for local rank i, of those that this process may use: those of the i-th core, or the i-th of equal shares of the cores,
// but for the last ones where engines have as many of their own. Empty when there are fewer cores than ranks.
std::vector<cpu_set_t> processors_for(int ranks, Binding binding, bool engines_have_cores);

}  // namespace portunus::launch
