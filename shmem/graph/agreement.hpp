// agreement.hpp: what the PEs of a team find out about their recordings when a capture ends.
//
// Thread: one per team at a time; collective.
#pragma once

#include <string>

#include "shmem/graph/recording.hpp"
#include "shmem/team.hpp"

namespace portunus::shmem::graph {

constexpr unsigned kMostGraphs = 512;  // of a PE at a time

struct Agreement {
  unsigned number = kMostGraphs;  // of the graph: no other graph of these PEs has it
  bool has_accesses = false;      // of memory, or waits for it, on some PE
};

// Compares the recordings, tells collects the sizes of all, and claims a number: 0, or a code on all PEs, which `sentence` explains.
int agree(Team& team, Recording& recording, const std::string& refusal, Agreement& agreement, std::string& sentence);
// Whether all PEs have done well: 0, or this PE's code; another's is SHMEMX_ERR_MEMORY.
int agree_on_code(Team& team, int code, std::string& sentence);
// After a failure news of it may be under way: the number is not to be used again then.
void give_number_back(unsigned number);

}  // namespace portunus::shmem::graph
