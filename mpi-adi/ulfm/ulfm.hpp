// ulfm.hpp: what a communicator remembers of failures: which deaths are acknowledged, that it is revoked, its agreements.
//
// A rank that revokes tells all members by a message each, and each passes it on to some; it ends what this rank has under way in MPI's own
// calls. Those who sleep in a collective are woken by the engine: the communicator's GOAL domain is revoked, too.
//
// Thread: any. Source: Bland et al. 2013.
#pragma once

#include <memory>
#include <vector>

#include "engine/goal/goal_domain.h"
#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi::ulfm {

class Agreements;

struct State {
  std::vector<bool> acknowledged;  // by number in members_of; empty: none
  std::shared_ptr<Agreements> agreements;
};
State& state_of(Communicator& comm);

// Opens the entry that hears of revocations: PTL_* codes.
int open();

// A communicator was given its context: it may have been revoked before it was here.
void born(Communicator& comm);
// Whether messages may still be under way that tell of a failure in its context, which is not to be used again then.
bool is_tainted(const Communicator& comm);
// Drops the messages of a revoked communicator that were not received: the memory that they occupy bounds what others may send.
void drop_messages(const Communicator& comm);
// Forgets what is known of it.
void forget(Communicator& comm);

// Why something that was not the user's mistake has failed: MPIX_ERR_REVOKED or MPI_ERR_PROC_ABORTED. Waits for the news if it has to, a
// second or two. `differ`: another reason has been found; 0 is returned then. `own`: a domain of its own, in which that is told, too.
int cause_of_failure(Communicator& comm, bool (*differ)(Communicator&), GOAL_Domain own = nullptr);
bool know_of_death(const Communicator& comm);
// Has this rank acknowledged the death of a peer, as messages of the communicator name it?
bool is_acknowledged(const Communicator& comm, int peer);

}  // namespace portunus::mpi::ulfm
