/* A neighbour exchange of short messages around a ring, by calls and as a captured graph of this project's MPI (mpi-ext.h): tells how long
 * a round takes either way, and how long it takes to start a graph. Other libraries have the calls alone. */
#include "app.h"

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

enum { kEach = 4, kMost = 2 * kEach }; /* messages of a round: to the right, and from the left */

static int in[kEach][2], out[kEach][2];

static void exchange(void) {
    MPI_Request requests[kMost];
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    for (int i = 0; i < kEach; ++i) MPI_Irecv(out[i], 2, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < kEach; ++i) MPI_Isend(in[i], 2, MPI_INT, right, i, MPI_COMM_WORLD, &requests[kEach + i]);
    MPI_Waitall(kMost, requests, MPI_STATUSES_IGNORE);
}

/* Numbers that differ from round to round; whether those of the left neighbour have come. */
static void fill(long round) {
    for (int i = 0; i < kEach; ++i) in[i][0] = me * 1000 + i, in[i][1] = (int)round;
}
static int is_right(long round) {
    int right = 1;
    for (int i = 0; i < kEach; ++i) right = right && out[i][0] == (me + ranks - 1) % ranks * 1000 + i && out[i][1] == (int)round;
    return right;
}

int main(int argc, char **argv) {
    Option options[] = {{"rounds", "of messages, either way", 100000, 1, 100000000}};
    app_start(argc, argv, "short messages around a ring, by calls and captured.", options, 1);
    const long rounds = options[0].value;
    double plain = 0, captured = 0, starting = 0;
    int right = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (long round = 0; round < rounds; ++round) {
        fill(round);
        exchange();
        right = right && is_right(round);
    }
    plain = MPI_Wtime() - begin;
#ifdef MPIX_HAVE_GRAPHS
    MPIX_Graph graph;
    MPI_Request request;
    MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL);
    exchange();
    MPIX_Graph_end(MPI_COMM_WORLD, &graph);
    begin = MPI_Wtime();
    for (long round = 0; round < rounds; ++round) {
        fill(round);
        MPIX_Graph_start(graph, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        right = right && is_right(round);
    }
    captured = MPI_Wtime() - begin;
    /* The clock takes a part of what a round does: it is looked at in rounds of their own. */
    for (long round = 0; round < rounds; ++round) {
        fill(round);
        const double before = MPI_Wtime();
        MPIX_Graph_start(graph, &request);
        starting += MPI_Wtime() - before;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        right = right && is_right(round);
    }
    MPIX_Graph_free(&graph);
#endif
    return app_verdict(right, plain + captured, "%ld rounds, by calls %.3f us, captured %.3f us, starting %.3f us", rounds,
                       plain / (double)rounds * 1e6, captured / (double)rounds * 1e6, starting / (double)rounds * 1e6);
}
