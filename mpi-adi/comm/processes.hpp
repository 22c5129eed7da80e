// processes.hpp: the processes that this one knows, each by its rank in its map: first those of its job, then those of other jobs in the
// order in which it has met them. Ranks of the latter differ from process to process; cards go between processes.
//
// Thread: any; a process is known to whoever learns its rank from meet(), or from a group made of such ranks.
// Invariants: a process that is known stays known under its rank, also when it has ended.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "portals/portals4_ext.h"

namespace portunus::mpi {

// Compares alike everywhere. Those of one launcher are in the order of their birth.
struct Identity {
  uint64_t born = 0;
  uint64_t address = 0;
  auto operator<=>(const Identity&) const = default;
};

// The facts that a process tells others of itself.
struct Card {
  ptlx_contact_t contact;
  Identity identity;
};

// Once the interface has its map. `born`: of rank 0 of the job. nullptr, or what is wrong.
const char* open_processes(int job_size, uint64_t born);
bool is_of_job(int job_rank);
Card own_card();
// Their ranks; MPI_SUCCESS, MPI_ERR_NO_MEM, or MPI_ERR_OTHER: one of them cannot be reached.
int meet_processes(std::span<const Card> cards, std::vector<int>& ranks);

Identity identity_of(int job_rank);
bool same_node(int job_rank, int other_job_rank);
// Another process whose memory this one can map.
bool shares_memory(int job_rank);
// For each of these a number that is the same for those of one node, whoever asks.
std::vector<int> nodes_of(std::span<const int> job_ranks);

}  // namespace portunus::mpi
