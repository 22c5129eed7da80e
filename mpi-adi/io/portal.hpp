// portal.hpp: the portal table entry of files, and what those who use it have in common.
//
// Match bits: a number of 16 bits, the kind of message, 45 bits of the kind's own. What comes before there is an entry for it waits.
// Thread: any. Source: Portals 4.3, 3.6 (portal table entries), 3.11 (memory descriptors).
#pragma once

#include <vector>

#include "engine/client/deaths.hpp"
#include "engine/client/numbers.hpp"

namespace portunus::mpi::io {

using client::kFilePortal;
constexpr unsigned kQuietEntry = PTL_ME_OP_PUT | client::kQuiet;

constexpr ptl_match_bits_t file_bits(uint64_t number, uint64_t kind, uint64_t own) { return number << 48 | kind << 45 | own; }

// Once per run of MPI: the table entry, and what keeps data that come before there is room for them. PTL_* codes.
int open_file_portal();
// Watches all ranks of the job but this one; PTL_* codes.
int watch_all(client::Deaths& deaths, const std::vector<int>& ranks);

}  // namespace portunus::mpi::io
