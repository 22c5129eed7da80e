/* Windows of messages from rank 0 to rank 1, each window answered: GB/s (10^9 bytes). */
#include "timed.h"

enum { kTag = 1, kWindow = 16, kLargest = 4 << 20 };

static char *buffer;
static int bytes;

static void windows(long count) {
    MPI_Request requests[kWindow];
    char answer = 0;
    for (long i = 0; i < count; ++i) {
        if (compare_me == 0) {
            for (int w = 0; w < kWindow; ++w)
                MPI_Isend(buffer + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&answer, 1, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (compare_me == 1) {
            for (int w = 0; w < kWindow; ++w)
                MPI_Irecv(buffer + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
            MPI_Send(&answer, 1, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    const int sizes[] = {8192, 65536, 1 << 20, kLargest};
    start(argc, argv);
    buffer = buffer_of((size_t)kWindow * kLargest);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        bytes = sizes[i];
        point("bandwidth", bytes, "GB/s", 1e-9 * kWindow * bytes, 1, windows);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
