// agreement.hpp: agreeing among the living, whoever dies meanwhile.
//
// The value agreed on is the bitwise and of words, the first of which say who is alive. The member with the lowest number that is not known
// to be dead leads: all others send it what they have; when it has heard from all who live, it proposes the and of that; when all
// who live have acknowledged the proposal, it is decided, and whoever learns so tells the others before it goes on. When the leader
// dies, the next one is sent the same and the proposal that was acknowledged, if there was one; of several the latest holds. A decision
// was acknowledged by all who live, so whoever leads then proposes the same. This needs what PtlxCTWatch gives: who has died is found
// dead by all, and nobody else is.
//
// Thread: any; one lock for all agreements of the process. Costs two messages each way of every member where nobody dies, and one between
// any two (beyond 64 members: log2 of their number from each).
// Source: Chandra, Toueg 1996 (perfect failure detectors); Skeen 1981 (nonblocking commit).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi::ulfm {

using Words = std::vector<uint64_t>;

// Words of one agreement at most, besides one bit for each member.
constexpr size_t kMostWords = 16;

// Begins the next agreement of the communicator, when those before have ended, and the one that each has begun in its `done`; all members
// begin theirs in the same order, with as many words. `done` gets `words` and'ed over all who took part, and which members these were
// (numbers in members_of), from any thread. MPI_SUCCESS, or MPI_ERR_NO_MEM. Claims memory only for the first one of a communicator, for one
// that waits for others, and for what `done` captures: then nothing has begun when there is none.
using Done = std::function<void(const Words& words, const std::vector<bool>& alive)>;
int begin_agreement(Communicator& comm, std::span<const uint64_t> words, Done done);
// The same, and waits; `words` are those agreed on then.
int agree(Communicator& comm, std::span<uint64_t> words, std::vector<bool>& alive);

// Ranks have died.
void look_at_agreements();

}  // namespace portunus::mpi::ulfm
