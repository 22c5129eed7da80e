// The files that a job leaves on the disk and in /dev/shm, and who takes it away: even when ptlrun itself is killed.
//
// A small process, the janitor, waits at the other end of a pipe. It learns the process groups of the ranks through it, and
// when the pipe closes, for whatever reason, it kills the groups that are left and removes the job's files.
//
// Thread: ptlrun's main thread; construct before any other thread exists, because it forks.
// Invariants: the folder and the segments are gone when ptlrun is, and soon after if it was killed.
#pragma once

#include <sys/types.h>

#include <string>

namespace portunus::launch {

// Segments of shared memory are named portunus.<rest>; their owner holds flock(LOCK_EX) on them while it lives. Those named
// portunus.<job>.<rest> belong to a job as a whole and end with it.
inline constexpr char kSegmentFolder[] = "/dev/shm";
inline constexpr char kSegmentPrefix[] = "portunus.";

class Workspace {
 public:
  // Makes the folder for sockets and starts the janitor. Throws Refusal.
  explicit Workspace(std::string job);
  ~Workspace();  // the janitor has done its work when this returns
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const std::string& folder() const { return folder_; }
  pid_t janitor() const { return janitor_; }

  void note_group(pid_t group);    // a rank leads this process group
  void forget_group(pid_t group);  // nobody is in it any more

 private:
  std::string job_;
  std::string folder_;
  int pipe_ = -1;
  pid_t janitor_ = -1;
};

// Removes segments of this user whose owner has died without removing them.
void sweep_dead_segments();

// Removes the segments of one job, whether somebody holds them or not.
void remove_segments(const std::string& job);

}  // namespace portunus::launch
