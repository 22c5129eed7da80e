// nonblocking.cpp: sends and receives that do not wait, and their requests. Only who uses them pays for them.
//
// The paper's second LWP in the sender's team is the communication processor again: what was handed over goes on without
// calls. A posted message is copied, by the engine where it cannot leave at once; how many may be under way is bounded.
// Source: Giloi and Schroeder-Preikschat, chapter 9 (asynchronous communication).
#include <memory>
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
  std::optional<Pieces> pieces;  // what these take from or put into
  uint32_t serial = 0;
  uint32_t place = 0;
  bool posted = false;
  bool cancelled = false;
};

Mutex mutex;  // guards what is below, and what slots are in use
std::vector<std::unique_ptr<Slot>>& slots() {
  static auto& all = *new std::vector<std::unique_ptr<Slot>>;
  return all;
}
std::vector<uint32_t>& spare() {
  static auto& all = *new std::vector<uint32_t>;
  return all;
}
unsigned posted = 0;  // of the slots
// Posts without a request: nobody asks what became of them, so their acknowledgements are counted, and no event need be taken.
struct Posts {
  uint64_t begun = 0;
  uint64_t ended = 0;  // when last looked at
  bool look() {
    ptl_ct_event_t count{};
    if (PtlCTGet(interface.counted, &count) == PTL_OK) ended = count.success + count.failure;
    return ended == begun;
  }
} posts;

// Another may be posted. The mutex is held.
bool has_room() {
  if (posts.begun - posts.ended + posted < kMostPosted) return true;
  posts.look();
  return posts.begun - posts.ended + posted < kMostPosted;
}

constexpr uint64_t kTag = 0x51;
peace_request_t handle_of(const Slot& slot) {
  return reinterpret_cast<peace_request_t>(uint64_t{slot.serial} << 32 | uint64_t{slot.place} << 8 | kTag);
}

// nullptr: no memory.
Slot* claim(bool for_post) {
  const std::lock_guard lock(mutex);
  if (for_post && !has_room()) return nullptr;
  try {
    auto& all = slots();
    auto& left = spare();
    uint32_t place;
    if (left.empty()) {
      place = static_cast<uint32_t>(all.size());
      left.reserve(all.size() + 1);  // so that giving back never fails
      all.push_back(std::make_unique<Slot>());
      all.back()->place = place;
    } else {
      place = left.back();
      left.pop_back();
    }
    Slot& slot = *all[place];
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
  slot.pieces.reset();
  const std::lock_guard lock(mutex);
  ++slot.serial;
  posted -= slot.posted;
  slot.posted = false;
  spare().push_back(slot.place);
}

Slot* find(peace_request_t given) {
  const auto handle = reinterpret_cast<uint64_t>(given);
  const auto place = static_cast<uint32_t>(handle >> 8) & 0xffffff;
  const std::lock_guard lock(mutex);
  const auto& all = slots();
  Slot* const slot = (handle & 0xff) == kTag && place < all.size() ? all[place].get() : nullptr;
  if (slot && slot->serial == handle >> 32 && (slot->send || slot->receive)) return slot;
  fail(PEACE_STATE, given ? "the request is over and was waited for, or is none" : "the request is NULL");
  return nullptr;
}

Request& request_of(Slot& slot) { return slot.send ? static_cast<Request&>(*slot.send) : static_cast<Request&>(*slot.receive); }

bool begin_post() {
  const std::lock_guard lock(mutex);
  if (!has_room()) return false;
  ++posts.begun;
  return true;
}

int full() { return fail(PEACE_FULL, "%u posted messages are under way", kMostPosted); }

int post_without_request(peace_address_t to, uint32_t type, const void* data, size_t bytes) {
  if (!begin_post()) {  // some may have ended unseen
    poll();
    if (!begin_post()) return full();
  }
  const int code = PtlPut(interface.md_counted, offset_of(data), bytes, PTL_CT_ACK_REQ, process_of(to.process), kReceives,
                          match_bits(Form::send, false, to.port, to.generation, type), 0, &posts, own_header_data(0));
  if (code == PTL_OK) return PEACE_OK;
  const std::lock_guard lock(mutex);
  --posts.begun;
  return portals_failed("send", code);
}

// A slot in which something has begun is the caller's; another is given back.
int hand_out(Slot& slot, int code, peace_request_t* request) {
  if (code == PEACE_OK) *request = handle_of(slot);
  else give_back(slot);
  return code;
}

int no_slot() { return fail(PEACE_NO_SPACE, "there is no memory for a request"); }

int check_isend(peace_address_t to, unsigned flags, const peace_request_t* request) {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (const int code = check_address(to); code != PEACE_OK) return code;
  if (flags & ~unsigned{PEACE_CONSUMED}) return fail(PEACE_ARG, "flags have bits that are not PEACE_CONSUMED");
  return request ? static_cast<int>(PEACE_OK) : fail(PEACE_ARG, "request is NULL");
}

int check_ireceive(const Port& port, const peace_request_t* request) {
  if (!request) return fail(PEACE_ARG, "request is NULL");
  if (!port.buffers.empty())
    return fail(PEACE_STATE, "the port has buffers: they take what comes, and peace_receive does not wait for what is there");
  return PEACE_OK;
}

}  // namespace

void close_requests() {
  std::vector<Slot*> left;
  {
    const std::lock_guard lock(mutex);
    for (const std::unique_ptr<Slot>& slot : slots())
      if (slot->send || slot->receive) left.push_back(slot.get());
  }
  for (Slot* slot : left)
    if (slot->send) withdraw_send(*slot->send);
  PtlxPutWithdraw(interface.md_counted, &posts);
  const int64_t patience = now() + 1'000'000'000;  // a peer that does not answer shall not hold up the end
  for (Slot* slot : left) {
    if (slot->receive) {
      leave_port(*slot->receive);
    } else {
      wait(*slot->send, patience);
    }
    if (slot->receive || (slot->send && slot->send->over())) {
      dismiss();
      give_back(*slot);
    }
  }
  const std::lock_guard lock(mutex);
  while (!posts.look() && now() < patience) PtlxProgress();
  posts = {};
}

}  // namespace portunus::peace

using namespace portunus::peace;

int peace_post(peace_address_t to, uint32_t type, const void* data, size_t bytes, peace_request_t* request) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (const int code = check_address(to); code != PEACE_OK) return code;
  if (const int code = check_memory("data", data, bytes, Access::read); code != PEACE_OK) return code;
  if (bytes > kEagerBytes) return fail(PEACE_ARG, "%zu bytes are more than a post copies (%zu); use peace_isend", bytes, kEagerBytes);
  if (!request) return post_without_request(to, type, data, bytes);
  Slot* slot = claim(true);
  if (!slot) {  // some may have ended unseen
    poll();
    slot = claim(true);
    if (!slot) return full();
  }
  return hand_out(*slot, begin_send(slot->send.emplace(), to, type, {data, bytes}, 0, false, interface.md_posted), request);
}
PEACE_BARRIER

int peace_isend(peace_address_t to, uint32_t type, const void* data, size_t bytes, unsigned flags, peace_request_t* request) try {
  if (const int code = check_isend(to, flags, request); code != PEACE_OK) return code;
  if (const int code = check_memory("data", data, bytes, Access::read); code != PEACE_OK) return code;
  Slot* slot = claim(false);
  if (!slot) return no_slot();
  return hand_out(*slot, begin_send(slot->send.emplace(), to, type, {data, bytes}, flags, false), request);
}
PEACE_BARRIER

int peace_isend_pieces(peace_address_t to, uint32_t type, const peace_piece_t* list, size_t count, unsigned flags,
                       peace_request_t* request) try {
  if (const int code = check_isend(to, flags, request); code != PEACE_OK) return code;
  Slot* slot = claim(false);
  if (!slot) return no_slot();
  int code = slot->pieces.emplace().open("pieces", list, count, Access::read);
  if (code == PEACE_OK) code = begin_send(slot->send.emplace(), to, type, slot->pieces->data(), flags, false);
  return hand_out(*slot, code, request);
}
PEACE_BARRIER

int peace_ireceive(peace_port_t given, peace_pattern_t which, void* memory, size_t bytes, peace_request_t* request) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (const int code = check_ireceive(*port, request); code != PEACE_OK) return code;
  if (const int code = check_memory("memory", memory, bytes, Access::write); code != PEACE_OK) return code;
  Slot* slot = claim(false);
  if (!slot) return no_slot();
  return hand_out(*slot, begin_receive(slot->receive.emplace(), *port, which, {memory, bytes}, Form::send), request);
}
PEACE_BARRIER

int peace_ireceive_pieces(peace_port_t given, peace_pattern_t which, const peace_piece_t* list, size_t count,
                          peace_request_t* request) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (const int code = check_ireceive(*port, request); code != PEACE_OK) return code;
  Slot* slot = claim(false);
  if (!slot) return no_slot();
  int code = slot->pieces.emplace().open("pieces", list, count, Access::write);
  if (code == PEACE_OK) code = begin_receive(slot->receive.emplace(), *port, which, slot->pieces->room(), Form::send);
  return hand_out(*slot, code, request);
}
PEACE_BARRIER

int peace_wait(peace_request_t* given, int64_t limit, peace_message_t* message) try {
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
PEACE_BARRIER

int peace_cancel(peace_request_t given) try {
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
PEACE_BARRIER
