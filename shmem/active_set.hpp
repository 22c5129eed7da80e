// active_set.hpp: the PEs PE_start + i * 2^logPE_stride of the deprecated collectives, as teams that live until finalize.
//
// The first call on a set gives it a number as teams have one: its first PE claims it and writes it to pSync[0] of the others,
// who put SHMEM_SYNC_VALUE back. After that pSync is not used.
//
// Thread: one at a time.
// Source: OpenSHMEM 1.3, section "Collective Routines", about active sets and pSync.
#pragma once

#include "shmem/team.hpp"

namespace portunus::shmem {

// A sentence and the end of the job if the set is none, or this PE is not in it.
Team& active_set(const char* function, int start, int log_stride, int size, long* sync);
void active_sets_close();

}  // namespace portunus::shmem
