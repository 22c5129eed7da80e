// The poll loop of ptlrun: signals, ends of ranks, news from the PMIx server, output, input and the clock.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/launcher.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/tools/ptlrun/debugger/process_table.hpp"
#include "engine/tools/record/format.hpp"

extern char** environ;

namespace portunus::launch {
namespace {

constexpr std::chrono::milliseconds kRecordsLook{100};  // between looks whether other hosts are silent
constexpr std::chrono::seconds kLastNews{2};            // after the server's end: a rank that caused it has been found by then
constexpr std::chrono::milliseconds kEcho{500};         // timeout(1) and shells signal a group and a process of it: one wish
constexpr std::chrono::seconds kAgain{1};               // between two killings: a process may have been forked past the first
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

// Signals that the starter of ptlrun had ignored (nohup) stay ignored.
sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int number : kForwarded) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  return set;
}

std::chrono::steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(value));
}

std::string short_number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

Launcher::Launcher(const Options& options, const JobPlan& plan, Link* link, Agents& agents)
    : options_(options),
      plan_(plan),
      signals_([this] {
        const sigset_t watched = watched_signals();
        sigprocmask(SIG_BLOCK, &watched, &old_mask_);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_DFL);  // an inherited "ignore" would make the ranks' ends unknowable
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
      }()),
      link_(link),
      agents_(agents),
      workspace_(plan.nspace) {
  if (link_ != nullptr) {
    HostsHandlers handlers;
    handlers.end = [this](int status, const std::string& sentence, Ending ending) { end_here(status, sentence, ending); };
    handlers.lost = [this](const std::string& sentence) {
      if (!status_) end_here(1, sentence, Ending::spare_finalized);  // else it may be through with its part
    };
    handlers.signal = [this](int number) { ranks_->signal_all(number); };
    handlers.record = [this](const Message& message) { return !host_records_ || host_records_->take(message); };
    hosts_ = std::make_unique<Hosts>(*link_, plan_, std::move(handlers));
  }
  ranks_ = std::make_unique<Ranks>(old_mask_, workspace_);
  if (!options_.record.empty()) {
    recording_.emplace(options_.record, workspace_.folder(), plan_.host_id == 0);
    if (hosts_) host_records_.emplace(*link_, plan_, recording_->folder());
  }
  start_server();
}

ServerHandlers Launcher::handlers_for(int job) {
  ServerHandlers handlers;
  handlers.aborted = [this, job](int rank, int status) {
    end_job(status & 0xff, status == 0 ? "" : name_of_rank(job, rank) + " aborted the job with status " + std::to_string(status),
            Ending::spare_finalized);
  };
  handlers.left = [this, job](int rank, bool left) { ranks_->set_finalized(job, rank, left); };
  handlers.fence = [this](FenceRequest request) { hosts_->fence(std::move(request)); };
  handlers.modex = [this](ModexRequest request) { hosts_->modex(std::move(request)); };
  handlers.absent = [this](int rank) {
    if (hosts_) hosts_->tell_absent(rank);
  };
  handlers.spawn = [this, job](SpawnRequest request) { spawn(job, std::move(request)); };
  return handlers;
}

void Launcher::start_server() {
  server_ = std::make_unique<PmixServer>(plan_, workspace_.folder(), handlers_for(0));
  ranks_->spare(workspace_.janitor());
  ranks_->spare(server_->pid());
  for (const pid_t pid : agents_.pids()) ranks_->spare(pid);
  if (hosts_) hosts_->attach(*server_);
}

Launcher::~Launcher() {
  ranks_->sweep();
  spawned_.clear();
  server_.reset();  // it keeps files in the workspace
  close(signals_);
}

int Launcher::run() {
  try {
    start_ranks();
  } catch (const Refusal& refusal) {
    if (hosts_) hosts_->tell_end(refusal.status(), refusal.what(), Ending::at_once);
    if (link_ != nullptr) link_->flush();
    throw;
  }
  show_to_debugger();
  if (options_.timeout_s > 0) deadline_ = Clock::now() + seconds(options_.timeout_s);
  if (hosts_) hosts_->service({});  // what came right behind the plan
  while (ranks_->running() > 0) turn();
  if (hosts_ && !status_) hosts_->tell_finished();
  while (others_run()) turn();
  ranks_->sweep();
  gather_records();
  if (link_ != nullptr) link_->flush();
  agents_.await_end();
  output_.close_streams();
  flush_output();
  const int status = status_.value_or(first_failure_.value_or(0));
  return recording_ && plan_.host_id == 0 && !recording_->join() && status == 0 ? 1 : status;
}

void Launcher::gather_records() {
  if (!host_records_) return;
  for (host_records_->begin(); !host_records_->is_over() && !gave_up_output_; host_records_->go_on()) turn();
}

std::map<std::string, std::string> Launcher::base_environment(const App& app) const {
  std::map<std::string, std::string> environment;
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string text = *item;
    const std::string name = text.substr(0, text.find('='));
    if (name.size() < text.size() && (!app.inherited || app.inherited->contains(name))) environment[name] = text.substr(name.size() + 1);
  }
  for (const std::string& item : app.environment) environment[item.substr(0, item.find('='))] = item.substr(item.find('=') + 1);
  return environment;
}

Launcher::Job Launcher::job_numbered(int number) {
  if (number == 0) return {&plan_, &options_.apps, server_.get()};
  Spawned& job = *spawned_.at(number);
  return {&job.plan, &job.apps, job.server.get()};
}

RankPlan Launcher::plan_rank(const Job& job, int local) {
  const JobPlan& of = *job.plan;
  RankPlan plan;
  plan.job = of.number;
  plan.rank = of.here().first_rank + local;
  const int app = of.app_of(plan.rank);
  plan.app = &(*job.apps)[static_cast<size_t>(app)];
  auto environment = base_environment(*plan.app);
  environment["PTL_JOB_ID"] = of.nspace;
  environment["PTL_APPNUM"] = std::to_string(app);
  environment["PTL_LOCAL_RANK"] = std::to_string(of.before + local);
  environment["PTL_LOCAL_SIZE"] = std::to_string(of.before + of.here().ranks);
  environment.erase(debugger::kVariable);
  if (debugger::is_there() && of.number == 0) environment[debugger::kVariable] = "1";
  environment.erase(record::kVariable);  // of jobs that ranks have started nothing is recorded
  if (recording_ && of.number == 0) recording_->prepare(plan.app->program_path, environment);
  for (const std::string& item : job.server->environment_of(plan.rank))
    environment[item.substr(0, item.find('='))] = item.substr(item.find('=') + 1);
  for (const auto& [name, value] : environment) plan.environment.push_back(name + "=" + value);
  return plan;
}

void Launcher::start_rank(const RankPlan& given) {
  RankPlan plan = given;
  if (options_.tag_output) {
    const std::string tag = (plan.job > 0 ? std::to_string(plan.job) + "." : "") + std::to_string(plan.rank);
    plan.output = output_.open_stream("[" + tag + "] ", 1);
    plan.error = output_.open_stream("[" + tag + ":err] ", 2);
  }
  const auto close_ends = [&] {
    if (plan.output >= 0) close(plan.output);
    if (plan.error >= 0) close(plan.error);
  };
  try {
    ranks_->start(plan);
  } catch (...) {
    close_ends();
    throw;
  }
  close_ends();
  ++born_;
}

void Launcher::start_ranks() {
  const char* const engines = std::getenv("PTL_ENGINE_CORES");
  const std::vector<cpu_set_t> cores = processors_for(options_.ranks, options_.binding, engines && std::strcmp(engines, "1") == 0);
  if (options_.binding == Binding::core) {
    if (cores.empty())
      say("there are more ranks (" + std::to_string(options_.ranks) +
          ") than usable cores, so none is bound; start fewer, or leave --bind out");
  }
  for (int local = 0; local < options_.ranks; ++local) {
    RankPlan plan = plan_rank(job_numbered(0), local);
    if (!cores.empty()) plan.cpus = cores[static_cast<size_t>(local)];
    if (plan.rank == 0) plan.input = input_.open_for_rank();
    start_rank(plan);
    input_.rank_started();
  }
}

void Launcher::show_to_debugger() {
  std::vector<debugger::RankSeen> seen;
  ranks_->for_each_running([&](int, int rank, pid_t pid) {
    seen.push_back({options_.apps[static_cast<size_t>(plan_.app_of(rank))].program_path, pid});
  });
  debugger::show(host_name(), seen);
}

int Launcher::patience_ms() const {
  auto next = Clock::time_point::max();
  if (deadline_) next = std::min(next, *deadline_);
  if (kill_at_) next = std::min(next, *kill_at_);
  if (finish_by_) next = std::min(next, *finish_by_);
  if (server_lost_ && !status_) next = std::min(next, *server_lost_ + kLastNews);
  if (hosts_) next = std::min(next, hosts_->next_try());
  if (looks_for_hangs()) next = std::min(next, hangs_due_);
  if (host_records_ && ranks_->running() == 0) next = std::min(next, Clock::now() + kRecordsLook);
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60000));
}

void Launcher::turn() {
  std::vector<pollfd> list{{signals_, POLLIN, 0}};
  for (const PmixServer* server : servers()) server->watch(list);
  output_.watch(list);
  input_.watch(list);
  if (hosts_) hosts_->watch(list);
  if (poll(list.data(), list.size(), patience_ms()) < 0) {
    if (errno != EINTR) throw Refusal(1, std::string("the job cannot be watched (") + std::strerror(errno) + "); start fewer ranks");
    for (pollfd& entry : list) entry.revents = 0;
  }
  const bool some_ended = take_signals();
  for (PmixServer* server : servers()) server->service();  // before the ends: a rank that aborts ends, too
  if (some_ended) take_ends();
  bury_jobs();
  if (hosts_) hosts_->service(list);
  output_.service(list);
  input_.service(list);
  check_clock();
}

// True when a child has ended. That is known only once: whoever reads it must act on it.
bool Launcher::take_signals() {
  bool some_ended = false;
  const auto now = Clock::now();
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) some_ended = true;
    else take_signal(static_cast<int>(info.ssi_signo), now);
  }
  return some_ended;
}

void Launcher::take_signal(int number, Clock::time_point now) {
  const bool interrupt = number == SIGINT || number == SIGTERM;
  if (interrupt && interrupted_ && now < *interrupted_ + kEcho) return;
  if (interrupt && interrupted_) {
    gave_up_output_ = true;
    return end_job(128 + number, "the job was ended by the second signal " + std::to_string(number), Ending::at_once);
  }
  if (interrupt) interrupted_ = now;
  ranks_->signal_all(number);
  if (hosts_) hosts_->tell_signal(number);
  if (interrupt && options_.grace_s > 0) {
    finish_by_.reset();
    asked_by_ = number;
    kill_at_ = Clock::now() + seconds(options_.grace_s);
  }
  if (number == SIGTSTP) kill(getpid(), SIGSTOP);  // SIGCONT comes through signals_ and is passed on
}

// A rank that died by a signal explains more than one that noticed it and gave up.
void Launcher::take_ends() {
  std::vector<RankEnd> ends = ranks_->reap([this] {
    for (PmixServer* server : servers()) server->service();  // a rank may have left, and ended, since the last time
  });
  std::erase_if(ends, [this](const RankEnd& end) { return end.job > 0 && spawned_.at(end.job)->abandoned; });
  const auto by_signal = [](const RankEnd& end) { return end.status() > 128; };
  const auto bad = [](const RankEnd& end) { return !end.good(); };
  auto cause = std::find_if(ends.begin(), ends.end(), by_signal);
  if (cause == ends.end()) cause = std::find_if(ends.begin(), ends.end(), bad);
  if (cause != ends.end() && !options_.keep_going) {
    const bool missed = std::any_of(ends.begin(), ends.end(), [](const RankEnd& end) { return !end.good() && !end.finalized; });
    return end_job(cause->status(), cause->sentence(), missed ? Ending::spare_finalized : Ending::spare_all);
  }
  if (!status_)  // else whoever waits for it is ended anyway, and need not say why it would give up
    for (const RankEnd& end : ends) job_numbered(end.job).server->rank_ended(end.rank);
  if (cause == ends.end()) return;
  for (const RankEnd& end : ends)
    if (!end.good()) say(end.sentence() + "; the others go on");
  if (!first_failure_) first_failure_ = cause->status();
}

void Launcher::check_clock() {
  const auto now = Clock::now();
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    end_job(kTimedOut,
            "the job did not end within " + short_number(options_.timeout_s) +
                " s and was killed; raise --timeout, or find out where its ranks wait",
            Ending::at_once);
  }
  if (looks_for_hangs() && now >= hangs_due_) look_for_hangs(now);
  const auto all = servers();
  if (!server_lost_ && std::any_of(all.begin(), all.end(), [](const PmixServer* server) { return server->lost(); })) server_lost_ = now;
  if (server_lost_ && now >= *server_lost_ + kLastNews)  // by then a rank that caused it has been found
    end_job(1, "the process that serves PMIx has ended, so the ranks cannot go on; the likely cause is a defect of libpmix",
            Ending::spare_finalized);
  if (hosts_) hosts_->retry(now);
  if (kill_at_ && now >= *kill_at_) {
    if (asked_by_ != 0)
      end_job(128 + asked_by_,
              "some ranks did not end within " + short_number(options_.grace_s) + " s of signal " + std::to_string(asked_by_) +
                  " and were killed; --grace gives them longer",
              Ending::at_once);
    if (finish_by_) ranks_->signal_unfinalized(SIGKILL);
    else ranks_->signal_all(SIGKILL);
    kill_at_ = now + kAgain;
  }
  if (finish_by_ && now >= *finish_by_) {
    finish_by_.reset();
    say("some ranks did not end within " + short_number(options_.finish_s) + " s of the others and were ended; --finish gives them longer");
    ask_to_end();
  }
}

void Launcher::look_for_hangs(Clock::time_point now) {
  hangs_due_ = now + HangFinder::kInterval;
  std::vector<HangFinder::Rank> ranks;
  ranks_->for_each_running([&](int job, int rank, pid_t pid) { ranks.push_back({job, rank, pid, job_numbered(job).plan->size()}); });
  const std::vector<std::string> stuck = hangs_.look(ranks);
  if (stuck.empty()) return;
  end_job(kTimedOut, "ranks wait for one another for ever, so the job was ended (--let-hang does not look for that):", Ending::at_once);
  for (const std::string& line : stuck) say("  " + line);
}

// Ends the job on all hosts.
void Launcher::end_job(int status, const std::string& sentence, Ending ending) {
  if (status_ && ending <= ending_) return;
  if (hosts_) hosts_->tell_end(status, sentence, ending);
  end_here(status, sentence, ending);
}

// A later reason may spare fewer than the first one, but decides nothing else.
void Launcher::end_here(int status, const std::string& sentence, Ending ending) {
  if (status_ && ending <= ending_) return;
  if (!status_ && !sentence.empty()) say(sentence);
  if (!status_ && options_.finish_s > 0) finish_by_ = Clock::now() + seconds(options_.finish_s);
  if (!status_) status_ = status;
  ending_ = ending;
  if (ending == Ending::at_once) finish_by_.reset();
  if (ending != Ending::spare_all || !finish_by_) ask_to_end();
}

// Those that are spared are not asked before finish_by_ has come.
void Launcher::ask_to_end() {
  for (const int number : {SIGTERM, SIGCONT}) {  // a stopped process takes the first signal only when it goes on
    if (finish_by_) ranks_->signal_unfinalized(number);
    else ranks_->signal_all(number);
  }
  kill_at_ = std::min(kill_at_.value_or(Clock::time_point::max()), Clock::now() + seconds(options_.grace_s));
}

void Launcher::flush_output() {
  while (!output_.written() && !gave_up_output_) {
    std::vector<pollfd> list{{signals_, POLLIN, 0}};
    output_.watch(list);
    if (poll(list.data(), list.size(), -1) < 0) continue;
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info)
      if ((info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) && !(interrupted_ && Clock::now() < *interrupted_ + kEcho))
        gave_up_output_ = true;
    output_.service(list);
  }
}

}  // namespace portunus::launch
