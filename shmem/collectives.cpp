// collectives.cpp: from a collective of OpenSHMEM to a call of GOAL.
#include "shmem/collectives.hpp"

#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/goal/copy.hpp"
#include "shmem/misuse.hpp"
#include "shmem/runtime.hpp"

namespace portunus::shmem {

namespace {

const int* nodes_of_world = nullptr;

void check(int code, const char* call) {
  if (code != GOAL_SUCCESS) [[unlikely]]
    misuse("a collective cannot be carried out (%s); PTL_DEBUG=1 says what is wrong", call);
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

void copy(void* to, const void* from, size_t bytes) {
  if (bytes != 0 && to && from && to != from) copy_run(to, from, bytes);
}

}  // namespace

void must_succeed(int code, const char* call, const Members& members) {
  if (code == GOAL_SUCCESS) [[likely]]
    return;
  if (code == GOAL_MISMATCH) misuse("the PEs of a team call different collectives, or with different sizes or roots");
  if (const int pe = who_failed(&members); pe >= 0) misuse("a collective waits for PE %d, which has died", pe);
  check(code, call);
}

CallFacts::CallFacts(const char* its_function, size_t its_bytes, int its_root, const void* its_dest) {
  memset(this, 0, sizeof *this);
  snprintf(function, sizeof function, "%s", its_function);
  bytes = its_bytes;
  root = its_root;
  if (bytes != 0) dest = locate(its_function, its_dest, bytes, runtime.my_pe);
}

// Member by member: what lies between them is anything.
bool CallFacts::operator==(const CallFacts& other) const {
  return strcmp(function, other.function) == 0 && bytes == other.bytes && root == other.root && dest.segment == other.dest.segment &&
         dest.offset == other.dest.offset;
}

void CallFacts::complain(const CallFacts& other, int pe) const {
  misuse(
      "%s: the PEs of the team call differently: here with %zu bytes, root %d, dest at %zu of the %s; PE %d calls %s with %zu bytes, "
      "root %d, dest at %zu of the %s",
      function, bytes, root, dest.offset, dest.segment == kHeap ? "heap" : "globals", pe, other.function, other.bytes, other.root,
      other.dest.offset, other.dest.segment == kHeap ? "heap" : "globals");
}

void must_be_alike(const char* function, Team& team, size_t bytes, int root, const void* dest) {
  if (!runtime.debug) return;
  const CallFacts mine(function, bytes, root, dest);
  CallFacts first = mine;
  team.collectives->share(&first, sizeof first, 0);
  if (!(first == mine)) mine.complain(first, team.members[0]);
  team.collectives->barrier();  // else those that fit may meet a later call of one that does not, before it has complained
}

void collectives_open() {
  if (GOAL_Init(nullptr, nullptr) != GOAL_SUCCESS) misuse("shmem_init: %s", GOAL_Explain());
  GOAL_Group world;
  check(GOAL_World(&world), "GOAL_World");
  nodes_of_world = world.nodes;
}

void collectives_close() { GOAL_Finalize(); }

Collectives::~Collectives() {
  GOAL_Team_close(&later_);
  GOAL_Team_close(&goal_);
  if (place_ != 0) GOAL_Place_leave(fixed_teams.world->collectives->goal_, &group(), place_);
}

void Collectives::take_place(uint64_t key) {
  if (team_.my_pe == 0) place_ = GOAL_Place_take(fixed_teams.world->collectives->goal_, &group(), key);
}

void Collectives::find_place(uint64_t key) {
  if (team_.my_pe != 0) place_ = GOAL_Place_find(fixed_teams.world->collectives->goal_, &group(), key);
}

const GOAL_Group& Collectives::group() {
  if (ranks_.empty()) {
    for (int i = 0; i < team_.size(); ++i) {
      ranks_.push_back(team_.members[i]);
      nodes_.push_back(nodes_of_world[ranks_.back()]);
    }
    group_ = {team_.my_pe, team_.size(), ranks_.data(), nodes_.data(), 0, GOAL_AUTO};
  }
  return group_;
}

int Collectives::open(GOAL_Team& team, unsigned first_context) {
  if (team) [[likely]]
    return GOAL_SUCCESS;
  const int code = GOAL_Team_open(&group(), first_context + team_.id, GOAL_TEAM_CHECKED, nullptr, nullptr, nullptr, &team);
  if (code != GOAL_SUCCESS || &team != &goal_ || place_ == 0) return code;
  return GOAL_Team_lie_at(goal_, fixed_teams.world->collectives->goal_, place_);
}

int Collectives::start(const GOAL_Call& call, void (*ended)(void*), void* arg, GOAL_Started* started, bool later) {
  const int code = later ? open_later() : open(goal_, client::kFirstTeamContext);
  return code == GOAL_SUCCESS ? GOAL_Start(later ? later_ : goal_, &call, ended, arg, started) : code;
}

void Collectives::run(const GOAL_Call& call) {
  must_succeed(open(goal_, client::kFirstTeamContext), "GOAL_Team_open", team_.members);
  must_succeed(GOAL_Call_run(goal_, &call), "GOAL_Call_run", team_.members);
}

void Collectives::share_memory() {
  must_succeed(open(goal_, client::kFirstTeamContext), "GOAL_Team_open", team_.members);
  must_succeed(GOAL_Team_share(goal_), "GOAL_Team_share", team_.members);
}

void Collectives::barrier() { run(call_of(GOAL_CALL_BARRIER, 0, nullptr, nullptr)); }

void Collectives::broadcast(void* dest, const void* source, size_t bytes, int root, bool at_root) {
  const bool from_here = root == team_.my_pe;
  if (from_here && at_root) copy(dest, source, bytes);
  // The root only reads what the schedule calls its buffer.
  share(from_here ? const_cast<void*>(source) : dest, bytes, root);
}

void Collectives::share(void* data, size_t bytes, int root) {
  if (team_.size() == 1 || bytes == 0) return;
  run(call_of(GOAL_CALL_BCAST, bytes, nullptr, data, root));
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
  barrier();
}

void Collectives::fcollect(void* dest, const void* source, size_t bytes) {
  const auto n = static_cast<size_t>(team_.size()), me = static_cast<size_t>(team_.my_pe);
  if (stores(dest, n * bytes)) {
    store_to_all(dest, me * bytes, source, bytes, 0);
    return;
  }
  run(call_of(GOAL_CALL_ALLGATHER, bytes, source, dest));
}

void Collectives::collect(void* dest, const void* source, size_t bytes) {
  std::vector<size_t> sizes(static_cast<size_t>(team_.size()));
  fcollect(sizes.data(), &bytes, sizeof bytes);
  std::vector<ptrdiff_t> begins(sizes.size());
  begins_of(sizes, begins);
  const auto me = static_cast<size_t>(team_.my_pe);
  if (stores(dest, static_cast<size_t>(begins.back()) + sizes.back())) {
    store_to_all(dest, static_cast<size_t>(begins[me]), source, bytes, 0);
    return;
  }
  GOAL_Call call = call_of(GOAL_CALL_ALLGATHERV, bytes, source, dest);
  call.out_sizes = sizes.data();
  call.out_places = begins.data();
  run(call);
}

void Collectives::alltoall(void* dest, const void* source, size_t bytes) {
  const size_t all = bytes * static_cast<size_t>(team_.size());
  if (stores(dest, all)) {
    store_to_all(dest, static_cast<size_t>(team_.my_pe) * bytes, source, bytes, bytes);
    return;
  }
  run(call_of(GOAL_CALL_ALLTOALL, bytes, source, dest));
}

void Collectives::combine(GOAL_Call_kind kind, void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op) {
  run(call_of(kind, count, type, op, source, dest));
}

void Collectives::reduce(void* dest, const void* source, size_t count, GOAL_Type type, GOAL_Local_op op) {
  combine(GOAL_CALL_ALLREDUCE, dest, source, count, type, op);
}

void Collectives::inscan(void* dest, const void* source, size_t count, GOAL_Type type) {
  combine(GOAL_CALL_SCAN, dest, source, count, type, GOAL_ADD);
}

void Collectives::exscan(void* dest, const void* source, size_t count, GOAL_Type type) {
  combine(GOAL_CALL_EXSCAN, dest, source, count, type, GOAL_ADD);
  if (team_.my_pe == 0 && count != 0) memset(dest, 0, count * width_of(type));
}

}  // namespace portunus::shmem
