// collectives.cpp: MPI_Barrier.
// Thread: any, one collective call per communicator at a time. Source: MPI-5.0, 6.3.
#include "mpi-adi/adi.hpp"
#include "mpi-adi/errors.hpp"
#include "mpi-adi/profiling.hpp"

using namespace portunus::mpi;

extern "C" int PMPI_Barrier(MPI_Comm comm) {
  static constexpr char kName[] = "MPI_Barrier";
  const Communicator* found = find_communicator(comm);
  if (found == nullptr) return raise_bad_communicator(kName, comm);
  if (found->size == 1) return MPI_SUCCESS;
  const int result = adi::barrier();
  if (result == PTL_FAIL) return raise(kName, found, MPI_ERR_PROC_ABORTED, "a rank cannot be reached");
  return result == PTL_OK ? MPI_SUCCESS : raise_portals(kName, found, result);
}
MPI_WEAK_NAME(Barrier)
