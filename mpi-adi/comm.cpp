// comm.cpp: the communicators, and the calls that ask or set them up.
#include "mpi-adi/comm.hpp"

#include "mpi-adi/errors.hpp"
#include "mpi-adi/match_bits.hpp"
#include "mpi-adi/profiling.hpp"

namespace portunus::mpi {

constinit Communicator communicators[2];
constinit uintptr_t communicator_count = 0;

namespace {
int tag_upper_bound = kMaxTag;
int no_host = MPI_PROC_NULL;
int any_rank_does_io = MPI_ANY_SOURCE;
int clock_is_global = 0;
int last_used_code = MPI_ERR_LASTCODE;
int universe_size = 0;
}  // namespace

void open_communicators(int rank, int size) {
  const auto fill = [](Communicator& comm, const char* name, uint16_t context, int own, int count, int first) {
    comm.name = name;
    comm.context = context;
    comm.rank = own;
    comm.size = count;
    comm.first = first;
    comm.errhandler.store(MPI_ERRORS_ARE_FATAL, std::memory_order_relaxed);
  };
  fill(world(), "MPI_COMM_WORLD", 0, rank, size, 0);
  fill(self(), "MPI_COMM_SELF", 1, 0, 1, rank);
  universe_size = size;
  communicator_count = 2;
}

void close_communicators() { communicator_count = 0; }

namespace {
// Where the value of a predefined attribute is; nullptr: not set.
int* attribute(int keyval) {
  switch (keyval) {
    case MPI_TAG_UB:
      return &tag_upper_bound;
    case MPI_HOST:
      return &no_host;
    case MPI_IO:
      return &any_rank_does_io;
    case MPI_WTIME_IS_GLOBAL:
      return &clock_is_global;
    case MPI_LASTUSEDCODE:
      return &last_used_code;
    case MPI_UNIVERSE_SIZE:
      return &universe_size;
    default:
      return nullptr;
  }
}
}  // namespace

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
  static constexpr char kName[] = "MPI_Comm_rank";
  const Communicator* found = find_communicator(comm);
  if (found == nullptr) return raise_bad_communicator(kName, comm);
  if (rank == nullptr) return raise(kName, found, MPI_ERR_ARG, "the address for the rank is null");
  *rank = found->rank;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_rank)

extern "C" int PMPI_Comm_size(MPI_Comm comm, int* size) {
  static constexpr char kName[] = "MPI_Comm_size";
  const Communicator* found = find_communicator(comm);
  if (found == nullptr) return raise_bad_communicator(kName, comm);
  if (size == nullptr) return raise(kName, found, MPI_ERR_ARG, "the address for the size is null");
  *size = found->size;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_size)

extern "C" int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  static constexpr char kName[] = "MPI_Comm_get_attr";
  const Communicator* found = find_communicator(comm);
  if (found == nullptr) return raise_bad_communicator(kName, comm);
  if (attribute_val == nullptr || flag == nullptr)
    return raise(kName, found, MPI_ERR_ARG, "an address for the result is null");
  if (comm_keyval < MPI_TAG_UB || comm_keyval > MPI_UNIVERSE_SIZE)
    return raise(kName, found, MPI_ERR_KEYVAL, "%d is no key of an attribute", comm_keyval);
  int* value = attribute(comm_keyval);
  *flag = value != nullptr;
  if (value != nullptr) *static_cast<int**>(attribute_val) = value;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_get_attr)

extern "C" int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  static constexpr char kName[] = "MPI_Comm_set_errhandler";
  Communicator* found = find_communicator(comm);
  if (found == nullptr) return raise_bad_communicator(kName, comm);
  if (errhandler != MPI_ERRORS_ARE_FATAL && errhandler != MPI_ERRORS_ABORT && errhandler != MPI_ERRORS_RETURN)
    return raise(kName, found, MPI_ERR_ERRHANDLER, "%p is no error handler", static_cast<void*>(errhandler));
  found->errhandler.store(errhandler, std::memory_order_relaxed);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_set_errhandler)

extern "C" int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  static constexpr char kName[] = "MPI_Comm_get_errhandler";
  const Communicator* found = find_communicator(comm);
  if (found == nullptr) return raise_bad_communicator(kName, comm);
  if (errhandler == nullptr) return raise(kName, found, MPI_ERR_ARG, "the address for the error handler is null");
  *errhandler = found->errhandler.load(std::memory_order_relaxed);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_get_errhandler)
