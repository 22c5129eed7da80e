/* The files of kinds of calls share this: each has a table of them, which ends with a kind without a name. */
#ifndef COMPARE_BREADTH_KINDS_H
#define COMPARE_BREADTH_KINDS_H

#include <mpi.h>
#include <stddef.h>

#ifndef NUMBERS /* bench/breadth --numbers */
#define NUMBERS 16
#endif
enum { kCount = NUMBERS, kTag = 5, kMostRequests = 128 };

struct Kind {
    const char *name;
    void (*round)(void);   /* one call, or the few that belong together */
    void (*prepare)(void); /* before the first round, not measured; NULL: nothing */
    void (*end)(void);     /* behind the last one; NULL: nothing */
};

extern const struct Kind point_to_point[], requests[], collectives[], nonblocking[], persistent[], neighbours[], one_sided[], objects[],
    local_calls[], files[];

extern int me, ranks, right, left;
/* kCount doubles for each rank, which is room for kCount of any predefined type. */
extern double *sent, *received;
/* kCount and r * kCount for each rank r, and MPI_DOUBLE; as MPI_Alltoallw has them, in bytes. */
extern int *counts, *places, *byte_places;
extern MPI_Datatype *types;

#endif
