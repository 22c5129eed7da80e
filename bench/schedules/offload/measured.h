/* Shared by the overlap programs, whatever library runs the operations: a calibrated work loop, and what one point measures.
 *
 * A library gives a `struct operation` whose start and wait run it once; between them nothing of the library is called.
 * All times are in microseconds: of each repetition that of the slowest rank; of these the one that a tenth of them beat, because
 * other programs only ever add to it.
 *
 *   pure      start, wait
 *   compute   the work loop alone, `ratio` times as long as pure, on all ranks at once
 *   total     start, the work loop, wait
 *   overlap   1 - (total - compute) / pure, as the OSU benchmarks have it
 *   imb       (pure + compute - total) / min(pure, compute), as Intel's have it; both cut to 0 .. 1
 *   overhead  total - compute: what the operation takes from the application, stolen time in the work loop included
 *   engine    processor time of the process's other threads, per operation, of the rank where it is most (bare sockets have none: of
 *             their system calls)
 */
#ifndef MEASURED_H
#define MEASURED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct operation {
    const char *name;
    void (*start)(void);
    void (*wait)(void);
};

/* The library's: before measuring, ranks meet; afterwards each learns the largest value of all ranks, or of each of kMost. */
static void meet(void);
static double largest(double value);
static void largest_each(double *values);

enum { kTogether = 5, kFirst = 20, kLeast = 5, kMost = 4000, kChain = 16 };
static volatile double sink;
static double loop_us; /* of a thousand rounds of the work loop */

static inline double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static inline void work(long rounds) {
    double x = sink;
    for (long i = 0; i < rounds; ++i) x = x * 1.0000001 + 1e-9;
    sink = x;
}

/* The fastest of some loops: what others do on the processor must not enter. */
static inline void calibrate(void) {
    loop_us = 1e9;
    for (int i = 0; i < 200; ++i) {
        const double begin = now_us();
        work(20000);
        const double took = (now_us() - begin) / 20;
        if (took < loop_us) loop_us = took;
    }
}

static inline int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double other_threads_us(void) {
    struct rusage all, mine;
    getrusage(RUSAGE_SELF, &all);
    getrusage(RUSAGE_THREAD, &mine);
    return 1e6 * (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec - mine.ru_utime.tv_sec - mine.ru_stime.tv_sec) +
           (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec - mine.ru_utime.tv_usec - mine.ru_stime.tv_usec);
}

static double (*engine_us)(void) = other_threads_us;

/* The time of the operation, if it is given, around the work, if there is some: of *count times, or fewer when `limit_us` pass; all
 * ranks stop together. */
static inline double time_of(const struct operation *op, long rounds, int *count, double limit_us) {
    static double took[kMost];
    const double first = now_us();
    for (int i = 0; i < *count; ++i) {
        if (i > 0 && i % kTogether == 0 && largest(now_us() - first) > limit_us) *count = i;
        if (i == *count) break;
        meet();
        const double begin = now_us();
        if (op) op->start();
        if (rounds > 0) work(rounds);
        if (op) op->wait();
        took[i] = now_us() - begin;
    }
    largest_each(took);
    qsort(took, (size_t)*count, sizeof took[0], by_value);
    return took[*count / 10];
}

static inline double cut(double share) { return share < 0 ? 0 : share > 1 ? 1 : share; }

/* One line of results, by the caller with `speaks`. */
static inline void measure(const struct operation *op, size_t bytes, double ratio, double seconds, int speaks) {
    const double limit = seconds * 1e6 / (2 + 2 * ratio);
    int count = kFirst, working, both;
    const double first = time_of(op, 0, &count, limit);
    count = (int)(limit / (first + 10));
    count = count < kLeast ? kLeast : count > kMost ? kMost : count;
    working = both = count;
    const double pure = time_of(op, 0, &count, limit);
    const long rounds = (long)(1000 * ratio * pure / loop_us);
    const double compute = time_of(NULL, rounds, &working, ratio * limit);
    const double engine = engine_us();
    const double total = time_of(op, rounds, &both, (1 + ratio) * limit);
    const double engine_took = largest((engine_us() - engine) / both);
    const double shorter = pure < compute ? pure : compute;
    if (!speaks) return;
    printf("overlap op=%s size=%zu count=%d pure=%.3f compute=%.3f total=%.3f overlap=%.3f imb=%.3f overhead=%.3f engine=%.3f\n", op->name, bytes,
           both, pure, compute, total, cut(1 - (total - compute) / pure), cut((pure + compute - total) / shorter), total - compute, engine_took);
    fflush(stdout);
}

/* "A,B,C": 1 if the name is among them. */
static inline int among(const char *names, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return 1;
    return 0;
}

/* PROGRAM OPERATIONS SIZES RATIO SECONDS */
struct wanted {
    const char *operations;
    size_t sizes[32];
    int num_sizes;
    double ratio, seconds;
};

static inline int read_wanted(int argc, char **argv, struct wanted *wanted) {
    if (argc != 5) return 0;
    char *end = argv[2];
    wanted->operations = argv[1];
    for (wanted->num_sizes = 0; wanted->num_sizes < 32; ++end) {
        wanted->sizes[wanted->num_sizes++] = strtoull(end, &end, 10);
        if (*end != ',') break;
    }
    wanted->ratio = atof(argv[3]);
    wanted->seconds = atof(argv[4]);
    return *end == '\0' && wanted->ratio > 0 && wanted->seconds > 0;
}

#endif
