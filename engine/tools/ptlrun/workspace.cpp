// The folder, the segments and the janitor of a job.
//
// Thread: ptlrun's main thread; the janitor is a process of its own with one thread.
#include "engine/tools/ptlrun/workspace.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>

#include "engine/tools/ptlrun/options.hpp"

namespace portunus::launch {
namespace {

namespace fs = std::filesystem;

// An empty segment is being made right now, unless it has been empty for this long: its owner locks it before it fills it.
constexpr std::time_t kSettled_s = 10;

// Regions of libfabric's shm provider, and of what collectives on a node, MPI's shared windows and its files share, until all have
// mapped them: nobody locks them, but the process id of their maker follows.
constexpr const char* kNamedByMaker[] = {"portunus-fabric-", "portunus-win-", "portunus-goal-", "portunus-file-"};

// How long the janitor waits for killed ranks to let go of their segments.
constexpr int kLettingGo_ms = 5000;

// The record that goes through the pipe; smaller than PIPE_BUF, so it arrives whole.
struct Note {
  pid_t group;
  bool present;
};

template <typename Action>
void each_segment(const std::string& prefix, Action action) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kSegmentFolder, none))
    if (entry.path().filename().string().starts_with(prefix)) action(entry.path());
}

// The name is looked up again under the lock: by then it may be that of a new segment.
void unlink_abandoned(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  struct stat facts {
  }, named{};
  if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
      (facts.st_size > 0 || facts.st_mtime + kSettled_s < std::time(nullptr)) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
      lstat(path.c_str(), &named) == 0 && named.st_ino == facts.st_ino)
    unlink(path.c_str());
  close(fd);
}

void clean(const std::string& job, const std::string& folder) {
  std::error_code none;
  fs::remove_all(folder, none);
  remove_segments(job);
  sweep_dead_segments();
}

// Kills the groups and waits until nobody is left in them: a segment whose owner still dies looks alive.
void kill_groups(const std::set<pid_t>& groups) {
  for (const pid_t group : groups) kill(-group, SIGKILL);
  for (int waited_ms = 0; waited_ms < kLettingGo_ms; waited_ms += 10) {
    bool empty = true;
    for (const pid_t group : groups) empty = kill(-group, 0) != 0 && empty;
    if (empty) return;
    poll(nullptr, 0, 10);
  }
}

// The janitor's life. It keeps nothing open, so that nobody waits for it at the other end of ptlrun's output.
[[noreturn]] void keep_watch(int pipe, const std::string& job, const std::string& folder) {
  setsid();  // what the terminal sends to ptlrun's group must not end the janitor first
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
  prctl(PR_SET_NAME, "ptlrun-janitor");
  dup2(pipe, 0);
  close_range(1, ~0U, 0);
  std::set<pid_t> groups;
  Note note{};
  for (ssize_t got; (got = read(0, &note, sizeof note)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got != sizeof note) continue;
    if (note.present) groups.insert(note.group);
    else groups.erase(note.group);
  }
  kill_groups(groups);
  clean(job, folder);
  _exit(0);
}

// In TMPDIR, or else where others may be made.
std::string make_folder() {
  const char* wanted = std::getenv("TMPDIR");
  std::string first;
  int error = 0;
  for (const char* base : {wanted, "/tmp", "/var/tmp", "/dev/shm"}) {
    if (base == nullptr || *base == '\0') continue;
    std::string name = std::string(base) + "/ptlrun.XXXXXX";
    if (mkdtemp(name.data()) != nullptr) return name;
    if (first.empty()) first = name, error = errno;
  }
  throw Refusal(1, "no temporary folder can be made at " + first + " (" + std::strerror(error) +
                       "); set TMPDIR to a folder that exists, can be written and has space");
}

}  // namespace

Workspace::Workspace(std::string job) : job_(std::move(job)), folder_(make_folder()) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    const std::string cause = std::strerror(errno);
    clean(job_, folder_);
    throw Refusal(1, "no pipe can be made (" + cause + "); raise the limit of open files (ulimit -n)");
  }
  janitor_ = fork();
  if (janitor_ == 0) {
    close(ends[1]);
    keep_watch(ends[0], job_, folder_);
  }
  const int cause = errno;
  close(ends[0]);
  pipe_ = ends[1];
  if (janitor_ < 0) {
    close(pipe_);
    clean(job_, folder_);
    throw Refusal(1, std::string("no process can be started (") + std::strerror(cause) + "); raise the limit of processes (ulimit -u)");
  }
}

Workspace::~Workspace() {
  close(pipe_);
  while (waitpid(janitor_, nullptr, 0) < 0 && errno == EINTR) {
  }
  clean(job_, folder_);  // again, in case somebody killed the janitor
}

void Workspace::note_group(pid_t group) {
  const Note note{group, true};
  if (write(pipe_, &note, sizeof note) < 0) return;  // the janitor is gone: the destructor cleans
}

void Workspace::forget_group(pid_t group) {
  const Note note{group, false};
  if (write(pipe_, &note, sizeof note) < 0) return;
}

void sweep_dead_segments() {
  each_segment(kSegmentPrefix, [](const fs::path& path) { unlink_abandoned(path); });
  for (const char* prefix : kNamedByMaker) {
    each_segment(prefix, [prefix](const fs::path& path) {
      const long owner = std::strtol(path.filename().c_str() + std::strlen(prefix), nullptr, 10);
      struct stat facts {};
      if (owner > 0 && kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH && lstat(path.c_str(), &facts) == 0 &&
          facts.st_uid == geteuid())
        unlink(path.c_str());
    });
  }
}

void remove_segments(const std::string& job) {
  each_segment(kSegmentPrefix + job + ".", [](const fs::path& path) { unlink(path.c_str()); });
}

}  // namespace portunus::launch
