// memory.hpp: descriptors of all memory of the process, from which this library sends.
//
// Thread: any, once the interface is open. Source: Portals 4.3, 3.10 (memory descriptors).
#pragma once

#include "portals/portals4.h"

namespace portunus::mpi::adi {

// A fresh descriptor with these PTL_MD_* and PTLX_MD_* options; its events go to `eq`, its counts to `ct` (either may be none). PTL_*
// codes.
int bind_all_memory(unsigned options, ptl_handle_eq_t eq, ptl_handle_ct_t ct, ptl_handle_md_t& md);

}  // namespace portunus::mpi::adi
