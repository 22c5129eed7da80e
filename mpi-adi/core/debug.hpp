// debug.hpp: what PTL_DEBUG asks of MPI, and the memory of buffers, looked at before it is used.
//
// Thread: read by MPI_Init, constant afterwards. Cost where nothing is asked for: none for messages, which look at
// Communicator::attention in any case; a load for collectives and accesses to windows.
#pragma once

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

struct Communicator;
struct Datatype;

struct Debug {
  bool buffers = false;              // those that cannot be read to their end, or are in use already, are told
  bool calls = false;                // calls of several ranks that do not fit one another are told
  bool leaks = false;                // each thing that MPI_Finalize finds left
  bool no_node_collectives = false;  // blocking collectives go by messages also where all ranks share a node
  int very_short = 0;                // bytes up to which a send is copied, and complete at once; 0: as many as can be
};
extern constinit Debug debug;
void read_debug();

// False where the kernel says that some of it is not there. Of data with gaps both ends are looked at.
bool is_readable(const void* buffer, MPI_Count count, const Datatype& type);
// MPI_SUCCESS, or the error that was raised.
int check_readable(const char* function, const Communicator* comm, const void* buffer, MPI_Count count, const Datatype& type);

}  // namespace portunus::mpi
