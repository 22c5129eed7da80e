/* A block goes through 16 stages that are dealt to the PEs, by OpenSHMEM's calls and captured as a graph (shmemx.h): each stage waits for its
 * signal, and puts the block into the box of the next one with a signal, while the PEs compute something else. By calls a block waits
 * wherever a PE computes; the graph takes it from stage to stage meanwhile. It must come out as it went in. Prints one line:
 * captured_relay ranks=N size=N plain_us=T new_us=T ratio=NEW/PLAIN work_us=T OK, the medians of a block's times at PE 0. */
#include "../app.h"

#include <shmemx.h>

enum { kStages = 16, kMostRounds = 1000 };

static uint64_t flags[kStages + 1];
static double times[2][kMostRounds];
static long numbers, blocks, loops, wrong;
static int me, pes;
static uint64_t *boxes; /* of all stages */
static shmemx_graph_t graph;
static volatile uint64_t state = 1;

static int pe_of(int stage) { return stage % pes; }
static uint64_t *box(int stage) { return boxes + stage * numbers; }

/* The last stage puts the block into a box behind all others, of PE 0. */
static void relay(void) {
    for (int stage = me; stage < kStages; stage += pes) {
        if (stage > 0) {
            shmem_signal_wait_until(&flags[stage], SHMEM_CMP_GE, 1);
            shmem_signal_add(&flags[stage], (uint64_t)-1, me);
        }
        const int to = stage + 1 < kStages ? pe_of(stage + 1) : 0;
        shmem_uint64_put_signal(box(stage + 1), box(stage), (size_t)numbers, &flags[stage + 1], 1, SHMEM_SIGNAL_ADD, to);
    }
    if (me != 0) return;
    shmem_signal_wait_until(&flags[kStages], SHMEM_CMP_GE, 1);
    shmem_signal_add(&flags[kStages], (uint64_t)-1, me);
}

/* Computes numbers that depend on one another, in registers. */
static void compute(void) {
    uint64_t here = state;
    for (long i = 0; i < loops; ++i) here = here * 6364136223846793005u + 1442695040888963407u;
    state = here;
}

static void plain(void) {
    compute();
    relay();
}

static void captured(void) {
    shmemx_req_t run;
    if (shmemx_graph_start(graph, &run) != 0) ++wrong;
    compute();
    if (shmemx_req_wait(&run) != 0) ++wrong;
}

static double seconds_of(void (*pass)(void)) {
    shmem_barrier_all();
    const double begin = app_seconds();
    for (long which = 0; which < blocks; ++which) {
        if (me == 0) box(0)[0] = app_random((uint64_t)which), box(0)[numbers - 1] = app_random((uint64_t)(which + blocks));
        pass();
        if (me == 0 && (box(kStages)[0] != box(0)[0] || box(kStages)[numbers - 1] != box(0)[numbers - 1])) ++wrong;
        shmem_barrier_all(); /* the boxes are free again */
    }
    return (app_seconds() - begin) / (double)blocks;
}

static int by_size(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Lets each PE compute for `percent` of the time that a block takes without computing; returns seconds. */
static double choose_loops(long percent) {
    enum { kProbe = 200000, kTries = 5 };
    static long chosen[2];
    double passing = 1e9, each = 1e9;
    for (int i = 0; i < kTries; ++i) {
        loops = 0;
        const double alone = seconds_of(plain);
        loops = kProbe;
        const double begin = app_seconds();
        compute();
        const double one = (app_seconds() - begin) / kProbe;
        passing = alone < passing ? alone : passing;
        each = one < each ? one : each;
    }
    chosen[0] = (long)(passing * (double)percent / 100 / each);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &chosen[1], &chosen[0], 1, 0);
    loops = chosen[1];
    return (double)loops * each;
}

int main(int argc, char **argv) {
    Option options[] = {{"numbers", "of 8 bytes in a block", 8192, 1, 100000000},
                        {"blocks", "of a round", 20, 1, 1000000000},
                        {"work", "computing, in percent of the time of a block alone", 100, 0, 100000},
                        {"rounds", "of each form", 11, 1, kMostRounds}};
    app_start(argc, argv, "a block is passed on 16 times, by calls and captured as a graph.", options, 4);
    me = shmem_my_pe(), pes = shmem_n_pes();
    numbers = options[0].value, blocks = options[1].value;
    const long rounds = options[3].value;
    boxes = app_memory((size_t)(kStages + 1) * (size_t)numbers * sizeof(uint64_t));
    const double working = choose_loops(options[2].value);
    shmemx_graph_begin(SHMEM_TEAM_WORLD);
    relay();
    if (shmemx_graph_end(SHMEM_TEAM_WORLD, &graph) != 0) {
        fprintf(stderr, "%s: %s\n", app_name, shmemx_graph_explain());
        shmem_global_exit(1);
    }
    void (*const forms[2])(void) = {plain, captured};
    for (long round = -1; round < rounds; ++round) /* one that does not count */
        for (int form = 0; form < 2; ++form) {
            const double seconds = seconds_of(forms[form]);
            if (round >= 0) times[form][round] = seconds;
        }
    for (int form = 0; form < 2; ++form) qsort(times[form], (size_t)rounds, sizeof(double), by_size);
    if (wrong) shmem_long_atomic_inc(&app_wrong, 0);
    shmem_barrier_all();
    const double plain_us = 1e6 * times[0][rounds / 2], new_us = 1e6 * times[1][rounds / 2];
    if (me == 0)
        printf("%s ranks=%d size=%ld plain_us=%.2f new_us=%.2f ratio=%.3f work_us=%.2f %s\n", app_name, pes, numbers * 8, plain_us, new_us,
               new_us / plain_us, working * 1e6, app_wrong == 0 ? "OK" : "WRONG");
    shmemx_graph_free(&graph);
    const int bad = me == 0 && app_wrong != 0;
    shmem_finalize();
    return bad;
}
