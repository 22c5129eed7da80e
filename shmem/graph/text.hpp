// text.hpp: a graph as GOAL text, in which operations on memory of others are messages.
//
//   put, atomic     a message to the PE, which answers by one of no bytes      get, fetch   one of no bytes, answered by the data
//   wait            behind the messages that make the word satisfy it, if the word is 0 at first and one PE's updates come as often as
//                   another's; behind nothing where the graph has none
//   gate            open
//
// Thread: one at a time per team; collective.
#pragma once

#include "engine/goal/goal_call.h"
#include "shmem/graph/recording.hpp"
#include "shmem/team.hpp"

namespace portunus::shmem::graph {

// The first PE of the team writes the file: 0 or a code of shmemx.h, explained, on all.
int write_text(const char* function, Team& team, const GOAL_Group& group, const Recording& recording, const char* path);

}  // namespace portunus::shmem::graph
