/* Blocking collectives over all ranks, from 8 bytes to 64 KiB of each rank, or to each. Broadcasts come from both ends in turn, so
 * that no rank runs far ahead. */
#include "timed.h"

enum { kMost = 65536 };

static char *sent, *received;
static int size; /* bytes */

static void allreduces(long count) {
    for (long i = 0; i < count; ++i) MPI_Allreduce(sent, received, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void broadcasts(long count) {
    for (long i = 0; i < count; ++i) MPI_Bcast(sent, size, MPI_BYTE, i % 2 == 0 ? 0 : compare_ranks - 1, MPI_COMM_WORLD);
}

static void allgathers(long count) {
    for (long i = 0; i < count; ++i) MPI_Allgather(sent, size, MPI_BYTE, received, size, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoalls(long count) {
    for (long i = 0; i < count; ++i) MPI_Alltoall(sent, size, MPI_BYTE, received, size, MPI_BYTE, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    static const int sizes[] = {8, 256, 2048, 8192, 65536};
    start(argc, argv);
    sent = (char *)buffer_of((size_t)kMost * (size_t)compare_ranks);
    received = (char *)buffer_of((size_t)kMost * (size_t)compare_ranks);
    for (int i = 0; i < (int)(sizeof sizes / sizeof sizes[0]); ++i) {
        size = sizes[i];
        point("allreduce", size, "us", 1e6, 0, allreduces);
        point("bcast", size, "us", 1e6, 0, broadcasts);
        point("allgather", size, "us", 1e6, 0, allgathers);
        point("alltoall", size, "us", 1e6, 0, alltoalls);
    }
    MPI_Finalize();
    return 0;
}
