// sync.hpp: ordering, and the meeting of all PEs.
//
// The barrier is a dissemination barrier: in round k a PE signals PE me + 2^k and waits for PE me - 2^k, ceil(log2 n)
// rounds. A signal is a counter in the receiver's heap block, one cache line per round, that only one PE raises, by one
// per barrier: it is never reset, and a PE that is already one barrier ahead does no harm. On the node a signal is a
// store, off it an atomic addition to the same word.
//
// **Thread:** fence and quiet: any; the others once per PE at a time.
// **Source:** D. Hensgen, R. Finkel, U. Manber, Two algorithms for barrier synchronization, 1988.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shmem/rma.hpp"

namespace portunus::shmem {

// The page behind the symmetric heap, in the same block.
struct Signals {
  static constexpr int kRounds = 31;  // PE numbers are ints
  struct alignas(64) Signal {
    uint64_t count;
  };
  Signal round[kRounds];
};
inline constexpr size_t kSignalsSize = 4096;
static_assert(sizeof(Signals) <= kSignalsSize);

// Says where the signals of this PE lie, `offset` into the heap block; their counts start at zero.
void sync_open(size_t offset);

void fence(Channel& channel);
void quiet(Channel& channel);
// Waits until all PEs have called it; completes stores only.
void sync_all();
// quiet, then sync_all.
void barrier_all();

}  // namespace portunus::shmem
