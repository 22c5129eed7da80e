// spawn.hpp: what the start of MPI has to do with processes that start others.
//
// A root publishes a port, asks the launcher for a job of its own, which is told the port's name, and accepts; the new processes connect
// in MPI_Init. So both sides come together as by MPI_Comm_accept and MPI_Comm_connect.
// Thread: that of MPI_Init. Source: MPI-5.0, 11.8.
#pragma once

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

// Connects a job that was spawned to those who did; collective over the job. MPI_SUCCESS or the error that was raised.
int meet_parent(const char* function);

// This communicator is being freed.
bool is_parent(MPI_Comm handle);
void forget_parent(MPI_Comm handle);

// For how many processes the launcher has room at a time; 0: it does not say.
void note_room(int processes);
int room_for_processes();

}  // namespace portunus::mpi
