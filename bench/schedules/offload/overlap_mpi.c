/* Nonblocking collectives, an exchange by Isend and Irecv, and one-sided access of an MPI library: overlap and what they take from the
 * application (measured.h). "blocking_barrier" is MPI_Barrier. "chain" are kChain messages between the first two ranks, each the answer to
 * the one before; "pipeline" kChain blocks from the first rank, to each of which the second one adds what it has before it sends it back;
 * "step" what a solver does in a step: an exchange with both neighbours in a ring, and two sums over all ranks, each of what was computed
 * with the data before it. Who starts one of these can hand over its first messages alone. With "captured" they are graphs of this
 * project's MPI (mpi-ext.h), and their rows have the same names. */
#include "measured.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

static MPI_Request request, both[2], blocks[2][kChain]; /* of each block: on its way to the second rank, and back */
static int rank, ranks, count;
static char *in, *out;
static MPI_Win window; /* `out` of each */

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
static void allgather(void) { MPI_Iallgather(in, count, MPI_BYTE, out, count, MPI_BYTE, MPI_COMM_WORLD, &request); }
static void reduce(void) { MPI_Ireduce(in, out, count / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD, &request); }
/* A process and its two neighbours in a ring, which are one where there are two processes. */
static void halo(void) {
    MPI_Irecv(out, count, MPI_BYTE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(in, count, MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &both[1]);
}
static void wait_for_both(void) { MPI_Waitall(2, both, MPI_STATUSES_IGNORE); }
static void put(void) { MPI_Put(in, count, MPI_BYTE, (rank + 1) % ranks, 0, count, MPI_BYTE, window); }
static void get(void) { MPI_Get(in, count, MPI_BYTE, (rank + 1) % ranks, 0, count, MPI_BYTE, window); }
static void flush(void) { MPI_Win_flush((rank + 1) % ranks, window); }
static void first_of_chain(void) {
    if (rank == 0) MPI_Isend(in, count, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    if (rank == 1) MPI_Irecv(out, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
}
static void rest_of_chain(void) {
    if (rank > 1) return;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 1; i < kChain; ++i) {
        if (i % 2 == rank) MPI_Send(in, count, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD);
        else MPI_Recv(out, count, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}
static void wait_for_it(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
static void pass_block(int block, int back) {
    char *const at = (rank == 0 && back ? out : in) + (size_t)block * (size_t)count;
    MPI_Request *const passing = &blocks[back][block];
    if (rank == back) MPI_Isend(at, count, MPI_BYTE, 1 - rank, back * kChain + block, MPI_COMM_WORLD, passing);
    else MPI_Irecv(at, count, MPI_BYTE, 1 - rank, back * kChain + block, MPI_COMM_WORLD, passing);
}
static void first_of_pipeline(void) {
    for (int i = 0; i < kChain && rank < 2; ++i) pass_block(i, 0);
    for (int i = 0; i < kChain && rank == 0; ++i) pass_block(i, 1);
}
static void rest_of_pipeline(void) {
    if (rank > 1) return;
    for (int i = 0; i < kChain && rank == 1; ++i) {
        const size_t at = (size_t)i * (size_t)count;
        MPI_Wait(&blocks[0][i], MPI_STATUS_IGNORE);
        MPI_Reduce_local(out + at, in + at, count / 4, MPI_FLOAT, MPI_SUM);
        pass_block(i, 1);
    }
    if (rank == 0) MPI_Waitall(kChain, blocks[0], MPI_STATUSES_IGNORE);
    MPI_Waitall(kChain, blocks[1], MPI_STATUSES_IGNORE);
}
static void rest_of_step(void) {
    static float sums[2];
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i) {
        MPI_Reduce_local(out, in, count / 4, MPI_FLOAT, MPI_SUM);
        MPI_Allreduce(in, &sums[i], 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
}
static const struct operation kGraphs[] = {
    {"chain", first_of_chain, rest_of_chain}, {"pipeline", first_of_pipeline, rest_of_pipeline}, {"step", halo, rest_of_step}};
enum { kNumGraphs = sizeof kGraphs / sizeof kGraphs[0] };
#ifdef MPIX_HAVE_GRAPHS
static MPIX_Graph graph;
static void start_graph(void) { MPIX_Graph_start(graph, &request); }
static struct operation capture(const struct operation *op) {
    MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL);
    op->start();
    op->wait();
    MPIX_Graph_end(MPI_COMM_WORLD, &graph);
    return (struct operation){op->name, start_graph, wait_for_it};
}
static void release_graph(void) { MPIX_Graph_free(&graph); }
#else
static struct operation capture(const struct operation *op) { return *op; }
static void release_graph(void) {}
#endif
static void measure_graphs(const struct wanted *wanted, int captured) {
    for (int o = 0; o < kNumGraphs; ++o) {
        for (int s = 0; among(wanted->operations, kGraphs[o].name) && s < wanted->num_sizes; ++s) {
            count = (int)wanted->sizes[s];
            in = calloc(kChain, wanted->sizes[s] + 64);
            out = calloc(kChain, wanted->sizes[s] + 64);
            if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 1);
            const struct operation op = captured ? capture(&kGraphs[o]) : kGraphs[o];
            measure(&op, wanted->sizes[s], wanted->ratio, wanted->seconds, rank == 0);
            meet();
            if (captured) release_graph();
            free(in);
            free(out);
        }
    }
}
static void blocking(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void nothing(void) {}

int main(int argc, char **argv) {
    static const struct operation kOperations[] = {
        {"barrier", barrier, wait_for_it},   {"blocking_barrier", blocking, nothing}, {"bcast", bcast, wait_for_it}, {"allreduce", allreduce, wait_for_it},
        {"reduce", reduce, wait_for_it},     {"halo", halo, wait_for_both},           {"put", put, flush},           {"get", get, flush},
        {"alltoall", alltoall, wait_for_it}, {"allgather", allgather, wait_for_it}};
    struct wanted wanted;
    if (!read_wanted(argc, argv, &wanted)) {
        fprintf(stderr, "usage: %s OPERATIONS SIZES RATIO SECONDS, as: %s barrier,alltoall 8,64 2 0.3\n", argv[0], argv[0]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    calibrate();
    for (int o = 0; o < (int)(sizeof kOperations / sizeof kOperations[0]); ++o) {
        for (int s = 0; among(wanted.operations, kOperations[o].name) && s < (o < 2 ? 1 : wanted.num_sizes); ++s) {
            const size_t bytes = o < 2 ? 0 : wanted.sizes[s], room = bytes * (o >= 8 ? (size_t)ranks : 1) + 64;
            count = (int)bytes;
            in = calloc(1, room);
            out = calloc(1, room);
            if (!in || !out) MPI_Abort(MPI_COMM_WORLD, 1);
            const int one_sided = kOperations[o].wait == flush;
            if (one_sided) {
                MPI_Win_create(out, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
                MPI_Win_lock_all(0, window);
            }
            measure(&kOperations[o], bytes, wanted.ratio, wanted.seconds, rank == 0);
            meet();
            if (one_sided) {
                MPI_Win_unlock_all(window);
                MPI_Win_free(&window);
            }
            free(in);
            free(out);
        }
    }
    measure_graphs(&wanted, among(wanted.operations, "captured"));
    MPI_Finalize();
    return 0;
}
