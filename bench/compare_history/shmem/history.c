/* One kind of SHMEM's waits in a loop: BYTES go around the ring of PEs, each of whom waits until they are there. As history.c. */
#include <shmem.h>
#include <stdint.h>

#include "../loop.h"

static int me, right, bytes;
static long turn, *flag;
static uint64_t *signal_word;
static char *sent, *exposed;

static void await_flag(void) { shmem_long_wait_until(flag, SHMEM_CMP_EQ, turn); }
static void put_flag(void) {
    if (bytes > 8) {
        shmem_putmem(exposed, sent, (size_t)bytes - 8, right);
        shmem_fence();
    }
    shmem_long_p(flag, turn, right);
}
static void around(void (*put)(void), void (*wait)(void)) {
    ++turn;
    if (me != 0) wait();
    put();
    if (me == 0) wait();
}
#if SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 105
static void await_signal(void) { shmem_signal_wait_until(signal_word, SHMEM_CMP_EQ, (uint64_t)turn); }
static void put_signal(void) {
    shmem_putmem_signal(exposed, sent, (size_t)bytes, signal_word, (uint64_t)turn, SHMEM_SIGNAL_SET, right);
}
static const int absent = -1;
#else
static void await_signal(void) {}
static void put_signal(void) {}
static const int absent = 1;
#endif

static void wait_until(long i) { (void)i; around(put_flag, await_flag); }
static void signal_wait_until(long i) { (void)i; around(put_signal, await_signal); }
const struct Kind kinds[] = {{"wait-until", wait_until, 0}, {"signal-wait-until", signal_wait_until, 0}, {NULL, NULL, 0}};

void rounds(int kind, long count) {
    for (long i = 0; i < count; ++i) kinds[kind].round(i);
}

int main(int argc, char **argv) {
    shmem_init();
    me = shmem_my_pe();
    const int pes = shmem_n_pes();
    const struct Arguments given = arguments(argc, argv);
    bytes = given.bytes;
    right = (me + 1) % pes;
    if (given.kind < 0) {
        if (me == 0) usage();
        shmem_global_exit(2);
    }
    if (given.kind == absent) {
        if (me == 0) puts("history absent");
        fflush(stdout);
        shmem_finalize();
        return 0;
    }
    sent = calloc(1, kMostBytes);
    exposed = shmem_calloc(1, kMostBytes);
    flag = shmem_calloc(16, sizeof *flag);
    signal_word = shmem_calloc(16, sizeof *signal_word);
    double *const all = shmem_calloc((size_t)pes, sizeof *all);
    struct History took = history_of(given);
    shmem_double_p(all + me, took.switches, 0);
    shmem_barrier_all();
    if (me == 0) {
        took.switches = 0;
        for (int pe = 0; pe < pes; ++pe) took.switches += all[pe];
        print_history(took);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
