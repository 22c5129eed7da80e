// buffer.cpp: the buffers of a port: SBAC with one, a queue with more.
//
// The paper's LWP that doubles the receiver is an entry of the communication processor: appended, it is ready and its buffer
// empty; when it has taken a message, the buffer is full, and further senders wait in the ordinary, synchronous way until it
// is appended again. Source: Giloi and Schroeder-Preikschat, chapter 9 (SBAC).
#include <algorithm>
#include <new>

#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {
namespace {

// One of those who wait for a full buffer looks again. The port's mutex is held.
void wake_receivers(Port& port) {
  for (Receive* receive : port.receives)
    if (receive->entry == PTL_INVALID_HANDLE && !receive->over()) {
      complete(*receive, PEACE_OK);
      return;
    }
}

void filled(Listener& listener, const ptl_event_t& event) {
  auto& buffer = static_cast<Buffer&>(listener);
  Port& port = *buffer.port;
  {
    const std::lock_guard lock(port.mutex);
    buffer.entry = PTL_INVALID_HANDLE;
    if (!port.open()) {  // it was filled while the port closed: nobody will consume it
      if (event.ni_fail_type == PTL_NI_OK && form_of(event.match_bits) == Form::consumed)
        tell_consumed({sender_of(number_of(event.initiator), event.hdr_data), 0, 0, 0}, token_of(event.hdr_data), PEACE_GONE);
      return;
    }
    if (event.ni_fail_type != PTL_NI_OK) {  // its sender died with the message half moved
      ++port.taken;
      std::erase(port.queue, &buffer);
      refill(port, buffer);
    } else {
      buffer.message = {sender_of(number_of(event.initiator), event.hdr_data), type_of(event.match_bits), event.rlength, event.mlength};
      buffer.token = form_of(event.match_bits) == Form::consumed ? token_of(event.hdr_data) : 0;
      buffer.full = true;
    }
    if (!port.queue.empty() && port.queue.front()->full) wake_receivers(port);
  }
  wake_selects();
}

void looks_again(Listener&, const ptl_event_t&) {}

}  // namespace

int open_buffers(Port& port, uint32_t count, size_t bytes) {
  port.queue.clear();
  port.buffers.clear();
  port.buffer_bytes = bytes;
  if (count == 0) return PEACE_OK;
  if (bytes > PTL_SIZE_MAX / 2 || count > kMostPending || !admit_counted(static_cast<int>(count)))
    return fail(PEACE_NO_SPACE, "there are at most %d buffers and requests in a process", kMostPending);
  try {
    for (uint32_t i = 0; i < count; ++i) {
      auto buffer = std::make_unique<Buffer>();
      buffer->heard = filled;
      buffer->port = &port;
      buffer->memory = std::make_unique_for_overwrite<std::byte[]>(std::max<size_t>(bytes, 1));
      port.buffers.push_back(std::move(buffer));
    }
  } catch (const std::bad_alloc&) {
    port.buffers.clear();
    dismiss_counted(static_cast<int>(count));
    return fail(PEACE_NO_SPACE, "there is no memory for %u buffers of %zu bytes", count, bytes);
  }
  return PEACE_OK;
}

void refill(Port& port, Buffer& buffer) {
  buffer.full = buffer.borrowed = false;
  buffer.token = 0;
  port.queue.push_back(&buffer);
  ptl_me_t entry = entry_for(buffer.memory.get(), port.buffer_bytes, kOnce | PTL_ME_EVENT_CT_COMM,
                             match_bits(Form::send, false, port.address.port, port.address.generation, 0),
                             kConsumedBit | kTryBit | kTypeMask, anybody());
  entry.ct_handle = port.arrivals;
  if (PtlMEAppend(interface.ni, kReceives, &entry, PTL_PRIORITY_LIST, static_cast<Listener*>(&buffer), &buffer.entry) != PTL_OK)
    buffer.entry = PTL_INVALID_HANDLE;
}

Buffer* take_full(Port& port) {
  if (port.queue.empty() || !port.queue.front()->full) return nullptr;
  Buffer* buffer = port.queue.front();
  port.queue.pop_front();
  count_taken(port);
  if (!port.queue.empty() && port.queue.front()->full) wake_receivers(port);
  return buffer;
}

bool take_now(Port& port, const Room& room, std::unique_lock<Mutex>& lock, peace_message_t& message) {
  Buffer* buffer = take_full(port);
  if (!buffer) return false;
  lock.unlock();  // it is off the queue: nobody else touches it
  message = buffer->message;
  message.moved = std::min<uint64_t>(message.moved, room.bytes);
  room.copy_in(buffer->memory.get(), message.moved);
  if (buffer->token) tell_consumed(message, buffer->token, message.moved < message.sent ? PEACE_CUT : PEACE_OK);
  lock.lock();
  if (port.open()) refill(port, *buffer);
  return true;
}

int wait_for_full(Port& port, int64_t limit, const std::function<bool(std::unique_lock<Mutex>&)>& take) {
  const int64_t deadline = deadline_of(limit);
  if (limit == 0) poll();
  for (;;) {
    Receive receive;
    receive.heard = looks_again;
    receive.port = &port;
    receive.doing = "receives at its";
    receive.Request::port = port.address.port;
    {
      std::unique_lock lock(port.mutex);
      if (!port.open()) return fail(PEACE_GONE, "the port was closed meanwhile");
      if (take(lock)) return PEACE_OK;
      if (limit != 0) port.receives.push_back(&receive);
    }
    if (limit == 0) {
      resettle(port);
      return fail(PEACE_BUSY, "no message is there now");
    }
    const bool over = wait(receive, deadline);
    leave_port(receive);
    if (receive.over() && receive.result == PEACE_GONE) return fail(PEACE_GONE, "the port was closed meanwhile");
    if (!over && !receive.over()) return fail(PEACE_TIMEOUT, "no message came in time");
  }
}

void close_buffers(Port& port) {
  std::unique_lock lock(port.mutex);
  if (port.buffers.empty()) return;
  for (const std::unique_ptr<Buffer>& buffer : port.buffers) {
    if (buffer->full && buffer->token) tell_consumed(buffer->message, buffer->token, PEACE_GONE);
    // One that takes a message just now is let end: its event is the last that names it.
    while (buffer->entry != PTL_INVALID_HANDLE && PtlMEUnlink(buffer->entry) != PTL_OK) {
      lock.unlock();
      poll();
      PtlxProgress();
      lock.lock();
    }
    buffer->entry = PTL_INVALID_HANDLE;
  }
  port.queue.clear();
  dismiss_counted(static_cast<int>(port.buffers.size()));
  port.buffers.clear();
}

}  // namespace portunus::peace

using namespace portunus::peace;

int peace_borrow(peace_port_t given, int64_t limit, const void** data, peace_message_t* message) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (!data) return fail(PEACE_ARG, "data is NULL");
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  if (port->buffers.empty()) return fail(PEACE_STATE, "the port has no buffers: what it receives lies with its sender");
  peace_message_t got{};
  const int code = wait_for_full(*port, limit, [&](std::unique_lock<Mutex>&) {
    Buffer* buffer = take_full(*port);
    if (!buffer) return false;
    buffer->borrowed = true;
    *data = buffer->memory.get();
    got = buffer->message;
    return true;
  });
  if (code != PEACE_OK) return code;
  if (message) *message = got;
  return got.moved < got.sent ? fail(PEACE_CUT, "the buffer was smaller than the message") : static_cast<int>(PEACE_OK);
}
PEACE_BARRIER

int peace_give_back(peace_port_t given, const void* data) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  const std::lock_guard lock(port->mutex);
  for (const std::unique_ptr<Buffer>& buffer : port->buffers)
    if (buffer->borrowed && buffer->memory.get() == data) {
      if (buffer->token) tell_consumed(buffer->message, buffer->token, buffer->message.moved < buffer->message.sent ? PEACE_CUT : PEACE_OK);
      refill(*port, *buffer);
      return PEACE_OK;
    }
  return fail(PEACE_STATE, "these data were not borrowed from the port, or were given back");
}
PEACE_BARRIER
