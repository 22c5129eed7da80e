// sync.hpp: ordering, and the meeting of the PEs of a team.
//
// On the node the barrier is a dissemination barrier: in round k a PE signals the PE 2^k after it and waits for the one 2^k
// before it, ceil(log2 n) rounds. A signal is a counter in the receiver's memory, one cache line per round and team, that only
// one PE writes: the number of the meeting. It is never reset, and a PE that is already one meeting ahead does no harm.
// Turns at a core are what counts where PEs outnumber cores: PEs count themselves in the memory of the team's
// first, and the last to come signals all, so that everyone waits once.
// Off the node it is GOAL's barrier, whose messages the engines send each other without the PEs.
//
// Thread: fence and quiet: any; the others once per PE and team at a time.
// Source: D. Hensgen, R. Finkel, U. Manber, Two algorithms for barrier synchronization, 1988.
#pragma once

#include "shmem/context.hpp"

namespace portunus::shmem {

void fence(Channel& channel);
void quiet(Channel& channel);
// Waits until all PEs of the team have called it; completes stores only.
void sync(Team& team);
// quiet, then a sync of all.
void barrier_all();

}  // namespace portunus::shmem
