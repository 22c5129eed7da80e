/* A view of BYTES that the processes take in turns: each acquires it until it is its turn, counts up, and releases it. As history.c. */
#include <stdint.h>
#include <vdc.h>

#include "../job.h"

static long *shared; /* the number of turns so far is the first word */

static void check(int code) {
    if (code == VDCX_SUCCESS) return;
    fprintf(stderr, "history: %s\n", Vdcx_explain());
    Vdc_exit(1);
}

static void take_turn(long i) {
    (void)i;
    for (int done = 0; !done;) {
        check(Vdcx_acquire(0, VDCX_WRITE, -1));
        done = shared[0] % Vdc_nprocs == Vdc_proc_id;
        shared[0] += done;
        check(Vdcx_release(0));
    }
}
const struct Kind kinds[] = {{"view-turns", take_turn, 0}, {NULL, NULL, 0}};

void rounds(int kind, long count) {
    for (long i = 0; i < count; ++i) kinds[kind].round(i);
}

int main(int argc, char **argv) {
    Vdc_startup(argc, argv);
    const struct Arguments given = arguments(argc, argv);
    if (given.kind < 0) {
        usage();
        Vdc_exit(2);
    }
    if (Vdc_proc_id == 0) {
        shared = (long *)(void *)Vdc_malloc(kMostBytes);
        memset(shared, 0, kMostBytes);
    }
    check(Vdcx_distribute(&shared, sizeof shared));
    const Vdcx_piece piece = {shared, (size_t)given.bytes, 1, 0};
    check(Vdcx_declare(0, &piece, 1, VDCX_WHOLE));
    Vdc_barrier(0);
    const struct History took = history_of(given);
    Vdc_barrier(0);
    check(Vdcx_acquire(0, VDCX_READ, -1));
    if (shared[0] < Vdc_nprocs * given.count) {
        fprintf(stderr, "history: the data of the view are wrong\n");
        Vdc_exit(3);
    }
    check(Vdcx_release(0));
    tell_history(took, Vdc_proc_id, Vdc_nprocs);
    Vdc_exit(0);
    return 0;
}
