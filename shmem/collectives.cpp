// collectives.cpp: from a collective to a schedule that runs.
#include "shmem/collectives.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "engine/goal/copy.hpp"
#include "shmem/misuse.hpp"
#include "shmem/runtime.hpp"

namespace portunus::shmem {

namespace {

std::mutex compiler;  // GOAL compiles and frees for one thread at a time
const int* nodes_of_world = nullptr;

void check(int code, const char* call) {
  if (code != GOAL_SUCCESS) [[unlikely]]
    misuse("a collective failed: %s: %s", call, GOAL_Explain());
}

// The same of a call that waits for the PEs of a team.
void check(int code, const char* call, const Team& team) {
  if (code == GOAL_SUCCESS) [[likely]]
    return;
  if (const int pe = who_failed(&team.members); pe >= 0) misuse("a collective waits for PE %d, which has died", pe);
  check(code, call);
}

size_t width_of(GOAL_Type type) {
  switch (type) {
    case GOAL_INT8:
    case GOAL_UINT8: return 1;
    case GOAL_INT16:
    case GOAL_UINT16: return 2;
    case GOAL_INT32:
    case GOAL_UINT32:
    case GOAL_FLOAT: return 4;
    case GOAL_LONG_DOUBLE:
    case GOAL_DOUBLE_COMPLEX: return 16;
    default: return 8;
  }
}

GOAL_Node_call node_call(GOAL_Node_kind kind, size_t bytes, const void* in, void* out, int root = 0) {
  GOAL_Node_call call{};
  call.kind = kind;
  call.root = root;
  call.bytes = bytes;
  call.in = in;
  call.out = out;
  return call;
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes != 0 && to && from && to != from) copy_run(to, from, bytes);
}

}  // namespace

namespace {

struct Call {
  char function[48];
  size_t bytes;
  Place dest;
  int root;
};

}  // namespace

void must_be_alike(const char* function, Team& team, size_t bytes, int root, const void* dest) {
  if (!runtime.debug) return;
  Call mine;
  memset(&mine, 0, sizeof mine);
  snprintf(mine.function, sizeof mine.function, "%s", function);
  mine.bytes = bytes;
  mine.root = root;
  if (bytes != 0) mine.dest = locate(function, dest, bytes, runtime.my_pe);
  Call first = mine;
  team.collectives->share(&first, sizeof first, 0);
  // Member by member: what lies between them is anything.
  if (strcmp(first.function, mine.function) == 0 && first.bytes == mine.bytes && first.root == mine.root &&
      first.dest.segment == mine.dest.segment && first.dest.offset == mine.dest.offset)
    return;
  misuse(
      "%s: the PEs of the team call differently: here with %zu bytes, root %d, dest at %zu of the %s; PE %d calls %s with %zu bytes, "
      "root %d, dest at %zu of the %s",
      function, mine.bytes, mine.root, mine.dest.offset, mine.dest.segment == kHeap ? "heap" : "globals", team.members[0], first.function,
      first.bytes, first.root, first.dest.offset, first.dest.segment == kHeap ? "heap" : "globals");
}

void collectives_open() {
  if (GOAL_Init(nullptr, nullptr) != GOAL_SUCCESS) misuse("shmem_init: %s", GOAL_Explain());
  GOAL_Group world;
  check(GOAL_World(&world), "GOAL_World");
  nodes_of_world = world.nodes;
}

void collectives_close() { GOAL_Finalize(); }

Collectives::Kept::~Kept() {
  if (schedule == nullptr) return;
  const std::lock_guard lock(compiler);
  GOAL_Free(&schedule);
}

Collectives::~Collectives() { GOAL_Node_close(&node_); }

const GOAL_Group& Collectives::group() {
  if (group_.size == 0) {
    for (int i = 0; i < team_.size(); ++i) {
      ranks_.push_back(team_.members[i]);
      nodes_.push_back(nodes_of_world[ranks_.back()]);
    }
    const unsigned context = kFirstContext + team_.id * kContexts;
    group_ = {.rank = team_.my_pe, .size = team_.size(), .ranks = ranks_.data(), .nodes = nodes_.data(), .tag = 0, .algorithm = GOAL_AUTO};
    check(GOAL_Node_open(&group_, context, nullptr, nullptr, nullptr, &node_), "GOAL_Node_open", team_);
  }
  return group_;
}

int Collectives::add(GOAL_Schedule& schedule, const GOAL_Group& group, const Shape& shape, void* dest, const void* source) {
  const GOAL_Buffer to = GOAL_User(dest);
  const GOAL_Buffer from = dest == source ? GOAL_InPlace() : GOAL_User(source);
  switch (shape.kind) {
    case Kind::barrier: return GOAL_Barrier(&schedule, &group, nullptr);
    case Kind::broadcast: return GOAL_Bcast(&schedule, &group, to, shape.bytes, shape.root, nullptr);
    case Kind::fcollect: return GOAL_Allgather(&schedule, &group, from, to, shape.bytes, nullptr);
    case Kind::alltoall: return GOAL_Alltoall(&schedule, &group, from, to, shape.bytes / static_cast<size_t>(team_.size()), nullptr);
    case Kind::reduce: return GOAL_Allreduce(&schedule, &group, from, to, shape.count, shape.type, shape.op, nullptr);
    case Kind::inscan: return GOAL_Scan(&schedule, &group, from, to, shape.count, shape.type, shape.op, nullptr);
    case Kind::exscan: return GOAL_Exscan(&schedule, &group, from, to, shape.count, shape.type, shape.op, nullptr);
  }
  __builtin_unreachable();
}

template <class Add>
GOAL_Schedule Collectives::compile(unsigned context, unsigned epoch, Add&& add_to) {
  const std::lock_guard lock(compiler);
  GOAL_Schedule schedule = nullptr;
  check(GOAL_Create(&schedule), "GOAL_Create");
  check(add_to(schedule), "the call");
  check(GOAL_Context(schedule, kFirstContext + team_.id * kContexts + context), "GOAL_Context");
  check(GOAL_Epoch(schedule, epoch), "GOAL_Epoch");
  check(GOAL_Compile(schedule), "GOAL_Compile", team_);
  return schedule;
}

void Collectives::execute(GOAL_Schedule schedule) {
  GOAL_Request request;
  check(GOAL_Run(schedule, &request), "GOAL_Run", team_);
  check(GOAL_Wait(&request), "GOAL_Wait", team_);
}

unsigned Collectives::next_context() { return 1 + turn_++ % (kContexts - 1); }

Collectives::Kept& Collectives::kept(const Shape& shape, size_t dest_bytes) {
  auto& place = cache_.place_of(shape, false);
  const unsigned epoch = place.epoch++;
  if (place.now) return *place.now;
  constexpr size_t kLine = 64;
  auto fresh = std::make_shared<Kept>();
  const size_t dest_at = (shape.bytes + kLine - 1) / kLine * kLine;
  fresh->memory = std::make_unique<std::byte[]>(dest_at + dest_bytes + 1);
  fresh->dest = fresh->memory.get() + dest_at;
  GOAL_Group tagged = group();
  tagged.tag = place.tag;
  fresh->schedule = compile(0, epoch, [&](GOAL_Schedule& s) { return add(s, tagged, shape, fresh->dest, fresh->memory.get()); });
  cache_.replace(place, std::move(fresh));
  return *place.now;
}

void Collectives::run_once(const Shape& shape, void* dest, const void* source) {
  GOAL_Schedule schedule = compile(next_context(), 0, [&](GOAL_Schedule& s) { return add(s, group(), shape, dest, source); });
  execute(schedule);
  const std::lock_guard lock(compiler);
  GOAL_Free(&schedule);
}

bool Collectives::on_node(const GOAL_Node_call& call) {
  group();
  const int code = GOAL_Node_run(node_, &call);
  if (code == GOAL_NODE_MISMATCH) misuse("the PEs of a team call different collectives, or with different sizes or roots");
  if (code != GOAL_NODE_NOT_TAKEN) check(code, "GOAL_Node_run", team_);
  return code == GOAL_SUCCESS;
}

// A schedule that was compiled once serves all calls of its shape.
void Collectives::run(const Shape& shape, void* dest, const void* source, size_t dest_bytes) {
  if (shape.bytes + dest_bytes > kMostKeptBytes) {
    run_once(shape, dest, source);
    return;
  }
  Kept& use = kept(shape, dest_bytes);
  copy(use.memory.get(), source, shape.bytes);
  execute(use.schedule);
  copy(dest, use.dest, dest_bytes);
}

void Collectives::barrier() { run({.kind = Kind::barrier, .bytes = 0}, nullptr, nullptr, 0); }

void Collectives::broadcast(void* dest, const void* source, size_t bytes, int root, bool at_root) {
  const bool from_here = root == team_.my_pe;
  if (from_here && at_root) copy(dest, source, bytes);
  // The root only reads what the schedule calls its buffer.
  share(from_here ? const_cast<void*>(source) : dest, bytes, root);
}

void Collectives::share(void* data, size_t bytes, int root) {
  if (team_.size() == 1 || bytes == 0) return;
  if (on_node(node_call(GOAL_NODE_BCAST, bytes, nullptr, data, root))) return;
  const Shape shape{.kind = Kind::broadcast, .bytes = bytes, .root = root};
  if (bytes > kMostKeptBytes) {
    run_once(shape, data, nullptr);
    return;
  }
  Kept& use = kept(shape, bytes);
  if (root == team_.my_pe) copy(use.dest, data, bytes);
  execute(use.schedule);
  if (root != team_.my_pe) copy(data, use.dest, bytes);
}

// All PEs come to the same answer.
bool Collectives::stores(void* dest, size_t all) {
  if (all < kLeastStored * static_cast<size_t>(team_.size()) || !is_symmetric(dest)) return false;
  if (!asked_) {
    asked_ = true;
    uint8_t mine = 1;
    for (int i = 0; i < team_.size(); ++i) mine &= runtime.peers[team_.members[i]].on_node();
    reduce(&reaches_all_, &mine, 1, GOAL_UINT8, GOAL_MIN);
  }
  return reaches_all_ != 0;
}

// The caller's promise that dest is ready everywhere is all that stores need. What was stored is there when all have met.
void Collectives::store_to_all(void* dest, size_t at, const void* source, size_t bytes, size_t step) {
  const auto n = static_cast<size_t>(team_.size());
  const Place place = locate("a collective", static_cast<std::byte*>(dest) + at, bytes, runtime.my_pe);
  for (size_t i = 1; i <= n; ++i) {
    const size_t pe = (static_cast<size_t>(team_.my_pe) + i) % n;
    copy(runtime.peers[team_.members[static_cast<int>(pe)]].at<std::byte>(place), static_cast<const std::byte*>(source) + pe * step, bytes);
  }
  if (!on_node(node_call(GOAL_NODE_BARRIER, 0, nullptr, nullptr))) barrier();
}

void Collectives::fcollect(void* dest, const void* source, size_t bytes) {
  const auto n = static_cast<size_t>(team_.size()), me = static_cast<size_t>(team_.my_pe);
  if (stores(dest, n * bytes)) {
    store_to_all(dest, me * bytes, source, bytes, 0);
    return;
  }
  if (on_node(node_call(GOAL_NODE_ALLGATHER, bytes, source, dest))) return;
  run({.kind = Kind::fcollect, .bytes = bytes}, dest, source, n * bytes);
}

void Collectives::collect(void* dest, const void* source, size_t bytes) {
  std::vector<size_t> sizes(static_cast<size_t>(team_.size()));
  fcollect(sizes.data(), &bytes, sizeof bytes);
  std::vector<ptrdiff_t> begins(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), ptrdiff_t{0},
                      [](ptrdiff_t sum, auto size) { return sum + static_cast<ptrdiff_t>(size); });
  const auto me = static_cast<size_t>(team_.my_pe);
  if (stores(dest, static_cast<size_t>(begins.back()) + sizes.back())) {
    store_to_all(dest, static_cast<size_t>(begins[me]), source, bytes, 0);
    return;
  }
  GOAL_Node_call call = node_call(GOAL_NODE_ALLGATHERV, bytes, source, dest);
  call.out_sizes = sizes.data();
  call.out_places = begins.data();
  if (on_node(call)) return;
  GOAL_Schedule schedule = compile(next_context(), 0, [&](GOAL_Schedule& s) {
    return GOAL_Allgatherv(&s, &group(), GOAL_User(source), GOAL_User(dest), sizes.data(), begins.data(), nullptr);
  });
  execute(schedule);
  const std::lock_guard lock(compiler);
  GOAL_Free(&schedule);
}

void Collectives::alltoall(void* dest, const void* source, size_t bytes) {
  const size_t all = bytes * static_cast<size_t>(team_.size());
  if (stores(dest, all)) {
    store_to_all(dest, static_cast<size_t>(team_.my_pe) * bytes, source, bytes, bytes);
    return;
  }
  if (on_node(node_call(GOAL_NODE_ALLTOALL, bytes, source, dest))) return;
  run({.kind = Kind::alltoall, .bytes = all}, dest, source, all);
}

void Collectives::combine(Kind kind, void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op) {
  const size_t bytes = count * width_of(type);
  const GOAL_Node_kind here = kind == Kind::reduce ? GOAL_NODE_ALLREDUCE : kind == Kind::inscan ? GOAL_NODE_SCAN : GOAL_NODE_EXSCAN;
  GOAL_Node_call call = node_call(here, 0, source, dest);
  call.type = type;
  call.op = op;
  call.count = count;
  if (on_node(call)) return;
  run({.kind = kind, .bytes = bytes, .count = count, .type = type, .op = op}, dest, source, bytes);
}

void Collectives::reduce(void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op) {
  combine(Kind::reduce, dest, source, count, type, op);
}

void Collectives::inscan(void* dest, const void* source, size_t count, GOAL_Type type) {
  combine(Kind::inscan, dest, source, count, type, GOAL_ADD);
}

void Collectives::exscan(void* dest, const void* source, size_t count, GOAL_Type type) {
  combine(Kind::exscan, dest, source, count, type, GOAL_ADD);
  if (team_.my_pe == 0 && count != 0) memset(dest, 0, count * width_of(type));
}

}  // namespace portunus::shmem
