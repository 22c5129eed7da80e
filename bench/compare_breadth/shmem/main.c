/* One kind of SHMEM call in a loop from shmem_init on: what do its first rounds take, and what the later ones?
 *
 * usage: breadth_shmem KIND ROUNDS. PE 0 prints one line: microseconds a round, of the PE that takes longest, of the first 40 rounds and of
 * the second half, and context switches a round there, the mean of the PEs; or "breadth absent", where the library's OpenSHMEM is older than
 * the call. Written to 1.4, and 1.6 where there is one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kinds.h"

int me, pes, right, left, wrong;
long *sent, *received, *exposed, *given, turn;

static const struct Kind *const tables[] = {puts_and_gets, contexts, signals, atomics, waits,   ordering,   synchronization,
                                            teams,         active_sets, locks, memory,  objects, local_calls};

static void make_room(void) {
    const size_t most = kLong > 8 * kCount ? kLong : 8 * kCount;
    const size_t all = (size_t)kAtOnce * (size_t)pes * kCount;
    sent = calloc(most, sizeof *sent);
    received = calloc(most, sizeof *received);
    exposed = shmem_calloc(most + all, sizeof *exposed);
    given = shmem_calloc((size_t)pes * 2 * kCount, sizeof *given);
    if (!sent || !received || !exposed || !given) shmem_global_exit(4);
}

/* Every PE's results at PE 0. */
static void report(const char *name, struct Took took) {
    enum { kResults = 4 };
    double *const all = shmem_calloc((size_t)pes, kResults * sizeof *all);
    const double mine[kResults] = {took.first, took.later, wrong, took.switches};
    double most[kResults] = {0}, switches = 0;
    shmem_double_put(all + kResults * me, mine, kResults, 0);
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < kResults * pes; ++i) {
        if (all[i] > most[i % kResults]) most[i % kResults] = all[i];
        if (i % kResults == 3) switches += all[i];
    }
    if (most[2] > 0) {
        fprintf(stderr, "breadth: the data of %s are wrong\n", name);
        shmem_global_exit(3);
    }
    if (me == 0) printf("breadth first=%.3f later=%.3f switches=%.4f\n", most[0], most[1], switches / pes);
    fflush(stdout);
    shmem_barrier_all(); /* what was printed counts: some libraries crash when they end */
}

int main(int argc, char **argv) {
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    const struct Kind *const kind = argc == 3 ? find_kind(tables, sizeof tables / sizeof tables[0], argv[1]) : NULL;
    const long count = argc == 3 ? atol(argv[2]) : 0;
    if (kind == NULL || count < 2 * kFirst) {
        if (me == 0) fprintf(stderr, "usage: breadth_shmem KIND ROUNDS(%d..); 'bench/breadth --help' lists the kinds\n", 2 * kFirst);
        shmem_global_exit(2);
    }
    if (kind->round == NULL) {
        if (me == 0) puts("breadth absent");
        fflush(stdout);
        shmem_finalize();
        return 0;
    }
    right = (me + 1) % pes;
    left = (me + pes - 1) % pes;
    make_room();
    if (kind->prepare) kind->prepare();
    const struct Took took = measured(kind, count);
    shmem_barrier_all();
    if (kind->end) kind->end();
    shmem_barrier_all();
    report(kind->name, took);
    shmem_finalize();
    return 0;
}
