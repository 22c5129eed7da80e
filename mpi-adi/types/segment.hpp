// segment.hpp: memory that the ranks of a node map together: that of windows.
//
// Thread: any, one call per communicator at a time. Invariants: its name is gone before anybody uses it, so that nothing is left
// of it when the last rank ends, however that happens.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/client/shared_memory.hpp"
#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi {

// Memory that the ranks of `comm` on this node map together, zeroed: each gets `bytes` of it. Collective over comm; base[i] is
// where rank i's part lies, nullptr on another node. Its own part begins at a multiple of `alignment`; 1: where the one before it ends.
// Behind them lie `beside_bytes` more of each rank, on cache lines of their own. False: there is none.
bool share_memory(Communicator& comm, size_t bytes, size_t alignment, size_t beside_bytes, client::SharedMemory& memory,
                  std::vector<std::byte*>& base, std::vector<std::byte*>& beside);

}  // namespace portunus::mpi
