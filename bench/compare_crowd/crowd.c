/* One call beside other processes that compute: the time of each round, on the rank that asks.
 *
 * usage: crowd KIND ROUNDS, or crowd wait SECONDS. KIND: exchange (8 bytes to the right, 8 from the left), allreduce (8 bytes), lock
 * (lock, put and unlock at the right neighbour), start (MPI_Init and the first barrier). Rank 0 prints one line: the 50th and the 99th
 * percentile of its rounds, in microseconds. wait: all ranks but the last wait in MPI_Recv for so many seconds, for which it sleeps; the
 * line has the processor time of all, in seconds. Written to MPI-3.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { kTag = 5, kMostRounds = 100000 };

static int me, ranks, right, left;
static double sent, received;
static MPI_Win window;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
static void exchange(void) {
    MPI_Request two[2];
    MPI_Irecv(&received, 1, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &two[0]);
    MPI_Isend(&sent, 1, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &two[1]);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
}
static void allreduce(void) { MPI_Allreduce(&sent, &received, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void lock(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
    MPI_Put(&sent, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, window);
    MPI_Win_unlock(right, window);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void tell(double *took, long count) {
    qsort(took, (size_t)count, sizeof *took, by_value);
    if (me == 0) printf("crowd p50=%.3f p99=%.3f\n", took[count / 2], took[count * 99 / 100]);
}

static void wait_for(double seconds) {
    const struct timespec nap = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    struct rusage use;
    double mine, all;
    if (me == ranks - 1) {
        nanosleep(&nap, NULL);
        for (int r = 0; r < me; ++r) MPI_Send(&sent, 1, MPI_DOUBLE, r, kTag, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&received, 1, MPI_DOUBLE, ranks - 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    getrusage(RUSAGE_SELF, &use);
    mine = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) printf("crowd cpu=%.3f\n", all);
}

int main(int argc, char **argv) {
    const double begin = now();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *kind = argc == 3 ? argv[1] : "";
    void (*const round)(void) = strcmp(kind, "exchange") == 0 ? exchange : strcmp(kind, "lock") == 0 ? lock : allreduce;
    const long count = argc == 3 ? atol(argv[2]) : 0;
    const int knows = round != allreduce || strcmp(kind, "allreduce") == 0 || strcmp(kind, "start") == 0 || strcmp(kind, "wait") == 0;
    if (!knows || count < 1 || count > kMostRounds) {
        if (me == 0) fprintf(stderr, "usage: crowd exchange|allreduce|lock|start ROUNDS(1..%d), or crowd wait SECONDS\n", kMostRounds);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    right = (me + 1) % ranks;
    left = (me + ranks - 1) % ranks;
    if (strcmp(kind, "start") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        double took = now() - begin;
        tell(&took, 1);
    } else if (strcmp(kind, "wait") == 0) {
        wait_for((double)count);
    } else {
        double *const took = malloc((size_t)count * sizeof *took);
        void *exposed;
        MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
        for (long i = 0; i < count; ++i) {
            const double from = now();
            round();
            took[i] = now() - from;
        }
        tell(took, count);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_free(&window);
        free(took);
    }
    MPI_Finalize();
    return 0;
}
