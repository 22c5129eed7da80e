/* Half of a round trip between ranks 0 and 1. */
#include "timed.h"

enum { kTag = 1, kLargest = 4 << 20 };

static char *buffer;
static int bytes;

static void round_trips(long count) {
    for (long i = 0; i < count; ++i) {
        if (compare_me == 0) {
            MPI_Send(buffer, bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (compare_me == 1) {
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    const int sizes[] = {8, 1024, 8192, 65536, 1 << 20, kLargest};
    start(argc, argv);
    buffer = buffer_of(kLargest);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        bytes = sizes[i];
        point("latency", bytes, "us", 1e6 / 2, 0, round_trips);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
