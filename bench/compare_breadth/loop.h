/* The programs of bench/breadth share this: tables of kinds of calls, and the loop that measures one. */
#ifndef COMPARE_BREADTH_LOOP_H
#define COMPARE_BREADTH_LOOP_H

#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#ifndef NUMBERS /* bench/breadth --numbers */
#define NUMBERS 16
#endif
enum { kCount = NUMBERS, kFirst = 40 };

struct Kind {
    const char *name;
    void (*round)(void);   /* one call, or the few that belong together; NULL: the library is older than the call */
    void (*prepare)(void); /* before the first round, not measured; NULL: nothing */
    void (*end)(void);     /* behind the last one; NULL: nothing */
};

/* Microseconds a round of one rank: of the first kFirst rounds, and of the second half; and context switches of all its threads there. */
struct Took {
    double first, later, switches;
};

static inline const struct Kind *find_kind(const struct Kind *const *tables, size_t count, const char *name) {
    for (size_t t = 0; t < count; ++t)
        for (const struct Kind *kind = tables[t]; kind->name; ++kind)
            if (strcmp(kind->name, name) == 0) return kind;
    return NULL;
}

static inline double rounds_of(const struct Kind *kind, long count) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < count; ++i) kind->round();
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) * 1e-3) / (double)count;
}

static inline double switches_so_far(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_nvcsw + use.ru_nivcsw);
}

static inline struct Took measured(const struct Kind *kind, long count) {
    struct Took took;
    took.first = rounds_of(kind, kFirst);
    rounds_of(kind, count / 2 - kFirst);
    const double before = switches_so_far();
    took.later = rounds_of(kind, count - count / 2);
    took.switches = (switches_so_far() - before) / (double)(count - count / 2);
    return took;
}

#endif
