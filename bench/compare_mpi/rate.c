/* 8-byte messages per second from rank 0 to rank 1, in windows of 64 that are answered. */
#include "timed.h"

enum { kTag = 1, kWindow = 64 };

static long values[kWindow];

static void windows(long count) {
    MPI_Request requests[kWindow];
    long answer = 0;
    for (long i = 0; i < count; ++i) {
        if (compare_me == 0) {
            for (int w = 0; w < kWindow; ++w) MPI_Isend(&values[w], 1, MPI_LONG, 1, kTag, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&answer, 1, MPI_LONG, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (compare_me == 1) {
            for (int w = 0; w < kWindow; ++w) MPI_Irecv(&values[w], 1, MPI_LONG, 0, kTag, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
            MPI_Send(&answer, 1, MPI_LONG, 0, kTag, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    point("rate", sizeof values[0], "M/s", 1e-6 * kWindow, 1, windows);
    MPI_Finalize();
    return 0;
}
