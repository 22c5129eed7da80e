// comm.cpp: communicators as objects, and the calls that ask about them.
#include "mpi-adi/comm/comm.hpp"

#include <cstdio>
#include <cstring>

#include "mpi-adi/collectives/places.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/comm/context.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/errhandler.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi {

constinit CommunicatorPool communicators;
constinit Communicator* predefined[2] = {};
constinit uintptr_t predefined_count = 0;

Communicator* make_communicator(uint16_t context, Group* group, Group* remote_group) {
  Communicator* made = communicators.claim();
  if (made == nullptr) return nullptr;
  made->context = context;
  made->inter = remote_group != nullptr;
  made->group = group;
  made->remote_group = remote_group;
  made->session_buffer = group->session_buffer;
  made->rank = group->rank;
  made->size = group->size;
  const Group& peers = made->peer_group();
  made->peers = peers.size;
  made->first = peers.first;
  made->peer_ranks = peers.ranks.empty() ? nullptr : peers.ranks.data();
  made->errhandler.store(MPI_ERRORS_ARE_FATAL, std::memory_order_relaxed);
  if (debug.buffers || debug.calls) made->attention.store(Communicator::kLooked, std::memory_order_relaxed);
  if ((tool::listened.load(std::memory_order_relaxed) & tool::kByCommunicator) != 0)
    made->attention.fetch_or(Communicator::kHeard, std::memory_order_relaxed);
  if (made->inter) {
    made->local = make_communicator(context, retain(group), nullptr);
    if (made->local == nullptr) {
      release(group);
      communicators.release(made);
      return nullptr;
    }
  }
  if (context != kNoContext) ulfm::born(*made);
  tool::emit(tool::Event::communicator_created, context, made->size, made->rank, made->inter ? 1 : 0);
  return made;
}

void hear_communicators(bool heard) {
  communicators.for_each([&](Communicator& comm) {
    if (heard) comm.attention.fetch_or(Communicator::kHeard, std::memory_order_relaxed);
    else comm.attention.fetch_and(static_cast<uint8_t>(~Communicator::kHeard), std::memory_order_relaxed);
  });
}

void give_context(Communicator& comm, const Agreed& agreed) {
  comm.context = agreed.context;
  comm.place = agreed.place;
  if (comm.local != nullptr) comm.local->context = agreed.context;
  ulfm::born(comm);
}

void destroy_communicator(Communicator* comm) {
  tool::emit(tool::Event::communicator_freed, comm->context);
  const bool tainted = ulfm::is_tainted(*comm);
  collectives::forget(*comm);
  ulfm::forget(*comm);
  if (comm->local != nullptr) {
    release(comm->local->group);
    communicators.release(comm->local);
  }
  if (comm->place != 0) collectives::leave_place(*comm->group, comm->place);
  if (!tainted) release_context(comm->context);
  release(comm->group);
  release(comm->remote_group);
  replace_errhandler(comm->errhandler, MPI_ERRORS_ARE_FATAL);
  communicators.release(comm);
}

bool open_communicators(int rank, int size) {
  own_job_rank = rank;
  open_contexts();
  for (int i : {0, 1}) {
    Group* members = i == 0 ? make_group(0, size) : make_group(rank, 1);
    Communicator* comm = members ? make_communicator(static_cast<uint16_t>(i * kContextsPerCommunicator), members, nullptr) : nullptr;
    if (comm == nullptr) return false;
    std::strcpy(comm->name, i == 0 ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
    predefined[i] = comm;
  }
  predefined_count = 2;
  return true;
}

void close_communicators() {
  communicators.for_each([](Communicator& comm) {
    if (&comm != &world()) collectives::forget(comm);  // some are in its memory
    ulfm::forget(comm);
    comm.partitioned.clear();  // the pool is not destroyed
    std::vector<Request*>().swap(comm.partings);
  });
  collectives::forget(world());
  predefined_count = 0;
}

namespace {
int comparison(const Communicator& one, const Communicator& other) {
  if (&one == &other) return MPI_IDENT;
  if (one.inter != other.inter) return MPI_UNEQUAL;
  const int local = compare(*one.group, *other.group);
  const int remote = one.inter ? compare(*one.remote_group, *other.remote_group) : MPI_IDENT;
  if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL) return MPI_UNEQUAL;
  return local == MPI_IDENT && remote == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
}
}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_rank(MPI_Comm comm, int* rank) try {
  Communicator* found;
  if (int error = check("MPI_Comm_rank", comm, found, {rank})) return error;
  *rank = found->rank;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_rank)

extern "C" int PMPI_Comm_size(MPI_Comm comm, int* size) try {
  Communicator* found;
  if (int error = check("MPI_Comm_size", comm, found, {size})) return error;
  *size = found->size;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_size)

extern "C" int PMPI_Comm_test_inter(MPI_Comm comm, int* flag) try {
  Communicator* found;
  if (int error = check("MPI_Comm_test_inter", comm, found, {flag})) return error;
  *flag = found->inter;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_test_inter)

extern "C" int PMPI_Comm_remote_size(MPI_Comm comm, int* size) try {
  static constexpr char kName[] = "MPI_Comm_remote_size";
  Communicator* found;
  if (int error = check(kName, comm, found, {size})) return error;
  if (!found->inter) return raise(kName, found, MPI_ERR_COMM, "this is no intercommunicator");
  *size = found->peers;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_remote_size)

extern "C" int PMPI_Comm_group(MPI_Comm comm, MPI_Group* group) try {
  Communicator* found;
  if (int error = check("MPI_Comm_group", comm, found, {group})) return error;
  *group = handle_of(retain(found->group));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_group)

extern "C" int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group* group) try {
  static constexpr char kName[] = "MPI_Comm_remote_group";
  Communicator* found;
  if (int error = check(kName, comm, found, {group})) return error;
  if (!found->inter) return raise(kName, found, MPI_ERR_COMM, "this is no intercommunicator");
  *group = handle_of(retain(found->remote_group));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_remote_group)

extern "C" int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) try {
  static constexpr char kName[] = "MPI_Comm_compare";
  Communicator *one, *other;
  if (int error = check(kName, comm1, one, {result})) return error;
  const RaisedAt here(origin_of(*one));
  if (int error = check(kName, comm2, other, {})) return error;
  *result = comparison(*one, *other);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_compare)

extern "C" int PMPI_Comm_set_name(MPI_Comm comm, const char* comm_name) try {
  Communicator* found;
  if (int error = check("MPI_Comm_set_name", comm, found, {comm_name})) return error;
  std::snprintf(found->name, sizeof found->name, "%s", comm_name);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_set_name)

extern "C" int PMPI_Comm_get_name(MPI_Comm comm, char* comm_name, int* resultlen) try {
  static constexpr char kName[] = "MPI_Comm_get_name";
  if (comm == MPI_COMM_NULL && predefined_count != 0 && comm_name != nullptr && resultlen != nullptr) {
    *resultlen = std::snprintf(comm_name, MPI_MAX_OBJECT_NAME, "MPI_COMM_NULL");  // the one call that takes it
    return MPI_SUCCESS;
  }
  Communicator* found;
  if (int error = check(kName, comm, found, {comm_name, resultlen})) return error;
  *resultlen = std::snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", found->name);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_get_name)

extern "C" int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info) try {
  static constexpr char kName[] = "MPI_Comm_set_info";
  Communicator* found;
  if (int error = check(kName, comm, found, {})) return error;
  if (int error = check_info(kName, found, info)) return error;
  for (const auto& [key, value] : hints_of(info)) set_hint(found->hints, key, value);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_set_info)

extern "C" int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info* info_used) try {
  static constexpr char kName[] = "MPI_Comm_get_info";
  Communicator* found;
  if (int error = check(kName, comm, found, {info_used})) return error;
  *info_used = make_info(with_memory_kinds(found->hints));
  return *info_used != MPI_INFO_NULL ? MPI_SUCCESS : raise(kName, found, MPI_ERR_NO_MEM, "too many infos are in use");
}
MPI_WEAK_NAME(Comm_get_info)
