// Starting and ending the ranks of this host.
//
// Thread: ptlrun's main thread; between fork and exec only system calls.
#include "engine/tools/ptlrun/ranks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/host/parent_of.hpp"
#include "engine/tools/ptlrun/options.hpp"

namespace portunus::launch {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));  // execve does not write to them
  list.push_back(nullptr);
  return list;
}

// All that the child needs, made before the fork: afterwards nothing may be allocated.
struct Birth {
  const char* program;
  const char* folder;  // null: where ptlrun is
  char** arguments;
  char** environment;
  int input, output, error;
  int report;  // takes errno when the program cannot run
  const cpu_set_t* cpus;
  const sigset_t* mask;
  pid_t launcher;
};

[[noreturn]] void become(const Birth& birth) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != birth.launcher) _exit(1);  // it died before it could be watched
  signal(SIGPIPE, SIG_DFL);
  // Not closed but marked: the report must stay open until the program runs, and the C library may need the rest.
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  dup2(birth.input, 0);
  if (birth.output >= 0) dup2(birth.output, 1);
  if (birth.error >= 0) dup2(birth.error, 2);
  if (birth.cpus != nullptr) sched_setaffinity(0, sizeof(cpu_set_t), birth.cpus);
  sigprocmask(SIG_SETMASK, birth.mask, nullptr);
  if (birth.folder == nullptr || chdir(birth.folder) == 0) execve(birth.program, birth.arguments, birth.environment);
  const int cause = errno;
  if (write(birth.report, &cause, sizeof cause) < 0) _exit(126);
  _exit(126);
}

[[noreturn]] void refuse_start(const std::string& program, int cause) {
  std::string remedy = "check its permissions";
  if (cause == ENOEXEC) remedy = "a script needs a first line such as #!/bin/sh, a binary must be for this machine";
  if (cause == ENOENT) remedy = "the interpreter its first line or header names is missing";
  if (cause == E2BIG) remedy = "make the arguments and the environment shorter";
  throw Refusal(kNotExecutable, "the program '" + program + "' cannot be executed (" + std::strerror(cause) + "); " + remedy);
}

// Reads errno of a failed exec; nothing comes when the program runs.
int failed_exec(int report) {
  int cause = 0;
  ssize_t got;
  while ((got = read(report, &cause, sizeof cause)) < 0 && errno == EINTR) {
  }
  return got == sizeof cause ? cause : 0;
}

}  // namespace

bool RankEnd::good() const { return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0; }

int RankEnd::status() const { return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status); }

std::string RankEnd::sentence() const {
  const std::string who = name_of_rank(job, rank);
  if (!WIFSIGNALED(wait_status)) return who + " ended with exit status " + std::to_string(status());
  const int number = WTERMSIG(wait_status);
  return who + " was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")" +
         (WCOREDUMP(wait_status) ? ", core dumped" : "");
}

std::string name_of_rank(int job, int rank) {
  return "rank " + std::to_string(rank) + (job > 0 ? " of spawned job " + std::to_string(job) : "");
}

void Ranks::start(const RankPlan& plan) {
  const int nothing = plan.input < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : plan.input;
  int report[2];
  if (nothing < 0 || pipe2(report, O_CLOEXEC) != 0)
    throw Refusal(1, std::string("no pipe can be made (") + std::strerror(errno) + "); raise the limit of open files (ulimit -n)");
  std::vector<char*> arguments = pointers(plan.app->command);
  std::vector<char*> environment = pointers(plan.environment);
  const std::string& folder = plan.app->folder;
  const Birth birth{plan.app->program_path.c_str(),
                    folder.empty() ? nullptr : folder.c_str(),
                    arguments.data(),
                    environment.data(),
                    nothing,
                    plan.output,
                    plan.error,
                    report[1],
                    plan.cpus ? &*plan.cpus : nullptr,
                    &mask_,
                    getpid()};
  const pid_t pid = fork();
  if (pid == 0) become(birth);
  const int fork_cause = errno;
  close(report[1]);
  if (plan.input < 0) close(nothing);
  if (pid < 0) {
    close(report[0]);
    throw Refusal(1, name_of_rank(plan.job, plan.rank) + " cannot be started (" + std::strerror(fork_cause) +
                         "); start fewer ranks, or raise the limit of processes (ulimit -u)");
  }
  setpgid(pid, pid);  // both do it: whoever comes first
  processes_.push_back({plan.job, plan.rank, pid});
  ++running_;
  workspace_.note_group(pid);
  const int cause = failed_exec(report[0]);
  close(report[0]);
  if (cause != 0) refuse_start(plan.app->program_path, cause);
}

void Ranks::signal(Process& process, int number) {
  if (process.group_left) kill(-process.pid, number);
  check_group(process);
}

void Ranks::signal_all(int number) {
  for (Process& process : processes_) signal(process, number);
}

void Ranks::signal_unfinalized(int number) {
  for (Process& process : processes_)
    if (!process.finalized) signal(process, number);
}

void Ranks::kill_job(int job) {
  for (Process& process : processes_)
    if (process.job == job) signal(process, SIGKILL);
}

void Ranks::set_finalized(int job, int rank, bool finalized) {
  for (Process& process : processes_)
    if (process.job == job && process.rank == rank) process.finalized = finalized;
}

int Ranks::running(int job) const {
  return static_cast<int>(
      std::count_if(processes_.begin(), processes_.end(), [&](const Process& one) { return one.job == job && one.running; }));
}

// Without its leader an empty group's number may be given to a stranger: forget it as soon as it is empty.
void Ranks::check_group(Process& process) {
  if (process.running || !process.group_left || kill(-process.pid, 0) == 0 || errno != ESRCH) return;
  process.group_left = false;
  workspace_.forget_group(process.pid);
}

std::vector<RankEnd> Ranks::reap(const std::function<void()>& hear) {
  std::vector<std::pair<pid_t, int>> ended;
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (Process& process : processes_) {
      if (process.pid != pid || !process.running) continue;
      process.running = false;
      --running_;
      ended.emplace_back(pid, status);
    }
  }
  if (!ended.empty()) hear();
  std::vector<RankEnd> ends;
  for (const auto& [pid, how] : ended)
    for (const Process& process : processes_)
      if (process.pid == pid) ends.push_back({process.job, process.rank, how, process.finalized});
  for (Process& process : processes_) check_group(process);
  std::erase_if(processes_, [](const Process& process) { return !process.running && !process.group_left; });
  return ends;
}

// Direct children that are not spared: ranks, and orphans that came to ptlrun because it is the subreaper.
std::vector<pid_t> Ranks::children_left() const {
  std::vector<pid_t> children;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return children;
  while (const dirent* entry = readdir(folder)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0 || std::find(spared_.begin(), spared_.end(), pid) != spared_.end()) continue;
    if (parent_of(pid) == getpid()) children.push_back(pid);
  }
  closedir(folder);
  return children;
}

void Ranks::sweep() {
  signal_all(SIGKILL);
  for (std::vector<pid_t> children; !(children = children_left()).empty();) {
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  running_ = 0;
  for (Process& process : processes_) {
    process.running = false;
    if (process.group_left) workspace_.forget_group(process.pid);
    process.group_left = false;
  }
}

}  // namespace portunus::launch
