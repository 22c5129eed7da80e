// exposure.cpp: see exposure.hpp.
#include "mpi-adi/rma/exposure.hpp"

#include <string>

#include "engine/client/remote_memory.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/rma/store_wait.hpp"

namespace portunus::mpi::rma {
namespace {

bool is_near(const Communicator& comm, int rank) { return same_node(comm.job_rank(rank), comm.job_rank(comm.rank)); }

}  // namespace

size_t Exposures::bytes(const Communicator& comm) {
  size_t near = 0;
  for (int i = 0; i < comm.size; ++i) near += is_near(comm, i);
  return near * sizeof(ExposureLine);
}

Exposures::Exposures(const Communicator& comm, const std::vector<std::byte*>& blocks, size_t offset) : comm_(comm), peers_(blocks.size()) {
  const auto lines_of = [&](int rank) { return reinterpret_cast<ExposureLine*>(blocks[static_cast<size_t>(rank)] + offset); };
  size_t own = 0;  // this rank's place among those of the node
  for (int i = 0; i < comm.rank; ++i) own += is_near(comm, i);
  size_t near = 0;
  for (int i = 0; i < comm.size; ++i) {
    if (blocks[static_cast<size_t>(i)] == nullptr) continue;
    if (i != comm.rank && !shares_memory(comm.job_rank(i))) usable_ = false;
    at(i).ours = new (lines_of(comm.rank) + near++) ExposureLine;
    at(i).theirs = lines_of(i) + own;
  }
}

Exposures::~Exposures() {
  for (const Peer& peer : peers_)
    if (peer.watch.watched != nullptr) PtlxNodeUnwatch(&peer.watch);
}

// A sleeper that cannot be woken looks by itself after a while.
void Exposures::tell(int rank, uint32_t ExposureLine::*count) {
  Peer& peer = at(rank);
  if (!peer.sought) {
    peer.sought = true;
    if (PtlxNodeWatch(device::device.ni, device::process(comm_.job_rank(rank)), &peer.watch) != PTL_OK) peer.watch = {};
  }
  const std::atomic_ref told(peer.theirs->*count);
  told.store(told.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (peer.watch.watched != nullptr) client::ring(peer.watch, kWatchBit);
}

int Exposures::take(int rank, const char* what, const uint32_t ExposureLine::*count, uint32_t& used) {
  const int job_rank = comm_.job_rank(rank);
  const uint32_t& told = at(rank).ours->*count;
  const int code = wait_for_store(
      kWatchBit, [&] { return load(told) != used || !device::reachable(job_rank); },
      [&] {
        device::long_waits::Wait wait;
        wait.what = what + std::to_string(rank);
        wait.may_end_by(job_rank);
        return wait;
      });
  if (load(told) == used) return code == PTL_OK ? MPI_ERR_PROC_ABORTED : MPI_ERR_OTHER;
  ++used;
  return MPI_SUCCESS;
}

int Exposures::take_post(int target) { return take(target, "MPI_Win_post on rank ", &ExposureLine::posted, at(target).started); }

int Exposures::take_complete(int origin) { return take(origin, "MPI_Win_complete on rank ", &ExposureLine::completed, at(origin).waited); }

}  // namespace portunus::mpi::rma
