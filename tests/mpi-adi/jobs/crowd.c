/* crowd.c: many more ranks on a node than a process has rings for single senders, and than there are processors.
 *
 * All send to one, in a ring and to all; in each round another rank comes late by more than the time after which departed senders are looked
 * for. Nobody may be taken for dead meanwhile, and nothing may be lost. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Computing, with no call that makes progress. */
static void come_late(double by) {
    volatile double work = 0;
    const double until = MPI_Wtime() + by;
    while (MPI_Wtime() < until) work = work + 1;
}

static void must(int good, const char *what, int rank, int round) {
    if (good) return;
    fprintf(stderr, "rank %d, round %d: %s\n", rank, round, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *out = malloc((size_t)size * sizeof *out), *in = malloc((size_t)size * sizeof *in);
    for (int round = 0; round < rounds; ++round) {
        const int late = round * 7 % size, root = (late + 1) % size, right = (rank + 1) % size, left = (rank + size - 1) % size;
        long sum = 0, mine = rank + round;
        MPI_Status status;
        if (rank == late) come_late(1.1);
        for (int i = 0; i < 3; ++i) { /* everybody to the root */
            if (rank == root)
                for (int k = 0; k < size - 1; ++k) {
                    int from = -1;
                    MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &status);
                    must(from == status.MPI_SOURCE, "a message is another's", rank, round);
                }
            else
                MPI_Send(&rank, 1, MPI_INT, root, i, MPI_COMM_WORLD);
        }
        int from = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, right, 10, &from, 1, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        must(from == left, "the neighbour's message is wrong", rank, round);
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        must(sum == (long)size * (size - 1) / 2 + (long)size * round, "the sum is wrong", rank, round);
        for (int i = 0; i < size; ++i) out[i] = rank * 1000 + i;
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size; ++i) must(in[i] == i * 1000 + rank, "alltoall is wrong", rank, round);
    }
    free(out);
    free(in);
    if (rank == 0) printf("%d ranks, %d rounds: nobody and nothing lost\n", size, rounds);
    MPI_Finalize();
    return 0;
}
