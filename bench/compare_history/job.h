/* The programs without MPI and SHMEM tell rank 0 their context switches by this. */
#ifndef COMPARE_HISTORY_JOB_H
#define COMPARE_HISTORY_JOB_H

#include <portals4.h>
#include <portals4_ext.h>

#include "loop.h"

/* Collective, once; rank 0 prints. */
static inline void tell_history(struct History took, int rank, int ranks) {
    if (PtlxJobPut("history", &took.switches, sizeof took.switches) != PTL_OK || PtlxJobFence() != PTL_OK) PtlxJobAbort(4, "history: no results");
    took.switches = 0;
    for (int r = 0; r < ranks; ++r) {
        double its;
        size_t size = sizeof its;
        if (PtlxJobGet(r, "history", &its, &size) != PTL_OK) PtlxJobAbort(4, "history: no results of a rank");
        took.switches += its;
    }
    if (rank == 0) print_history(took);
}

#endif
