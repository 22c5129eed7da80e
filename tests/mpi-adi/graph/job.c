/* job.c export PATH: writes a graph as GOAL text.
 * job.c killed WHEN, accessed WHEN, short WHEN: rank 1 dies after WHEN microseconds of runs of a graph, of messages and collectives, or also
 * of accesses to a window, or of short ones, which go through memory of the node; the others must get MPI_ERR_PROC_ABORTED from a run, and go on.
 * job.c many COUNT: makes and frees so many graphs, whose memory, counters and contexts must be there again. */
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kKeepsWhatIsFreed = 1 };
#else
enum { kKeepsWhatIsFreed = 0 };
#endif

enum { kCount = 10000, kWarm = 300, kMostPages = 250 };
static int rank, ranks, in[kCount], out[kCount], exposed[kCount];
static MPI_Win win = MPI_WIN_NULL;
static int accesses;

static void access_window(void) {
    const int right = (rank + 1) % ranks;
    MPI_Put(in, kCount / 2, MPI_INT, right, 0, kCount / 2, MPI_INT, win);
    MPI_Accumulate(out, 100, MPI_INT, right, kCount / 2, 100, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(right, win);
    MPI_Get(out, 10, MPI_INT, right, kCount - 10, 10, MPI_INT, win);
    MPI_Win_flush_all(win);
}

static MPIX_Graph captured(MPI_Comm comm, int steps, int count) {
    MPIX_Graph graph;
    const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPIX_Graph_begin(comm, MPI_INFO_NULL);
    for (int i = 0; i < steps; ++i) {
        if (accesses) access_window();
        MPI_Sendrecv(in, count, MPI_INT, right, i, out, count, MPI_INT, left, i, comm, MPI_STATUS_IGNORE);
        MPI_Sendrecv_replace(out, 10, MPI_INT, left, 70000, right, 70000, comm, MPI_STATUS_IGNORE);
        MPI_Allreduce(out, in, count, MPI_INT, MPI_MAX, comm);
    }
    MPIX_Graph_gate(1);
    if (MPIX_Graph_end(comm, &graph) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
    return graph;
}

static int run(MPIX_Graph graph) {
    MPI_Request request;
    const int error = MPIX_Graph_start(graph, &request);
    if (error != MPI_SUCCESS) return error;
    MPIX_Graph_open(graph, 1);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Runs a graph until rank 1 dies in the midst of a run. */
static int run_until_killed(MPIX_Graph graph, double seconds) {
    const double end = MPI_Wtime() + seconds;
    int error = MPI_SUCCESS, class;
    while (error == MPI_SUCCESS) {
        MPI_Request request;
        error = MPIX_Graph_start(graph, &request);
        if (rank == 1 && MPI_Wtime() > end) raise(SIGKILL);
        if (error != MPI_SUCCESS) break;
        MPIX_Graph_open(graph, 1);
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Error_class(error, &class);
    if (class != MPI_ERR_PROC_ABORTED) printf("rank %d: class %d\n", rank, class);
    return class != MPI_ERR_PROC_ABORTED;
}

static long resident_pages(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) MPI_Abort(MPI_COMM_WORLD, 4);
    fclose(file);
    return resident;
}

/* Messages that are not short take a ring's next pages, so that it has all of them before pages are counted. */
static void fill_rings(void) {
    static char sent[32768], received[32768];
    for (int other = 0; other < ranks; ++other)
        for (int i = 0; i < 80 && other != rank; ++i)
            MPI_Sendrecv(sent, sizeof sent, MPI_CHAR, other, 5, received, sizeof received, MPI_CHAR, other, 5, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
}

static int make_many(long count) {
    long before = 0;
    for (long i = 0; i < count; ++i) {
        if (i == kWarm) fill_rings(), before = resident_pages();
        accesses = i % 2 == 0;
        MPIX_Graph graph = captured(MPI_COMM_WORLD, 1, 10);
        if (run(graph) != MPI_SUCCESS || MPIX_Graph_free(&graph) != MPI_SUCCESS) return 1;
    }
    const long grown = count > kWarm ? resident_pages() - before : 0;
    printf("rank %d: %ld graphs, %ld pages more\n", rank, count, grown);
    return grown > kMostPages && !kKeepsWhatIsFreed;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int is_short = strcmp(argv[1], "short") == 0;
    accesses = strcmp(argv[1], "accessed") == 0 || strcmp(argv[1], "many") == 0;
    int error;
    if (accesses) {
        MPI_Win_create(exposed, sizeof exposed, sizeof *exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Win_lock_all(0, win);
    }
    if (strcmp(argv[1], "many") == 0) {
        error = make_many(atol(argv[2]));
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    } else {
        MPIX_Graph graph = captured(MPI_COMM_WORLD, 8, is_short ? 10 : kCount);
        error = strcmp(argv[1], "export") == 0 ? MPIX_Graph_export(graph, argv[2]) : run_until_killed(graph, atof(argv[2]) * 1e-6);
        if (MPIX_Graph_free(&graph) != MPI_SUCCESS) error = 1;
    }
    if (error == MPI_SUCCESS) printf("rank %d is right\n", rank);
    MPI_Finalize();
    return error;
}
