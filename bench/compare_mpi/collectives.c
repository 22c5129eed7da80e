/* Small collectives over all ranks: 8 bytes from each rank, or to each. Broadcasts come from both ends in turn, so that no
 * rank runs far ahead. */
#include "timed.h"

static double in = 1, out;
static double *sent, *received;

static void allreduces(long count) {
    for (long i = 0; i < count; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void broadcasts(long count) {
    for (long i = 0; i < count; ++i) MPI_Bcast(&in, 1, MPI_DOUBLE, i % 2 == 0 ? 0 : compare_ranks - 1, MPI_COMM_WORLD);
}

static void alltoalls(long count) {
    for (long i = 0; i < count; ++i) MPI_Alltoall(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(argc, argv);
    sent = (double *)buffer_of(sizeof *sent * (size_t)compare_ranks);
    received = (double *)buffer_of(sizeof *received * (size_t)compare_ranks);
    point("allreduce", 8, "us", 1e6, 0, allreduces);
    point("bcast", 8, "us", 1e6, 0, broadcasts);
    point("alltoall", 8, "us", 1e6, 0, alltoalls);
    MPI_Finalize();
    return 0;
}
