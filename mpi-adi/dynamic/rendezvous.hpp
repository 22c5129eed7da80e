// rendezvous.hpp: where processes meet that know nothing of each other yet: an interface that is addressed by physical ids, since a logical
// one hears members of its map alone.
//
// A process that opens a port publishes a number. A client that knows number and card connects with its own card, and waits; the owner that
// accepts it makes it a member of its map, as the visitor has made it one of its own, and answers. From then on both can talk as all others
// do.
//
// Thread: any; the interface is opened by whoever needs it first.
// Invariants: connections to a published number wait until they are accepted; others are refused at once.
// Source: MPI-5.0, 11.9.
#pragma once

#include <cstdint>
#include <functional>

#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/mpi.h"

namespace portunus::mpi::rendezvous {

// Opens it, unless it is. MPI_SUCCESS or MPI_ERR_OTHER.
int open();
void unpublish_all();  // at the end of MPI, before others are waited for: some may have connected, and wait for this process
void close();

// Publishes a number that is not in use here. 0: there is no room for more.
uint64_t publish();
bool is_published(uint64_t number);
bool unpublish(uint64_t number);  // false: it was not published. Clients that were not accepted are refused

// The result of a meeting, on either side: the other one's rank, and what both know the meeting by.
struct Meeting {
  int error = MPI_SUCCESS;
  int other = 0;
  int number = 0;
};
// Returns when the owner has accepted this process. MPI_ERR_PORT: it cannot be reached, has not published the number, or has accepted
// nobody for `patience` milliseconds.
Meeting connect(const Card& owner, uint64_t number, ptl_time_t patience = PTL_TIME_FOREVER);
// Waits for the next visitor. MPI_ERR_PORT: should_abort(), asked now and then, said that there will be none.
Meeting accept(uint64_t number, const std::function<bool()>& should_abort);

}  // namespace portunus::mpi::rendezvous
