/* The programs of bench/history share this: their arguments, what comes before the loop, and the loop that measures one kind of call. */
#ifndef COMPARE_HISTORY_LOOP_H
#define COMPARE_HISTORY_LOOP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { kMostBytes = 65536, kFirst = 200, kPreludeRounds = 1000 };

struct Kind {
    const char *name;
    void (*round)(long i);
    int epoch; /* of MPI's windows: 0, as lock_all 1, as fence 2 */
};
/* Each program has these: its kinds, of which the last one has no name, and so many rounds of one. */
extern const struct Kind kinds[];
void rounds(int kind, long count);

struct History {
    double first, later, switches; /* microseconds a round; context switches of this rank a round */
};
struct Arguments {
    int kind; /* -1: they are wrong */
    int bytes;
    const char *prelude;
    long count;
};

static inline int kind_of(const char *name) {
    for (int k = 0; kinds[k].name; ++k)
        if (strcmp(kinds[k].name, name) == 0) return k;
    return -1;
}

static inline struct Arguments arguments(int argc, char **argv) {
    struct Arguments given = {-1, 0, "none", 0};
    if (argc != 5) return given;
    given.bytes = atoi(argv[2]);
    given.prelude = argv[3];
    given.count = atol(argv[4]);
    if (given.bytes >= 8 && given.bytes <= kMostBytes && given.count >= 2 * kFirst) given.kind = kind_of(argv[1]);
    return given;
}

static inline void usage(void) { fprintf(stderr, "usage: history KIND BYTES(8..%d) PRELUDE ROUNDS(%d..)\n", kMostBytes, 2 * kFirst); }

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* none, compute (20 ms), sleep (20 ms), or the name of a kind: 1000 rounds of it. */
static inline void prelude(const char *what) {
    const struct timespec nap = {0, 20000000};
    const int kind = kind_of(what);
    if (kind >= 0) rounds(kind, kPreludeRounds);
    else if (strcmp(what, "sleep") == 0) nanosleep(&nap, NULL);
    else if (strcmp(what, "compute") == 0)
        for (const double end = seconds_now() + 0.02; seconds_now() < end;) continue;
}

static inline double switches(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_nvcsw + use.ru_nivcsw);
}

static inline struct History history_of(struct Arguments given) {
    struct History took;
    prelude(given.prelude);
    const double begin = seconds_now();
    rounds(given.kind, kFirst);
    const double first = seconds_now();
    rounds(given.kind, given.count / 2 - kFirst);
    const double before = switches(), middle = seconds_now();
    const long later = given.count - given.count / 2;
    rounds(given.kind, later);
    took.later = (seconds_now() - middle) * 1e6 / (double)later;
    took.first = (first - begin) * 1e6 / kFirst;
    took.switches = (switches() - before) / (double)later;
    return took;
}

static inline void print_history(struct History took) {
    printf("history first=%.3f later=%.3f switches=%.4f\n", took.first, took.later, took.switches);
    fflush(stdout);
}

#endif
