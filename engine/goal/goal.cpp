// The GOAL_* calls: a schedule is collected, compiled and loaded as goalrun's are.
//
// **Thread:** as goal.h says.
// **Invariants:** `loaded` exists exactly after a successful GOAL_Compile; a request exists exactly while it runs.
#include "engine/goal/goal.h"

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "engine/goal/program.hpp"

struct goal_run {
  goal_schedule* schedule = nullptr;
};

struct goal_schedule {
  struct Work {  // a vertex's arguments; buffers become addresses when the scratchpad exists
    GOAL_Buffer memory{}, a{}, b{};
    size_t bytes = 0;  // of each
    size_t count = 0;
    ptlx_local_op_t op = PTLX_DELAY;
    ptl_datatype_t type = PTL_UINT8_T;
  };
  portunus::goal::Schedule graph;
  std::vector<Work> work;
  size_t scratch_bytes = 0;
  std::unique_ptr<std::byte[]> scratch;
  std::optional<portunus::goal::LoadedProgram> loaded;
  goal_run run;
  bool closed = false;  // compiled, or an attempt failed
  bool broken = false;  // only to be freed
};

namespace {

using namespace portunus::goal;

constexpr ptl_pt_index_t kPort = 48;  // the same in all processes, and none that other layers use

struct Library {
  int users = 0;
  ptlx_job_t job{};
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  Port port;
  std::uint16_t next_context = 0;
  int schedules = 0;
};

Library& library() {
  static Library& library = *new Library;  // no destructor at exit: the program may have called Finalize or not
  return library;
}

thread_local std::string explanation;

int fail(int code, std::string sentence) {
  explanation = std::move(sentence);
  return code;
}

struct TypeFacts {
  ptl_datatype_t type;
  size_t width;
  bool integer;
};
constexpr TypeFacts kTypes[] = {
    {PTL_INT8_T, 1, true},   {PTL_UINT8_T, 1, true},  {PTL_INT16_T, 2, true},  {PTL_UINT16_T, 2, true}, {PTL_INT32_T, 4, true},
    {PTL_UINT32_T, 4, true}, {PTL_INT64_T, 8, true},  {PTL_UINT64_T, 8, true}, {PTL_FLOAT, 4, false},   {PTL_DOUBLE, 8, false},
};
static_assert(sizeof kTypes / sizeof kTypes[0] == GOAL_DOUBLE + 1);
static_assert(int{GOAL_ADD} == int{PTLX_ADD} && int{GOAL_XOR} == int{PTLX_XOR} && int{GOAL_DELAY} == int{PTLX_DELAY});

int open_library() {
  Library& l = library();
  if (PtlxJobInit(&l.job) != PTL_OK) return fail(GOAL_ERR_NETWORK, "the job cannot be joined; start the program with ptlrun");
  const auto give_up = [&](const char* what) {
    l.port.close();
    if (l.ni != PTL_INVALID_HANDLE) PtlNIFini(l.ni);
    l.ni = PTL_INVALID_HANDLE;
    PtlFini();
    PtlxJobFini();
    return fail(GOAL_ERR_NETWORK, what);
  };
  if (PtlInit() != PTL_OK) {
    PtlxJobFini();
    return fail(GOAL_ERR_NETWORK, "Portals cannot be used in this process");
  }
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &l.ni) != PTL_OK)
    return give_up("the network cannot be opened");
  if (PtlxJobMap(l.ni) != PTL_OK) return give_up("the addresses of the other ranks cannot be had");
  if (l.port.open(l.ni, kPort) != PTL_OK) return give_up("portal table entry 48 is taken; leave it to GOAL");
  // A message that came before its portal table entry would be lost.
  if (PtlxJobFence() != PTL_OK) return give_up("the other ranks do not answer");
  return GOAL_SUCCESS;
}

int close_library() {
  Library& l = library();
  const int fenced = PtlxJobFence();  // nobody sends to us any more
  l.port.close();
  PtlNIFini(l.ni);
  l.ni = PTL_INVALID_HANDLE;
  PtlFini();
  PtlxJobFini();
  l.next_context = 0;
  return fenced == PTL_OK ? GOAL_SUCCESS : fail(GOAL_ERR_NETWORK, "the other ranks do not answer");
}

int must_be_open(const goal_schedule* s) {
  if (!s) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  return s->closed ? fail(GOAL_ERR_STATE, "the schedule is compiled and cannot be changed") : static_cast<int>(GOAL_SUCCESS);
}

bool has_place(const GOAL_Buffer& buffer, size_t bytes) {
  if (buffer.memory != GOAL_USERSPACE && buffer.memory != GOAL_SCRATCHPAD) return false;
  return bytes == 0 || buffer.memory == GOAL_SCRATCHPAD || buffer.place != 0;
}

int add(goal_schedule* s, const Vertex& vertex, const goal_schedule::Work& work, GOAL_Op* op) {
  try {
    s->work.push_back(work);
    const VertexId v = s->graph.add(vertex, {});
    if (op) *op = v;
    return GOAL_SUCCESS;
  } catch (const std::bad_alloc&) {
    s->work.resize(s->graph.size());
    return fail(GOAL_ERR_NO_SPACE, "there is no memory for another operation");
  } catch (const ScheduleError& error) {
    s->work.resize(s->graph.size());
    return fail(GOAL_ERR_NO_SPACE, error.message);
  }
}

int add_message(goal_schedule* s, Kind kind, const GOAL_Buffer& buffer, size_t bytes, int peer, uint32_t tag, GOAL_Op* op) {
  if (const int code = must_be_open(s); code != GOAL_SUCCESS) return code;
  if (peer < 0 || peer >= library().job.size) {
    return fail(GOAL_ERR_ARG, "there is no rank " + std::to_string(peer) + "; ranks are 0 to " + std::to_string(library().job.size - 1));
  }
  if (tag == kAnyTag) return fail(GOAL_ERR_ARG, "the tag 4294967295 is reserved");
  if (!has_place(buffer, bytes)) return fail(GOAL_ERR_ARG, "the buffer has no memory");
  Vertex vertex;
  vertex.kind = kind;
  vertex.size = bytes;
  vertex.peer = static_cast<std::uint32_t>(peer);
  vertex.tag = tag;
  goal_schedule::Work work;
  work.memory = buffer;
  work.bytes = bytes;
  return add(s, vertex, work, op);
}

int add_edge(goal_schedule* s, GOAL_Op op, GOAL_Op prerequisite, After after) {
  if (const int code = must_be_open(s); code != GOAL_SUCCESS) return code;
  if (op >= s->graph.size() || prerequisite >= s->graph.size()) return fail(GOAL_ERR_ARG, "the schedule has no such operation");
  try {
    s->graph.add_dependency(op, prerequisite, after);
    return GOAL_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(GOAL_ERR_NO_SPACE, "there is no memory for another dependency");
  }
}

// The address of a buffer; throws ScheduleError if it leaves the scratchpad.
void* address(const goal_schedule& s, VertexId v, const GOAL_Buffer& buffer, size_t bytes) {
  if (buffer.memory == GOAL_USERSPACE) return reinterpret_cast<void*>(buffer.place);
  if (buffer.place > s.scratch_bytes || bytes > s.scratch_bytes - buffer.place) {
    throw ScheduleError({}, "the " + s.graph.describe(v) + " works on bytes " + std::to_string(buffer.place) + " to " +
                                std::to_string(buffer.place + bytes) + " of the scratchpad, which has " +
                                std::to_string(s.scratch_bytes) + "; ask for more with GOAL_Scratch");
  }
  return s.scratch.get() + buffer.place;
}

Range range(const void* start, size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(start);
  return {begin, begin + bytes};
}

int compile_and_load(goal_schedule& s, std::uint16_t context) {
  s.scratch.reset(new std::byte[s.scratch_bytes + 1]());
  std::vector<Binding> bindings(s.graph.size());
  std::vector<Footprint> footprints(s.graph.size());
  for (VertexId v = 0; v < s.graph.size(); ++v) {
    const goal_schedule::Work& work = s.work[v];
    Binding& binding = bindings[v];
    binding.op = work.op;
    binding.type = work.type;
    binding.count = work.count;
    binding.memory = address(s, v, work.memory, work.bytes);
    (s.graph[v].kind == Kind::send ? footprints[v].reads[0] : footprints[v].writes) = range(binding.memory, work.bytes);
    if (s.graph[v].kind != Kind::calc || work.op >= PTLX_TIMESTAMP) continue;
    binding.a = address(s, v, work.a, work.bytes);
    footprints[v].reads[0] = range(binding.a, work.bytes);
    if (work.op == PTLX_COPY) continue;
    binding.b = address(s, v, work.b, work.bytes);
    footprints[v].reads[1] = range(binding.b, work.bytes);
  }
  CompileOptions options;
  options.rank = static_cast<std::uint32_t>(library().job.rank);
  options.context = context;
  options.footprints = footprints;
  s.loaded.emplace(library().port, compile(s.graph, options), std::move(bindings));
  const int code = s.loaded->load();
  if (code == PTL_OK) return GOAL_SUCCESS;
  s.loaded.reset();
  return fail(code == PTL_NO_SPACE ? GOAL_ERR_NO_SPACE : GOAL_ERR_NETWORK,
              "the network interface has not enough counters or descriptors left for this schedule");
}

// After a step of the execution that ended it.
int ended(goal_schedule& s, int code, GOAL_Request* request) {
  *request = GOAL_REQUEST_NULL;
  if (code == PTL_OK) return GOAL_SUCCESS;
  s.broken = true;
  return fail(GOAL_ERR_FAILED, "a message or a computation of the schedule failed");
}

}  // namespace

extern "C" {

int GOAL_Init(int* rank, int* size) {
  Library& l = library();
  if (l.users == 0) {
    if (const int code = open_library(); code != GOAL_SUCCESS) return code;
  }
  ++l.users;
  if (rank) *rank = l.job.rank;
  if (size) *size = l.job.size;
  return GOAL_SUCCESS;
}

int GOAL_Finalize(void) {
  Library& l = library();
  if (l.users == 0) return fail(GOAL_ERR_STATE, "GOAL is not initialised");
  if (l.users == 1 && l.schedules > 0) return fail(GOAL_ERR_STATE, std::to_string(l.schedules) + " schedules are not freed");
  return --l.users == 0 ? close_library() : static_cast<int>(GOAL_SUCCESS);
}

int GOAL_Create(GOAL_Schedule* schedule) {
  if (!schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if (library().users == 0) return fail(GOAL_ERR_STATE, "GOAL is not initialised");
  *schedule = new (std::nothrow) goal_schedule;
  if (!*schedule) return fail(GOAL_ERR_NO_SPACE, "there is no memory for another schedule");
  (*schedule)->run.schedule = *schedule;
  ++library().schedules;
  return GOAL_SUCCESS;
}

int GOAL_Scratch(GOAL_Schedule schedule, size_t bytes) {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  schedule->scratch_bytes = bytes;
  return GOAL_SUCCESS;
}

int GOAL_Send(GOAL_Schedule schedule, GOAL_Buffer from, size_t bytes, int peer, uint32_t tag, GOAL_Op* op) {
  return add_message(schedule, Kind::send, from, bytes, peer, tag, op);
}

int GOAL_Recv(GOAL_Schedule schedule, GOAL_Buffer to, size_t bytes, int peer, uint32_t tag, GOAL_Op* op) {
  return add_message(schedule, Kind::recv, to, bytes, peer, tag, op);
}

int GOAL_Local(GOAL_Schedule schedule, GOAL_Local_op operation, GOAL_Type type, GOAL_Buffer dst, GOAL_Buffer a, GOAL_Buffer b,
               size_t count, GOAL_Op* op) {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  if (static_cast<unsigned>(operation) > GOAL_DELAY) return fail(GOAL_ERR_ARG, "there is no such local operation");
  Vertex vertex;
  goal_schedule::Work work;
  work.op = static_cast<ptlx_local_op_t>(operation);
  if (operation == GOAL_DELAY) {
    vertex.size = count;
    return add(schedule, vertex, work, op);
  }
  work.memory = dst;
  work.bytes = sizeof(uint64_t);
  if (operation != GOAL_TIMESTAMP) {
    if (static_cast<unsigned>(type) > GOAL_DOUBLE) return fail(GOAL_ERR_ARG, "there is no such type");
    const TypeFacts& facts = kTypes[type];
    const bool bitwise = operation == GOAL_AND || operation == GOAL_OR || operation == GOAL_XOR;
    if (bitwise && !facts.integer) return fail(GOAL_ERR_ARG, "bits of floating-point numbers cannot be combined");
    if (count > SIZE_MAX / facts.width) return fail(GOAL_ERR_ARG, "so many elements are more than memory can hold");
    work.type = facts.type;
    work.count = count;
    work.bytes = count * facts.width;
    work.a = a;
    work.b = b;
  }
  const bool reads_a = operation < GOAL_TIMESTAMP, reads_b = operation < GOAL_COPY;
  if (!has_place(dst, work.bytes) || (reads_a && !has_place(a, work.bytes)) || (reads_b && !has_place(b, work.bytes)))
    return fail(GOAL_ERR_ARG, "a buffer has no memory");
  return add(schedule, vertex, work, op);
}

int GOAL_Requires(GOAL_Schedule schedule, GOAL_Op op, GOAL_Op prerequisite) {
  return add_edge(schedule, op, prerequisite, After::finish);
}

int GOAL_IRequires(GOAL_Schedule schedule, GOAL_Op op, GOAL_Op prerequisite) {
  return add_edge(schedule, op, prerequisite, After::start);
}

int GOAL_Compile(GOAL_Schedule schedule) {
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  schedule->closed = true;
  const std::uint16_t context = library().next_context++;  // counted in any case, as on the other ranks
  try {
    try {
      schedule->graph.finish();
    } catch (const ScheduleError& error) {
      return fail(GOAL_ERR_CYCLE, error.message);
    }
    return compile_and_load(*schedule, context);
  } catch (const ScheduleError& error) {
    return fail(GOAL_ERR_ARG, error.message);
  } catch (const std::bad_alloc&) {
    return fail(GOAL_ERR_NO_SPACE, "there is no memory for the scratchpad or the compiled schedule");
  }
}

int GOAL_Run(GOAL_Schedule schedule, GOAL_Request* request) {
  if (!schedule || !request) return fail(GOAL_ERR_ARG, "the schedule or the request is NULL");
  if (!schedule->loaded) return fail(GOAL_ERR_STATE, "the schedule is not compiled");
  if (schedule->broken) return fail(GOAL_ERR_STATE, "the schedule has failed and can only be freed");
  if (schedule->loaded->running()) return fail(GOAL_ERR_STATE, "the schedule runs already");
  const int code = schedule->loaded->start();
  if (code != PTL_OK) {
    schedule->broken = true;
    return fail(code == PTL_NO_SPACE ? GOAL_ERR_NO_SPACE : GOAL_ERR_NETWORK,
                "the network interface has not enough entries or triggered operations left for this schedule");
  }
  *request = &schedule->run;
  return GOAL_SUCCESS;
}

int GOAL_Test(GOAL_Request* request, int* done) {
  if (!request || !done) return fail(GOAL_ERR_ARG, "the request or the result is NULL");
  *done = 1;
  if (*request == GOAL_REQUEST_NULL) return GOAL_SUCCESS;
  goal_schedule& schedule = *(*request)->schedule;
  bool finished = false;
  const int code = schedule.loaded->test(finished);
  *done = finished ? 1 : 0;
  return finished ? ended(schedule, code, request) : static_cast<int>(GOAL_SUCCESS);
}

int GOAL_Wait(GOAL_Request* request) {
  if (!request) return fail(GOAL_ERR_ARG, "the request is NULL");
  if (*request == GOAL_REQUEST_NULL) return GOAL_SUCCESS;
  goal_schedule& schedule = *(*request)->schedule;
  const int code = schedule.loaded->wait();
  return ended(schedule, code, request);
}

int GOAL_Free(GOAL_Schedule* schedule) {
  if (!schedule || !*schedule) return fail(GOAL_ERR_ARG, "the schedule is NULL");
  if ((*schedule)->loaded && (*schedule)->loaded->running() && !(*schedule)->broken)
    return fail(GOAL_ERR_STATE, "the schedule runs; wait for it first");
  delete *schedule;
  *schedule = nullptr;
  --library().schedules;
  return GOAL_SUCCESS;
}

const char* GOAL_Explain(void) { return explanation.c_str(); }

}  // extern "C"
