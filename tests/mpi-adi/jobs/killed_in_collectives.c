/* killed_in_collectives.c KIND MICROSECONDS: the last rank is killed so long after it began to call one collective again and again; the
 * others hear of it, tell each other, and go on without it. */
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { kMost = 8, kWords = 3000 };

static MPI_Comm ring;
static int size, counts[kMost], places[kMost], byte_places[kMost], near_places[2] = {0, kWords}, near_counts[2];
static MPI_Aint far_places[2] = {0, kWords * sizeof(int)};
static MPI_Datatype types[kMost];
static int sent[kMost * kWords], received[kMost * kWords];
static MPI_Request request = MPI_REQUEST_NULL;

static int ended(int error) { return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error; }
static int neighbor_alltoall(void) { return MPI_Neighbor_alltoall(sent, counts[0], MPI_INT, received, counts[0], MPI_INT, ring); }
static int neighbor_allgatherv(void) {
    return MPI_Neighbor_allgatherv(sent, counts[0], MPI_INT, received, near_counts, near_places, MPI_INT, ring);
}
static int neighbor_alltoallw(void) {
    return MPI_Neighbor_alltoallw(sent, near_counts, far_places, types, received, near_counts, far_places, types, ring);
}
static int ineighbor_alltoallv(void) {
    return ended(MPI_Ineighbor_alltoallv(sent, near_counts, near_places, MPI_INT, received, near_counts, near_places, MPI_INT, ring, &request));
}
static int neighbor_alltoall_init(void) {
    int error = MPI_SUCCESS;
    if (request == MPI_REQUEST_NULL)
        error = MPI_Neighbor_alltoall_init(sent, counts[0], MPI_INT, received, counts[0], MPI_INT, ring, MPI_INFO_NULL, &request);
    if (error == MPI_SUCCESS) error = MPI_Start(&request);
    return ended(error);
}
static int ialltoallv(void) {
    return ended(MPI_Ialltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT, ring, &request));
}
static int alltoallw(void) { return MPI_Alltoallw(sent, counts, byte_places, types, received, counts, byte_places, types, ring); }
static int iallgatherv(void) { return ended(MPI_Iallgatherv(sent, counts[0], MPI_INT, received, counts, places, MPI_INT, ring, &request)); }
static int gatherv(void) { return MPI_Gatherv(sent, counts[0], MPI_INT, received, counts, places, MPI_INT, 0, ring); }
static int scatterv(void) { return MPI_Scatterv(sent, counts, places, MPI_INT, received, counts[0], MPI_INT, 0, ring); }

static const struct {
    const char *name;
    int (*call)(void);
} kKinds[] = {
    {"neighbor_alltoall", neighbor_alltoall}, {"neighbor_allgatherv", neighbor_allgatherv}, {"neighbor_alltoallw", neighbor_alltoallw},
    {"ineighbor_alltoallv", ineighbor_alltoallv}, {"neighbor_alltoall_init", neighbor_alltoall_init}, {"ialltoallv", ialltoallv},
    {"alltoallw", alltoallw}, {"iallgatherv", iallgatherv}, {"gatherv", gatherv}, {"scatterv", scatterv},
};

static void fall(int signal) { (void)signal, raise(SIGKILL); }

int main(int argc, char **argv) {
    int rank, left = 0, sum = 0;
    const int one = 1, period = 1, microseconds = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Comm others;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    /* Short ones and long ones, by the moment. */
    for (int i = 0; i < size; ++i) {
        counts[i] = microseconds % 2 ? 2 : kWords;
        places[i] = i * kWords;
        byte_places[i] = i * kWords * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    near_counts[0] = near_counts[1] = counts[0];
    int (*call)(void) = NULL;
    for (size_t i = 0; argc > 2 && i < sizeof kKinds / sizeof kKinds[0]; ++i)
        if (!strcmp(argv[1], kKinds[i].name)) call = kKinds[i].call;
    if (call == NULL || size > kMost) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(ring);
    if (rank == size - 1) {
        const struct itimerval after = {{0, 0}, {0, microseconds}};
        signal(SIGALRM, fall);
        setitimer(ITIMER_REAL, &after, NULL);
    }
    while (call() == MPI_SUCCESS) {
    }
    MPIX_Comm_revoke(ring);
    if (MPIX_Comm_shrink(ring, &others) == MPI_SUCCESS) {
        MPI_Comm_size(others, &left);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others);
    }
    printf("rank %d goes on with %d, %d answer\n", rank, left, sum);
    MPI_Finalize();
    return 0;
}
