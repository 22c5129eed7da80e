// comm_create.cpp: communicators from others: dup, create, split, and their end.
//
// Thread: collective calls, one at a time per communicator; MPI_Comm_create_group one at a time per tag.
// Source: MPI-5.0, 7.4.2 - 7.4.4.
#include "mpi-adi/comm/comm_create.hpp"

#include <strings.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "mpi-adi/comm/disconnect.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/dynamic/spawn.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/graph/graph.hpp"

namespace portunus::mpi {
namespace {

// Communicators that were freed while requests on them were pending, or by others not yet: their contexts stay theirs until then.
std::mutex lingering_mutex;
std::vector<Communicator*> lingering;

void reap() {
  std::lock_guard lock(lingering_mutex);
  std::erase_if(lingering, [](Communicator* comm) {
    if (!has_disconnected(*comm) || pool.serves(comm)) return false;
    destroy_communicator(comm);
    return true;
  });
}

}  // namespace

AllAnd all_and_of(const Exchange& members) {
  return [&members](uint64_t* words, size_t count, int error) { return members.all_and(words, count, error); };
}

namespace {

// Each side for itself, then the two first ranks with each other, then each side is told.
int both_sides_and(Communicator& comm, uint64_t* words, size_t count, int error) {
  const Exchange side(*comm.local);
  error = side.all_and(words, count, error);
  if (comm.rank == 0) {
    uint64_t theirs[kMostWords];
    const size_t bytes = count * sizeof *words;
    const int swapped = swap_bytes(comm, Traffic::groups, 0, words, bytes_to_send(error, bytes), theirs, bytes, 0);
    if (error == MPI_SUCCESS) error = swapped;
    for (size_t i = 0; i < count; ++i) words[i] &= theirs[i];
  }
  const int told = side.broadcast(words, count * sizeof *words, 0, error);
  return error != MPI_SUCCESS ? error : told;
}

int all_and(Communicator& comm, uint64_t* words, size_t count, int error = MPI_SUCCESS) {
  return comm.inter ? both_sides_and(comm, words, count, error) : Exchange(comm).all_and(words, count, error);
}

}  // namespace

AllAnd all_and_of(Communicator& comm) {
  return [&comm](uint64_t* words, size_t count, int error) { return all_and(comm, words, count, error); };
}

int decline(Communicator& comm, int code) {
  ContextOffer none{};
  all_and(comm, none.data(), none.size(), code == MPI_ERR_NO_MEM ? code : kFaultElsewhere);
  return code;
}

uint64_t key_of(const Communicator& comm, Traffic traffic, int tag) {
  return uint64_t{comm.context_of(traffic)} << 32 | static_cast<uint32_t>(tag);
}

int raise_creation(const char* function, const Communicator& comm, int error) {
  if (comm.is_revoked()) return raise_revoked(function, comm);
  if (error == MPI_ERR_PROC_ABORTED)
    return raise(function, &comm, error, "a rank cannot be reached; it has ended, or a line above says why");
  if (error == kFaultElsewhere) return raise(function, &comm, error, "the arguments of another rank are wrong; see its error");
  return raise(function, &comm, MPI_ERR_NO_MEM,
               "some rank has too many communicators or groups in use (at most %d communicators), or no memory; free some first",
               max_communicators());
}

int create_in(const char* function, Communicator& parent, const AllAnd& all_and, uint64_t key, Group* group, Group* remote_group,
              Communicator*& made) {
  if (graph::is_captured_here(parent)) {
    release(group);
    release(remote_group);
    return graph::refuse(function);
  }
  reap();
  made = group != nullptr ? make_communicator(kNoContext, group, remote_group) : nullptr;
  int error = MPI_ERR_NO_MEM;
  if (made != nullptr) {
    Agreed agreed;
    error = agree_on_context(all_and, key, remote_group == nullptr ? group : nullptr, agreed);
    if (error == MPI_SUCCESS) {
      give_context(*made, agreed);
      replace_errhandler(made->errhandler, parent.errhandler.load(std::memory_order_acquire));
      if (parent.session_buffer) made->session_buffer = parent.session_buffer;
      return MPI_SUCCESS;
    }
    destroy_communicator(std::exchange(made, nullptr));
  } else {
    ContextOffer none{};
    all_and(none.data(), none.size(), error);
    release(group);
    release(remote_group);
  }
  return raise_creation(function, parent, error);
}

namespace {

// Attributes are copied before the context is agreed on, so that a copy function's error leaves nothing behind elsewhere.
int duplicate(const char* function, Communicator& comm, const Hints* hints, MPI_Comm* result) {
  *result = MPI_COMM_NULL;
  Hints copied = hints ? *hints : comm.hints;
  Communicator* made;
  Group* remote = comm.inter ? retain(comm.remote_group) : nullptr;
  if (int error = create_in(function, comm, all_and_of(comm), key_of(comm, Traffic::collectives, 0), retain(comm.group), remote, made))
    return error;
  made->topology = comm.topology;
  made->hints = std::move(copied);
  if (int error = made->attributes.copy_from(comm.attributes, handle_of(&comm))) {
    made->attributes.clear(handle_of(made));
    destroy_communicator(made);
    return raise(function, &comm, error, "an attribute's copy function failed");
  }
  *result = handle_of(made);
  return MPI_SUCCESS;
}

// The choice of each rank in a split.
struct Choice {
  int color, key;
};

// The ranks of those with this color, by key and rank.
std::vector<int> select(const std::vector<Choice>& choices, int color) {
  std::vector<int> chosen;
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i].color == color) chosen.push_back(static_cast<int>(i));
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](int a, int b) { return choices[static_cast<size_t>(a)].key < choices[static_cast<size_t>(b)].key; });
  return chosen;
}

Group* group_of(const Group& parent, const std::vector<int>& ranks) {
  std::vector<int> members;
  for (int rank : ranks) members.push_back(parent.job_rank(rank));
  return make_group(std::move(members));
}

// The other side's choices, by way of the first ranks.
int learn_remote(Communicator& comm, const std::vector<Choice>& own, std::vector<Choice>& remote, int error) {
  const size_t bytes = remote.size() * sizeof remote[0];
  if (comm.rank == 0) {
    const size_t sent = bytes_to_send(error, own.size() * sizeof own[0]);
    const int swapped = swap_bytes(comm, Traffic::groups, 0, own.data(), sent, remote.data(), bytes, 0);
    if (error == MPI_SUCCESS) error = swapped;
  }
  const int told = Exchange(*comm.local).broadcast(remote.data(), bytes, 0, error);
  return error != MPI_SUCCESS ? error : told;
}

// Everybody's choices, on both sides.
int exchange_choices(Communicator& comm, Choice own, int error, std::vector<Choice>& choices, std::vector<Choice>& remote) {
  Communicator& side = comm.inter ? *comm.local : comm;
  choices.resize(static_cast<size_t>(side.size));
  if (comm.inter) remote.resize(static_cast<size_t>(comm.peers));
  choices[static_cast<size_t>(side.rank)] = own;
  error = Exchange(side).allgather(choices.data(), sizeof(Choice), error);
  return comm.inter ? learn_remote(comm, choices, remote, error) : error;
}

// All take part in all agreements that a split needs: one, as the new communicators are disjoint and may have the same
// context. With an intercommunicator a color of one side only makes nothing.
int split(const char* function, Communicator& comm, int color, int key, MPI_Comm* result) {
  *result = MPI_COMM_NULL;
  std::vector<Choice> choices, remote_choices;
  if (int error = exchange_choices(comm, {color, key}, MPI_SUCCESS, choices, remote_choices)) return raise_creation(function, comm, error);

  bool wanted = false;
  Group *group = nullptr, *remote = nullptr;
  try {
    std::vector<int> mine, theirs;
    if (color != MPI_UNDEFINED) {
      mine = select(choices, color);
      theirs = select(remote_choices, color);
    }
    wanted = !mine.empty() && (!comm.inter || !theirs.empty());
    if (wanted && comm.inter) remote = group_of(*comm.remote_group, theirs);
    if (!wanted || !comm.inter || remote != nullptr) group = wanted ? group_of(*comm.group, mine) : make_group(std::vector<int>{});
  } catch (const std::bad_alloc&) {  // without a group the others are told
  }
  Communicator* made;
  if (int failed = create_in(function, comm, all_and_of(comm), key_of(comm, Traffic::collectives, 0), group, remote, made)) return failed;
  if (wanted) *result = handle_of(made);
  else destroy_communicator(made);  // its context is free again here
  return MPI_SUCCESS;
}

// A number that the ranks of one node, and no others of this side, have in common: the lowest of them.
int node_color(const Communicator& comm) {
  int lowest = 0;
  while (!same_node(comm.group->job_rank(lowest), own_job_rank)) ++lowest;
  return lowest;
}

// The group's members as ranks of comm; empty: one is no member, or there are none.
std::vector<int> ranks_in(const Communicator& comm, const Group& group) {
  std::vector<int> ranks;
  for (int i = 0; i < group.size; ++i) {
    const int rank = comm.group->member(group.job_rank(i));
    if (rank == MPI_UNDEFINED) return {};
    ranks.push_back(rank);
  }
  return ranks;
}

// The checks of MPI_Comm_create and MPI_Comm_create_group.
int check_subgroup(const char* function, MPI_Comm comm, MPI_Group group, MPI_Comm* result, Communicator*& parent, Group*& members,
                   std::vector<int>& ranks) {
  if (int error = check(function, comm, parent, {result})) return error;
  if (int error = check(function, group, members, {}, parent)) return error;
  *result = MPI_COMM_NULL;
  ranks = ranks_in(*parent, *members);
  if (static_cast<int>(ranks.size()) != members->size)
    return raise(function, parent, MPI_ERR_GROUP, "the group has members that the communicator has not");
  return MPI_SUCCESS;
}

}  // namespace

int decline_split(Communicator& comm, int code) {
  std::vector<Choice> choices, remote_choices;
  exchange_choices(comm, {MPI_UNDEFINED, 0}, kFaultElsewhere, choices, remote_choices);
  return code;
}

int free_communicator(const char* function, MPI_Comm* handle) {
  Communicator* comm;
  if (int error = check(function, *handle, comm, {})) return error;
  if (comm == &world() || comm == &self()) return raise(function, comm, MPI_ERR_COMM, "%s cannot be freed", comm->name);
  if (comm->attention.load(std::memory_order_relaxed) & Communicator::kCaptured)
    return raise(function, comm, MPI_ERR_COMM, "the communicator is being captured; call MPIX_Graph_end first");
  if (int error = comm->attributes.clear(*handle)) return raise(function, comm, error, "an attribute's delete function failed");
  forget_parent(*handle);
  graph::forget_origin(*comm);
  *handle = MPI_COMM_NULL;
  begin_disconnect(*comm);
  {
    std::lock_guard lock(lingering_mutex);
    lingering.push_back(comm);
  }
  reap();
  return MPI_SUCCESS;
}

namespace {

// Nodes are the only resource that is told apart (MPI-5.0, 7.4.2).
constexpr char kResource[] = "mpi_hw_resource_type", kNode[] = "mpi_shared_memory";
bool names_node(const Hints& hints) {
  return std::ranges::any_of(hints, [](const auto& hint) { return hint.first == kResource && hint.second == kNode; });
}
// Sets of processes: those of sessions, whose names are URIs, in any case.
bool names_set(const Hints& hints, const char* set) {
  return std::ranges::any_of(hints,
                             [&](const auto& hint) { return hint.first == "mpi_pset_name" && strcasecmp(hint.second.c_str(), set) == 0; });
}
bool spans_nodes(const Communicator& comm) {
  for (int i = 1; i < comm.size; ++i)
    if (!same_node(comm.group->job_rank(i), comm.group->job_rank(0))) return true;
  return false;
}

}  // namespace

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_dup";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm})) return error;
  return duplicate(kName, *found, nullptr, newcomm);
}
MPI_WEAK_NAME(Comm_dup)

extern "C" int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_dup_with_info";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm})) return error;
  if (int error = check_info(kName, found, info)) return error;
  const Hints hints = hints_of(info);
  return duplicate(kName, *found, &hints, newcomm);
}
MPI_WEAK_NAME(Comm_dup_with_info)

extern "C" int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_split";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm})) return error;
  if (color < 0 && color != MPI_UNDEFINED)
    return decline_split(*found, raise(kName, found, MPI_ERR_ARG, "the color %d is negative and not MPI_UNDEFINED", color));
  return split(kName, *found, color, key, newcomm);
}
MPI_WEAK_NAME(Comm_split)

extern "C" int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_split_type";
  Communicator* found;
  if (int error = check(kName, comm, found, {newcomm})) return error;
  if (int error = check_info(kName, found, info)) return decline_split(*found, error);
  int color = MPI_UNDEFINED;
  const Hints hints = hints_of(info);
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED: color = node_color(*found); break;
    case MPI_COMM_TYPE_HW_GUIDED:
      if (names_node(hints)) color = node_color(*found);
      break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      if (names_node(hints)) color = node_color(*found);
      else if (names_set(hints, "mpi://WORLD")) color = 0;
      else if (names_set(hints, "mpi://SELF")) color = found->rank;
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      if (spans_nodes(*found)) color = node_color(*found);
      break;
    case MPI_UNDEFINED: break;
    default: return decline_split(*found, raise(kName, found, MPI_ERR_ARG, "%d is no type of split", split_type));
  }
  if (int error = split(kName, *found, color, key, newcomm)) return error;
  // The info learns which resource the new communicator stands for.
  if (split_type == MPI_COMM_TYPE_HW_UNGUIDED && info != MPI_INFO_NULL && *newcomm != MPI_COMM_NULL)
    return PMPI_Info_set(info, kResource, kNode);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_split_type)

extern "C" int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_create";
  Communicator* parent;
  Group* members;
  std::vector<int> ranks;
  if (int error = check_subgroup(kName, comm, group, newcomm, parent, members, ranks))
    return parent != nullptr ? decline_split(*parent, error) : error;
  // The groups of a call are equal or disjoint, so the first member's rank tells them apart, and positions order them.
  const auto place = std::find(ranks.begin(), ranks.end(), parent->rank);
  const bool member = place != ranks.end();
  return split(kName, *parent, member ? (parent->inter ? 0 : ranks[0]) : MPI_UNDEFINED,
               member ? static_cast<int>(place - ranks.begin()) : 0, newcomm);
}
MPI_WEAK_NAME(Comm_create)

extern "C" int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_create_group";
  Communicator* parent;
  Group* members;
  std::vector<int> ranks;
  if (int error = check_subgroup(kName, comm, group, newcomm, parent, members, ranks)) return error;
  if (parent->inter) return raise(kName, parent, MPI_ERR_COMM, "this is an intercommunicator");
  if (tag < 0 || tag > kMaxTag) return raise(kName, parent, MPI_ERR_TAG, "the tag %d is not between 0 and %d", tag, kMaxTag);
  if (members->rank == MPI_UNDEFINED) return MPI_SUCCESS;
  const Exchange exchange(*parent, Traffic::groups, tag, std::move(ranks), members->rank);
  Communicator* made;
  if (int error = create_in(kName, *parent, all_and_of(exchange), key_of(*parent, Traffic::groups, tag), retain(members), nullptr, made))
    return error;
  *newcomm = handle_of(made);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_create_group)

extern "C" int PMPI_Comm_free(MPI_Comm* comm) try {
  static constexpr char kName[] = "MPI_Comm_free";
  if (int error = check_results(kName, nullptr, {comm})) return error;
  return free_communicator(kName, comm);
}
MPI_WEAK_NAME(Comm_free)

extern "C" int PMPI_Comm_disconnect(MPI_Comm* comm) try {
  static constexpr char kName[] = "MPI_Comm_disconnect";
  Communicator* found;
  if (int error = check_results(kName, nullptr, {comm})) return error;
  if (int error = check(kName, *comm, found, {})) return error;
  if (found != &world() && found != &self()) {
    begin_disconnect(*found);
    await_disconnect(*found);
  }
  return free_communicator(kName, comm);
}
MPI_WEAK_NAME(Comm_disconnect)
