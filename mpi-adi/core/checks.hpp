// checks.hpp: the checks that most calls begin with.
//
// `results` are addresses that the user gave, none of which may be null. All raise what they find, at `comm` if the call names one, and
// return it.
// Thread: any.
#pragma once

#include <initializer_list>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/comm/group.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/info.hpp"

namespace portunus::mpi {

int check_results(const char* function, const Communicator* comm, std::initializer_list<const void*> results);
int check(const char* function, MPI_Comm handle, Communicator*& found, std::initializer_list<const void*> results);
int check(const char* function, MPI_Group handle, Group*& found, std::initializer_list<const void*> results,
          const Communicator* comm = nullptr);
int check_info(const char* function, const Communicator* comm, MPI_Info handle);  // MPI_INFO_NULL is all right
// MPI runs.
int check_running(const char* function);

}  // namespace portunus::mpi
