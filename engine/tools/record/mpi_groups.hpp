// Communicators and windows of this process by their handles.
//
// Thread: any, under the lock of the tables.
#pragma once

#include <mutex>

#include "engine/tools/record/mpi.hpp"

namespace portunus::record::mpi {

std::unique_lock<std::recursive_mutex> lock_tables();

// The group of a handle that is not known yet is made, and recorded.
Group& group_of(Call& call, MPI_Comm comm);
Group& group_of(MPI_Comm comm);
Group& group_of(MPI_Win win);

// Writes a record that names it.
Record of(const Group& group, What what);
uint64_t mixed(uint64_t hash, uint64_t number);
// Tells once that the program has messages with processes of other jobs.
void note_foreign(Call& call);

}  // namespace portunus::record::mpi
