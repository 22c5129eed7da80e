/* The files of kinds of calls share this: each has a table of them, which ends with a kind without a name. */
#ifndef COMPARE_BREADTH_KINDS_H
#define COMPARE_BREADTH_KINDS_H

#include <mpi.h>

#include "loop.h"

enum { kTag = 5, kMostRequests = 128 };

extern const struct Kind point_to_point[], requests[], collectives[], nonblocking[], persistent[], neighbours[], one_sided[], objects[],
    local_calls[], files[];

extern int me, ranks, right, left;
/* kCount doubles for each rank, which is room for kCount of any predefined type. */
extern double *sent, *received;
/* kCount and r * kCount for each rank r, and MPI_DOUBLE; as MPI_Alltoallw has them, in bytes. */
extern int *counts, *places, *byte_places;
extern MPI_Datatype *types;

#endif
