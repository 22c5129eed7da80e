// asymmetric_fence.hpp: a fence that costs the many nothing and the one a system call.
//
// Two sides that each write one word and then read the other's need a fence each. Where one side does so millions of times a second
// and the other once in a while, the frequent side may keep to program order only (a compiler fence) if the rare side makes all
// running threads execute a barrier: membarrier(2).
//
// Thread: any. Cost: below a microsecond where nobody else runs, else an interrupt of the other processors (1-30 us in virtual machines).
// Source: Linux membarrier(2), expedited commands.
#pragma once

#include <atomic>

namespace portunus {

// Registers this process; true when the heavy fence below works. Before that its threads must not leave out their fences.
bool register_asymmetric_fences();
// All threads of all registered processes of this machine that run now have executed a full barrier.
void heavy_fence_on_node();
// The frequent side.
inline void light_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace portunus
