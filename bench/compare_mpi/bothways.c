/* Windows of messages in both directions at once: GB/s (10^9 bytes), of both together. */
#include "timed.h"

enum { kTag = 1, kWindow = 16, kLargest = 1 << 20 };

static char *sent, *received;
static int bytes;

static void windows(long count) {
    MPI_Request requests[2 * kWindow];
    const int other = 1 - compare_me;
    for (long i = 0; i < count && compare_me < 2; ++i) {
        for (int w = 0; w < kWindow; ++w)
            MPI_Irecv(received + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, other, kTag, MPI_COMM_WORLD, &requests[w]);
        for (int w = 0; w < kWindow; ++w)
            MPI_Isend(sent + (size_t)w * (size_t)bytes, bytes, MPI_BYTE, other, kTag, MPI_COMM_WORLD, &requests[kWindow + w]);
        MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv) {
    const int sizes[] = {64, 4096, 65536, kLargest};
    start(argc, argv);
    sent = buffer_of((size_t)kWindow * kLargest);
    received = buffer_of((size_t)kWindow * kLargest);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        bytes = sizes[i];
        point("both-ways", bytes, "GB/s", 2e-9 * kWindow * bytes, 1, windows);
    }
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
