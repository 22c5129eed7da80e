// portal.hpp: the portal table entry of files, and what those who use it have in common.
//
// Match bits: a number of 16 bits, the kind of message, 45 bits of the kind's own. What comes before there is an entry for it waits.
// Thread: any. Source: Portals 4.3, 3.6 (portal table entries), 3.11 (memory descriptors).
#pragma once

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::mpi::io {

constexpr ptl_pt_index_t kFilePortal = 58;
constexpr unsigned kQuietEntry = PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;

constexpr ptl_match_bits_t file_bits(uint64_t number, uint64_t kind, uint64_t own) { return number << 48 | kind << 45 | own; }

// Once per run of MPI: the table entry, and what keeps data that come before there is room for them. PTL_* codes.
int open_file_portal();
// These wait until nothing refers to the object; PTL_INVALID_HANDLE is none.
void release_memory(ptl_handle_md_t md);
void release_counter(ptl_handle_ct_t counter);
void release_entry(ptl_handle_me_t entry);
// MPI_SUCCESS, or MPI_ERR_PROC_ABORTED: `deaths` came first.
int await_counter(ptl_handle_ct_t counter, ptl_size_t count, ptl_handle_ct_t deaths);

}  // namespace portunus::mpi::io
