// matched.hpp: messages that a matched probe has found, until they are received.
//
// Such a message stays with the engine under a label of its own, which only its receive asks for.
// Thread: any. Source: MPI-5.0, 3.8.2, 3.8.3.
#pragma once

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/mpi.h"
#include "portals/portals4.h"

namespace portunus::mpi {

ptl_match_bits_t new_label();
MPI_Message new_message(ptl_match_bits_t label, Communicator* comm);

}  // namespace portunus::mpi
