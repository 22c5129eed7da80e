// One host's part of a job, from its first process to its last.
//
// Thread: ptlrun's only thread.
// Invariants: the first reason to end the job decides its status; when run() returns or throws, no rank is left.
#pragma once

#include <signal.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/tools/ptlrun/hangs.hpp"
#include "engine/tools/ptlrun/hosts/agents.hpp"
#include "engine/tools/ptlrun/hosts/host_records.hpp"
#include "engine/tools/ptlrun/hosts/hosts.hpp"
#include "engine/tools/ptlrun/hosts/link.hpp"
#include "engine/tools/ptlrun/job.hpp"
#include "engine/tools/ptlrun/options.hpp"
#include "engine/tools/ptlrun/ranks.hpp"
#include "engine/tools/ptlrun/recording.hpp"
#include "engine/tools/ptlrun/server.hpp"
#include "engine/tools/ptlrun/streams.hpp"
#include "engine/tools/ptlrun/workspace.hpp"

namespace portunus::launch {

class Launcher {
 public:
  // `link` leads to the other hosts; null when there are none.
  // `agents` have started the other hosts, if any have.
  Launcher(const Options& options, const JobPlan& plan, Link* link, Agents& agents);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // Runs the job to its end; returns ptlrun's exit status. Throws Refusal when it cannot be started.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  // The state of one job of those that this host runs: the one of the command line, or one that a rank has asked for.
  struct Job {
    const JobPlan* plan;
    const std::vector<App>* apps;
    PmixServer* server;
  };
  // One that a rank has asked for, with what it holds. Its server ends with its last rank.
  struct Spawned {
    JobPlan plan;
    std::vector<App> apps;
    std::unique_ptr<PmixServer> server;
    int parent = 0;          // the number of the job that asked
    bool abandoned = false;  // not all of it could be started: its ranks are killed, and their ends mean nothing
  };

  ServerHandlers handlers_for(int job);
  void start_server();
  void start_ranks();
  void show_to_debugger();
  Job job_numbered(int number);
  RankPlan plan_rank(const Job& job, int local);
  void start_rank(const RankPlan& plan);
  std::map<std::string, std::string> base_environment(const App& app) const;
  void spawn(int parent, SpawnRequest request);
  std::vector<App> apps_for(int parent, const SpawnRequest& request);
  void bury_jobs();
  std::vector<PmixServer*> servers() const;
  void turn();
  int patience_ms() const;
  bool take_signals();
  void take_signal(int number, Clock::time_point now);
  void take_ends();
  void check_clock();
  void look_for_hangs(Clock::time_point now);
  bool others_run() const { return hosts_ && !status_ && !hosts_->all_finished(); }
  // Other hosts' ranks tell their launchers only.
  bool looks_for_hangs() const { return options_.find_hangs && !hosts_ && !status_; }
  void end_job(int status, const std::string& sentence, Ending ending);
  void end_here(int status, const std::string& sentence, Ending ending);
  void ask_to_end();
  void gather_records();
  void flush_output();
  void say(const std::string& sentence) { output_.add_line(2, "ptlrun: ", sentence); }

  const Options& options_;
  const JobPlan& plan_;
  sigset_t old_mask_;
  int signals_;  // a signalfd
  Link* link_;
  Agents& agents_;
  std::unique_ptr<Hosts> hosts_;  // null with one host
  Workspace workspace_;
  std::optional<Recording> recording_;
  std::optional<HostRecords> host_records_;
  std::unique_ptr<PmixServer> server_;
  std::map<int, std::unique_ptr<Spawned>> spawned_;  // by number
  int last_job_ = 0;
  int born_ = 0;  // processes that were started, in all jobs
  std::unique_ptr<Ranks> ranks_;
  HangFinder hangs_;
  Clock::time_point hangs_due_ = Clock::now() + HangFinder::kInterval;
  TaggedOutput output_;
  TerminalInput input_;
  std::optional<int> first_failure_;            // with --keep-going: the status if nothing else decides it
  std::optional<int> status_;                   // decided once the job is being ended
  Ending ending_ = Ending::spare_all;           // how, so far
  std::optional<Clock::time_point> deadline_;   // of --timeout
  std::optional<Clock::time_point> kill_at_;    // when asking the ranks to end turns into killing
  std::optional<Clock::time_point> finish_by_;  // when those that ending_ spares are ended as well
  std::optional<Clock::time_point> server_lost_;
  std::optional<Clock::time_point> interrupted_;  // when the user first asked for the end
  int asked_by_ = 0;                              // the signal on which ranks shall end: those that are left at kill_at_ decide the status
  bool gave_up_output_ = false;
};

}  // namespace portunus::launch
