// transfer.hpp: put, get and accumulate, as the calls of calls.cpp need them.
//
// All return MPI_SUCCESS or the error that was raised, and leave in `access` what request_for needs.
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

// The checks before a call with a request.
int check_request(const char* function, MPI_Win win, const MPI_Request* request);
// A request that is complete when everything that this rank has issued in the window is.
int request_for(const char* function, const Access& access, MPI_Request* handle);

}  // namespace portunus::mpi::rma
