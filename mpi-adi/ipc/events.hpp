// events.hpp: the communication executive: who waits for what, and who of the waiting takes the events.
//
// All events go to one queue. Whoever waits takes the *turn*: its holder sleeps in the queue and hands each event to the
// listener that it names; the others sleep until their request is over, or until the turn is free. Thread: any; listeners
// are called by the holder of the turn, one at a time. Invariants: a request that is over is not touched any more by anybody
// but its owner (complete() reads nothing after it has told so); who gives the turn back wakes one that could take it.
// Source: Giloi and Schroeder-Preikschat, chapter 10 (NICE gives processes network-wide IPC and schedules them).
#pragma once

#include <atomic>
#include <cstdint>
#include <list>

#include "mpi-adi/ipc/interface.hpp"
#include "mpi-adi/ipc/mutex.hpp"

namespace portunus::peace {

// The object that an event's user pointer points to.
struct Listener {
  void (*heard)(Listener&, const ptl_event_t&) = nullptr;
};

// A thread that waits, of whichever team. Never freed: a late ring finds it.
struct Lwp {
  alignas(64) std::atomic<uint32_t> bell{0};  // any thread adds; its owner sleeps until it changes
  // For a receive that has the turn until it is over: an entry that stays from one to the next, and what the engine writes when it has
  // served, in place of an event. The owner's, but for what is appended.
  alignas(64) ptlx_sender_record_t record{};
  ptl_handle_me_t kept = PTL_INVALID_HANDLE;
  uint32_t kept_in = 0;  // the opening (interface.hpp) that knows it
  void ring();
  // Until the bell is no longer `heard` or the time has come.
  void sleep(uint32_t heard, int64_t deadline_ns);
};
Lwp& this_lwp();

// Something that ends once.
struct Request : Listener {
  // kActive, kOver, or the Lwp that sleeps for it. Written by the owner and, to kOver, by whoever ends it (release; over()
  // acquires).
  static constexpr uintptr_t kActive = 0, kOver = 1;
  std::atomic<uintptr_t> state{kActive};
  std::atomic<int> result{0};  // written before `state`; of a select by several
  peace_message_t message{};
  const char* doing = "";  // for PTL_DEBUG
  uint64_t with = 0;       // the process that it waits for, 0: any
  uint32_t port = 0;
  // Called whenever who waits for it has the turn and has handed out what events there were: it may be over without one.
  void (*look)(Request&) = nullptr;

  bool over() const { return state.load(std::memory_order_acquire) == kOver; }
  void again() { state.store(kActive, std::memory_order_relaxed); }
};

// ---- called by listeners ----
// The result is filled in.
void complete(Request& request, int result);
// ---- called by any thread that does not have the turn: who has it may be waiting for this very request ----
void complete_from_outside(Request& request, int result);
// Lets the holder of the turn look up.
void poke();

constexpr int64_t kNever = -1;
int64_t now();
// When a limit that begins now ends; kNever for PEACE_FOREVER.
int64_t deadline_of(int64_t limit);

// True: the request is over. False: the deadline has passed.
bool wait(Request& request, int64_t deadline);
inline void wait(Request& request) { wait(request, kNever); }

// The turn for longer than one wait, if it is free.
class EventPump {
 public:
  explicit EventPump(bool wanted) : taken_(wanted && take()), self_(taken_ ? &this_lwp() : nullptr) {}
  EventPump(const EventPump&) = delete;
  ~EventPump() { give_back(); }
  explicit operator bool() const { return taken_; }
  // As above, with the turn.
  bool wait(Request& request, int64_t deadline);
  void give_back();
  // Its holder.
  Lwp& self() const { return *self_; }

 private:
  static bool take();

  bool taken_;
  Lwp* self_;
};
// Hands out what events there are, without waiting.
void poll();
// The same until the request is over.
void poll_for(const Request& request);

// Two events at most follow for each that was admitted: the queue never overflows. False: too many. A thread's first request is its own
// and costs no locked instruction; others are counted.
bool admit();
void dismiss();
bool admit_counted(int count);
void dismiss_counted(int count);

}  // namespace portunus::peace
