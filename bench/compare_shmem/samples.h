/* samples.h: what the compared programs share: batches as long as the clock needs, and their percentiles on one line. */
#ifndef COMPARE_SAMPLES_H
#define COMPARE_SAMPLES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMostSamples = 1000, kLeastSamples = 20 };

static double compare_seconds = 0.2;

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double time_of(void (*body)(long count), long count) {
    const double begin = seconds_now();
    body(count);
    return seconds_now() - begin;
}

static inline int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts what took `count` operations of `size` bytes each, and prints nanoseconds for one of them. */
static inline void print_samples(const char *who, const char *bench, long size, double *samples, int done) {
    qsort(samples, (size_t)done, sizeof samples[0], by_value);
    printf("compare who=%s bench=%s size=%ld min=%.9g p50=%.9g p90=%.9g p99=%.9g\n", who, bench, size, samples[0],
           samples[done / 2], samples[done * 9 / 10], samples[done * 99 / 100]);
    fflush(stdout);
}

/* One process measures alone. */
static inline void sample(const char *who, const char *bench, long size, void (*body)(long count)) {
    static double samples[kMostSamples];
    int done = 0;
    long count = 1;
    body(1);
    while (time_of(body, count) < 20e-6) count *= 2;
    const double end = seconds_now() + compare_seconds;
    while (done < kMostSamples && (done < kLeastSamples || seconds_now() < end))
        samples[done++] = 1e9 * time_of(body, count) / (double)count;
    print_samples(who, bench, size, samples, done);
}

#endif
