/* Blocking collectives; their nonblocking forms with MPI_Wait; their persistent forms started and waited for. */
#include <stdlib.h>

#include "kinds.h"

#define WORLD MPI_COMM_WORLD

/* The calls of all three forms: what each is given before the communicator. */
#define ARGUMENTS(X)                                                                          \
    X(bcast, Bcast, (sent, kCount, MPI_DOUBLE, 0))                                              \
    X(gather, Gather, (sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE, 0))              \
    X(gatherv, Gatherv, (sent, kCount, MPI_DOUBLE, received, counts, places, MPI_DOUBLE, 0))    \
    X(scatter, Scatter, (sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE, 0))            \
    X(scatterv, Scatterv, (sent, counts, places, MPI_DOUBLE, received, kCount, MPI_DOUBLE, 0))  \
    X(allgather, Allgather, (sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE))           \
    X(allgatherv, Allgatherv, (sent, kCount, MPI_DOUBLE, received, counts, places, MPI_DOUBLE)) \
    X(alltoall, Alltoall, (sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE))             \
    X(alltoallv, Alltoallv, (sent, counts, places, MPI_DOUBLE, received, counts, places, MPI_DOUBLE)) \
    X(alltoallw, Alltoallw, (sent, counts, byte_places, types, received, counts, byte_places, types)) \
    X(reduce, Reduce, (sent, received, kCount, MPI_DOUBLE, MPI_SUM, 0))                         \
    X(allreduce, Allreduce, (sent, received, kCount, MPI_DOUBLE, MPI_SUM))                      \
    X(reduce_scatter, Reduce_scatter, (sent, received, counts, MPI_DOUBLE, MPI_SUM))            \
    X(reduce_scatter_block, Reduce_scatter_block, (sent, received, kCount, MPI_DOUBLE, MPI_SUM)) \
    X(scan, Scan, (sent, received, kCount, MPI_DOUBLE, MPI_SUM))                                \
    X(exscan, Exscan, (sent, received, kCount, MPI_DOUBLE, MPI_SUM))

#define BARE(...) __VA_ARGS__
#define BLOCKING(name, Name, arguments) \
    static void name(void) { MPI_##Name(BARE arguments, WORLD); }
#define STARTED(name, Name, arguments)                  \
    static void i##name(void) {                         \
        MPI_Request request;                            \
        MPI_I##name(BARE arguments, WORLD, &request);   \
        MPI_Wait(&request, MPI_STATUS_IGNORE);          \
    }
ARGUMENTS(BLOCKING)
ARGUMENTS(STARTED)

static MPI_Request kept;
static void start_kept(void) {
    MPI_Start(&kept);
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
}
static void free_kept(void) { MPI_Request_free(&kept); }
#if MPI_VERSION >= 4
#define KEPT(name, Name, arguments) \
    static void make_##name(void) { MPI_##Name##_init(BARE arguments, WORLD, MPI_INFO_NULL, &kept); }
ARGUMENTS(KEPT)
static void make_barrier(void) { MPI_Barrier_init(WORLD, MPI_INFO_NULL, &kept); }
#define KEPT_KIND(text, name) {text, start_kept, make_##name, free_kept}
#else
#define KEPT_KIND(text, name) {text, NULL, NULL, NULL}
#endif

static MPI_Comm graph, part;
static MPI_Op own;

static void barrier(void) { MPI_Barrier(WORLD); }
static void ibarrier(void) {
    MPI_Request request;
    MPI_Ibarrier(WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void reduce_of(MPI_Datatype type, MPI_Op op, int count) { MPI_Allreduce(sent, received, count, type, op, WORLD); }
static void allreduce_one(void) { reduce_of(MPI_INT, MPI_MAX, 1); }
static void allreduce_in_place(void) { MPI_Allreduce(MPI_IN_PLACE, received, kCount, MPI_DOUBLE, MPI_SUM, WORLD); }
static void allreduce_place(void) { reduce_of(MPI_DOUBLE_INT, MPI_MINLOC, kCount); }
static void allreduce_complex(void) { reduce_of(MPI_C_DOUBLE_COMPLEX, MPI_SUM, kCount); }
static void allreduce_long_double(void) { reduce_of(MPI_LONG_DOUBLE, MPI_SUM, kCount); }
static void allreduce_own(void) { reduce_of(MPI_DOUBLE, own, kCount); }
static void allreduce_part(void) { MPI_Allreduce(sent, received, kCount, MPI_DOUBLE, MPI_SUM, part); }
static void reduce_local(void) { MPI_Reduce_local(sent, received, kCount, MPI_DOUBLE, MPI_SUM); }
static void iallreduce_test(void) {
    MPI_Request request;
    MPI_Iallreduce(sent, received, kCount, MPI_DOUBLE, MPI_SUM, WORLD, &request);
    for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}
static void iallreduce_eight(void) {
    MPI_Request eight[8];
    for (int i = 0; i < 8; ++i) MPI_Iallreduce(sent, received + i, 1, MPI_DOUBLE, MPI_SUM, WORLD, &eight[i]);
    MPI_Waitall(8, eight, MPI_STATUSES_IGNORE);
}

static void add(void *in, void *into, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((double *)into)[i] += ((double *)in)[i];
}
static void make_own(void) { MPI_Op_create(add, 1, &own); }
static void free_own(void) { MPI_Op_free(&own); }
static void make_part(void) { MPI_Comm_split(WORLD, me % 2, me, &part); }
static void free_part(void) { MPI_Comm_free(&part); }

/* A ring, which all collectives of neighbours go over. */
static int two_counts[] = {kCount, kCount}, two_places[] = {0, kCount};
static const MPI_Aint two_byte_places[] = {0, kCount * sizeof(double)};
static MPI_Datatype two_types[2];
static void make_ring(void) {
    const int whole[] = {1};
    MPI_Cart_create(WORLD, 1, &ranks, whole, 0, &graph);
    two_types[0] = two_types[1] = MPI_DOUBLE;
    sent = realloc(sent, (size_t)(ranks + 2) * 2 * kCount * sizeof *sent);
    received = realloc(received, (size_t)(ranks + 2) * 2 * kCount * sizeof *received);
}
static void free_ring(void) { MPI_Comm_free(&graph); }
#define RING(X)                                                                                                                \
    X(neighbor_allgather, Neighbor_allgather, (sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE))                        \
    X(neighbor_allgatherv, Neighbor_allgatherv, (sent, kCount, MPI_DOUBLE, received, two_counts, two_places, MPI_DOUBLE))      \
    X(neighbor_alltoall, Neighbor_alltoall, (sent, kCount, MPI_DOUBLE, received, kCount, MPI_DOUBLE))                          \
    X(neighbor_alltoallv, Neighbor_alltoallv,                                                                                  \
      (sent, two_counts, two_places, MPI_DOUBLE, received, two_counts, two_places, MPI_DOUBLE))                                \
    X(neighbor_alltoallw, Neighbor_alltoallw,                                                                                  \
      (sent, two_counts, two_byte_places, two_types, received, two_counts, two_byte_places, two_types))
#define BLOCKING_RING(name, Name, arguments) \
    static void name(void) { MPI_##Name(BARE arguments, graph); }
#define STARTED_RING(name, Name, arguments)            \
    static void i##name(void) {                        \
        MPI_Request request;                           \
        MPI_I##name(BARE arguments, graph, &request);  \
        MPI_Wait(&request, MPI_STATUS_IGNORE);         \
    }
RING(BLOCKING_RING)
RING(STARTED_RING)

const struct Kind collectives[] = {
    {"barrier", barrier, NULL, NULL},
    {"bcast", bcast, NULL, NULL},
    {"gather", gather, NULL, NULL},
    {"gatherv", gatherv, NULL, NULL},
    {"scatter", scatter, NULL, NULL},
    {"scatterv", scatterv, NULL, NULL},
    {"allgather", allgather, NULL, NULL},
    {"allgatherv", allgatherv, NULL, NULL},
    {"alltoall", alltoall, NULL, NULL},
    {"alltoallv", alltoallv, NULL, NULL},
    {"alltoallw", alltoallw, NULL, NULL},
    {"reduce", reduce, NULL, NULL},
    {"allreduce", allreduce, NULL, NULL},
    {"allreduce-1-int", allreduce_one, NULL, NULL},
    {"allreduce-in-place", allreduce_in_place, NULL, NULL},
    {"allreduce-minloc", allreduce_place, NULL, NULL},
    {"allreduce-complex", allreduce_complex, NULL, NULL},
    {"allreduce-long-double", allreduce_long_double, NULL, NULL},
    {"allreduce-own-op", allreduce_own, make_own, free_own},
    {"allreduce-half", allreduce_part, make_part, free_part},
    {"reduce-scatter", reduce_scatter, NULL, NULL},
    {"reduce-scatter-block", reduce_scatter_block, NULL, NULL},
    {"scan", scan, NULL, NULL},
    {"exscan", exscan, NULL, NULL},
    {"reduce-local", reduce_local, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};

const struct Kind nonblocking[] = {
    {"ibarrier", ibarrier, NULL, NULL},
    {"ibcast", ibcast, NULL, NULL},
    {"igather", igather, NULL, NULL},
    {"igatherv", igatherv, NULL, NULL},
    {"iscatter", iscatter, NULL, NULL},
    {"iscatterv", iscatterv, NULL, NULL},
    {"iallgather", iallgather, NULL, NULL},
    {"iallgatherv", iallgatherv, NULL, NULL},
    {"ialltoall", ialltoall, NULL, NULL},
    {"ialltoallv", ialltoallv, NULL, NULL},
    {"ialltoallw", ialltoallw, NULL, NULL},
    {"ireduce", ireduce, NULL, NULL},
    {"iallreduce", iallreduce, NULL, NULL},
    {"iallreduce-test", iallreduce_test, NULL, NULL},
    {"iallreduce-eight", iallreduce_eight, NULL, NULL},
    {"ireduce-scatter", ireduce_scatter, NULL, NULL},
    {"ireduce-scatter-block", ireduce_scatter_block, NULL, NULL},
    {"iscan", iscan, NULL, NULL},
    {"iexscan", iexscan, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};

const struct Kind persistent[] = {
    KEPT_KIND("barrier-init", barrier),
    KEPT_KIND("bcast-init", bcast),
    KEPT_KIND("gather-init", gather),
    KEPT_KIND("gatherv-init", gatherv),
    KEPT_KIND("scatter-init", scatter),
    KEPT_KIND("scatterv-init", scatterv),
    KEPT_KIND("allgather-init", allgather),
    KEPT_KIND("allgatherv-init", allgatherv),
    KEPT_KIND("alltoall-init", alltoall),
    KEPT_KIND("alltoallv-init", alltoallv),
    KEPT_KIND("alltoallw-init", alltoallw),
    KEPT_KIND("reduce-init", reduce),
    KEPT_KIND("allreduce-init", allreduce),
    KEPT_KIND("reduce-scatter-init", reduce_scatter),
    KEPT_KIND("reduce-scatter-block-init", reduce_scatter_block),
    KEPT_KIND("scan-init", scan),
    KEPT_KIND("exscan-init", exscan),
    {NULL, NULL, NULL, NULL},
};

const struct Kind neighbours[] = {
    {"neighbor-allgather", neighbor_allgather, make_ring, free_ring},
    {"neighbor-allgatherv", neighbor_allgatherv, make_ring, free_ring},
    {"neighbor-alltoall", neighbor_alltoall, make_ring, free_ring},
    {"neighbor-alltoallv", neighbor_alltoallv, make_ring, free_ring},
    {"neighbor-alltoallw", neighbor_alltoallw, make_ring, free_ring},
    {"ineighbor-allgather", ineighbor_allgather, make_ring, free_ring},
    {"ineighbor-allgatherv", ineighbor_allgatherv, make_ring, free_ring},
    {"ineighbor-alltoall", ineighbor_alltoall, make_ring, free_ring},
    {"ineighbor-alltoallv", ineighbor_alltoallv, make_ring, free_ring},
    {"ineighbor-alltoallw", ineighbor_alltoallw, make_ring, free_ring},
    {NULL, NULL, NULL, NULL},
};
