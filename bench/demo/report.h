/* What the demo programs share: a clock, work that takes a known time, and the line that each program prints.
 *
 * Thread: the main thread. Source of the overlap's definition: NBCBench, as the ESPGOAL paper uses it.
 */
#ifndef DEMO_REPORT_H
#define DEMO_REPORT_H

#include <portals4.h>
#include <portals4_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* The application's computation: `units` of it, and nothing that could be mistaken for waiting. */
static inline void compute(long units) {
    volatile double x = 1.0;
    for (long i = 0; i < units; ++i) x = x * 0.999999 + 1e-9;
}

static inline double timed_compute(long units) {
    const double begin = now_s();
    compute(units);
    return now_s() - begin;
}

/* How many units take `seconds` when nothing else happens: the fastest of several tries. */
static inline long units_for(double seconds) {
    const long probe = 200000;
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        const double took = timed_compute(probe);
        if (took < best) best = took;
    }
    return 1 + (long)((double)probe * seconds / best);
}

/* The part of the communication that was hidden behind the computation. comm: time of start and wait alone;
 * total: time of start, computation and wait. 1: all of it; 0: nothing. */
static inline double overlap_of(double comm, double computation, double total) {
    const double hidden = 1 - (total - computation) / comm;
    return hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
}

/* Which transport reaches `rank`, as seen by an interface with these options (one that the program's layer uses). */
static inline const char *transport_to(unsigned int ni_options, int rank) {
    static char name[64] = "unknown";
    ptl_handle_ni_t ni;
    ptl_process_t peer;
    memset(&peer, 0, sizeof peer);
    peer.rank = (ptl_rank_t)rank;
    if (PtlInit() != PTL_OK) return name;
    if (PtlNIInit(PTL_IFACE_DEFAULT, ni_options, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK) {
        const char *found = PtlxTransport(ni, peer);
        if (found) snprintf(name, sizeof name, "%s", found);
        PtlNIFini(ni);
    }
    PtlFini();
    return name;
}

/* The one line that bench/demo/run makes a row of its table from. */
static inline void report(const char *what, int ranks, const char *transport, double latency_s, double rate,
                          double overlap) {
    ptlx_engine_info_t engine;
    memset(&engine, 0, sizeof engine);
    PtlxEngineInfo(&engine);
    printf("demo what=%s ranks=%d transport=%s progress=%s core=%d latency_us=%.2f rate_per_s=%.0f overlap=%.2f\n", what,
           ranks, transport, engine.progress, engine.engine_core, latency_s * 1e6, rate, overlap);
    fflush(stdout);
}

#endif
