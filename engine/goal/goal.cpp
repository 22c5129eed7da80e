// The GOAL_* calls: a schedule is built, compiled and loaded through the C++ classes beside.
//
// Thread: as goal.h says.
#include "engine/goal/goal.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/goal/calls.hpp"
#include "engine/goal/collectives/choice.hpp"
#include "engine/goal/goal_call.h"
#include "engine/goal/library.hpp"
#include "engine/goal/schedules/block.hpp"
#include "engine/goal/schedules/buffered.hpp"

namespace {

using namespace portunus::goal;

constexpr uint64_t kMostAhead = uint64_t{256} << 20;  // of all ranks of a job together

std::atomic<uint64_t> compilations{0};
thread_local std::string explanation;
thread_local const char* fixed_explanation = nullptr;  // in place of it, where there was no memory

constexpr ptl_datatype_t kTypes[] = {PTL_INT8_T,      PTL_UINT8_T,       PTL_INT16_T,        PTL_UINT16_T,        PTL_INT32_T,
                                     PTL_UINT32_T,    PTL_INT64_T,       PTL_UINT64_T,       PTL_FLOAT,           PTL_DOUBLE,
                                     PTL_LONG_DOUBLE, PTL_FLOAT_COMPLEX, PTL_DOUBLE_COMPLEX, PTLX_INT16_LOC,      PTLX_INT32_LOC,
                                     PTLX_INT64_LOC,  PTLX_FLOAT_LOC,    PTLX_DOUBLE_LOC,    PTLX_LONG_DOUBLE_LOC};
static_assert(sizeof kTypes / sizeof kTypes[0] == GOAL_LONG_DOUBLE_LOC + 1);
static_assert(int{GOAL_ADD} == int{PTLX_ADD} && int{GOAL_XOR} == int{PTLX_XOR} && int{GOAL_DELAY} == int{PTLX_DELAY});
static_assert(Space{GOAL_USERSPACE + 1} == Space::user && Space{GOAL_ARGUMENT + 1} == Space::argument);

// Throws ScheduleError.
Memory memory_of(goal_schedule& s, const GOAL_Buffer& buffer) {
  if (buffer.memory != GOAL_VECTOR) return contiguous(buffer.memory, buffer.number, buffer.place);
  const auto* given = reinterpret_cast<const GOAL_Piece*>(buffer.place);
  if (!given && buffer.number > 0) throw ScheduleError({}, "a buffer's list of pieces is NULL");
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i < buffer.number; ++i) {
    pieces.push_back({contiguous(given[i].memory, given[i].number, given[i].place), given[i].bytes});
  }
  return s.builder.pieces(pieces);
}

void must_have_place(const GOAL_Buffer& buffer, size_t bytes) {
  if (buffer.memory == GOAL_USERSPACE && buffer.place == 0 && bytes > 0) throw ScheduleError({}, "a buffer has no memory");
}

// GOAL_SUCCESS, or what is wrong.
int check_peer(int peer) {
  const int size = Library::instance().job().size;
  if (peer >= 0 && peer < size) return GOAL_SUCCESS;
  return fail(GOAL_ERR_ARG, "there is no rank " + std::to_string(peer) + "; ranks are 0 to " + std::to_string(size - 1));
}

int add_message(goal_schedule* s, Kind kind, const GOAL_Buffer& buffer, size_t bytes, int peer, uint32_t tag, GOAL_Op* op) {
  if (const int code = must_be_open(s); code != GOAL_SUCCESS) return code;
  if (const int code = check_peer(peer); code != GOAL_SUCCESS) return code;
  if (tag == kAnyTag) return fail(GOAL_ERR_ARG, "the tag 4294967295 is reserved");
  return guarded([&] {
    must_have_place(buffer, bytes);
    const Memory memory = memory_of(*s, buffer);
    const auto rank = static_cast<uint32_t>(peer);
    const VertexId v = kind == Kind::send ? s->builder.send(memory, bytes, rank, tag) : s->builder.recv(memory, bytes, rank, tag);
    if (op) *op = v;
    return int{GOAL_SUCCESS};
  });
}

int add_edge(goal_schedule* s, GOAL_Op op, GOAL_Op prerequisite, After after) {
  if (const int code = must_be_open(s); code != GOAL_SUCCESS) return code;
  const uint32_t count = s->builder.plan().graph.size();
  if (op >= count || prerequisite >= count) return fail(GOAL_ERR_ARG, "the schedule has no such operation");
  return guarded([&] {
    if (after == After::finish) s->builder.after(op, prerequisite);
    else s->builder.after_start(op, prerequisite);
    return int{GOAL_SUCCESS};
  });
}

// Collectives end whatever is long in them, as their tests show.
Plan plan_of(goal_schedule& s) {
  Plan plan = s.builder.finish();
  if (s.unbuffered) return plan;
  return buffered(std::move(plan), [&](VertexId v) {
    return std::ranges::any_of(s.collectives, [v](const auto& steps) { return steps.first <= v && v < steps.second; });
  });
}

constexpr const char* kFewObjects =
    "the network interface has not enough counters or descriptors left for this schedule; free others or divide it";

int make_instance(goal_schedule& s) {
  const Library& library = Library::instance();
  if (!s.compiled) {
    s.compiled = compile(plan_of(s), static_cast<uint32_t>(library.job().rank));
    compilations.fetch_add(1, std::memory_order_relaxed);
  }
  s.instance.emplace(library.port(), s.compiled, s.arguments, *s.context, s.epoch, s.tag);
  return GOAL_SUCCESS;
}

int load(goal_schedule& s) {
  Library& library = Library::instance();
  const uint16_t context = *s.context;
  if (context < Library::kCounted) s.instance->program().check_order();
  const auto ranks = static_cast<uint64_t>(std::max(library.reach(), 4));
  if (!s.meets) s.instance->program().bound_ahead(kMostAhead / ranks, s.epoch, s.counts_on);
  const int code = s.instance->load();
  if (code == PTL_OK) return GOAL_SUCCESS;
  s.instance.reset();
  return fail(code == PTL_NO_SPACE ? GOAL_ERR_NO_SPACE : GOAL_ERR_NETWORK, kFewObjects);
}

// After a step of the execution that ended it.
constexpr const char* kFailed =
    "a message or a computation of the schedule failed, here or on a rank that it depends on, or such a rank has ended; free the schedule";

std::string messages(uint64_t count, uint64_t bytes) {
  return std::to_string(count) + (count == 1 ? " message" : " messages") + " with " + std::to_string(bytes) + " bytes in all";
}

// The schedule has failed: says why, as far as that is known.
int failed(goal_schedule& s) {
  s.broken = true;
  Library& library = Library::instance();
  Announcement& found = library.port().unexpected();
  if (*s.context >= Library::kCounted || found.messages == 0) return fail(GOAL_ERR_FAILED, kFailed);
  if (!found.told) {
    const std::lock_guard lock(library.guard);
    const goal_schedule* const meets = library.counted(static_cast<uint16_t>(found.context));
    if (meets && meets->instance) {
      const Channel ours = meets->instance->program().channel(Action::append, found.from);
      found.expected_messages = ours.messages, found.expected_bytes = ours.bytes;
    }
    library.port().tell_of_unexpected(static_cast<uint32_t>(library.job().size));
  }
  const std::string number = std::to_string(found.context + 1), from = "rank " + std::to_string(found.from),
                    to = "rank " + std::to_string(found.to);
  return fail(GOAL_ERR_FAILED, "schedules were compiled in another order on " + from + " than on " + to + ": number " + number + " of " +
                                   from + " sends " + to + " " + messages(found.messages, found.bytes) + ", and number " + number + " of " +
                                   to + " receives " + messages(found.expected_messages, found.expected_bytes) +
                                   " from it; all ranks compile schedules that belong together in the same order, or name them by "
                                   "GOAL_Context");
}

int ended(goal_schedule& s, int code, GOAL_Request* request) {
  *request = GOAL_REQUEST_NULL;
  return code == PTL_OK ? static_cast<int>(GOAL_SUCCESS) : failed(s);
}

// A schedule to be filled in by the caller.
int create(GOAL_Schedule* schedule) {
  if (!schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (Library::instance().users() == 0) return fail(GOAL_ERR_STATE, "GOAL is not initialised; call GOAL_Init first");
  const std::lock_guard lock(Library::instance().guard);
  *schedule = new (std::nothrow) goal_schedule;
  if (!*schedule) return fail(GOAL_ERR_NO_SPACE, "there is no memory for another schedule");
  (*schedule)->run.schedule = *schedule;
  ++Library::instance().schedules;
  return GOAL_SUCCESS;
}

}  // namespace

namespace portunus::goal {

int fail(int code, std::string sentence) {
  if (PtlxDebug("arguments")) std::fprintf(stderr, "goal: %s\n", sentence.c_str());
  explanation = std::move(sentence);
  fixed_explanation = nullptr;
  return code;
}

int fail_for_memory() {
  fixed_explanation = "there is not enough memory for this schedule; make it or its scratchpad smaller";
  return GOAL_ERR_NO_SPACE;
}

int must_be_open(const goal_schedule* s) {
  if (!s) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (!s->closed && !s->compiled) return GOAL_SUCCESS;
  return fail(GOAL_ERR_STATE, "the schedule is compiled and cannot be changed");
}

ptl_datatype_t type_of(GOAL_Type type) { return kTypes[type]; }

Memory contiguous(GOAL_Memory memory, uint32_t number, uintptr_t place) {
  if (static_cast<unsigned>(memory) > GOAL_ARGUMENT) throw ScheduleError({}, "a buffer has no such kind of memory");
  return {static_cast<Space>(memory + 1), memory == GOAL_ARGUMENT ? number : 0, place};
}

}  // namespace portunus::goal

extern "C" {

int GOAL_Init(int* rank, int* size) try {
  try {
    collectives::Choices::environment();
  } catch (const std::invalid_argument& error) {
    return fail(GOAL_ERR_ARG, error.what());
  }
  Library& library = Library::instance();
  if (const char* problem = library.open()) return fail(GOAL_ERR_NETWORK, problem);
  if (rank) *rank = library.job().rank;
  if (size) *size = library.job().size;
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Finalize(void) try {
  Library& library = Library::instance();
  if (library.users() == 0) return fail(GOAL_ERR_STATE, "GOAL is not initialised; call GOAL_Init first");
  if (library.users() == 1 && library.schedules > 0) {
    return fail(GOAL_ERR_STATE, std::to_string(library.schedules) + " schedules are not freed; call GOAL_Free for each");
  }
  const char* problem = library.close();
  return problem ? fail(GOAL_ERR_NETWORK, problem) : static_cast<int>(GOAL_SUCCESS);
}
GOAL_BARRIER

int GOAL_Create(GOAL_Schedule* schedule) try { return create(schedule); }
GOAL_BARRIER

int GOAL_Scratch(GOAL_Schedule schedule, size_t bytes) try {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  if (schedule->scratch_divided) return fail(GOAL_ERR_STATE, "collectives have parts of the scratchpad; set its size before adding them");
  return guarded([&] {
    schedule->builder.scratch_bytes(bytes);
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER

int GOAL_Bind(GOAL_Schedule schedule, unsigned argument, void* address, size_t bytes) try {
  if (!schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (schedule->closed) return fail(GOAL_ERR_STATE, "the schedule is compiled; bind its arguments before GOAL_Compile");
  if (argument >= kMaxArguments) {
    return fail(GOAL_ERR_ARG,
                "there is no argument " + std::to_string(argument) + "; arguments go from 0 to " + std::to_string(kMaxArguments - 1));
  }
  return guarded([&] {
    if (schedule->arguments.size() <= argument) schedule->arguments.resize(argument + 1);
    schedule->arguments[argument] = {address, bytes};
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER

int GOAL_Send(GOAL_Schedule schedule, GOAL_Buffer from, size_t bytes, int peer, uint32_t tag, GOAL_Op* op) try {
  return add_message(schedule, Kind::send, from, bytes, peer, tag, op);
}
GOAL_BARRIER

int GOAL_Recv(GOAL_Schedule schedule, GOAL_Buffer to, size_t bytes, int peer, uint32_t tag, GOAL_Op* op) try {
  return add_message(schedule, Kind::recv, to, bytes, peer, tag, op);
}
GOAL_BARRIER

int GOAL_Local(GOAL_Schedule schedule, GOAL_Local_op operation, GOAL_Type type, GOAL_Buffer dst, GOAL_Buffer a, GOAL_Buffer b, size_t count,
               GOAL_Op* op) try {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  if (static_cast<unsigned>(operation) > GOAL_DELAY) return fail(GOAL_ERR_ARG, "there is no such local operation");
  const auto work = static_cast<ptlx_local_op_t>(operation);
  const bool typed = operation < GOAL_TIMESTAMP;
  if (typed && static_cast<unsigned>(type) > GOAL_LONG_DOUBLE_LOC) return fail(GOAL_ERR_ARG, "there is no such type");
  const ptl_datatype_t element = typed ? type_of(type) : static_cast<ptl_datatype_t>(PTL_UINT64_T);
  if (typed && !known(work, element))
    return fail(GOAL_ERR_ARG,
                "the type does not have this operation: bits are those of integers, and complex numbers are neither ordered nor divided");
  if (typed && count > SIZE_MAX / 32) return fail(GOAL_ERR_ARG, "so many elements are more than memory can hold");
  return guarded([&] {
    Builder& builder = schedule->builder;
    const size_t bytes = typed ? count * width_of(element) : sizeof(uint64_t);
    VertexId v;
    if (operation == GOAL_DELAY) {
      v = builder.delay(count);
    } else {
      must_have_place(dst, bytes);
      if (has_a(work)) must_have_place(a, bytes);
      if (has_b(work)) must_have_place(b, bytes);
      v = builder.local(work, element, memory_of(*schedule, dst), has_a(work) ? memory_of(*schedule, a) : Memory{},
                        has_b(work) ? memory_of(*schedule, b) : Memory{}, typed ? count : 1);
    }
    if (op) *op = v;
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER

int GOAL_Timestamp(GOAL_Schedule schedule, GOAL_Buffer to, GOAL_Op* op) try {
  return GOAL_Local(schedule, GOAL_TIMESTAMP, GOAL_UINT64, to, GOAL_User(nullptr), GOAL_User(nullptr), 1, op);
}
GOAL_BARRIER

int GOAL_Park(GOAL_Schedule schedule, GOAL_Parker park, void* argument, uint32_t count, GOAL_Buffer memory, size_t bytes, int peer,
              GOAL_Op* op) try {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  if (const int code = check_peer(peer); code != GOAL_SUCCESS) return code;
  if (!park) return fail(GOAL_ERR_ARG, "there is no function that parks the operations");
  if (count == 0) return fail(GOAL_ERR_ARG, "operations that count nothing have no end; count their acknowledgements");
  return guarded([&] {
    must_have_place(memory, bytes);
    const Memory place = memory_of(*schedule, memory);
    const VertexId v = schedule->builder.parked({park, argument}, count, static_cast<uint32_t>(peer), place, bytes);
    if (op) *op = v;
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER

int GOAL_Exposed(GOAL_Schedule schedule, const void* memory, size_t bytes) try {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  if ((!memory && bytes > 0) || bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(memory))
    return fail(GOAL_ERR_ARG, "there is no such memory that others could change");
  return guarded([&] {
    schedule->builder.expose(user(memory), bytes);
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER

int GOAL_Requires(GOAL_Schedule schedule, GOAL_Op op, GOAL_Op prerequisite) try {
  return add_edge(schedule, op, prerequisite, After::finish);
}
GOAL_BARRIER

int GOAL_IRequires(GOAL_Schedule schedule, GOAL_Op op, GOAL_Op prerequisite) try {
  return add_edge(schedule, op, prerequisite, After::start);
}
GOAL_BARRIER

int GOAL_Needs(GOAL_Schedule schedule, GOAL_Op op, unsigned count) try {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  if (op >= schedule->builder.plan().graph.size()) return fail(GOAL_ERR_ARG, "the schedule has no such operation");
  if (count == 0) return fail(GOAL_ERR_ARG, "an operation needs at least one of what it waits for");
  schedule->builder.needs(op, count);
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Context(GOAL_Schedule schedule, unsigned context) try {
  if (!schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (schedule->closed) return fail(GOAL_ERR_STATE, "the schedule is compiled already; set its context before");
  const std::optional<uint16_t> number = Library::context_of(context);
  if (!number)
    return fail(GOAL_ERR_ARG, "there is no context " + std::to_string(context) +
                                  "; contexts go from 0 to 8191, and MPIX_Comm_goal_group and shmemx_team_goal_group give others");
  schedule->context = *number;
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Unbuffered(GOAL_Schedule schedule) try {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  schedule->unbuffered = true;
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Epoch(GOAL_Schedule schedule, unsigned epoch) try {
  if (!schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (schedule->closed) return fail(GOAL_ERR_STATE, "the schedule is compiled already; set its epoch before");
  schedule->epoch = static_cast<uint8_t>(epoch % 256);
  schedule->counts_on = true;
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Compile(GOAL_Schedule schedule) try {
  if (!schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (schedule->closed) return fail(GOAL_ERR_STATE, "the schedule is compiled already");
  const std::lock_guard lock(Library::instance().guard);
  schedule->closed = true;
  // Counted in any case, as on the other ranks.
  if (!schedule->context) schedule->context = Library::instance().next_context(schedule);
  if (!schedule->context) {
    return fail(GOAL_ERR_NO_SPACE,
                "a schedule that was compiled 16384 schedules ago still exists, and the messages of both could not be told apart; "
                "free it, or give schedules that stay contexts of their own by GOAL_Context");
  }
  return guarded([&] {
    make_instance(*schedule);
    return load(*schedule);
  });
}
GOAL_BARRIER

// All ranks come to the agreement, also one that has no plan.
int GOAL_Compile_on_node(GOAL_Schedule schedule, const GOAL_Group* group, unsigned context, GOAL_Domain domain, int* compiled) try {
  if (!schedule || !group || !compiled || !Library::context_of(context))
    return fail(GOAL_ERR_ARG, "the schedule, the group, the context or the place of the result is wrong");
  if (schedule->closed) return fail(GOAL_ERR_STATE, "the schedule is compiled already");
  schedule->closed = true;
  schedule->context = Library::context_of(context);
  *compiled = 0;
  if (group->nodes && std::any_of(group->nodes, group->nodes + group->size, [&](int node) { return node != group->nodes[0]; }))
    return GOAL_SUCCESS;
  const int code = guarded([&] { return make_instance(*schedule); });
  const Plan* const plan = code == GOAL_SUCCESS ? &schedule->compiled->plan : nullptr;
  auto on_node = std::make_unique<node::NodeProgram>(*group, domain);
  const int agreed = on_node->make(plan, plan ? schedule->instance->program().bindings() : std::span<const Binding>(), context);
  if (agreed == GOAL_SUCCESS && on_node->made()) {
    schedule->on_node = std::move(on_node);
    *compiled = 1;
    return GOAL_SUCCESS;
  }
  schedule->instance.reset();
  if (code != GOAL_SUCCESS || agreed == GOAL_SUCCESS) return code;
  return fail(agreed, "a rank of the group has ended, or the network interface has not enough counters left");
}
GOAL_BARRIER

int GOAL_Clone(GOAL_Schedule compiled, GOAL_Schedule* copy) try {
  if (!compiled) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (!compiled->compiled) return fail(GOAL_ERR_STATE, "the schedule is not compiled; call GOAL_Compile first");
  if (const int code = create(copy); code != GOAL_SUCCESS) return code;
  const int code = guarded([&] {
    (*copy)->arguments = compiled->arguments;
    (*copy)->compiled = compiled->compiled;
    return int{GOAL_SUCCESS};
  });
  if (code != GOAL_SUCCESS) GOAL_Free(copy);
  return code;
}
GOAL_BARRIER

int GOAL_Save(GOAL_Schedule schedule, void* block, size_t* bytes) try {
  if (!schedule || !bytes) return fail(GOAL_ERR_ARG, "the schedule or the size is NULL");
  if (!schedule->compiled) return fail(GOAL_ERR_STATE, "the schedule is not compiled; call GOAL_Compile first");
  if (!schedule->compiled->plan.parked.empty())
    return fail(GOAL_ERR_ARG, "the schedule has operations that the program parks itself, which mean something in this process alone");
  return guarded([&]() -> int {
    const std::vector<std::byte> saved = save(*schedule->compiled);
    const size_t room = *bytes;
    *bytes = saved.size();
    if (!block) return GOAL_SUCCESS;
    if (room < saved.size()) {
      return fail(GOAL_ERR_NO_SPACE,
                  "the block has " + std::to_string(saved.size()) + " bytes, but there is room for " + std::to_string(room));
    }
    std::memcpy(block, saved.data(), saved.size());
    return GOAL_SUCCESS;
  });
}
GOAL_BARRIER

int GOAL_Load(const void* block, size_t bytes, GOAL_Schedule* schedule) try {
  if (!block) return fail(GOAL_ERR_ARG, "the block is NULL");
  if (const int code = create(schedule); code != GOAL_SUCCESS) return code;
  const int code = guarded([&] {
    const std::span<const std::byte> given(static_cast<const std::byte*>(block), bytes);
    (*schedule)->compiled = load(given, static_cast<uint32_t>(Library::instance().job().size));
    return int{GOAL_SUCCESS};
  });
  if (code != GOAL_SUCCESS) GOAL_Free(schedule);
  return code;
}
GOAL_BARRIER

int GOAL_Run(GOAL_Schedule schedule, GOAL_Request* request) try {
  if (!schedule || !request) return fail(GOAL_ERR_ARG, "the schedule or the request is NULL");
  if (!schedule->instance) return fail(GOAL_ERR_STATE, "the schedule is not compiled");
  if (schedule->broken) return fail(GOAL_ERR_STATE, "the schedule has failed and can only be freed");
  if (schedule->with_program([](auto& program) { return program.running(); })) return fail(GOAL_ERR_STATE, "the schedule runs already");
  const int code = schedule->with_program([](auto& program) { return program.start(); });
  if (code != PTL_OK) {
    if (code == PTL_FAIL) return failed(*schedule);
    if (code == PTL_NO_SPACE) return fail(GOAL_ERR_NO_SPACE, kFewObjects);
    schedule->broken = true;
    return fail(GOAL_ERR_NETWORK, "the network interface is closed");
  }
  *request = &schedule->run;
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Test(GOAL_Request* request, int* done) try {
  if (!request || !done) return fail(GOAL_ERR_ARG, "the request or the result is NULL");
  *done = 1;
  if (*request == GOAL_REQUEST_NULL) return GOAL_SUCCESS;
  goal_schedule& schedule = *(*request)->schedule;
  bool finished = false;
  const int code = schedule.with_program([&](auto& program) { return program.test(finished); });
  *done = finished ? 1 : 0;
  return finished ? ended(schedule, code, request) : static_cast<int>(GOAL_SUCCESS);
}
GOAL_BARRIER

int GOAL_Wait(GOAL_Request* request) try {
  if (!request) return fail(GOAL_ERR_ARG, "the request is NULL");
  if (*request == GOAL_REQUEST_NULL) return GOAL_SUCCESS;
  goal_schedule& schedule = *(*request)->schedule;
  const int code = schedule.with_program([](auto& program) { return program.wait(); });
  return ended(schedule, code, request);
}
GOAL_BARRIER

int GOAL_Open(GOAL_Schedule schedule, GOAL_Op receive) try {
  if (!schedule || !schedule->instance) return fail(GOAL_ERR_STATE, "the schedule is not compiled");
  const Schedule& graph = schedule->compiled->plan.graph;
  if (receive >= graph.size() || graph[receive].kind != Kind::recv || graph[receive].size > 0 ||
      graph[receive].peer != static_cast<uint32_t>(Library::instance().job().rank))
    return fail(GOAL_ERR_ARG, "the operation is no receive of no bytes from this rank itself");
  const int code = schedule->with_program([&](auto& program) { return program.open(receive); });
  return code == PTL_OK ? int{GOAL_SUCCESS} : fail(GOAL_ERR_NETWORK, "the network interface is closed");
}
GOAL_BARRIER

int GOAL_Cancel(GOAL_Request* request) try {
  if (!request) return fail(GOAL_ERR_ARG, "the request is NULL");
  if (*request == GOAL_REQUEST_NULL) return GOAL_SUCCESS;
  goal_schedule& schedule = *(*request)->schedule;
  schedule.with_program([](auto& program) { program.cancel(); });
  schedule.broken = true;
  *request = GOAL_REQUEST_NULL;
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Counters(GOAL_Schedule schedule, uint32_t* finish, uint64_t* each, uint32_t* failures) try {
  if (!schedule || !finish || !each || !failures) return fail(GOAL_ERR_ARG, "the schedule or the place of a result is NULL");
  if (!schedule->instance) return fail(GOAL_ERR_STATE, "the schedule is not compiled");
  if (schedule->on_node) return fail(GOAL_ERR_STATE, "the schedule runs through memory of the node, without counters");
  const LoadedProgram& program = schedule->instance->program();
  *finish = program.counters()[kFinish];
  *each = program.program().increments[kFinish];
  *failures = program.failures();
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Mismatches(GOAL_Schedule schedule, const uint64_t** count) try {
  if (!schedule || !count) return fail(GOAL_ERR_ARG, "the schedule or the place of a result is NULL");
  if (!schedule->instance) return fail(GOAL_ERR_STATE, "the schedule is not compiled");
  *count = schedule->with_program([](auto& program) { return &program.mismatches(); });
  return GOAL_SUCCESS;
}
GOAL_BARRIER

int GOAL_Free(GOAL_Schedule* schedule) try {
  if (!schedule || !*schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  const std::lock_guard lock(Library::instance().guard);
  const unsigned context = (*schedule)->closed && (*schedule)->context ? *(*schedule)->context : Library::kContexts;
  delete *schedule;
  if (context < Library::kCounted) Library::instance().give_back(static_cast<uint16_t>(context));
  *schedule = nullptr;
  --Library::instance().schedules;
  return GOAL_SUCCESS;
}
GOAL_BARRIER

uint64_t GOAL_Compilations(void) { return compilations.load(std::memory_order_relaxed); }

const char* GOAL_Explain(void) { return fixed_explanation ? fixed_explanation : explanation.c_str(); }

}  // extern "C"
