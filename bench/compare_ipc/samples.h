/* samples.h: clock, processors and the line that each measurement prints. One thread. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Samples are ns. Prints "ipc ROW SIZE median p99". */
static inline void print_samples(const char *row, size_t size, double *samples, size_t count)
{
    if (count == 0) return;
    qsort(samples, count, sizeof *samples, ascending);
    printf("ipc %s %zu %.1f %.1f\n", row, size, samples[count / 2], samples[count - 1 - count / 100]);
    fflush(stdout);
}

/* To the n-th of the processors that this process may use; one that is not there: the last. */
static inline void bind_to(int n)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    int last = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &all)) {
            last = cpu;
            if (n-- == 0) break;
        }
    if (last < 0) return;
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof one, &one);
}

#define MOST_SAMPLES 200000

/* The row `stride`: 1 MiB in blocks with a gap as long behind each, at both ends. */
enum { BLOCK = 64, BLOCKS = 16384, STRIDE = 2 * BLOCK };
#endif
