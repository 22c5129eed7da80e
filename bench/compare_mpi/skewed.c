/* Collectives of counts that differ much by rank, in two shapes: rising ones, rank i has i + 1 shares, and those of which one rank has
 * nearly all. Roots are both ends in turn, so that no rank runs far ahead; the rank with nearly all is never the root. */
#include "timed.h"

enum { kLargest = 65536 / 8, kRankValue = 100000000 };

static double *sent, *received;
static int *counts[2], *places[2]; /* by root, the first and the last rank, and by rank */
static int *own_counts, *own_places; /* by rank: what this one sends each in an alltoallv */

static int root_of(int end) { return end ? compare_ranks - 1 : 0; }

static void gatherv(int end) {
    MPI_Gatherv(sent, counts[end][compare_me], MPI_DOUBLE, received, counts[end], places[end], MPI_DOUBLE, root_of(end), MPI_COMM_WORLD);
}

static void scatterv(int end) {
    MPI_Scatterv(sent, counts[end], places[end], MPI_DOUBLE, received, counts[end][compare_me], MPI_DOUBLE, root_of(end), MPI_COMM_WORLD);
}

static void allgatherv(int end) {
    MPI_Allgatherv(sent, counts[end][compare_me], MPI_DOUBLE, received, counts[end], places[end], MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoallv(int end) {
    (void)end;
    MPI_Alltoallv(sent, own_counts, own_places, MPI_DOUBLE, received, counts[0], places[0], MPI_DOUBLE, MPI_COMM_WORLD);
}

static void gathervs(long count) {
    for (long i = 0; i < count; ++i) gatherv((int)(i % 2));
}

static void scattervs(long count) {
    for (long i = 0; i < count; ++i) scatterv((int)(i % 2));
}

static void allgathervs(long count) {
    for (long i = 0; i < count; ++i) allgatherv(0);
}

static void alltoallvs(long count) {
    for (long i = 0; i < count; ++i) alltoallv(0);
}

/* Whether `count` doubles of that rank came there, which lay at `begin` in what it sends. */
static int came(const double *at, int count, int rank, int begin) {
    for (int i = 0; i < count; ++i)
        if (at[i] != (double)rank * kRankValue + begin + i) return 0;
    return 1;
}

/* `mean`: doubles of each rank, or from each to each. */
static void set_counts(int mean, int is_rising) {
    for (int end = 0; end < 2; ++end) {
        const int large = (root_of(end) + compare_ranks / 2) % compare_ranks;
        for (int rank = 0, at = 0; rank < compare_ranks; at += counts[end][rank++]) {
            const int of_one = rank == large ? compare_ranks * mean - (compare_ranks - 1) : 1;
            counts[end][rank] = is_rising ? 2 * mean * (rank + 1) / (compare_ranks + 1) : of_one;
            places[end][rank] = at;
        }
    }
    for (int rank = 0; rank < compare_ranks; ++rank) {
        own_counts[rank] = counts[0][compare_me];
        own_places[rank] = rank * counts[0][compare_me];
    }
}

static void measure(const char *name, const char *shape, int mean, void (*once)(int end), void (*body)(long count)) {
    char bench[32];
    snprintf(bench, sizeof bench, "%s-%s", name, shape);
    for (int end = 0; end < 2; ++end) {
        const int root = root_of(end);
        int right = 1;
        for (int i = 0; i < compare_ranks * mean; ++i) received[i] = -1;
        once(end);
        if (once == scatterv) right = came(received, counts[end][compare_me], root, places[end][compare_me]);
        for (int rank = 0; rank < compare_ranks && (once == allgatherv || (once == gatherv && compare_me == root)); ++rank)
            right = right && came(received + places[end][rank], counts[end][rank], rank, 0);
        for (int rank = 0; rank < compare_ranks && once == alltoallv; ++rank)
            right = right && came(received + places[0][rank], counts[0][rank], rank, compare_me * counts[0][rank]);
        require(right, bench, mean * 8L);
    }
    point(bench, mean * 8L, "us", 1e6, 0, body);
}

int main(int argc, char **argv) {
    start(argc, argv);
    const size_t ranks = (size_t)compare_ranks, most = kLargest * ranks * ranks;
    sent = (double *)(void *)buffer_of(most * sizeof(double));
    received = (double *)(void *)buffer_of(kLargest * ranks * sizeof(double));
    for (size_t i = 0; i < most; ++i) sent[i] = (double)compare_me * kRankValue + (double)i;
    int *const numbers = (int *)(void *)buffer_of(6 * ranks * sizeof(int));
    counts[0] = numbers, counts[1] = numbers + ranks, places[0] = numbers + 2 * ranks, places[1] = numbers + 3 * ranks;
    own_counts = numbers + 4 * ranks, own_places = numbers + 5 * ranks;
    for (int mean = 1024 / 8; mean <= kLargest; mean *= 64) {
        for (int is_rising = 0; is_rising < 2; ++is_rising) {
            const char *const shape = is_rising ? "rising" : "one";
            set_counts(mean, is_rising);
            measure("gatherv", shape, mean, gatherv, gathervs);
            measure("scatterv", shape, mean, scatterv, scattervs);
            measure("allgatherv", shape, mean, allgatherv, allgathervs);
            measure("alltoallv", shape, mean, alltoallv, alltoallvs);
        }
    }
    free(numbers);
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
