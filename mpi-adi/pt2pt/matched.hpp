// matched.hpp: messages that a matched probe has found, until they are received.
//
// Such a message stays with the engine under a label of its own, which only its receive asks for.
// Thread: any. Source: MPI-5.0, 3.8.2, 3.8.3.
#pragma once

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/mpi.h"
#include "portals/portals4.h"

namespace portunus::mpi {

struct Matched {
  ptl_match_bits_t label = 0;
  Communicator* comm = nullptr;
};
ptl_match_bits_t new_label();
// The handle of a message is its address. Made before a message is looked for, lest one that is found be lost for want of room; nullptr:
// there are too many.
Matched* new_message(Communicator* comm);
void release(Matched* message);

}  // namespace portunus::mpi
