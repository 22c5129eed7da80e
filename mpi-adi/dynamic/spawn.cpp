// spawn.cpp: processes that would join a running job. There are none: the ranks of a job are those that its launcher has started. Each
// call raises an error that says so.
// Thread: any. Source: MPI-5.0, 11.8.
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

int no_spawn(const char* function, MPI_Comm handle, MPI_Comm* made) {
  Communicator* comm;
  if (int error = check(function, handle, comm, {made})) return error;
  *made = MPI_COMM_NULL;
  return raise(function, comm, MPI_ERR_SPAWN, "a running job takes no more processes; start all of them together, with mpiexec");
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_spawn(const char*, char*[], int, MPI_Info, int, MPI_Comm comm, MPI_Comm* intercomm, int[]) {
  return no_spawn("MPI_Comm_spawn", comm, intercomm);
}
MPI_WEAK_NAME(Comm_spawn)

extern "C" int PMPI_Comm_spawn_multiple(int, char*[], char**[], const int[], const MPI_Info[], int, MPI_Comm comm, MPI_Comm* intercomm,
                                        int[]) {
  return no_spawn("MPI_Comm_spawn_multiple", comm, intercomm);
}
MPI_WEAK_NAME(Comm_spawn_multiple)
