// dynamic.cpp: processes that would join a running job, and ports that would connect jobs. There are neither: the ranks of a job
// are those that its launcher has started. Each call raises an error that says so.
// Thread: any. Source: MPI-5.0, 11.8 - 11.10.
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

int no_connection(const char* function, MPI_Comm handle, MPI_Comm* made) {
  Communicator* comm;
  if (int error = check(function, handle, comm, {made})) return error;
  *made = MPI_COMM_NULL;
  return raise(function, comm, MPI_ERR_PORT, "there are no ports: jobs do not connect; start all processes as one job, with mpiexec");
}

int no_port(const char* function, int error_class, std::initializer_list<const void*> arguments) {
  if (int error = check_running(function)) return error;
  if (int error = check_results(function, nullptr, arguments)) return error;
  return raise(function, nullptr, error_class, "there are no ports, and no names of any: jobs do not connect");
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

extern "C" int PMPI_Comm_accept(const char*, MPI_Info, int, MPI_Comm comm, MPI_Comm* newcomm) {
  return no_connection("MPI_Comm_accept", comm, newcomm);
}
MPI_WEAK_NAME(Comm_accept)

extern "C" int PMPI_Comm_connect(const char*, MPI_Info, int, MPI_Comm comm, MPI_Comm* newcomm) {
  return no_connection("MPI_Comm_connect", comm, newcomm);
}
MPI_WEAK_NAME(Comm_connect)

extern "C" int PMPI_Comm_join(int, MPI_Comm* intercomm) { return no_connection("MPI_Comm_join", MPI_COMM_SELF, intercomm); }
MPI_WEAK_NAME(Comm_join)

extern "C" int PMPI_Open_port(MPI_Info, char* port_name) { return no_port("MPI_Open_port", MPI_ERR_UNSUPPORTED_OPERATION, {port_name}); }
MPI_WEAK_NAME(Open_port)

extern "C" int PMPI_Close_port(const char* port_name) { return no_port("MPI_Close_port", MPI_ERR_PORT, {port_name}); }
MPI_WEAK_NAME(Close_port)

extern "C" int PMPI_Publish_name(const char* service_name, MPI_Info, const char* port_name) {
  return no_port("MPI_Publish_name", MPI_ERR_PORT, {service_name, port_name});
}
MPI_WEAK_NAME(Publish_name)

extern "C" int PMPI_Unpublish_name(const char* service_name, MPI_Info, const char* port_name) {
  return no_port("MPI_Unpublish_name", MPI_ERR_SERVICE, {service_name, port_name});
}
MPI_WEAK_NAME(Unpublish_name)

extern "C" int PMPI_Lookup_name(const char* service_name, MPI_Info, char* port_name) {
  return no_port("MPI_Lookup_name", MPI_ERR_NAME, {service_name, port_name});
}
MPI_WEAK_NAME(Lookup_name)
