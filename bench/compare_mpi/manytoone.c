/* All other ranks send windows of 32 8-byte messages to rank 0, which receives from any source and then answers each. */
#include "timed.h"

enum { kTag = 1, kAnswerTag = 2, kWindow = 32 };

static void gathers(long count) {
    MPI_Request requests[kWindow];
    long values[kWindow] = {0}, value = 0;
    for (long i = 0; i < count; ++i) {
        if (compare_me == 0) {
            for (int m = 0; m < kWindow * (compare_ranks - 1); ++m)
                MPI_Recv(&value, 1, MPI_LONG, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int rank = 1; rank < compare_ranks; ++rank) MPI_Send(&value, 1, MPI_LONG, rank, kAnswerTag, MPI_COMM_WORLD);
        } else {
            for (int w = 0; w < kWindow; ++w) MPI_Isend(&values[w], 1, MPI_LONG, 0, kTag, MPI_COMM_WORLD, &requests[w]);
            MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&value, 1, MPI_LONG, 0, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    point("many-to-one", sizeof(long), "M/s", 1e-6 * kWindow * (compare_ranks - 1), 1, gathers);
    MPI_Finalize();
    return 0;
}
