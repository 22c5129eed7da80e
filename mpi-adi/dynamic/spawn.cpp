// spawn.cpp: processes that would join a running job. There are none: the ranks of a job are those that its launcher has started. Each
// call checks what the root gave, tells every rank how it went, and leaves in all error codes that nothing was started.
// Thread: any; collective over the communicator. Source: MPI-5.0, 11.8.
#include <algorithm>
#include <cstdint>

#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

// What the root tells the others: only there the arguments that say what to start mean anything.
struct Verdict {
  int error = MPI_SUCCESS;
  int64_t processes = 0;  // how many were asked for: the length of the error codes
};

// The arguments at the root. All arrays have `count` elements.
Verdict judge(int count, const char* const* commands, const int* maxprocs, const MPI_Info* infos) {
  if (count < 1 || commands == nullptr || maxprocs == nullptr) return {MPI_ERR_ARG, 0};
  Verdict verdict;
  for (int i = 0; i < count; ++i) {
    if (commands[i] == nullptr || maxprocs[i] < 0) return {MPI_ERR_ARG, 0};
    if (infos == nullptr || (infos[i] != MPI_INFO_NULL && find_info(infos[i]) == nullptr)) return {MPI_ERR_INFO, 0};
    verdict.processes += maxprocs[i];
  }
  return verdict;
}

int no_spawn(const char* function, int count, const char* const* commands, const int* maxprocs, const MPI_Info* infos, int root,
             MPI_Comm handle, MPI_Comm* made, int* codes) {
  Communicator* comm;
  if (int error = check(function, handle, comm, {made})) return error;
  *made = MPI_COMM_NULL;
  if (comm->inter) return raise(function, comm, MPI_ERR_COMM, "the communicator is an intercommunicator");
  if (root < 0 || root >= comm->size) return raise(function, comm, MPI_ERR_ROOT, "there is no root %d among %d ranks", root, comm->size);
  Verdict verdict;
  if (comm->rank == root) verdict = judge(count, commands, maxprocs, infos);
  if (Exchange(*comm).broadcast(&verdict, sizeof verdict, root) != MPI_SUCCESS)
    return raise(function, comm, MPI_ERR_OTHER, "a rank of the communicator cannot be reached");
  if (verdict.error == MPI_ERR_INFO) return raise(function, comm, verdict.error, "an info at the root is none");
  if (verdict.error != MPI_SUCCESS)
    return raise(function, comm, verdict.error, "the root gave no command, or a number of commands or processes that cannot be");
  if (codes != MPI_ERRCODES_IGNORE) std::fill_n(codes, verdict.processes, MPI_ERR_SPAWN);
  return raise(function, comm, MPI_ERR_SPAWN, "a running job takes no more processes; start all of them together, with mpiexec");
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Comm_spawn(const char* command, char*[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* intercomm,
                               int array_of_errcodes[]) {
  return no_spawn("MPI_Comm_spawn", 1, &command, &maxprocs, &info, root, comm, intercomm, array_of_errcodes);
}
MPI_WEAK_NAME(Comm_spawn)

extern "C" int PMPI_Comm_spawn_multiple(int count, char* array_of_commands[], char**[], const int array_of_maxprocs[],
                                        const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm* intercomm,
                                        int array_of_errcodes[]) {
  return no_spawn("MPI_Comm_spawn_multiple", count, array_of_commands, array_of_maxprocs, array_of_info, root, comm, intercomm,
                  array_of_errcodes);
}
MPI_WEAK_NAME(Comm_spawn_multiple)

extern "C" int PMPI_Comm_get_parent(MPI_Comm* parent) {
  static constexpr char kName[] = "MPI_Comm_get_parent";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {parent})) return error;
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_get_parent)
