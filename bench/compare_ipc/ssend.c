/* ssend ROW SECONDS: MPI_Ssend between two ranks, for the rows of bench/compare-ipc. Compiled by each MPI's own mpicc. */
#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>
#include <time.h>

#include "samples.h"

/* `count` of `type`, `bytes` from the first byte to the last. */
static void pingpong(int rank, int bytes, int items, MPI_Datatype type, size_t message, double seconds, const char *row)
{
    char *memory = calloc(1, (size_t)bytes + 1);
    double *samples = malloc(MOST_SAMPLES * sizeof *samples);
    size_t count = 0;
    int go = 1;
    uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9);
    for (size_t i = 0; go; ++i) {
        uint64_t start = now_ns();
        if (rank == 0) {
            memory[0] = (char)(go = start < end && count < MOST_SAMPLES);
            MPI_Ssend(memory, items, type, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(memory, items, type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (go && i > 20) samples[count++] = (double)(now_ns() - start) / 2;
        } else {
            MPI_Recv(memory, items, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            go = memory[0];
            MPI_Ssend(memory, items, type, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) print_samples(row, message, samples, count);
}

/* The receiver waits for 10 ms: from the send to its return there. */
static void sleeper(int rank, double seconds)
{
    double samples[1000];
    size_t count = 0, rounds = (size_t)(seconds * 90) + 3;
    for (size_t i = 0; i < rounds && count < 1000; ++i) {
        uint64_t sent = 0;
        if (rank == 0) {
            struct timespec pause = {0, 10000000};
            nanosleep(&pause, NULL);
            sent = now_ns();
            MPI_Ssend(&sent, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&sent, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            samples[count++] = (double)(now_ns() - sent);
        }
    }
    if (rank == 1) print_samples("sleeper", 8, samples, count);
}

int main(int argc, char **argv)
{
    int rank;
    double seconds = argc > 2 ? atof(argv[2]) : 0.3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *row = argc > 1 ? argv[1] : "rendezvous";
    if (strcmp(row, "onecore") == 0) bind_to(0);
    else bind_to(rank);
    if (strcmp(row, "sleeper") == 0) sleeper(rank, seconds);
    else if (strcmp(row, "bulk") == 0) pingpong(rank, 1 << 20, 1 << 20, MPI_CHAR, 1 << 20, seconds, row);
    else if (strcmp(row, "stride") == 0) {
        MPI_Datatype stride;
        MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_CHAR, &stride);
        MPI_Type_commit(&stride);
        pingpong(rank, BLOCKS * STRIDE, 1, stride, (size_t)BLOCKS * BLOCK, seconds, row);
        MPI_Type_free(&stride);
    } else pingpong(rank, 8, 8, MPI_CHAR, 8, seconds, row);
    MPI_Finalize();
    return 0;
}
