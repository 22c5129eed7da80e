// checks.cpp: see checks.hpp.
#include "mpi-adi/core/checks.hpp"

namespace portunus::mpi {

int check_results(const char* function, const Communicator* comm, std::initializer_list<const void*> results) {
  for (const void* result : results)
    if (result == nullptr) return raise(function, comm, MPI_ERR_ARG, "an address for a result, or of an argument, is null");
  return MPI_SUCCESS;
}

int check(const char* function, MPI_Comm handle, Communicator*& found, std::initializer_list<const void*> results) {
  found = find_communicator(handle);
  return found ? check_results(function, found, results) : raise_bad_communicator(function, handle);
}

int check_running(const char* function) { return predefined_count != 0 ? MPI_SUCCESS : raise_bad_communicator(function, MPI_COMM_NULL); }

int check(const char* function, MPI_Group handle, Group*& found, std::initializer_list<const void*> results, const Communicator* comm) {
  if (int error = check_running(function)) return error;
  found = find_group(handle);
  if (found != nullptr) return check_results(function, comm, results);
  if (handle == MPI_GROUP_NULL) return raise(function, comm, MPI_ERR_GROUP, "the group is MPI_GROUP_NULL");
  return raise(function, comm, MPI_ERR_GROUP, "%p is no group", static_cast<void*>(handle));
}

int check_info(const char* function, const Communicator* comm, MPI_Info handle) {
  if (is_info_or_null(handle)) return MPI_SUCCESS;
  return raise(function, comm, MPI_ERR_INFO, "%p is no info", static_cast<void*>(handle));
}

}  // namespace portunus::mpi
