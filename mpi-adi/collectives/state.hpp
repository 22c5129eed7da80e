// state.hpp: what a communicator remembers for its collectives: the group as GOAL sees it, which numbers keep the messages of
// its schedules apart, and the schedules that stay.
//
// All schedules of a communicator have a GOAL context of its own; their tags are
//       0 ..    63   resident ones, by their place here: small blocking collectives, run again for each call that is alike
//      64 .. 16383   those that run once, by turns
//   16384 .. 32767   persistent ones, by turns
// Which one a call gets depends on the order of the calls alone, which is
// the same on all ranks. A number may be used again before other ranks are done with it: of two processes, the messages of
// the first use are matched before those of the second, as every message of a schedule has its receive.
//
// Thread: one at a time per communicator, as MPI demands of collectives; GOAL itself is locked (Locked).
// Invariants: as GOAL keeps only 256 epochs apart, and memory for messages that nobody has asked for is not endless, the
// ranks meet after at most kApart collectives in which nobody waits for all.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/goal/goal_collectives.h"
#include "mpi-adi/collectives/work.hpp"
#include "mpi-adi/comm.hpp"

namespace portunus::mpi::collectives {

// GOAL makes and frees schedules one at a time per process.
class Locked {
 public:
  Locked();

 private:
  std::unique_lock<std::mutex> lock_;
};

class Schedule {
 public:
  Schedule() = default;
  ~Schedule() { free(); }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Builds and compiles: GOAL_* codes. `meet`: it also ends on no rank before all have begun.
  int make(const Work& work, const Communicator& comm, const GOAL_Group& group, GOAL_Buffer in, GOAL_Buffer out, bool meet);
  void free();
  GOAL_Schedule get() const { return schedule_; }

 private:
  GOAL_Schedule schedule_ = nullptr;
};

struct Resident {
  Key key{};
  uint64_t last_use = 0;
  Schedule schedule{};
  std::unique_ptr<std::byte[]> memory{};  // what goes in, then what comes out
  std::byte *in = nullptr, *out = nullptr;
};

class State {
 public:
  explicit State(const Communicator& comm);

  // The group with the tag of the next schedule that runs once, or is persistent.
  GOAL_Group once();
  GOAL_Group persistent();
  // Does this collective have to be a meeting? Counts it.
  bool must_meet(const Work& work);

  // The resident schedule for such work, made if need be: nullptr and a GOAL_* code.
  Resident* resident(const Work& work, int& code);

 private:
  static constexpr unsigned kResidents = 64, kOnce = 16384 - kResidents, kPersistent = 16384, kApart = 64;

  GOAL_Group group(uint32_t tag) const;

  const Communicator& comm_;
  int rank_;                        // among all ranks: of both groups of an intercommunicator
  std::vector<int> ranks_, nodes_;  // of all of them
  std::array<std::unique_ptr<Resident>, kResidents> residents_;
  unsigned last_ = 0;  // the resident used last
  uint32_t once_ = 0, persistent_ = 0;
  unsigned apart_ = 0;
  uint64_t uses_ = 0;
};

State& state_of(Communicator& comm);
// Frees what the communicator remembers.
void forget(Communicator& comm);

}  // namespace portunus::mpi::collectives
