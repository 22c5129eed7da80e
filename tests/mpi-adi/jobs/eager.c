/* MPIADI_EAGER_LIMIT above what a transport sends at once: sends of up to so many bytes end before there is a receive, and their buffers are
 * the program's again; what is longer, or more than the sender may keep, waits. Every byte arrives, in order. 2 ranks, MPIADI_EAGER_LIMIT=1m
 * and MPIADI_UNEXPECTED_LIMIT=4m. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLong = 1 << 20, kMany = 12 };

static int rank;
static char *out, *in;

#define CHECK(what) ((what) ? (void)0 : (fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #what), MPI_Abort(MPI_COMM_WORLD, 1)))

static void receive(int bytes, int tag, char value) {
    MPI_Status status;
    int count;
    memset(in, 0, bytes);
    MPI_Recv(in, bytes, MPI_CHAR, !rank, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &count);
    CHECK(count == bytes);
    for (int i = 0; i < bytes; ++i) CHECK(in[i] == value);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out = malloc(2 * kLong);
    in = malloc(2 * kLong);

    /* Both send first, and write to their buffers at once. */
    for (int bytes = 70000; bytes <= kLong; bytes *= 2) {
        memset(out, 'a' + rank, bytes);
        MPI_Send(out, bytes, MPI_CHAR, !rank, 1, MPI_COMM_WORLD);
        memset(out, 'x', bytes);
        receive(bytes, 1, 'a' + !rank);
    }
    /* The request of a nonblocking one is complete at once. */
    MPI_Request request;
    int flag;
    memset(out, 'c', kLong);
    MPI_Isend(out, kLong, MPI_CHAR, !rank, 2, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag);
    memset(out, 'y', kLong);
    receive(kLong, 2, 'c');
    /* Strided data are copied, too. */
    MPI_Datatype every_other;
    MPI_Type_vector(kLong / 2, 1, 2, MPI_CHAR, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < kLong; ++i) out[i] = i % 2 ? 'n' : 'd';
    MPI_Send(out, 1, every_other, !rank, 3, MPI_COMM_WORLD);
    memset(out, 'z', kLong);
    receive(kLong / 2, 3, 'd');
    MPI_Type_free(&every_other);
    /* A synchronous one waits. */
    MPI_Issend(out, kLong, MPI_CHAR, !rank, 4, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!flag);
    receive(kLong, 4, 'z');
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* More than may be kept, and longer ones, in order with the others. */
    MPI_Request all[2 * kMany];
    char *parts = malloc((size_t)kMany * 2 * kLong);
    int ended = 0;
    for (int i = 0; i < kMany; ++i) {
        const int bytes = i % 3 == 2 ? kLong + 1 : kLong;
        memset(parts + (size_t)i * 2 * kLong, 'A' + i, bytes);
        MPI_Isend(parts + (size_t)i * 2 * kLong, bytes, MPI_CHAR, !rank, 5, MPI_COMM_WORLD, &all[i]);
        MPI_Test(&all[i], &flag, MPI_STATUS_IGNORE);
        ended += flag;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(ended <= 4);
    for (int i = 0; i < kMany; ++i) receive(i % 3 == 2 ? kLong + 1 : kLong, 5, 'A' + i);
    MPI_Waitall(kMany, all, MPI_STATUSES_IGNORE);
    free(parts);
    /* One that is received after its sender has begun to end. */
    if (rank == 0) {
        memset(out, 'e', kLong);
        MPI_Send(out, kLong, MPI_CHAR, 1, 6, MPI_COMM_WORLD);
    } else {
        receive(kLong, 6, 'e');
    }
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
