// request.hpp: what MPI remembers of an operation until it is complete, and the pool of such requests.
//
// Thread: a request belongs to the thread that made it; the thread that drains the event queue fills in the result and sets
// `state`, with release, so that whoever sees `done` (acquire) sees the result and the message.
// Invariants: at most one event is outstanding per request, and the pool plus the blocking calls' own requests are fewer
// than the event queue's slots, so that the queue cannot overrun. An MPI_Request is the address of a pool slot. Source:
// MPI-5.0, 3.7.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/mpi.h"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::mpi {

enum class State : uint32_t {
  free,
  active,                // its event is to come
  detached,              // the same, but nobody holds it any more (MPI_Request_free)
  pending,               // as active, but a death concerns it of which its user is to be told first (core/failures.hpp)
  done = PTLX_RECORDED,  // its result is here
  constant,              // complete from the beginning and never released
  inactive,              // persistent, and not started: as good as MPI_REQUEST_NULL to those who wait
};

struct Request;

// As a request's failure: its communicator was revoked. None of Portals'.
constexpr ptl_ni_fail_t kRevoked = 0x7f;
// The same: the datatypes of what was sent are not those of the receive (pt2pt/signatures.hpp).
constexpr ptl_ni_fail_t kOtherTypes = 0x7e;
// The same: the two sides of a partitioned message have lengths of which the shorter one travels in other pieces.
constexpr ptl_ni_fail_t kOtherLength = 0x7d;
// The same: the data of a send have been changed before it was complete (pt2pt/buffers_in_use.hpp).
constexpr ptl_ni_fail_t kChanged = 0x7c;

// The needs of a request beyond its event: buffers of its own, a way to be started again, the user's functions.
// Thread: `completed` is called by the holder of the turn, all else by the thread that owns the request.
class Attachment {
 public:
  bool polls = false;  // the request is complete when the calls that ask for that have made it so: has_work() and poll()

  virtual ~Attachment() = default;
  // poll() would do something. Asked by the conditions of waits.
  virtual bool has_work() const { return false; }
  // Runs functions of the user, without the turn, and ends the request if it can; answers whether it is complete.
  virtual bool poll(Request&) { return false; }
  // The header data of the message that a receive has taken, before `completed`.
  virtual void heard(ptl_hdr_data_t) {}
  // The operation has ended and its result is filled in, but nobody has seen it yet: may change the result.
  virtual void completed(Request&) {}
  // Runs functions of the user, which may call MPI, after `completed` has put them off: called without the turn (device::PutOff).
  virtual void run_users(Request&) {}
  // MPI_Start of an inactive request whose state is `active` already; answers an error class (raised), and leaves the request
  // `done` if nothing is to come.
  virtual int start(Request&) { return MPI_ERR_REQUEST; }
  // MPI_Start of an inactive request whose communicator is captured (graph/): records what start() would begin. Answers an error class.
  virtual int capture(Request&);
  // False: this request is no persistent one.
  virtual bool can_start() const { return false; }
  // MPI_Cancel; what can no longer be cancelled completes as usual. Answers an error class.
  virtual int cancel(Request&) { return MPI_SUCCESS; }
  // One message, which MPI_Cancel may take back.
  virtual bool is_message() const { return false; }
  // Names those who must come before it can end, as "the others in MPI_Ibcast"; empty: nobody knows.
  virtual std::string awaited() const { return ""; }
  // Calls visit(part) for each request that is to end before this operation can; the holder of the turn.
  virtual void visit_parts(const std::function<void(Request&)>&) const {}
  // A thread that waits for the request, and holds the turn, has waited for long: may complete it. False: what may be wrong is not known
  // yet.
  virtual bool overdue(Request&) { return true; }
  // The call of this name is about to complete the request; answers an error class if it cannot, raised if `raises`.
  virtual int completed_by(const char*, Request&, bool) { return MPI_SUCCESS; }
  // Overwrites the status that a completing call gives; answers an error class.
  virtual int query(Request&, MPI_Status*) { return MPI_SUCCESS; }
  // Calls the error handler for what query() answered; returns the code if the handler returns.
  virtual int raise_error(const char* function, const Request& request, int code);
  // The mistake that query() found, as a sentence.
  virtual const char* complaint() const { return "a function of the request failed"; }
  // The request is complete, has not failed, and somebody listens to events of the tool interface.
  virtual void tell_tools(const Request& request) const;
  // A complete request is about to be given back by a call that can report an error, whose class this answers.
  virtual int closing() { return MPI_SUCCESS; }
  // MPI_Request_free; answers an error class. The holder of the turn runs no functions of the user: what is left of them runs here, or
  // where the user says that the operation is complete.
  virtual int freed(Request& request);
  // The slot is given back: frees this object.
  virtual void released() { delete this; }
};

// Begins as a ptlx_record_t: the engine itself completes plain receives of one thread (device.hpp).
struct alignas(64) Request {
  std::atomic<State> state{State::active};
  ptl_ni_fail_t failure = PTL_NI_OK;
  bool receives = false;
  bool special = false;  // constant, persistent, cancelled or attached to: completing it takes more than the usual
  bool cancelled = false;
  ptl_match_bits_t match_bits = 0;             // receive, probe: those of the message; send: its own
  ptl_size_t length = 0;                       // receive: bytes delivered
  ptl_size_t requested = 0;                    // receive, probe: bytes sent; send: to which rank of the job
  int source = MPI_ANY_SOURCE;                 // receives: a rank in the job, or any; else the status they give
  ptl_handle_me_t entry = PTL_INVALID_HANDLE;  // receive: what MPI_Cancel unlinks
  union {
    Communicator* comm = nullptr;
    Request* next_free;  // of a free one
  };
  Attachment* attached = nullptr;
  ptl_handle_me_t kept = 0;  // this slot's own entry, appended again for each plain receive; 0: none yet
  bool compared = false;     // a special receive, whose data are compared with what is sent (pt2pt/signatures.hpp)
  bool holds = false;        // a special one, whose memory is watched until it is complete (pt2pt/buffers_in_use.hpp)

  Request() = default;
  Request(Communicator* communicator, bool is_receive) : receives(is_receive), comm(communicator) {}

  bool done() const { return state.load(std::memory_order_acquire) >= State::done; }
  bool is_pending() const { return state.load(std::memory_order_acquire) == State::pending; }
  // There is something to tell its user.
  bool ready() const { return state.load(std::memory_order_acquire) >= State::pending; }
  bool truncated() const { return receives && requested > length; }
  bool failed() const { return failure != PTL_NI_OK || truncated(); }
};
static_assert(sizeof(Request) == 64);
static_assert(offsetof(Request, failure) == offsetof(ptlx_record_t, ni_fail_type) && sizeof(ptl_ni_fail_t) == 1 &&
              offsetof(Request, match_bits) == offsetof(ptlx_record_t, match_bits) &&
              offsetof(Request, length) == offsetof(ptlx_record_t, mlength) &&
              offsetof(Request, requested) == offsetof(ptlx_record_t, rlength));

constexpr uint32_t kEventSlots = 1 << 20;  // reserved, and used only as far as events pile up
constexpr uint32_t kBlockingCalls = 1024;  // threads that may be inside MPI_Recv and the like at one time

// Slots are reserved once and touched when first used; the last one freed is the next one claimed.
class RequestPool {
 public:
  // `event_slots`: of the queue for all events.
  bool open(bool threaded, uint32_t event_slots);
  uint32_t most() const { return most_; }
  // From now on for several threads. While nobody else is inside.
  void serve_threads() { threaded_ = true; }

  // nullptr: most() are in use.
  [[gnu::always_inline]] Request* claim(Communicator* comm, bool receives) {
    std::unique_lock<std::mutex> lock = guard();
    Request* request = free_;
    if (request) [[likely]] {
      assert(request->state.load(std::memory_order_relaxed) == State::free && !request->special && !request->attached && owns(*request));
      free_ = request->next_free;
    } else {
      if (used_ == most_) return nullptr;
      request = &slots_[used_++];
      assert(request->state.load(std::memory_order_relaxed) == State::free);
    }
    request->comm = comm;
    request->receives = receives;
    request->failure = PTL_NI_OK;
    request->state.store(State::active, std::memory_order_relaxed);
    return request;
  }
  // Free slots are not special: what is special is undone here.
  [[gnu::always_inline]] void release(Request* request) {
    assert(owns(*request) && request->state.load(std::memory_order_relaxed) != State::free);
    assert(request->state.load(std::memory_order_relaxed) != State::constant);
    if (request->special) [[unlikely]]
      unmark(*request);
    std::unique_lock<std::mutex> lock = guard();
    request->state.store(State::free, std::memory_order_relaxed);
    request->next_free = free_;
    free_ = request;
  }

  // The request a user's handle means; nullptr: none that is in use. MPI_REQUEST_NULL is the caller's business.
  Request* find(MPI_Request handle) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots_);
    if (offset >= bytes_ || offset % sizeof(Request) != 0) return nullptr;
    auto* request = reinterpret_cast<Request*>(handle);
    return request->state.load(std::memory_order_relaxed) == State::free ? nullptr : request;
  }
  // The same for a handle that `find` has answered already.
  static Request* checked(MPI_Request handle) {
    auto* const request = reinterpret_cast<Request*>(handle);
    assert(request->state.load(std::memory_order_relaxed) != State::free);
    return request;
  }

  // Whether there is a request on `comm`, be it complete or persistent and not started. Costs O(requests ever used at one time).
  bool serves(const Communicator* comm) {
    std::unique_lock<std::mutex> lock = guard();
    for (uint32_t i = 0; i < used_; ++i) {
      const State state = slots_[i].state.load(std::memory_order_relaxed);
      if (state != State::free && state != State::constant && slots_[i].comm == comm) return true;
    }
    return false;
  }

  // Calls `action` with each slot ever used, under the lock.
  template <class Action>
  void for_each(Action&& action) {
    std::unique_lock<std::mutex> lock = guard();
    for (uint32_t i = 0; i < used_; ++i) action(slots_[i]);
  }

  bool owns(const Request& request) const { return &request >= slots_ && &request < slots_ + most_; }
  // Complete requests that need no slot of their own: a send whose data was copied, and a receive from MPI_PROC_NULL.
  Request* sent() { return &slots_[0]; }
  Request* received_nothing() { return &slots_[1]; }

 private:
  friend struct Inside;  // tells debuggers where it lies
  static void unmark(Request& request);
  std::unique_lock<std::mutex> guard() { return threaded_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>(); }

  Request* slots_ = nullptr;
  size_t bytes_ = 0;
  uint32_t most_ = 0;
  Request* free_ = nullptr;
  uint32_t used_ = 0;
  bool threaded_ = false;
  std::mutex mutex_;
};

extern constinit RequestPool pool;
// How many requests there are whose attachments poll.
inline constinit std::atomic<uint32_t> polled_requests{0};

inline MPI_Request handle_of(Request* request) { return reinterpret_cast<MPI_Request>(request); }

}  // namespace portunus::mpi
