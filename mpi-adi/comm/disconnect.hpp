// disconnect.hpp: how processes of different jobs take leave of each other.
//
// Within a job nobody ends before all have come to MPI_Finalize. Of other jobs one knows no such thing: so each member of a communicator
// with members of other jobs tells these when it is past its last use there, be it by MPI_Comm_free, MPI_Comm_disconnect or MPI_Finalize,
// by a message of no bytes. Who disconnects waits for theirs, and MPI_Finalize for all that are still to come; deaths count as well.
// All messages leave before anybody waits, so that the order of the calls does not matter.
//
// Thread: that of the call; one at a time for a communicator. Source: MPI-5.0, 11.10.4.
#pragma once

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi {

// This process is past its last use of the communicator. Nothing where all members are of this job, or the second time.
void begin_disconnect(Communicator& comm);
// Whether the others are, too; never waits. Until then the communicator keeps its contexts.
bool has_disconnected(Communicator& comm);
void await_disconnect(Communicator& comm);

// At the end: from all with whom this process is still connected.
void disconnect_from_others();

}  // namespace portunus::mpi
