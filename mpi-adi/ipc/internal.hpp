// internal.hpp: what receiving, buffers, selects and calls share. Thread: any, unless a function says otherwise.
#pragma once

#include <new>
#include <stdexcept>

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "mpi-adi/ipc/explain.hpp"
#include "mpi-adi/ipc/peers.hpp"
#include "mpi-adi/ipc/pieces.hpp"
#include "mpi-adi/ipc/port.hpp"

// Ends the body of a call, which begins with `try`: no exception of ours leaves it.
#define PEACE_BARRIER                \
  catch (const std::bad_alloc&) {    \
    return PEACE_NO_SPACE;           \
  }                                  \
  catch (const std::length_error&) { \
    return PEACE_NO_SPACE;           \
  }

namespace portunus::peace {

// A receive that is appended at a port without buffers, or waits for a buffer of one that has some.
struct Receive : Request {
  Receive() {}  // as of Send
  Port* port = nullptr;
  Room room;
  peace_pattern_t which{};
  Form form = Form::send;
  EventPump* turn = nullptr;  // of one that waits, held until it is over: it is recorded then, and has no event (Lwp::record)
  bool at_once = false;       // what is not there is not waited for: a message that dies half way ends it, and no sender's end is watched
  ptl_handle_me_t entry = PTL_INVALID_HANDLE;
  int given_up = PEACE_OK;     // what it was to end with when it was taken back, too late: its message was being moved
  bool entry_is_gone = false;  // whoever closed the port has freed it
  uint64_t token = 0;          // of the message that came
  uint64_t hdr_data = 0;
  Watched watched;
};

// Appends it; from then on it ends once. PEACE_OK, or an error and it never began.
int begin_receive(Receive& receive, Port& port, peace_pattern_t which, const Room& room, Form form);
// Takes it back if nothing has matched: then it is over with `why`. Else it ends by itself, soon.
void withdraw_receive(Receive& receive, int why);
// Ends a receive that began with `at_once`: PEACE_OK, CUT and other results of a message that was there; PEACE_BUSY, not explained: none.
int end_at_once(Receive& receive);
// Waits for its end, and takes it back at the limit. What came is in receive.message; the result is returned.
int end_receive(Receive& receive, int64_t limit);
// The port's list forgets it.
void leave_port(Receive& receive);
// Tells the sender, which asked for it, that this was consumed.
void tell_consumed(const peace_message_t& message, uint64_t token, int result);

struct Selecting;

// A send: acknowledged by the match; with PEACE_CONSUMED also by the receiver.
struct Send : Request {
  Send() {}  // without it, optional would clear all of it first
  size_t bytes = 0;
  struct Consumption : Listener {
    Send* send = nullptr;
    ptl_handle_me_t entry = PTL_INVALID_HANDLE;
  } consumption;
  // Which of its ends have come; whoever adds the last one of `needed` completes it (acquire and release).
  static constexpr uint32_t kAcknowledged = 1, kConsumed = 2;
  std::atomic<uint32_t> ends{0};
  uint32_t needed = kAcknowledged;
  int taken = 0, after = 0;  // the result of each end
  bool only_now = false;
  peace_address_t to{};
  ptl_handle_md_t md = PTL_INVALID_HANDLE;
  void (*forgotten)(Send&) = nullptr;  // called in place of its completion: nobody waits
  Selecting* selecting = nullptr;      // the select that offers it
  Watched watched;
};
// `md`: what to send from, if not from the data's own descriptor.
int begin_send(Send& send, peace_address_t to, uint32_t type, const Data& data, unsigned flags, bool only_now,
               ptl_handle_md_t md = PTL_INVALID_HANDLE);
void withdraw_send(Send& send);
// The result of a send that is over: PEACE_OK, CUT, BUSY, TIMEOUT, DIED, GONE. `given_up`: what it says when it was withdrawn.
int result_of_send(Send& send, int given_up);
int end_send(Send& send, int64_t limit);

// ---- buffers ----
int open_buffers(Port& port, uint32_t count, size_t bytes);
// The oldest full buffer, off the queue; nullptr: there is none now. The port's mutex is held.
Buffer* take_full(Port& port);
// The same, its message copied and told of; `lock` holds the port's mutex, before and after. False: there is none now.
bool take_now(Port& port, const Room& room, std::unique_lock<Mutex>& lock, peace_message_t& message);
// The buffer is empty again and waits for the next message. The port's mutex is held.
void refill(Port& port, Buffer& buffer);
// Waits until take() has taken a full one; it is called with the port's mutex. PEACE_OK, BUSY, TIMEOUT, GONE.
int wait_for_full(Port& port, int64_t limit, const std::function<bool(std::unique_lock<Mutex>&)>& take);
void close_buffers(Port& port);

// ---- selects ----
// Something has arrived that a select may be waiting for.
void wake_selects();

// Requests and tasks end with their library.
void close_requests();
void close_tasks();

constexpr ptl_ni_fail_t kFine = PTL_NI_OK;
// The result of an operation that named a peer's entry which is there while it waits.
inline int result_of_move(ptl_ni_fail_t fail) {
  switch (fail) {
    case PTL_NI_OK: return PEACE_OK;
    case PTL_NI_UNDELIVERABLE: return PEACE_DIED;
    default: return PEACE_GONE;
  }
}

bool any_process(peace_pattern_t which);
inline bool any_process(peace_pattern_t which) { return which.from.process == 0; }

}  // namespace portunus::peace
