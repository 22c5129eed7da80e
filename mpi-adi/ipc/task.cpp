// task.cpp: the server's side of a service: accepted calls, moving the client's data, answers.
//
// Invariants: a task ends by exactly one answer. An answer for room that came within the packet is laid over what was moved
// there before, here, so that one message brings both.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <new>

#include "mpi-adi/ipc/internal.hpp"
#include "mpi-adi/ipc/memory.hpp"

namespace portunus::peace {
namespace {

struct Task {
  CallPacket packet;
  std::byte merged[kInline];
  size_t extent = 0;  // of `merged`
  uint64_t client = 0;
  uint64_t token = 0;
  uint32_t serial = 0;
  uint32_t place = 0;
  bool live = false;
};

Mutex mutex;  // guards the two below, and which are live
std::deque<Task>& tasks() {
  static auto& all = *new std::deque<Task>;
  return all;
}
std::vector<uint32_t>& spare() {
  static auto& all = *new std::vector<uint32_t>;
  return all;
}

constexpr uint64_t kTag = 0x52;
peace_task_t handle_of(const Task& task) {
  return reinterpret_cast<peace_task_t>(uint64_t{task.serial} << 32 | uint64_t{task.place} << 8 | kTag);
}

Task* claim() {
  const std::lock_guard lock(mutex);
  try {
    if (spare().empty()) {
      const auto place = static_cast<uint32_t>(tasks().size());
      tasks().emplace_back().place = place;
      spare().reserve(tasks().size());
      return &tasks().back();
    }
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  Task& task = tasks()[spare().back()];
  spare().pop_back();
  return &task;
}

void give_back(Task& task) {
  const std::lock_guard lock(mutex);
  task.live = false;
  task.serial = (task.serial + 1) & 0x7fffffff;
  task.extent = 0;
  spare().push_back(task.place);
}

Task* find(peace_task_t given) {
  if (check_state() != PEACE_OK) return nullptr;
  const auto handle = reinterpret_cast<uint64_t>(given);
  const auto place = static_cast<uint32_t>(handle >> 8) & 0xffffff;
  const std::lock_guard lock(mutex);
  if ((handle & 0xff) == kTag && place < tasks().size() && tasks()[place].live && tasks()[place].serial == handle >> 32)
    return &tasks()[place];
  fail(PEACE_STATE, given ? "the task was answered, or is none" : "the task is NULL");
  return nullptr;
}

// A move between the client's memory and this process's.
struct Move : Request {
  ptl_ni_fail_t failure = PTL_NI_OK;
  uint64_t bytes = 0;
};
void moved(Listener& listener, const ptl_event_t& event) {
  auto& move = static_cast<Move&>(listener);
  move.failure = event.ni_fail_type;
  complete(move, event.ni_fail_type == PTL_NI_OK && event.mlength != move.bytes ? PEACE_GONE : result_of_move(event.ni_fail_type));
}
// `begin` issues the operation that ends in an event for the move.
template <class Begin>
int run(const Task& task, size_t bytes, Begin&& begin, ptl_ni_fail_t* failure = nullptr) {
  if (!admit()) return fail(PEACE_NO_SPACE, "more than %d requests are under way", kMostPending);
  Move move;
  move.heard = moved;
  move.bytes = bytes;
  move.doing = "moves data of a call, not at";
  move.with = task.client;
  const int code = begin(static_cast<Listener*>(&move));
  if (code == PTL_OK) wait(move);
  dismiss();
  if (code != PTL_OK) return portals_failed("move data", code);
  if (failure) *failure = move.failure;
  if (move.result == PEACE_DIED) return fail(PEACE_DIED, "the client's process has ended, or cannot be reached");
  return move.result == PEACE_OK ? PEACE_OK : fail(PEACE_GONE, "the client waits no more");
}

int check_range(size_t offset, size_t bytes, uint64_t size, const char* of) {
  if (lies_within(offset, bytes, size)) return PEACE_OK;
  return fail(PEACE_ARG, "bytes %zu to %zu + %zu reach beyond the %llu bytes of the client's `%s`", offset, offset, bytes,
              static_cast<unsigned long long>(size), of);
}

}  // namespace

void close_tasks() {
  for (Task& task : tasks())
    if (task.live) {
      tell(task.client, kTokens, token_bits(Kept::answer, task.token), nullptr, 0, answer_data(Answer::none, 0, 0));
      give_back(task);
    }
}

}  // namespace portunus::peace

using namespace portunus::peace;

int peace_accept(peace_port_t given, peace_pattern_t which, int64_t limit, peace_task_t* out, peace_message_t* message) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (!out) return fail(PEACE_ARG, "task is NULL");
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  Task* task = claim();
  if (!task) return fail(PEACE_NO_SPACE, "there is no memory for a task");
  const int64_t deadline = deadline_of(limit);
  for (;;) {
    const int64_t left = deadline == kNever ? PEACE_FOREVER : limit == 0 ? 0 : std::max<int64_t>(deadline - now(), 0);
    EventPump turn(left != 0);
    Receive receive;
    if (turn) receive.turn = &turn;
    int code = begin_receive(receive, *port, which, {&task->packet, sizeof task->packet}, Form::call);
    if (code == PEACE_OK) {
      code = end_receive(receive, left);
      if (code == PEACE_BUSY && limit != 0) code = fail(PEACE_TIMEOUT, "no call came in time");
    }
    if (code != PEACE_OK && code != PEACE_CUT) {
      give_back(*task);
      return code;
    }
    if (!well_formed(task->packet.header, receive.message.moved, receive.message.sent)) continue;
    task->client = receive.message.from.process;
    task->token = token_of(receive.hdr_data);
    receive.message.sent = task->packet.header.out_bytes;
    receive.message.moved -= sizeof(CallHeader);
    if (message) *message = receive.message;
    const std::lock_guard lock(mutex);
    task->live = true;
    *out = handle_of(*task);
    return PEACE_OK;
  }
}
PEACE_BARRIER

const void* peace_look(peace_task_t given) {
  const Task* task = find(given);
  if (!task) return nullptr;
  const CallHeader& header = task->packet.header;
  return header.out_bytes <= kInline ? task->packet.data : look_in_block(task->client, header.lies_at, header.out_bytes);
}

namespace {

int move_from(const Task& task, size_t offset, const Room& room) {
  const CallHeader& header = task.packet.header;
  if (const int code = check_range(offset, room.bytes, header.out_bytes, "out"); code != PEACE_OK) return code;
  if (room.bytes == 0) return PEACE_OK;
  if (header.out_bytes <= kInline) {
    room.copy_in(task.packet.data + offset, room.bytes);
    return PEACE_OK;
  }
  return run(task, room.bytes, [&](Listener* listener) {
    return PtlGet(room.descriptor(), offset_of(room.start), room.bytes, process_of(task.client), kTokens, token_bits(Kept::out, task.token),
                  offset, listener);
  });
}

int move_to(Task& task, size_t offset, const Data& data) {
  const CallHeader& header = task.packet.header;
  if (const int code = check_range(offset, data.bytes, header.in_room, "in"); code != PEACE_OK) return code;
  if (data.bytes == 0) return PEACE_OK;
  if (header.in_room <= kInline) {
    if (offset > task.extent) std::memset(task.merged + task.extent, 0, offset - task.extent);
    data.copy_out(task.merged + offset, data.bytes);
    task.extent = std::max(task.extent, offset + data.bytes);
    return PEACE_OK;
  }
  return run(task, data.bytes,
             [&](Listener* listener) { return put(task.client, kTokens, token_bits(Kept::in, task.token), data, 0, listener, offset); });
}

int reply(Task& task, uint32_t type, const Data& data) {
  Answer answer = Answer::whole;
  uint32_t own_size = 0;
  Data out = data;
  if (task.extent != 0) {
    const size_t over = std::min(data.bytes, kInline);
    data.copy_out(task.merged, over);
    answer = Answer::merged;
    own_size = static_cast<uint32_t>(std::min<size_t>(data.bytes, 0x3fffffff));
    out = {task.merged, std::max(task.extent, over)};
  }
  const uint64_t bits = token_bits(Kept::answer, task.token), words = answer_data(answer, own_size, type);
  if (out.bytes > kEagerBytes) {
    const size_t taken = std::min<uint64_t>(out.bytes, task.packet.header.in_room);
    return run(task, taken, [&](Listener* listener) { return put(task.client, kTokens, bits, out, words, listener); });
  }
  std::byte packed[kEagerBytes];
  if (out.laid_out) {
    out.copy_out(packed, out.bytes);
    out.start = packed;
  }
  const int code = tell(task.client, kTokens, bits, out.start, out.bytes, words);
  return code == PTL_OK ? static_cast<int>(PEACE_OK) : portals_failed("answer", code);
}

// Ends the task that `given` names, whatever becomes of the answer. `take` opens what to answer with, and returns PEACE_OK or an error.
template <class Take>
int end_task(peace_task_t* given, uint32_t type, Take&& take) {
  if (!given) return fail(PEACE_ARG, "task is NULL");
  Task* task = find(*given);
  if (!task) return PEACE_STATE;
  Data data;
  if (const int code = take(data); code != PEACE_OK) return code;
  *given = nullptr;
  const int code = reply(*task, type, data);
  give_back(*task);
  return code;
}

}  // namespace

int peace_movefrom(peace_task_t given, size_t offset, void* memory, size_t bytes) try {
  const Task* task = find(given);
  if (!task) return PEACE_STATE;
  if (const int code = check_memory("memory", memory, bytes, Access::write); code != PEACE_OK) return code;
  return move_from(*task, offset, {memory, bytes});
}
PEACE_BARRIER

int peace_movefrom_pieces(peace_task_t given, size_t offset, const peace_piece_t* list, size_t count) try {
  const Task* task = find(given);
  if (!task) return PEACE_STATE;
  Pieces pieces;
  if (const int code = pieces.open("pieces", list, count, Access::write); code != PEACE_OK) return code;
  return move_from(*task, offset, pieces.room());
}
PEACE_BARRIER

int peace_moveto(peace_task_t given, size_t offset, const void* memory, size_t bytes) try {
  Task* task = find(given);
  if (!task) return PEACE_STATE;
  if (const int code = check_memory("memory", memory, bytes, Access::read); code != PEACE_OK) return code;
  return move_to(*task, offset, {memory, bytes});
}
PEACE_BARRIER

int peace_moveto_pieces(peace_task_t given, size_t offset, const peace_piece_t* list, size_t count) try {
  Task* task = find(given);
  if (!task) return PEACE_STATE;
  Pieces pieces;
  if (const int code = pieces.open("pieces", list, count, Access::read); code != PEACE_OK) return code;
  return move_to(*task, offset, pieces.data());
}
PEACE_BARRIER

int peace_cancelled(peace_task_t given) try {
  const Task* task = find(given);
  if (!task) return 1;
  // The entry of the answer allows no get: that it refuses says that it is there.
  ptl_ni_fail_t failure = PTL_NI_OK;
  run(
      *task, 0,
      [&](Listener* listener) {
        return PtlGet(interface.md, 0, 0, process_of(task->client), kTokens, token_bits(Kept::answer, task->token), 0, listener);
      },
      &failure);
  return failure != PTL_NI_OP_VIOLATION;
}
PEACE_BARRIER

int peace_reply(peace_task_t* given, uint32_t type, const void* data, size_t bytes) try {
  return end_task(given, type, [&](Data& answer) {
    answer = {data, bytes};
    return check_memory("data", data, bytes, Access::read);
  });
}
PEACE_BARRIER

int peace_reply_pieces(peace_task_t* given, uint32_t type, const peace_piece_t* list, size_t count) try {
  Pieces pieces;
  return end_task(given, type, [&](Data& answer) {
    const int code = pieces.open("pieces", list, count, Access::read);
    answer = pieces.data();
    return code;
  });
}
PEACE_BARRIER
