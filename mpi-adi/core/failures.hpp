// failures.hpp: ranks that have died.
//
// Portals ends operations that it has under way with a dead process, but says nothing to those who wait for its messages. So
// every rank that this process deals with is watched: a counter counts deaths and sets off a signal to this process, an event
// like any other, whose handler asks who has died and fails the receives that name the rank, or anybody in a communicator of it, unless
// that has acknowledged its death (ulfm/). A request of the user's for a message from anybody is not failed, but pending: others may
// still send it; what would complete it raises MPIX_ERR_PROC_FAILED_PENDING until the death is acknowledged.
// Thread: any. Source: MPI-5.0, 9.3 (MPI_ERR_PROC_ABORTED); portals4_ext.h, PtlxCTWatch.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi::device {

enum class Peer : uint8_t { unseen, watched, lost };

struct Failures {
  std::atomic<Peer>* peers = nullptr;  // by rank in the job, then those of other jobs (comm/processes.hpp)
  std::atomic<uint32_t> count{0};      // lost ones
  std::atomic<bool> all_watched{false};
  Request* blocked = nullptr;  // one thread only: the receive, or long send, that it waits in, which is in no pool
};
extern constinit Failures failures;

bool open_failures(int size);
void close_failures();

// Watches a rank from now on; false: it is lost.
[[gnu::cold, gnu::noinline]] bool meet(int rank);
[[gnu::cold, gnu::noinline]] void meet_all();
inline bool reachable(int rank) { return failures.peers[rank].load(std::memory_order_relaxed) == Peer::watched || meet(rank); }
inline bool reachable_source(const Communicator& comm, int source) {
  if (source != MPI_ANY_SOURCE) return reachable(comm.job_rank(source));
  if (!failures.all_watched.load(std::memory_order_relaxed)) [[unlikely]]
    meet_all();
  return true;
}
// Whether a receive from `source` (MPI_ANY_SOURCE or a rank in the job) may wait for a lost rank.
[[gnu::cold, gnu::noinline]] bool concerned(const Communicator& comm, int source);
// After deaths were acknowledged: what is pending in the communicator, and no longer concerned, is active again.
void resume_pending(const Communicator& comm);
// Makes a request that may be pending active again.
void resume(Request& request);
// A blocking call's, which leaves no request behind: it fails, unless its message is coming.
[[gnu::cold, gnu::noinline]] void end_pending(Request& request);
// Ends what waits on a communicator that has been revoked.
void fail_pending(Communicator& comm);
// A receive that was just posted: fails it if it waits for a lost rank.
[[gnu::cold, gnu::noinline]] void look_again(Request& request);

}  // namespace portunus::mpi::device
