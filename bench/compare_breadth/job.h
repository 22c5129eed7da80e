/* The programs without MPI and SHMEM report by this: what the rank that takes longest took, at rank 0 of a job of Portals'. */
#ifndef COMPARE_BREADTH_JOB_H
#define COMPARE_BREADTH_JOB_H

#include <portals4.h>
#include <portals4_ext.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop.h"

extern int wrong; /* not 0: data were not as they should be */
static inline void expect(int right) { wrong |= !right; }

/* Collective, once. Not 0: some rank's data were wrong. */
static inline int report(const struct Kind *kind, struct Took took, int rank, int ranks) {
    const double mine[] = {took.first, took.later, wrong, took.switches};
    double most[3] = {0}, switches = 0;
    if (PtlxJobPut("breadth", mine, sizeof mine) != PTL_OK || PtlxJobFence() != PTL_OK) PtlxJobAbort(4, "breadth: no results");
    for (int r = 0; r < ranks; ++r) {
        double its[4];
        size_t size = sizeof its;
        if (PtlxJobGet(r, "breadth", its, &size) != PTL_OK) PtlxJobAbort(4, "breadth: no results of a rank");
        for (int i = 0; i < 3; ++i)
            if (its[i] > most[i]) most[i] = its[i];
        switches += its[3];
    }
    if (rank == 0 && most[2] > 0) fprintf(stderr, "breadth: the data of %s are wrong\n", kind->name);
    if (rank == 0 && most[2] == 0) printf("breadth first=%.3f later=%.3f switches=%.4f\n", most[0], most[1], switches / ranks);
    return most[2] > 0 ? 3 : 0;
}

/* The kind and the number of rounds that the arguments name; none: the job ends. */
static inline const struct Kind *chosen_kind(const struct Kind *const *tables, size_t number, int argc, char **argv, long *count) {
    const struct Kind *const kind = argc == 3 ? find_kind(tables, number, argv[1]) : NULL;
    *count = argc == 3 ? atol(argv[2]) : 0;
    if (kind == NULL || *count < 2 * kFirst) PtlxJobAbort(2, "usage: KIND ROUNDS(80..); 'bench/breadth --help' lists the kinds");
    return kind;
}

#endif
