// lobby.hpp: where processes meet that know nothing of each other yet: an interface that is addressed by physical ids, since a logical one
// hears members of its map alone.
//
// Who opens a port hangs out a number. Who knows number and card knocks there, with a card of its own, and waits; who admits a visitor
// makes it a member of its map, as the visitor has made it one of its own, and answers. From then on both can talk as all others do.
//
// Thread: any; the interface is opened by whoever needs it first.
// Invariants: knocks at a number that is hung out wait until somebody is admitted there; others are refused at once.
// Source: MPI-5.0, 11.9.
#pragma once

#include <cstdint>
#include <functional>

#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/mpi.h"

namespace portunus::mpi::lobby {

// Opens it, unless it is. MPI_SUCCESS or MPI_ERR_OTHER.
int open();
void take_in_all();  // at the end of MPI, before others are waited for: some may have knocked, and wait for this process
void close();

// A number that is not hung out here. 0: there is no room for more.
uint64_t hang_out();
bool is_out(uint64_t number);
bool take_in(uint64_t number);  // false: it was not out. Who has knocked there and was not admitted is refused

// Who has met, on either side: the other one's rank, and what both know the meeting by.
struct Meeting {
  int error = MPI_SUCCESS;
  int other = 0;
  int number = 0;
};
// Returns when the owner has admitted this process. MPI_ERR_PORT: it cannot be reached, has no such number out, or has admitted nobody for
// `patience` milliseconds.
Meeting knock(const Card& owner, uint64_t number, ptl_time_t patience = PTL_TIME_FOREVER);
// Waits for the next visitor. MPI_ERR_PORT: hopeless(), asked now and then, said that there will be none.
Meeting admit(uint64_t number, const std::function<bool()>& hopeless);

}  // namespace portunus::mpi::lobby
