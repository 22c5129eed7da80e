/* MPI_Barrier over all ranks. */
#include "timed.h"

static void barriers(long count) {
    for (long i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(argc, argv);
    point("barrier", 0, "us", 1e6, 0, barriers);
    MPI_Finalize();
    return 0;
}
