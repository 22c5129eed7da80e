/* recorded_shmem.c KIND: an OpenSHMEM program to be recorded: calls of one kind on a ring of PEs; each size occurs for one purpose alone. */
#include <shmem.h>
#include <shmemx.h>
#include <string.h>
#include <unistd.h>

static int me, n, next, last;
static char data[4096], mine[4096];
static uint64_t signal_word;
static long flag = 0, counter = 0, turn = 0, lock = 0;
static long words[4];
static double sums[8], parts[8 * 16];

static void puts_and_gets(void) {
    shmem_putmem(data, mine, 101, next);
    shmem_putmem_nbi(data + 200, mine, 102, next);
    shmem_quiet();
    shmem_getmem(mine, data, 103, next);
    shmem_getmem_nbi(mine, data, 104, next);
    shmem_quiet();
    shmem_int16_iput((int16_t *)data, (int16_t *)mine, 2, 1, 53, next);
    shmem_int16_iget((int16_t *)mine, (int16_t *)data, 1, 2, 54, next);
    shmem_char_put(data, mine, 105, me); /* no message */
    shmem_barrier_all();
}

/* A flag behind its data, by fence and by quiet; a signal behind its data; each is waited for. */
static void signals(void) {
    shmem_putmem(data, mine, 201, next);
    shmem_fence();
    shmem_long_p(&flag, 1, next);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_putmem(data, mine, 202, last); /* what follows the wait */
    shmem_barrier_all();
    shmem_putmem_signal(data, mine, 203, &signal_word, 1, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, 1);
    shmem_putmem(data, mine, 204, last);
    shmem_barrier_all();
    shmem_long_p(&words[2], 1, next);
    while (shmem_long_test_any(words, 4, NULL, SHMEM_CMP_NE, 0) == SIZE_MAX) {
    }
    shmem_putmem(data, mine, 205, last);
    shmem_barrier_all();
}

static void atomics(void) {
    shmem_long_atomic_inc(&counter, next);
    shmem_long_atomic_fetch_add(&counter, 2, next);
    shmem_long_wait_until(&counter, SHMEM_CMP_EQ, 3);
    shmem_putmem(data, mine, 301, last);
    shmem_long_atomic_fetch(&counter, next);
    shmem_long_atomic_compare_swap(&turn, 0, 1, next);
    shmem_barrier_all();
}

static void collectives(void) {
    shmem_team_t half = SHMEM_TEAM_INVALID;
    shmemx_req_t request;
    static long sync[SHMEM_SYNC_SIZE];
    shmem_broadcastmem(SHMEM_TEAM_WORLD, data, mine, 401, n - 1);
    shmem_collectmem(SHMEM_TEAM_WORLD, data, mine, (size_t)(402 + me));
    shmem_fcollectmem(SHMEM_TEAM_WORLD, data, mine, 16);
    shmem_double_alltoall(SHMEM_TEAM_WORLD, parts, parts + 8 * 8, 1);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, sums + 4, 3);
    shmem_double_sum_inscan(SHMEM_TEAM_WORLD, sums, sums + 4, 2);
    shmemx_double_max_reduce_nb(SHMEM_TEAM_WORLD, sums, sums + 4, 3, &request);
    shmemx_req_wait(&request);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &half);
    if (half != SHMEM_TEAM_INVALID) {
        shmem_broadcastmem(half, data, mine, 603, 0);
        shmem_team_sync(half);
        shmem_team_destroy(half);
    }
    shmem_barrier_all();
    shmem_sync(0, 0, n, sync);
}

static void contexts(void) {
    shmem_ctx_t own;
    if (shmem_ctx_create(0, &own) != 0) shmem_global_exit(1);
    shmem_ctx_putmem_nbi(own, data, mine, 501, next);
    shmem_ctx_fence(own);
    shmem_ctx_long_p(own, &flag, 1, next);
    shmem_ctx_quiet(own);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_ctx_destroy(own);
    char *there = shmem_malloc(4096);
    shmem_putmem(there, mine, 502, next);
    shmem_barrier_all();
    shmem_free(there);
}

/* Each PE has the lock once. */
static void locks(void) {
    shmem_set_lock(&lock);
    shmem_long_p(&turn, me, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    next = (me + 1) % n;
    last = (me + n - 1) % n;
    if (strcmp(kind, "puts") == 0 || strcmp(kind, "die") == 0) puts_and_gets();
    if (strcmp(kind, "die") == 0 && me == n - 1) _exit(3);
    if (strcmp(kind, "signals") == 0) signals();
    if (strcmp(kind, "atomics") == 0) atomics();
    if (strcmp(kind, "collectives") == 0) collectives();
    if (strcmp(kind, "contexts") == 0) contexts();
    if (strcmp(kind, "locks") == 0) locks();
    shmem_finalize();
    return 0;
}
