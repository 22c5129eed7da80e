// device.hpp: the seam between MPI and what carries its messages: send, receive, probe, wait, poll, barrier on Portals 4.
//
// A send is a Put, a receive is a match entry, both on one portal table entry. Up to `copy_limit` bytes go through a
// volatile descriptor: copied by the call, no event, complete at return. Longer ones report SEND when the buffer is free,
// synchronous ones ACK when they were matched. What arrives too early stays with the engine (PTLX_ME_HOLD), which
// completes it when the receive is appended (PTLX_ME_COMPLETE_UNEXPECTED): there is no rendezvous here.
// The engine, where one thread calls MPI, writes the result of a plain receive straight into its request (PTLX_ME_RECORD).
// All events go to one queue, so that a waiting thread sleeps in one place; each names its request.
//
// Thread: below MPI_THREAD_MULTIPLE one at a time, and nothing is locked. With it, whoever needs an event takes the *turn*:
// only its holder takes events, so none is taken from under a thread that sleeps for it; the others sleep until the holder
// has completed their request or gives the turn back.
// Invariants: functions return PTL_* codes; after PTL_OK of isend or irecv exactly one event for the request follows.
// Source: MPI-5.0, 3.5-3.8 and 11.6 (threads); Portals 4.3.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/client/numbers.hpp"
#include "engine/client/objects.hpp"
#include "engine/goal/goal_call.h"
#include "mpi-adi/core/failures.hpp"
#include "mpi-adi/pt2pt/match_bits.hpp"
#include "mpi-adi/request/request.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::mpi::continuation {
// Threads that watch for what is due, so that a descriptor says so; and waking them.
inline constinit std::atomic<uint32_t> watchers{0};
[[gnu::cold]] void tell_watchers();
}  // namespace portunus::mpi::continuation

namespace portunus::mpi::device {

struct Device {
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_handle_eq_t eq = PTL_EQ_NONE;
  ptl_handle_md_t md_copied = PTL_INVALID_HANDLE;       // volatile, no events
  ptl_handle_md_t md_sent = PTL_INVALID_HANDLE;         // SEND event
  ptl_handle_md_t md_long = PTL_INVALID_HANDLE;         // SEND event; the header goes first
  ptl_handle_md_t md_synchronous = PTL_INVALID_HANDLE;  // ACK event only
  // The same for data that lie as a ptlx_layout_t says, whose address is the offset.
  ptl_handle_md_t md_copied_layout = PTL_INVALID_HANDLE;
  ptl_handle_md_t md_sent_layout = PTL_INVALID_HANDLE;
  ptl_handle_md_t md_long_layout = PTL_INVALID_HANDLE;
  ptl_handle_md_t md_synchronous_layout = PTL_INVALID_HANDLE;
  ptl_handle_ct_t arrived_early = PTL_CT_NONE;  // counts unexpected messages: what MPI_Probe sleeps on
  ptl_process_t self{};
  ptl_uid_t uid = PTL_UID_ANY;
  ptl_size_t copy_limit = 0;
  ptl_size_t eager_limit = 0;
  ptl_size_t kept_limit = 0;            // longer messages than copy_limit, up to so many bytes, are complete when they have been copied
  uint64_t recorded = 0;                // receives that the engine has completed and this thread has heard of
  std::atomic<uint64_t> ends{0};        // requests that others than the engine have completed, or made pending
  const uint32_t* throttled = nullptr;  // how many ranks have asked this one for less
  bool threaded = false;
  bool completes = false;        // below MPI_THREAD_MULTIPLE: events are being completed
  const char* thread = nullptr;  // the same: where this_thread lies in the thread that waited last
  int64_t ordered_limit = 0;     // the longest accumulate that is carried out in the order of the calls
};
extern constinit Device device;

// A byte of each thread, by whose address it is known.
__attribute__((tls_model("initial-exec"))) inline thread_local constinit char this_thread = 0;

using client::kBarrierPortal, client::kControlPortal, client::kLogPortal, client::kMessagePortal, client::kRevocationPortal,
    client::kSignalPortal, client::kWindowPortal;

// Joins the job and opens everything; collective. Answers nullptr, or a sentence with what went wrong. `job` says who this is.
const char* start(bool threaded, ptlx_job_t& job);
// Flushes what was sent and leaves the job.
void stop();
// Before stop(): returns when all ranks have called it; PTL_FAIL when a rank cannot be reached. `wishes` becomes what all of them wish:
// where that is not 0 they do it and meet here once more.
int last_barrier(uint64_t& wishes);
constexpr uint64_t kTellLeaks = 1, kCompareCalls = 2;
// Ends the job.
[[noreturn]] void abort(int status, const char* message);
// The same for an error that nothing handles: with the stack of the call, or a core, if the user wants them.
[[noreturn]] void abort_by_error(int status, const char* message);
// Writes the stack on stderr, if wanted; a core as well, then it does not return.
void show_error(const char* message);

using client::process;
inline ptl_size_t offset_of(const void* address) { return client::address(address); }

// Complete at return. Only for bytes <= device.copy_limit.
inline int send_copied(const void* buf, size_t bytes, int target, ptl_match_bits_t bits, ptl_hdr_data_t signature = 0,
                       ptl_pt_index_t portal = kMessagePortal) {
  return PtlPut(device.md_copied, offset_of(buf), bytes, PTL_NO_ACK_REQ, process(target), portal, bits, 0, nullptr, signature);
}
// Notes the target, which may have to be told (long_waits.hpp).
inline void note_send(Request& request, int target, ptl_match_bits_t bits) {
  request.match_bits = bits;
  request.requested = static_cast<ptl_size_t>(target);
}
// `signature`: of the data, for the receiver (types/signature.hpp).
inline int isend(Request& request, const void* buf, size_t bytes, int target, ptl_match_bits_t bits, ptl_hdr_data_t signature = 0) {
  const ptl_handle_md_t md = bytes > device.eager_limit ? device.md_long : device.md_sent;
  note_send(request, target, bits);
  return PtlPut(md, offset_of(buf), bytes, PTL_NO_ACK_REQ, process(target), kMessagePortal, bits, 0, &request, signature);
}
// Complete when the message was matched with a receive.
inline int issend(Request& request, const void* buf, size_t bytes, int target, ptl_match_bits_t bits, ptl_hdr_data_t signature = 0) {
  note_send(request, target, bits);
  return PtlPut(device.md_synchronous, offset_of(buf), bytes, PTL_ACK_REQ, process(target), kMessagePortal, bits, 0, &request, signature);
}

// The same of data that lie as `layout` says, packed by whoever steps the engine. It stays valid until the request completes;
// without one (bytes <= device.copy_limit) the message is complete at return.
int send_laid_out(Request* request, bool synchronous, const ptlx_layout_t& layout, size_t bytes, int target, ptl_match_bits_t bits,
                  ptl_hdr_data_t signature = 0);

// `options`: PTLX_ME_LAYOUT when buf is a ptlx_layout_t, or 0.
inline ptl_me_t receive_entry(void* buf, size_t bytes, ptl_rank_t source, Pattern pattern, unsigned options = 0) {
  ptl_me_t entry{};
  entry.start = buf;
  entry.length = bytes;
  entry.ct_handle = PTL_CT_NONE;
  entry.uid = device.uid;
  entry.options =
      PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE | PTLX_ME_COMPLETE_UNEXPECTED | options;
  entry.match_id.rank = source;
  entry.match_bits = pattern.match_bits;
  entry.ignore_bits = pattern.ignore_bits;
  return entry;
}
// Targets have asked for less, or do not take what they were sent.
inline bool is_throttled() { return __atomic_load_n(device.throttled, __ATOMIC_RELAXED) != 0; }
// While ranks ask for less, nothing is copied: senders wait, with their messages in their own memory.
inline bool may_copy(size_t bytes) { return bytes <= device.copy_limit && !is_throttled(); }
inline bool keeps(size_t bytes) { return bytes > device.copy_limit && bytes <= device.kept_limit; }
// A receive that the engine itself completes: nothing else is to be done for it then, but for what finish_special() does.
inline bool is_recorded(const Request& request) {
  return !device.threaded && request.receives && (!request.special || (request.compared && request.attached == nullptr));
}
// The entry is off its list now; false: its message has come, or is coming.
bool take_back(Request& request);
[[gnu::noinline]] int irecv_first(Request& request, void* buf, size_t bytes, ptl_rank_t source, Pattern pattern, unsigned options);
// `source`: a rank in the job, or PTL_RANK_ANY.
inline int irecv(Request& request, void* buf, size_t bytes, ptl_rank_t source, Pattern pattern, unsigned options = 0) {
  request.source = source == PTL_RANK_ANY ? MPI_ANY_SOURCE : static_cast<int>(source);
  if (request.kept != 0 && is_recorded(request) && options == 0) [[likely]] {
    ptl_process_t from{};
    from.rank = source;
    request.entry = request.kept;
    return PtlxMEAppendAgain(request.kept, buf, bytes, from, pattern.match_bits, pattern.ignore_bits);
  }
  return irecv_first(request, buf, bytes, source, pattern, options);
}
// Messages of MPI's own, of operations on communicators and windows, have a portal table entry without a limit of what is kept: however
// many messages of the program wait for their receives, these get through. They are few.
inline int send_control(const void* buf, size_t bytes, int target, ptl_match_bits_t bits) {
  return send_copied(buf, bytes, target, bits, 0, kControlPortal);
}
inline int isend_control(Request& request, const void* buf, size_t bytes, int target, ptl_match_bits_t bits) {
  note_send(request, target, bits);
  return PtlPut(bytes > device.eager_limit ? device.md_long : device.md_sent, offset_of(buf), bytes, PTL_NO_ACK_REQ, process(target),
                kControlPortal, bits, 0, &request, 0);
}
int irecv_control(Request& request, void* buf, size_t bytes, ptl_rank_t source, Pattern pattern);
// Looks for a message that has arrived and was not received. The event says PTL_NI_NO_MATCH when there is none. With a label, the message
// is taken out of what other receives and probes can find: only irecv_label with this label gets it.
int find(ptl_rank_t source, Pattern pattern, const ptl_match_bits_t* label, ptl_event_t& found);
// Drops the messages of a context that were not received: nobody will, since their communicator is revoked.
void drop_messages(uint16_t context);
inline int irecv_label(Request& request, void* buf, size_t bytes, ptl_match_bits_t label, unsigned options) {
  const int result = irecv(request, buf, bytes, PTL_RANK_ANY, {label, 0}, options);
  request.source = own_job_rank;  // whoever has sent it, nobody's death concerns it
  return result;
}

// ---- completion ----

namespace long_waits {
[[gnu::cold]] void tell(const Request& request);  // see long_waits.hpp
}

constexpr ptl_time_t kLong = 1000;  // milliseconds of sleep until others may know of a wait, and again
constexpr ptl_time_t kLongAsleep = PTLX_TIME_ASLEEP(kLong);

class EventPump {
 public:
  bool try_take() {
    std::lock_guard lock(mutex_);
    return taken_ ? false : (taken_ = true);
  }
  void give_back() {
    {
      std::lock_guard lock(mutex_);
      taken_ = false;
    }
    changed_.notify_all();
  }
  // The holder has completed a request: another thread may be waiting for it.
  void announce() {
    // Empty on purpose: a sleeper has either seen the new state under the lock or is in wait() by now.
    { std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }
  // False: done() became true while others had the turn. asleep() is called each time that it has not for long.
  template <class Done, class Asleep>
  bool take_unless(Done&& done, Asleep&& asleep) {
    std::unique_lock lock(mutex_);
    while (!done()) {
      if (!taken_) return taken_ = true;
      if (changed_.wait_for(lock, std::chrono::milliseconds(kLong)) == std::cv_status::timeout && !done()) asleep();
    }
    return false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;
};
extern EventPump event_pump;

// Requests that go on with functions of the user, which run when the turn is given back: they may call MPI.
// Thread: run: any; all else: the holder of the turn.
class PutOff {
 public:
  void add(Request& request) { all_.push_back(&request); }
  bool any() const { return !all_.empty(); }
  // Gives the turn back first.
  [[gnu::noinline]] void run();

 private:
  std::vector<Request*> all_;
};
extern PutOff put_off;

// Fills in the result of the event's request.
void complete(const ptl_event_t& event);
// The result of a request is filled in: whoever waits for it may see that. `by_any_thread`: the caller may be one that never calls MPI.
void conclude(Request& request, bool by_any_thread = false);
// Events were lost or waits were aborted: no request can be trusted any more. Ends the job.
[[noreturn, gnu::cold]] void give_up(int ptl_error);

// How many requests have ended so far, as far as this thread has heard.
struct Ends {
  uint64_t told = device.ends.load(std::memory_order_acquire), recorded = device.recorded;
  bool operator==(const Ends&) const = default;
};
// Asks `done` again only when a request has ended since it was looked at: for waits for many requests, whose states take long to look at.
// Thread: the one that waits.
template <class Done>
class AfterEnds {
 public:
  // It was looked at, and not so, after `looked`.
  AfterEnds(const Ends& looked, Done done) : looked_(looked), done_(std::move(done)) {}
  bool operator()() const {
    const Ends now;
    if (now == looked_ && !is_done_) return false;
    looked_ = now;
    return is_done_ = done_();
  }

 private:
  mutable Ends looked_;
  mutable bool is_done_ = false;
  Done done_;
};

// Waits for events as PtlxEQTake does, or until done(), and completes what they tell of.
enum class Taken : uint8_t { none, some, put_off };  // put_off: of some the rest is to be run without the turn
template <class Done>
Taken take_some(const Done& done, ptl_time_t timeout) {
  constexpr unsigned kMost = 16;
  ptl_event_t events[kMost];
  unsigned taken;
  if (!device.threaded) device.thread = &this_thread;
  const auto is_done = [](void* arg) -> int { return (*static_cast<const Done*>(arg))(); };
  const int result = PtlxEQTake(device.eq, timeout, events, kMost, &taken, device.threaded ? nullptr : &device.recorded, is_done,
                                const_cast<void*>(static_cast<const void*>(&done)));
  if (result != PTL_OK) [[unlikely]] {
    if (result == PTL_EQ_EMPTY) return Taken::none;
    give_up(result);
  }
  if (taken == 0) return Taken::some;
  const bool nested = std::exchange(device.completes, true);
  for (unsigned i = 0; i < taken; ++i) complete(events[i]);
  device.completes = nested;
  if (continuation::watchers.load(std::memory_order_relaxed) != 0) [[unlikely]]
    continuation::tell_watchers();  // they may have looked between the event's leaving the queue and its request's end
  return put_off.any() && !nested ? Taken::put_off : Taken::some;
}

// Returns when done(), stepping the engine and completing requests meanwhile. Calls look(), which may make it so, without the turn after
// what was put off, and that is after each death; and asleep() each time that nothing has happened for long.
template <class Done, class Look, class Asleep>
void wait_until(Done&& done, Look&& look, Asleep&& asleep) {
  if (done()) return;
  if (device.threaded && !event_pump.take_unless(done, asleep)) return;
  do {
    const Taken taken = take_some(done, kLongAsleep);
    if (taken == Taken::none) [[unlikely]]
      asleep();
    if (taken != Taken::put_off) [[likely]]
      continue;
    put_off.run();
    look();
    if (device.threaded && !event_pump.take_unless(done, asleep)) return;
  } while (!done());
  if (device.threaded) event_pump.give_back();
}

template <class Done>
void wait_until(Done&& done) {
  wait_until(
      done, [] {}, [] {});
}
// Completes what can be completed without waiting, until done(); returns done().
template <class Done>
bool poll_until(Done&& done) {
  if (done()) return true;
  if (device.threaded && !event_pump.try_take()) return done();
  Taken taken = Taken::some;
  while (!done() && taken == Taken::some) taken = take_some(done, 0);
  if (taken == Taken::put_off) put_off.run();
  else if (device.threaded) event_pump.give_back();
  return done();
}

// A step of the engine, and what it has been told of: for calls that look only once.
inline void step() {
  PtlxProgress();
  int holds = 0;
  if (PtlxEQHolds(device.eq, &holds) == PTL_OK && holds) poll_until([] { return false; });
}

// The wait of a call that leaves no request behind; for a message from anybody only where MPI has one thread.
[[gnu::noinline]] void wait_for(Request& request);
inline void wait(Request& request) {
  if (!request.done()) wait_for(request);
}
// Returns when done(). Where that takes long, calls overdue(), which may complete requests, after 1, 4, 8, 16 ... seconds, and each second
// until it says that nothing is wrong as far as others can know; from then on tell() each second, false: the first time.
void wait_patiently(const std::function<bool()>& done, const std::function<bool()>& overdue, const std::function<void(bool again)>& tell);

// Held by an operation of several steps, each of which begins when the event that ends the one before is taken. While any is held, threads
// that wait for something else take events as well (PtlxPollerAdd): other ranks may wait for the next step.
class PendingSteps {
 public:
  PendingSteps() { count_.fetch_add(1, std::memory_order_release); }
  ~PendingSteps() { count_.fetch_sub(1, std::memory_order_release); }
  PendingSteps(const PendingSteps&) = delete;
  PendingSteps& operator=(const PendingSteps&) = delete;
  // From PtlInit to PtlFini.
  static int open();

 private:
  static int look(void*);
  static inline constinit std::atomic<uint32_t> count_{0};
};
// The calling thread is about to wait in a call of GOAL: what is pending may go on there.
inline void enter_wait() {
  if (!device.threaded) device.thread = &this_thread;
}
// As PtlCTPoll for one counter; PTL_TIME_FOREVER: as PtlCTWait.
int wait_for_count(ptl_handle_ct_t counter, ptl_size_t count, ptl_time_t timeout, ptl_ct_event_t& seen);

// MPI_Cancel of an active receive: it completes as cancelled unless a message has been matched with it.
void cancel_receive(Request& request);
// Completes an active request of this process from any thread, with an event like any other, so that whoever sleeps for it wakes.
int signal(Request& request);
// The same in a call of MPI, which completes it at once where nobody can be asleep for it.
int end(Request& request);

// Requests in state `detached` that send from the user's memory; MPI_Finalize waits for them.
int detached_sends();
// Gives back freed receives that have completed by now.
void release_orphans();
// MPI_Request_free: the request completes by itself and is released then.
void detach(Request& request);

}  // namespace portunus::mpi::device
