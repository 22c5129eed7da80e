/* Nonblocking collectives of an MPI library: overlap and what they take from the application (measured.h). "blocking_barrier" is
 * MPI_Barrier. */
#include "measured.h"

#include <mpi.h>

static MPI_Request request;
static int ranks, count;
static char *in, *out;

static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }
static double largest(double value) {
    double most;
    MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}
static void largest_each(double *values) { MPI_Allreduce(MPI_IN_PLACE, values, kMost, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); }
static void barrier(void) { MPI_Ibarrier(MPI_COMM_WORLD, &request); }
static void bcast(void) { MPI_Ibcast(in, count, MPI_BYTE, 0, MPI_COMM_WORLD, &request); }
static void allreduce(void) { MPI_Iallreduce(in, out, count / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request); }
static void alltoall(void) { MPI_Ialltoall(in, count, MPI_BYTE, out, count, MPI_BYTE, MPI_COMM_WORLD, &request); }
static void wait_for_it(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
static void blocking(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void nothing(void) {}

int main(int argc, char **argv) {
    static const struct operation kOperations[] = {{"barrier", barrier, wait_for_it}, {"blocking_barrier", blocking, nothing},
                                                   {"bcast", bcast, wait_for_it}, {"allreduce", allreduce, wait_for_it},
                                                   {"alltoall", alltoall, wait_for_it}};
    struct wanted wanted;
    int rank;
    if (!read_wanted(argc, argv, &wanted)) {
        fprintf(stderr, "usage: %s OPERATIONS SIZES RATIO SECONDS, as: %s barrier,alltoall 8,64 2 0.3\n", argv[0], argv[0]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    calibrate();
    for (int o = 0; o < 5; ++o) {
        for (int s = 0; among(wanted.operations, kOperations[o].name) && s < (o < 2 ? 1 : wanted.num_sizes); ++s) {
            const size_t bytes = o < 2 ? 0 : wanted.sizes[s], room = bytes * (o == 4 ? (size_t)ranks : 1) + 64;
            count = (int)bytes;
            in = calloc(1, room);
            out = calloc(1, room);
            if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 1);
            measure(&kOperations[o], bytes, wanted.ratio, wanted.seconds, rank == 0);
            meet();
            free(in);
            free(out);
        }
    }
    MPI_Finalize();
    return 0;
}
