/* A pipeline of 16 stages that are dealt to the ranks, by the standard's calls and captured as a graph. A block goes through all stages,
 * each of which receives it, adds its own numbers to it and sends it on, while the ranks compute something else. By calls a block waits
 * wherever a rank computes; the graph takes it from stage to stage meanwhile. The sums must be those of a rank that adds alone. */
#include "in_turn.h"

#include <math.h>

enum { kStages = 16 };

static long numbers, blocks, loops;
static uint64_t *block[kStages], *own[kStages]; /* of this rank's stages */
static MPI_Request received[kStages], sent[kStages];
static MPIX_Graph graph;
static volatile uint64_t state = 1;
static uint64_t wrong;

static int rank_of(int stage) { return stage % ranks; }
static uint64_t number_of(int stage, long i) { return app_random((uint64_t)(stage * numbers + i)); }

static void post_receives(void) {
    for (int stage = me; stage < kStages; stage += ranks) {
        received[stage] = MPI_REQUEST_NULL;
        if (stage > 0)
            MPI_Irecv(block[stage], (int)numbers, MPI_UINT64_T, rank_of(stage - 1), stage, MPI_COMM_WORLD, &received[stage]);
    }
}

static void pass_on(void) {
    for (int stage = me; stage < kStages; stage += ranks) {
        MPI_Wait(&received[stage], MPI_STATUS_IGNORE);
        MPI_Reduce_local(own[stage], block[stage], (int)numbers, MPI_UINT64_T, MPI_SUM);
        sent[stage] = MPI_REQUEST_NULL;
        if (stage + 1 < kStages)
            MPI_Isend(block[stage], (int)numbers, MPI_UINT64_T, rank_of(stage + 1), stage + 1, MPI_COMM_WORLD, &sent[stage]);
    }
    for (int stage = me; stage < kStages; stage += ranks) MPI_Wait(&sent[stage], MPI_STATUS_IGNORE);
}

/* Computes numbers that depend on one another, in registers. */
static void compute(void) {
    uint64_t here = state;
    for (long i = 0; i < loops; ++i) here = here * 6364136223846793005u + 1442695040888963407u;
    state = here;
}

static void fill(long which) {
    for (long i = 0; me == rank_of(0) && i < numbers; ++i) block[0][i] = number_of(kStages, i) + (uint64_t)which;
}

/* The last block, at the last stage. */
static void check(long which) {
    for (long i = 0; me == rank_of(kStages - 1) && i < numbers; ++i) {
        uint64_t sum = number_of(kStages, i) + (uint64_t)which;
        for (int stage = 0; stage < kStages; ++stage) sum += number_of(stage, i);
        wrong += block[kStages - 1][i] != sum;
    }
}

static void plain(void) {
    for (long which = 0; which < blocks; ++which) {
        fill(which);
        post_receives();
        compute();
        pass_on();
    }
    check(blocks - 1);
}

static void captured(void) {
    for (long which = 0; which < blocks; ++which) {
        MPI_Request run;
        fill(which);
        MPIX_Graph_start(graph, &run);
        compute();
        MPI_Wait(&run, MPI_STATUS_IGNORE);
    }
    check(blocks - 1);
}

static void capture(void) {
    MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL);
    post_receives();
    pass_on();
    MPIX_Graph_end(MPI_COMM_WORLD, &graph);
}

/* Lets each rank compute for `percent` of the time that a block takes without computing; returns seconds. Each time is the least of
 * several, since on a busy machine a single one may be any. */
static double choose_loops(long percent) {
    enum { kProbe = 200000, kTries = 5 };
    const Form alone = {"alone", plain, 0};
    double passing = 1e9, each = 1e9;
    for (int i = 0; i < kTries; ++i) {
        loops = 0;
        passing = fmin(passing, seconds_of(&alone) / (double)blocks);
        loops = kProbe;
        const double begin = MPI_Wtime();
        compute();
        each = fmin(each, (MPI_Wtime() - begin) / kProbe);
    }
    loops = (long)(passing * (double)percent / 100 / each);
    MPI_Bcast(&loops, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return (double)loops * each;
}

int main(int argc, char **argv) {
    Option options[] = {{"numbers", "of 8 bytes in a block", 8192, 1, 100000000},
                        {"blocks", "of a run", 20, 1, 1000000000},
                        {"work", "computing, in percent of the time of a block alone", 100, 0, 100000},
                        {"rounds", "runs of each form", 11, 1, 100000}};
    app_start(argc, argv, "a pipeline of 16 stages, by calls and captured as a graph.", options, 4);
    numbers = options[0].value, blocks = options[1].value;
    for (int stage = me; stage < kStages; stage += ranks) {
        block[stage] = app_memory((size_t)numbers * 8), own[stage] = app_memory((size_t)numbers * 8);
        for (long i = 0; i < numbers; ++i) own[stage][i] = number_of(stage, i);
    }
    const double working = choose_loops(options[2].value);
    capture();
    Form forms[] = {{"plain", plain, 0}, {"new", captured, 0}};
    in_turn(forms, 2, options[3].value);
    MPIX_Graph_free(&graph);
    for (int stage = me; stage < kStages; stage += ranks) free(block[stage]), free(own[stage]);
    char more[64];
    snprintf(more, sizeof more, " work_us=%.2f", working * 1e6);
    return in_turn_verdict(wrong == 0, numbers * 8, forms, 2, blocks, more);
}
