// intercomm.cpp: intercommunicators: two groups that talk to each other, and the union of both.
// Thread: collective calls, one at a time per communicator. Source: MPI-5.0, 7.6.
#include <algorithm>
#include <vector>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/comm/intercomm.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/error_codes.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

// The two leaders' connection; the other ranks know only their side.
struct Bridge {
  Communicator& local;
  int local_leader;
  Communicator* peer;  // leaders only
  int remote_leader;
  int tag;

  bool leads() const { return local.rank == local_leader; }
  // The leader's verdict on what it alone can see, for all of its side: MPI_SUCCESS, or the class of its fault.
  int verdict(int own) const {
    int told = own;
    const int error = Exchange(local).broadcast(&told, sizeof told, local_leader);
    return error != MPI_SUCCESS ? error : told;
  }
  // The leaders swap, and each tells its side.
  int swap(const void* out, size_t out_bytes, void* in, size_t in_bytes) const {
    int error = MPI_SUCCESS;
    if (leads()) error = swap_bytes(*peer, Traffic::groups, tag, out, out_bytes, in, in_bytes, remote_leader);
    const int told = Exchange(local).broadcast(in, in_bytes, local_leader, error);
    return error != MPI_SUCCESS ? error : told;
  }
};

// The other side's members: some may be strangers until now. `met`: how getting to know them went here.
int learn_members(const Bridge& bridge, std::vector<int>& remote, int& met) {
  const int own_size = bridge.local.size;
  int remote_size = 0;
  if (int error = bridge.swap(&own_size, sizeof own_size, &remote_size, sizeof remote_size)) return error;
  std::vector<Card> own(static_cast<size_t>(own_size)), theirs(static_cast<size_t>(remote_size));
  own[static_cast<size_t>(bridge.local.rank)] = own_card();
  const int error = Exchange(bridge.local).allgather(own.data(), sizeof(Card));  // if not, the other side hears of it
  const int swapped = bridge.swap(own.data(), error ? 0 : own.size() * sizeof(Card), theirs.data(), theirs.size() * sizeof(Card));
  if (error != MPI_SUCCESS || swapped != MPI_SUCCESS) return error != MPI_SUCCESS ? error : swapped;
  met = theirs.size() + own.size() > static_cast<size_t>(envelope.ranks()) ? MPI_ERR_OTHER : meet_processes(theirs, remote);
  return MPI_SUCCESS;
}

bool disjoint(const Group& group, const std::vector<int>& others) {
  for (int rank : others)
    if (group.member(rank) != MPI_UNDEFINED) return false;
  return true;
}

// `fault`: what the leader's caller has found, and raised.
int check_leaders(const char* function, const Bridge& bridge, int fault = MPI_SUCCESS) {
  const Communicator& local = bridge.local;
  if (bridge.local_leader < 0 || bridge.local_leader >= local.size)
    return raise(function, &local, MPI_ERR_RANK, "there is no rank %d among %d to lead", bridge.local_leader, local.size);
  if (bridge.tag < 0 || bridge.tag > kMaxTag)
    return raise(function, &local, MPI_ERR_TAG, "the tag %d is not between 0 and %d", bridge.tag, kMaxTag);
  if (fault == MPI_SUCCESS && bridge.leads() && (bridge.remote_leader < 0 || bridge.remote_leader >= bridge.peer->peers))
    fault = raise(function, &local, MPI_ERR_RANK, "there is no rank %d among %d to lead the other side", bridge.remote_leader,
                  bridge.peer->peers);
  const int told = bridge.verdict(fault == kNobodyThere ? fault : class_of(fault));
  if (fault != MPI_SUCCESS || told == kNobodyThere) return told == kNobodyThere ? told : fault;
  if (told == MPI_ERR_PROC_ABORTED) return raise_creation(function, local, told);
  return told == MPI_SUCCESS ? told : raise(function, &local, told, "the leader, rank %d, gave wrong arguments", bridge.local_leader);
}

int connect(const char* function, const Bridge& bridge, MPI_Comm* result) {
  Communicator& local = bridge.local;
  std::vector<int> remote;
  int met = MPI_SUCCESS;
  if (int error = learn_members(bridge, remote, met)) return raise_creation(function, local, error);
  const AllAnd all_and = [&](uint64_t* words, size_t count, int missing) {
    const int here = Exchange(local).all_and(words, count, missing);  // if not, the other side hears of it
    uint64_t theirs[kMostWords];
    const size_t bytes = count * sizeof *words;
    const int error = bridge.swap(words, bytes_to_send(here, bytes), theirs, bytes);
    for (size_t i = 0; i < count; ++i) words[i] &= theirs[i];
    return here != MPI_SUCCESS ? here : error;
  };
  // Nobody speaks to the other side's members before all have met all: strangers are not heard.
  uint64_t all_met = met == MPI_SUCCESS;
  if (int error = all_and(&all_met, 1, MPI_SUCCESS)) return raise_creation(function, local, error);
  if (all_met == 0)
    return raise(function, &local, MPI_ERR_OTHER, "some process cannot reach one of the other side's, or knows too many already");
  if (!disjoint(*local.group, remote)) return raise(function, &local, MPI_ERR_COMM, "a process is on both sides of the intercommunicator");
  // Both sides draw from one sequence, so the key is what both know.
  const Identity first = std::min(identity_of(local.group->job_rank(0)), identity_of(remote[0]));
  const uint64_t key = uint64_t{1} << 63 | static_cast<uint64_t>(static_cast<uint32_t>(first.born ^ first.address)) << 31 |
                       static_cast<uint32_t>(bridge.tag);
  Communicator* made;
  Group* remote_group = make_group(std::move(remote));
  Group* group = remote_group != nullptr ? retain(local.group) : nullptr;  // without it the others are told
  if (int error = create_in(function, local, all_and, key, group, remote_group, made)) return error;
  *result = handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace

int connect_groups(const char* function, Communicator& local, int local_leader, Communicator& peer, int remote_leader, int tag,
                   MPI_Comm* result, int fault) {
  const Bridge bridge{local, local_leader, &peer, remote_leader, tag};
  if (int error = check_leaders(function, bridge, fault)) return error == kNobodyThere ? MPI_SUCCESS : error;
  return connect(function, bridge, result);
}

namespace {

// Which side comes first: the one that says low; if both say the same, the one whose first member was born first.
int local_first(Communicator& comm, int high, bool& first) {
  const int own = high != 0;
  int theirs = 0;
  const Bridge bridge{*comm.local, 0, &comm, 0, 0};
  if (int error = bridge.swap(&own, sizeof own, &theirs, sizeof theirs)) return error;
  first = own != theirs ? own == 0 : identity_of(comm.group->job_rank(0)) < identity_of(comm.remote_group->job_rank(0));
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                                     MPI_Comm* newintercomm) try {
  static constexpr char kName[] = "MPI_Intercomm_create";
  Communicator *local, *peer = nullptr;
  if (int error = check(kName, local_comm, local, {newintercomm})) return error;
  if (local->inter) return raise(kName, local, MPI_ERR_COMM, "the local communicator is an intercommunicator");
  *newintercomm = MPI_COMM_NULL;
  const int fault = local->rank == local_leader ? check(kName, peer_comm, peer, {}) : MPI_SUCCESS;
  const Bridge bridge{*local, local_leader, peer, remote_leader, tag};
  if (int error = check_leaders(kName, bridge, fault)) return error;
  return connect(kName, bridge, newintercomm);
}
MPI_WEAK_NAME(Intercomm_create)

extern "C" int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) try {
  static constexpr char kName[] = "MPI_Intercomm_merge";
  Communicator* comm;
  if (int error = check(kName, intercomm, comm, {newintracomm})) return error;
  if (!comm->inter) return raise(kName, comm, MPI_ERR_COMM, "this is no intercommunicator");
  *newintracomm = MPI_COMM_NULL;
  bool first;
  if (int error = local_first(*comm, high, first)) return raise_creation(kName, *comm, error);
  std::vector<int> members;
  for (const Group* side : {first ? comm->group : comm->remote_group, first ? comm->remote_group : comm->group})
    for (int i = 0; i < side->size; ++i) members.push_back(side->job_rank(i));
  Communicator* made;
  if (int error =
          create_in(kName, *comm, all_and_of(*comm), key_of(*comm, Traffic::collectives, 0), make_group(std::move(members)), nullptr, made))
    return error;
  *newintracomm = handle_of(made);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Intercomm_merge)
