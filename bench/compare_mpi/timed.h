/* Shared by the compared programs: batches that all ranks agree on, boxed by time, and one printed line per point.
 *
 * Rank 0 measures batches and doubles their length until one takes a tenth of the point's time; then it takes the median
 * batch. Nothing depends on how fast a library is, so one whose ranks wait by spinning ends too.
 * Written to what MPI-1 has, so that any library compiles it.
 */
#ifndef COMPARE_TIMED_H
#define COMPARE_TIMED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { kAgreeTag = 900, kUseTag = 901, kBatches = 9, kLeastBatches = 3 };

static int compare_me, compare_ranks;
static double compare_seconds = 0.3;

/* Everyone learns what rank 0 decided. */
static inline long agree(long count) {
    if (compare_me != 0) {
        MPI_Recv(&count, 1, MPI_LONG, 0, kAgreeTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return count;
    }
    for (int rank = 1; rank < compare_ranks; ++rank) MPI_Send(&count, 1, MPI_LONG, rank, kAgreeTag, MPI_COMM_WORLD);
    return count;
}

static inline double cpu_seconds(int who) {
    struct rusage use;
    getrusage(who, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static inline double one_batch(void (*body)(long count), long count) {
    const double begin = MPI_Wtime();
    body(count);
    return MPI_Wtime() - begin;
}

static inline int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds for one count of `body`, on rank 0; 0 on the others. */
static inline double time_of(void (*body)(long count)) {
    double batch[kBatches];
    long count = 1;
    int done = 0;
    if (compare_me != 0) {
        while ((count = agree(0)) > 0) body(count);
        return 0;
    }
    body(agree(1)); /* connections are made */
    const double begin = MPI_Wtime();
    for (;;) {
        const double took = one_batch(body, agree(count));
        if (took >= compare_seconds / 10 || count >= 1L << 40) break;
        count *= took < compare_seconds / 100 ? 4 : 2;
    }
    while (done < kBatches && (done < kLeastBatches || MPI_Wtime() - begin < compare_seconds))
        batch[done++] = one_batch(body, agree(count)) / (double)count;
    agree(0);
    qsort(batch, (size_t)done, sizeof batch[0], by_value);
    return batch[done / 2];
}

/* Processor time of this job's threads other than the callers of MPI, as a share of `wall` seconds, on rank 0. */
static inline double threads_beside(const double *before, double wall) {
    double use = cpu_seconds(RUSAGE_SELF) - before[0] - (cpu_seconds(RUSAGE_THREAD) - before[1]);
    double sum = use;
    if (compare_me != 0) {
        MPI_Send(&use, 1, MPI_DOUBLE, 0, kUseTag, MPI_COMM_WORLD);
        return 0;
    }
    for (int rank = 1; rank < compare_ranks; ++rank) {
        MPI_Recv(&use, 1, MPI_DOUBLE, rank, kUseTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += use;
    }
    return sum > 0 ? sum / wall : 0;
}

/* Measures `body` and prints a line: one count takes `scale / value` seconds (a rate) or `value / scale` (a time). */
static inline void point(const char *bench, long size, const char *unit, double scale, int is_rate,
                         void (*body)(long count)) {
    const double before[2] = {cpu_seconds(RUSAGE_SELF), cpu_seconds(RUSAGE_THREAD)};
    const double begin = MPI_Wtime();
    const double seconds = time_of(body);
    const double beside = threads_beside(before, MPI_Wtime() - begin);
    if (compare_me != 0) return;
    printf("compare bench=%s size=%ld unit=%s value=%.9g beside=%.3f\n", bench, size, unit,
           is_rate ? scale / seconds : seconds * scale, beside);
    fflush(stdout);
}

/* argv[1], if given: the seconds for each point. */
static inline void start(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &compare_me);
    MPI_Comm_size(MPI_COMM_WORLD, &compare_ranks);
    if (argc > 1) compare_seconds = atof(argv[1]);
    if (compare_ranks < 2 || !(compare_seconds > 0)) {
        fprintf(stderr, "usage: %s [SECONDS FOR EACH POINT], on at least two ranks\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Ends the job where a rank received what nobody sent; bench/compare looks for these words. */
static inline void require(int right, const char *bench, long size) {
    if (right) return;
    fprintf(stderr, "wrong data: %s of %ld bytes, received by rank %d of %d\n", bench, size, compare_me, compare_ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* `size` bytes, all touched. */
static inline char *buffer_of(size_t size) {
    char *buffer = malloc(size);
    if (!buffer) {
        fprintf(stderr, "no memory for %zu bytes\n", size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(buffer, compare_me, size);
    return buffer;
}

#endif
