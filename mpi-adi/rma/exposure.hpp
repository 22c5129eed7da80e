// exposure.hpp: post, start, complete and wait among the ranks of a node: counts in memory that they map, in place of messages.
//
// Each rank has a line for every rank of its node, which that rank alone writes: how often it has granted this rank access to its own
// window (MPI_Win_post), and how often it has ended its accesses to this rank's (MPI_Win_complete). The owner of the line counts how many
// of these it has used (MPI_Win_start, MPI_Win_wait). Two ranks use lines where both say that they can; all others send messages.
//
// Thread: calls of one window one at a time, as MPI asks. Cost: a store, and a look at who sleeps; a wait looks at one line for each rank.
// Source: MPI-5.0, 12.5.2.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi-adi/comm/comm.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi::rma {

// Written by one rank, read by another.
struct alignas(64) ExposureLine {
  uint32_t posted = 0, completed = 0;
};

class Exposures {
 public:
  // The size of the lines of each rank.
  static size_t bytes(const Communicator& comm);
  // `blocks`: by rank of the communicator; so many bytes behind the begin of that rank's its lines lie in this process; nullptr: it is on
  // another node. This rank's lines are made here.
  Exposures(const Communicator& comm, const std::vector<std::byte*>& blocks, size_t offset);
  Exposures(const Exposures&) = delete;
  Exposures& operator=(const Exposures&) = delete;
  ~Exposures();

  // Whether this rank could write the lines of all ranks of its node.
  bool is_usable() const { return usable_; }
  // That rank does not write lines.
  void exclude(size_t rank) { peers_[rank] = {}; }

  bool reaches(int rank) const { return at(rank).theirs != nullptr; }
  void post(int origin) { tell(origin, &ExposureLine::posted); }
  void complete(int target) { tell(target, &ExposureLine::completed); }
  bool is_completed(int origin) const { return load(at(origin).ours->completed) != at(origin).waited; }
  // Wait for one post or one complete of that rank, and use it up: MPI_SUCCESS, or the class of the error.
  int take_post(int target);
  int take_complete(int origin);

 private:
  struct Peer {
    ExposureLine* theirs = nullptr;    // written by this rank
    ExposureLine* ours = nullptr;      // read by this rank
    uint32_t started = 0, waited = 0;  // of the counts in `ours`, so many are used
    bool sought = false;
    ptlx_watch_t watch{};
  };
  Peer& at(int rank) { return peers_[static_cast<size_t>(rank)]; }
  const Peer& at(int rank) const { return peers_[static_cast<size_t>(rank)]; }
  // Acquire pairs with the release in tell().
  static uint32_t load(const uint32_t& count) { return std::atomic_ref(const_cast<uint32_t&>(count)).load(std::memory_order_acquire); }
  void tell(int rank, uint32_t ExposureLine::*count);
  int take(int rank, const char* what, const uint32_t ExposureLine::*count, uint32_t& used);

  const Communicator& comm_;
  bool usable_ = true;
  std::vector<Peer> peers_;
};

}  // namespace portunus::mpi::rma
