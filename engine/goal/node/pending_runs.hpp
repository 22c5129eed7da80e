// Collectives that were started and not waited for: what a rank does for them whenever it looks.
//
// Each gives its contribution as it is started, if there is room, and is taken when a thread that waits looks after all that it needs is
// there: the process has one poller for all groups (PtlxPollerAdd).
// Nothing of it depends on this rank's thread in between, but where others have not yet taken what lies in the slots: then a start is
// only noted, and begun by the first look that finds room.
//
// Thread: any; one lock for the process, which nobody waits under. It is not taken where nothing is under way.
// Invariants: runs of one lane begin in the order of their numbers; the lane's `taken` is behind all that have not taken
// what they need.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <deque>
#include <mutex>

#include "engine/goal/goal_call.h"
#include "engine/goal/node/slot_call.hpp"
#include "engine/goal/node/slots.hpp"
#include "engine/goal/node/waiting.hpp"

namespace portunus::goal::node {

class Collectives;

// One that was started.
struct Run {
  Run(const GOAL_Call& wanted, size_t bytes, uint64_t what, size_t rank, size_t size, uint64_t number, void (*whom)(void*), void* with)
      : copy(wanted), call(copy, bytes, what, rank, size, number), ended(whom), arg(with) {}
  // The same call again.
  void renew(uint64_t number, void (*whom)(void*), void* with) {
    assert(owner == nullptr);
    call.renew(number);
    ended = whom;
    arg = with;
    next = nullptr;
    has_begun = has_taken = false;
    code = GOAL_SUCCESS;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  GOAL_Call copy;
  SlotCall call;
  void (*ended)(void*);
  void* arg;
  Collectives* owner = nullptr;  // while under way
  Run* next = nullptr;           // of those that have ended in one look
  bool has_begun = false, has_taken = false;
  int code = GOAL_SUCCESS;
};

// Runs that have ended and whose users are to be told, outside of the lock.
class Ended {
 public:
  [[nodiscard]] bool any() const { return first_ != nullptr; }
  void add(Run& run) { add(run, run.code); }
  void add(Run& run, int code) {
    run.code = code;
    run.owner = nullptr;
    *last_ = &run;
    last_ = &run.next;
  }
  void tell();

 private:
  Run* first_ = nullptr;
  Run** last_ = &first_;
};

// Slots, and what is under way in them. All but empty() under the lock.
class Lane {
 public:
  // `tag`: of the agreement about its memory; `others`: the memory of the group's ranks.
  Lane(size_t rank, size_t size, size_t room, size_t slots, uint32_t tag, const PeerMemory& others)
      : slots(rank, size, room, slots), standing{tag}, others_(others) {}
  [[nodiscard]] bool empty() const { return count_.load(std::memory_order_acquire) == 0; }  // pairs with resize()

  // A blocking call, whose number is claimed, until it is over.
  void block(uint64_t number) { blocking_ = number; }
  void unblock() { blocking_ = 0; }
  // Whether all that was started before the blocking call has begun.
  [[nodiscard]] bool all_begun() const { return runs_.empty() || runs_.back()->has_begun; }
  // The number of runs that this rank has taken when it begins that number.
  [[nodiscard]] uint64_t taken_before(uint64_t number) const;
  [[nodiscard]] bool may_begin(const SlotCall& call) { return call.may_begin(slots, taken_before(call.number())); }

  // Its number was claimed from the slots. True: there is something new for others.
  bool start(Run& run, Ended& ended);
  // True: there is something new for others.
  bool look(Ended& ended);
  void fail(int code, Ended& ended);
  void remove(Run& run);

  Slots slots;
  Standing standing;

 private:
  void resize() { count_.store(runs_.size(), std::memory_order_release); }
  void begin(Run& run);
  // All that it needs is there.
  void take(Run& run);

  const PeerMemory& others_;
  std::deque<Run*> runs_;
  std::atomic<size_t> count_{0};
  uint64_t blocking_ = 0, last_ = 0;  // the last number that was begun here
};

// Those that have anything under way.
class PendingRuns {
 public:
  static PendingRuns& instance();
  std::mutex lock;
  // Under the lock.
  void add(Collectives& one);
  void remove(Collectives& one);

  // Threads that wait look from now on. False: there is no room for another poller.
  bool attend() { return PtlxPollerAdd(&poller_) == PTL_OK; }

 private:
  bool look();  // true: something was taken or begun

  std::deque<Collectives*> all_;
  std::atomic<uint32_t> any_{0};
  const ptlx_poller_t poller_{[](void* all) { return static_cast<int>(static_cast<PendingRuns*>(all)->look()); }, this,
                              reinterpret_cast<const uint32_t*>(&any_), kWatchBit};
};

}  // namespace portunus::goal::node
