/* Nonblocking collectives over all ranks with nothing to hide: started and waited for at once. The ranks meet before each point, when a few
 * have been made: a library may prepare itself where calls block. */
#include "timed.h"

enum { kMost = 65536 };

static char *sent, *received;
static int size; /* bytes */

static void finish(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

static void barriers(long count) {
    MPI_Request request;
    for (long i = 0; i < count; ++i) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        finish(&request);
    }
}

static void allreduces(long count) {
    MPI_Request request;
    for (long i = 0; i < count; ++i) {
        MPI_Iallreduce(sent, received, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        finish(&request);
    }
}

static void broadcasts(long count) {
    MPI_Request request;
    for (long i = 0; i < count; ++i) {
        MPI_Ibcast(sent, size, MPI_BYTE, i % 2 == 0 ? 0 : compare_ranks - 1, MPI_COMM_WORLD, &request);
        finish(&request);
    }
}

static void alltoalls(long count) {
    MPI_Request request;
    for (long i = 0; i < count; ++i) {
        MPI_Ialltoall(sent, size, MPI_BYTE, received, size, MPI_BYTE, MPI_COMM_WORLD, &request);
        finish(&request);
    }
}

static void measure(const char *bench, void (*body)(long count)) {
    body(4);
    MPI_Barrier(MPI_COMM_WORLD);
    point(bench, size, "us", 1e6, 0, body);
}

int main(int argc, char **argv) {
    static const int sizes[] = {8, 2048, 16384, kMost};
    start(argc, argv);
    sent = buffer_of((size_t)kMost * (size_t)compare_ranks);
    received = buffer_of((size_t)kMost * (size_t)compare_ranks);
    measure("ibarrier", barriers);
    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); ++i) {
        size = sizes[i];
        measure("iallreduce", allreduces);
        measure("ibcast", broadcasts);
        measure("ialltoall", alltoalls);
    }
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
