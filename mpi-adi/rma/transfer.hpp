// transfer.hpp: put, get and accumulate, as the calls of calls.cpp need them.
//
// All return MPI_SUCCESS or the error that was raised. `access`: empty, or from open_request (report.hpp).
// Thread: any. Source: MPI-5.0, 12.3.
#pragma once

#include "mpi-adi/rma/access.hpp"

namespace portunus::mpi::rma {

int put(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win, Access& access);
int get(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win, Access& access);
// `result`: where the old elements go; nullptr: nowhere.
int accumulate(const char* function, const Buffer& origin, const Buffer* result, int rank, MPI_Aint displacement, const Buffer& target,
               MPI_Op op, MPI_Win win, Access& access);
int compare_and_swap(const char* function, const void* origin, const void* compare, void* result, MPI_Datatype datatype, int rank,
                     MPI_Aint displacement, MPI_Win win);

}  // namespace portunus::mpi::rma
