/* Blocking collectives as in collectives.c, for numbers of ranks that are no powers of two: each is checked, then measured. */
#include "timed.h"

enum { kMost = 8192 / 8 };

static double *sent, *received;
static int doubles;

static void barriers(long count) {
    for (long i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduces(long count) {
    for (long i = 0; i < count; ++i) MPI_Allreduce(sent, received, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The first comes from rank 0 and the second from the last, as in collectives.c. */
static void broadcasts(long count) {
    for (long i = 0; i < count; ++i) MPI_Bcast(sent, doubles, MPI_DOUBLE, i % 2 == 0 ? 0 : compare_ranks - 1, MPI_COMM_WORLD);
}

static void allgathers(long count) {
    for (long i = 0; i < count; ++i) MPI_Allgather(sent, doubles, MPI_DOUBLE, received, doubles, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void alltoalls(long count) {
    for (long i = 0; i < count; ++i) MPI_Alltoall(sent, doubles, MPI_DOUBLE, received, doubles, MPI_DOUBLE, MPI_COMM_WORLD);
}

static double value(int rank, int i) { return rank * 100000.0 + i; }

/* Element i after one of them: from rank 0 in a broadcast, from all in an allreduce, else from the rank of its block. */
static double expected(void (*body)(long count), int i) {
    const int block = i / doubles;
    if (body == broadcasts) return value(0, i);
    if (body == allreduces) return (compare_ranks - 1) * compare_ranks / 2 * 100000.0 + (double)compare_ranks * i;
    return value(block, i % doubles + (body == alltoalls ? compare_me * doubles : 0));
}

static void measure(const char *bench, void (*body)(long count)) {
    const double *const result = body == broadcasts ? sent : received;
    const int length = body == allgathers || body == alltoalls ? compare_ranks * doubles : doubles;
    int right = 0;
    for (int i = 0; i < compare_ranks * doubles; ++i) sent[i] = value(compare_me, i), received[i] = -1;
    body(1);
    while (right < length && result[right] == expected(body, right)) ++right;
    require(right == length, bench, doubles * 8L);
    point(bench, doubles * 8L, "us", 1e6, 0, body);
}

int main(int argc, char **argv) {
    start(argc, argv);
    sent = (double *)(void *)buffer_of(kMost * sizeof(double) * (size_t)compare_ranks);
    received = (double *)(void *)buffer_of(kMost * sizeof(double) * (size_t)compare_ranks);
    point("odd-barrier", 0, "us", 1e6, 0, barriers);
    for (doubles = 1; doubles <= kMost; doubles *= kMost) {
        measure("odd-bcast", broadcasts);
        measure("odd-allreduce", allreduces);
        measure("odd-allgather", allgathers);
        measure("odd-alltoall", alltoalls);
    }
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
