// Communicators, windows and topologies as records name them: see mpi.hpp.
#include "engine/tools/record/mpi_groups.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_map>

namespace portunus::record::mpi {

namespace {

struct Window {
  Group group;
  std::vector<int> opened, started;  // ranks of MPI_Win_post and of MPI_Win_start, in the job
};

struct Tables {
  std::recursive_mutex mutex;
  MPI_Group world = MPI_GROUP_NULL;  // of the job
  int sessions = 0;
  uint32_t numbers = 0;
  std::unordered_map<MPI_Comm, Group> comms;
  std::unordered_map<MPI_Win, Window> windows;
  std::unordered_map<uint64_t, uint32_t> used;  // how many were made of a hash
  bool foreign = false;
};

Tables& tables() {
  static Tables& all = *new Tables;
  return all;
}

// The ranks of a group in the job.
std::vector<int> ranks_of(MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> here(static_cast<size_t>(size)), ranks(static_cast<size_t>(size), -1);
  for (int i = 0; i < size; ++i) here[static_cast<size_t>(i)] = i;
  if (tables().world != MPI_GROUP_NULL && size > 0) PMPI_Group_translate_ranks(group, size, here.data(), tables().world, ranks.data());
  for (int& rank : ranks) rank = std::max(rank, -1);
  return ranks;
}

std::vector<int> ranks_and_free(MPI_Group group) {
  std::vector<int> ranks = ranks_of(group);
  PMPI_Group_free(&group);
  return ranks;
}

void fill(MPI_Comm comm, Group& group) {
  int inter = 0;
  MPI_Group members;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &group.rank);
  PMPI_Comm_group(comm, &members);
  group.ranks = ranks_and_free(members);
  group.inter = inter != 0;
  if (!group.inter) return;
  PMPI_Comm_remote_group(comm, &members);
  group.remote = ranks_and_free(members);
}

// Numbers it, and makes of `hash` and its members one that no other communicator has, and that all its ranks find.
void define(Call& call, Group& group, uint64_t hash) {
  std::vector<int> all = group.ranks;
  all.insert(all.end(), group.remote.begin(), group.remote.end());
  std::vector<int> sorted = all;
  std::ranges::sort(sorted);
  for (const int rank : sorted) hash = mixed(hash, static_cast<uint64_t>(rank));
  group.hash = mixed(hash, tables().used[hash]++);
  group.number = tables().numbers++;
  std::vector<uint64_t> numbers{group.hash};
  if (!group.inter)
    for (const int rank : group.ranks) numbers.push_back(static_cast<uint64_t>(static_cast<int64_t>(rank)));
  Record record = of(group, What::communicator);
  call.append(record, numbers);
}

uint64_t child_of(Group& parent) { return mixed(parent.hash, ++parent.created); }

void define_child(Call& call, MPI_Comm comm, uint64_t hash) {
  if (comm == MPI_COMM_NULL) return;
  Group group;
  fill(comm, group);
  define(call, group, hash);
  tables().comms[comm] = std::move(group);
}

}  // namespace

int Group::peer(int rank_there) const {
  const std::vector<int>& side = inter ? remote : ranks;
  return rank_there >= 0 && static_cast<size_t>(rank_there) < side.size() ? side[static_cast<size_t>(rank_there)] : -1;
}

std::unique_lock<std::recursive_mutex> lock_tables() {
  return Writer::instance().is_serialised() ? std::unique_lock(tables().mutex) : std::unique_lock<std::recursive_mutex>();
}

uint64_t mixed(uint64_t hash, uint64_t number) {
  const uint64_t z = (hash ^ std::rotl(number + 1, 32)) * 0x9e3779b97f4a7c15u;
  return (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
}

Record of(const Group& group, What what) {
  Record record;
  record.what = what;
  record.comm = group.number;
  return record;
}

void note_foreign(Call& call) {
  if (tables().foreign) return;
  tables().foreign = true;
  Record record;
  record.what = What::note;
  call.append(record);
}

Group& group_of(Call& call, MPI_Comm comm) {
  const auto found = tables().comms.find(comm);
  if (found != tables().comms.end()) return found->second;
  define_child(call, comm, 1);
  return tables().comms[comm];
}

Group& group_of(MPI_Comm comm) {
  Call call;
  return group_of(call, comm);
}

Group& group_of(MPI_Win win) { return tables().windows[win].group; }

size_t size_of(MPI_Comm comm) {
  int size = 0, inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter != 0) PMPI_Comm_remote_size(comm, &size);
  else PMPI_Comm_size(comm, &size);
  return static_cast<size_t>(size);
}

bool is_root(MPI_Comm comm, int root) {
  int rank = -1;
  if (root < 0) return root == MPI_ROOT;
  PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

void begin(Call& call) {
  const auto lock = lock_tables();
  int rank = 0, size = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (tables().world == MPI_GROUP_NULL) PMPI_Comm_group(MPI_COMM_WORLD, &tables().world);
  Writer::instance().open(rank, size);
  group_of(call, MPI_COMM_WORLD);
}

void end(Call& call) {
  const auto lock = lock_tables();
  if (tables().world != MPI_GROUP_NULL) PMPI_Group_free(&tables().world);
  call.append({});
  Writer::instance().finish();
}

// A program of sessions alone has no MPI_COMM_WORLD: its rank is that in the set of all processes.
void begin_session() {
  const auto lock = lock_tables();
  if (tables().sessions++ > 0 || Writer::instance().is_open()) return;
  MPI_Session session;
  MPI_Group world;
  int rank = 0, size = 1;
  if (PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return;
  if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) == MPI_SUCCESS) {
    PMPI_Group_rank(world, &rank);
    PMPI_Group_size(world, &size);
    tables().world = world;
    Writer::instance().open(rank, size);
  }
  PMPI_Session_finalize(&session);
}

void end_session() {
  const auto lock = lock_tables();
  int initialized = 0;
  PMPI_Initialized(&initialized);
  if (--tables().sessions > 0 || initialized != 0) return;
  if (tables().world != MPI_GROUP_NULL) PMPI_Group_free(&tables().world);
  Call call;
  call.append({});
  Writer::instance().finish();
}

void allow_threads(int provided) {
  if (provided == MPI_THREAD_MULTIPLE) Writer::instance().serialise();
}

void created(MPI_Comm parent, MPI_Comm comm) {
  const auto lock = lock_tables();
  Call call;
  const uint64_t hash = child_of(group_of(call, parent));
  define_child(call, comm, hash);
}

uint64_t next_child(Call& call, MPI_Comm parent) {
  const auto lock = lock_tables();
  return child_of(group_of(call, parent));
}

void created_as(Call& call, MPI_Comm comm, uint64_t hash) {
  const auto lock = lock_tables();
  define_child(call, comm, hash);
}

void created_by_tag(Call& call, uint64_t name, MPI_Comm comm) {
  const auto lock = lock_tables();
  if (comm == MPI_COMM_NULL) return;
  define_child(call, comm, name);
  if (!group_of(call, comm).inter) collective(call, comm, {Collective::barrier});
}

uint64_t name_of(MPI_Comm parent, int tag) {
  const auto lock = lock_tables();
  return mixed(parent == MPI_COMM_NULL ? 2 : group_of(parent).hash, static_cast<uint64_t>(tag) + 3);
}

uint64_t name_of(const char* tag) {
  uint64_t hash = 4;
  for (; *tag != '\0'; ++tag) hash = mixed(hash, static_cast<unsigned char>(*tag));
  return hash;
}

void forget(MPI_Comm comm) {
  const auto lock = lock_tables();
  tables().comms.erase(comm);
}

void foreign(Call& call) {
  const auto lock = lock_tables();
  note_foreign(call);
}

// ---- topologies

std::vector<int> neighbours(MPI_Comm comm, bool sources) {
  int kind = 0;
  std::vector<int> ranks;
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) {
    int dimensions = 0;
    PMPI_Cartdim_get(comm, &dimensions);
    for (int d = 0; d < dimensions; ++d) {
      int before = 0, after = 0;
      PMPI_Cart_shift(comm, d, 1, &before, &after);
      ranks.push_back(before);
      ranks.push_back(after);
    }
  } else if (kind == MPI_GRAPH) {
    int rank = 0, count = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &count);
    ranks.resize(static_cast<size_t>(count));
    PMPI_Graph_neighbors(comm, rank, count, ranks.data());
  } else if (kind == MPI_DIST_GRAPH) {
    int in = 0, out = 0, weighted = 0;
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    std::vector<int> from(static_cast<size_t>(in)), to(static_cast<size_t>(out)), unused(static_cast<size_t>(std::max(in, out)));
    PMPI_Dist_graph_neighbors(comm, in, from.data(), unused.data(), out, to.data(), unused.data());
    ranks = sources ? from : to;
  }
  return ranks;
}

Shape exchange(MPI_Comm comm, std::span<const uint64_t> out, std::span<const uint64_t> in) {
  Shape shape{Collective::exchange};
  const auto add = [&](std::span<const uint64_t> bytes, bool sources) {
    const std::vector<int> ranks = neighbours(comm, sources);
    int added = 0;
    for (size_t i = 0; i < ranks.size() && i < bytes.size(); ++i) {
      if (ranks[i] < 0) continue;
      shape.numbers.push_back(static_cast<uint64_t>(ranks[i]));
      shape.numbers.push_back(bytes[i]);
      ++added;
    }
    return added;
  };
  shape.leaving = add(out, false);
  add(in, true);
  return shape;
}

// ---- windows

void created(Call& call, MPI_Comm comm, MPI_Win win) {
  const auto lock = lock_tables();
  collective(call, comm, {Collective::barrier});
  Group& parent = group_of(call, comm);
  const uint64_t hash = child_of(parent);
  Window& window = tables().windows[win];
  window.group = parent;
  define(call, window.group, hash);
}

void forget(Call& call, MPI_Win win) {
  fence(call, win);
  const auto lock = lock_tables();
  tables().windows.erase(win);
}

void fence(Call& call, MPI_Win win) {
  const auto lock = lock_tables();
  call.append(of(group_of(win), What::fence));
}

void flush(Call& call, MPI_Win win, int target) {
  const auto lock = lock_tables();
  const Group& group = group_of(win);
  Record record = of(group, What::flush);
  record.peer = target < 0 ? -1 : group.peer(target);
  if (target < 0 || record.peer >= 0) call.append(record);
}

namespace {

void each(Call& call, const Group& group, What what, const std::vector<int>& ranks) {
  Record record = of(group, what);
  for (const int rank : ranks) {
    record.peer = rank;
    if (rank >= 0) call.append(record);
  }
}

}  // namespace

void post(Call& call, MPI_Win win, MPI_Group group) {
  const auto lock = lock_tables();
  Window& window = tables().windows[win];
  window.opened = ranks_of(group);
  each(call, window.group, What::open, window.opened);
}

void start(Call& call, MPI_Win win, MPI_Group group) {
  const auto lock = lock_tables();
  Window& window = tables().windows[win];
  window.started = ranks_of(group);
  each(call, window.group, What::start, window.started);
}

void complete(Call& call, MPI_Win win) {
  const auto lock = lock_tables();
  Window& window = tables().windows[win];
  each(call, window.group, What::complete, window.started);
}

void wait(Call& call, MPI_Win win) {
  const auto lock = lock_tables();
  Window& window = tables().windows[win];
  each(call, window.group, What::await, window.opened);
}

}  // namespace portunus::record::mpi
