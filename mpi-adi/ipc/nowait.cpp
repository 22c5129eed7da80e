// nowait.cpp: sends and receives that do not wait, and their requests. Only who uses them pays for them.
//
// The paper's second LWP in the sender's team is the communication processor again: what was handed over goes on without
// calls. A posted message is copied, by the engine where it cannot leave at once; how many may be under way is bounded.
// Source: Giloi and Schroeder-Preikschat, chapter 9 (asynchronous communication).
#include <deque>
#include <new>
#include <optional>

#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {
namespace {

constexpr unsigned kMostPosted = 1024;

// One request. Its handle is no address: place, serial number and a tag.
struct Slot {
  std::optional<Send> send;
  std::optional<Receive> receive;
  uint32_t serial = 0;
  uint32_t place = 0;
  bool posted = false;
  bool cancelled = false;
};

Mutex mutex;  // guards the three below, and what slots are in use
std::deque<Slot>& slots() {
  static auto& all = *new std::deque<Slot>;
  return all;
}
std::vector<uint32_t>& spare() {
  static auto& all = *new std::vector<uint32_t>;
  return all;
}
unsigned posted = 0;

constexpr uint64_t kTag = 0x51;
peace_request_t handle_of(const Slot& slot) {
  return reinterpret_cast<peace_request_t>(uint64_t{slot.serial} << 32 | uint64_t{slot.place} << 8 | kTag);
}

// nullptr: no memory.
Slot* claim(bool for_post) {
  const std::lock_guard lock(mutex);
  if (for_post && posted >= kMostPosted) return nullptr;
  try {
    uint32_t place;
    if (spare().empty()) {
      place = static_cast<uint32_t>(slots().size());
      slots().emplace_back().place = place;
      spare().reserve(slots().size());  // so that giving back never fails
    } else {
      place = spare().back();
      spare().pop_back();
    }
    Slot& slot = slots()[place];
    slot.serial = (slot.serial + 1) & 0x7fffffff;
    slot.posted = for_post;
    slot.cancelled = false;
    posted += for_post;
    return &slot;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void give_back(Slot& slot) {
  slot.send.reset();
  slot.receive.reset();
  const std::lock_guard lock(mutex);
  ++slot.serial;
  posted -= slot.posted;
  slot.posted = false;
  spare().push_back(slot.place);
}

// A posted send that nobody asks about has ended. Called by the holder of the turn.
void let_go(Send& send) {
  dismiss();
  give_back(*static_cast<Slot*>(send.slot));
}

Slot* find(peace_request_t given) {
  const auto handle = reinterpret_cast<uint64_t>(given);
  const auto place = static_cast<uint32_t>(handle >> 8) & 0xffffff;
  const std::lock_guard lock(mutex);
  if ((handle & 0xff) == kTag && place < slots().size() && slots()[place].serial == handle >> 32 &&
      (slots()[place].send || slots()[place].receive))
    return &slots()[place];
  fail(PEACE_STATE, given ? "the request is over and was waited for, or is none" : "the request is NULL");
  return nullptr;
}

Request& request_of(Slot& slot) { return slot.send ? static_cast<Request&>(*slot.send) : static_cast<Request&>(*slot.receive); }

int send_later(peace_address_t to, uint32_t type, const void* data, size_t bytes, unsigned flags, bool post, peace_request_t* request) {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (const int code = check_address(to); code != PEACE_OK) return code;
  if (const int code = check_memory("data", data, bytes, Access::read); code != PEACE_OK) return code;
  if (flags & ~unsigned{PEACE_CONSUMED}) return fail(PEACE_ARG, "flags have bits that are not PEACE_CONSUMED");
  if (!post && !request) return fail(PEACE_ARG, "request is NULL");
  if (post && bytes > kEagerBytes)
    return fail(PEACE_ARG, "%zu bytes are more than a post copies (%zu); use peace_isend", bytes, kEagerBytes);
  Slot* slot = claim(post);
  if (!slot && post) {  // some may have ended unseen
    poll();
    slot = claim(post);
    if (!slot) return fail(PEACE_FULL, "%u posted messages are under way", kMostPosted);
  }
  if (!slot) return fail(PEACE_NO_SPACE, "there is no memory for a request");
  Send& send = slot->send.emplace();
  send.slot = slot;
  if (post && !request) send.forgotten = let_go;
  const int code = begin_send(send, to, type, data, bytes, flags, false, post ? cosy.md_posted : PTL_INVALID_HANDLE);
  if (code != PEACE_OK) {
    give_back(*slot);
    return code;
  }
  if (request) *request = handle_of(*slot);
  return PEACE_OK;
}

}  // namespace

void close_requests() {
  std::vector<Slot*> left;
  {
    const std::lock_guard lock(mutex);
    for (Slot& slot : slots())
      if (slot.send || slot.receive) left.push_back(&slot);
  }
  for (Slot* slot : left)
    if (slot->send) withdraw_send(*slot->send);
  const int64_t patience = now() + 1'000'000'000;  // a peer that does not answer shall not hold up the end
  for (Slot* slot : left) {
    if (slot->receive) {
      leave_port(*slot->receive);
    } else if (slot->send && !slot->send->forgotten) {
      wait(*slot->send, patience);
    } else {
      while (slot->send && now() < patience) {
        poll();
        PtlxProgress();
      }
    }
    if (slot->receive || (slot->send && slot->send->over())) {
      dismiss();
      give_back(*slot);
    }
  }
}

}  // namespace portunus::peace

using namespace portunus::peace;

int peace_post(peace_address_t to, uint32_t type, const void* data, size_t bytes, peace_request_t* request) {
  return send_later(to, type, data, bytes, 0, true, request);
}

int peace_isend(peace_address_t to, uint32_t type, const void* data, size_t bytes, unsigned flags, peace_request_t* request) {
  return send_later(to, type, data, bytes, flags, false, request);
}

int peace_ireceive(peace_port_t given, peace_pattern_t which, void* memory, size_t bytes, peace_request_t* request) {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (!request) return fail(PEACE_ARG, "request is NULL");
  if (const int code = check_memory("memory", memory, bytes, Access::write); code != PEACE_OK) return code;
  if (!port->buffers.empty())
    return fail(PEACE_STATE, "the port has buffers: they take what comes, and peace_receive does not wait for what is there");
  Slot* slot = claim(false);
  if (!slot) return fail(PEACE_NO_SPACE, "there is no memory for a request");
  const int code = begin_receive(slot->receive.emplace(), *port, which, memory, bytes, Form::send);
  if (code != PEACE_OK) {
    give_back(*slot);
    return code;
  }
  *request = handle_of(*slot);
  return PEACE_OK;
}

int peace_wait(peace_request_t* given, int64_t limit, peace_message_t* message) {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (!given) return fail(PEACE_ARG, "request is NULL");
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  Slot* slot = find(*given);
  if (!slot) return PEACE_STATE;
  Request& request = request_of(*slot);
  if (limit == 0 && !request.over()) poll();
  if (limit == 0 ? !request.over() : !wait(request, deadline_of(limit)))
    return limit == 0 ? fail(PEACE_BUSY, "the request goes on") : fail(PEACE_TIMEOUT, "the request goes on beyond the limit");
  const int result = slot->send ? result_of_send(*slot->send, PEACE_CANCELLED) : end_receive(*slot->receive, PEACE_FOREVER);
  if (message) *message = request.message;
  give_back(*slot);
  *given = nullptr;
  return result;
}

int peace_cancel(peace_request_t given) {
  if (const int code = check_state(); code != PEACE_OK) return code;
  Slot* slot = find(given);
  if (!slot) return PEACE_STATE;
  if (slot->send) {
    withdraw_send(*slot->send);
  } else if (!slot->receive->over()) {
    withdraw_receive(*slot->receive, PEACE_CANCELLED);
    poke();
  }
  return PEACE_OK;
}
