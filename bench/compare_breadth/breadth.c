/* One kind of MPI call in a loop from MPI_Init on: what do its first rounds take, and what the later ones?
 *
 * usage: breadth KIND ROUNDS. Rank 0 prints one line: microseconds a round, of the rank that takes longest, of the first 40 rounds and of
 * the second half, and context switches a round there, the mean of the ranks; or "breadth absent", where the library's MPI is older than
 * the call. Written to MPI-3, and MPI-4 where there is one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kinds.h"

int me, ranks, right, left;
double *sent, *received;
int *counts, *places, *byte_places;
MPI_Datatype *types;

static const struct Kind *const tables[] = {point_to_point, requests, collectives, nonblocking, persistent,
                                            neighbours,     one_sided, objects,    local_calls, files};

static void make_room(void) {
    sent = calloc((size_t)ranks * kCount, 2 * sizeof *sent);
    received = calloc((size_t)ranks * kCount, 2 * sizeof *received);
    counts = malloc((size_t)ranks * sizeof *counts);
    places = malloc((size_t)ranks * sizeof *places);
    byte_places = malloc((size_t)ranks * sizeof *byte_places);
    types = malloc((size_t)ranks * sizeof *types);
    for (int r = 0; r < ranks; ++r) {
        counts[r] = kCount;
        places[r] = r * kCount;
        byte_places[r] = r * kCount * (int)sizeof *sent;
        types[r] = MPI_DOUBLE;
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct Kind *const kind = argc == 3 ? find_kind(tables, sizeof tables / sizeof tables[0], argv[1]) : NULL;
    const long count = argc == 3 ? atol(argv[2]) : 0;
    if (kind == NULL || count < 2 * kFirst) {
        if (me == 0) fprintf(stderr, "usage: breadth KIND ROUNDS(%d..); 'bench/breadth --help' lists the kinds\n", 2 * kFirst);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (kind->round == NULL) {
        if (me == 0) puts("breadth absent");
        MPI_Finalize();
        return 0;
    }
    right = (me + 1) % ranks;
    left = (me + ranks - 1) % ranks;
    make_room();
    if (kind->prepare) kind->prepare();
    const struct Took took = measured(kind, count);
    double mine[] = {took.first, took.later}, slowest[2], switches;
    if (kind->end) kind->end();
    MPI_Reduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&took.switches, &switches, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) printf("breadth first=%.3f later=%.3f switches=%.4f\n", slowest[0], slowest[1], switches / ranks);
    MPI_Finalize();
    return 0;
}
