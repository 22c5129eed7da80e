// places.hpp: places for the short collectives of communicators in the memory that MPI_COMM_WORLD's ranks share: see GOAL_Place_take.
//
// Thread: any. Invariants: none needs memory. 0 is no place: of a group with ranks of other jobs or nodes, of more than 128, or when no
// place is free.
#pragma once

#include <cstdint>

#include "mpi-adi/comm/group.hpp"

namespace portunus::mpi::collectives {

// By rank 0 of the group, before any other rank calls find_place. `key`: no other group of these ranks has it before all have left.
int take_place(const Group& group, uint64_t key);
int find_place(const Group& group, uint64_t key);
// By each rank once, when its collectives are closed.
void leave_place(const Group& group, int place);
// By rank 0: nobody else has found it, nor will.
void return_place(const Group& group, int place);

}  // namespace portunus::mpi::collectives
