/* lifecycle_test.c: init and finalize nest, init may follow the last finalize, globals keep their values throughout;
 * start_pes.
 * Source: OpenSHMEM 1.6, "Library Setup, Exit, and Query Routines".
 */
#include <errno.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static long word = 100;
static int failures = 0;
#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            ++failures;                                                      \
        }                                                                    \
    } while (0)

static int initialized(void)
{
    int answer = -1;
    shmem_query_initialized(&answer);
    return answer;
}

static int is_mapped(void *address)
{
    void *const page = (void *)((uintptr_t)address & ~(uintptr_t)4095);
    return msync(page, 4096, MS_ASYNC) == 0 || errno != ENOMEM;
}

int main(void)
{
    CHECK(!initialized());
    for (int round = 0; round < 3; ++round) {
        const int level = round == 1 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_FUNNELED;
        int provided = -1;
        CHECK(shmem_init_thread(level, &provided) == 0);
        CHECK(provided == level && initialized());
        shmem_init(); /* nests, and changes nothing */
        shmem_query_thread(&provided);
        CHECK(provided == level);

        const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n;
        CHECK(word == 100 + round);
        long *const block = shmem_malloc(sizeof(long));
        *block = 7 * round;
        shmem_team_t team; /* team and context are left to finalize */
        shmem_ctx_t context;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0);
        CHECK(shmem_team_create_ctx(team, 0, &context) == 0);
        CHECK(shmem_ctx_create(0, &context) == 0);
        static int sum, one = 1;
        CHECK(shmem_int_sum_reduce(team, &sum, &one, 1) == 0 && sum == n);
        static long by_graph; /* a graph, and a run of it, are left to finalize as well */
        shmemx_graph_t graph;
        shmemx_req_t run;
        CHECK(shmemx_graph_begin(team) == 0);
        shmem_long_atomic_inc(&by_graph, right);
        shmem_team_sync(team);
        CHECK(shmemx_graph_end(team, &graph) == 0 && shmemx_graph_start(graph, &run) == 0 && shmemx_req_free(&run) == 0);
        shmem_barrier_all();
        shmem_long_atomic_inc(&word, right);
        CHECK(shmem_long_g(block, right) == 7 * round);
        shmem_finalize();
        CHECK(initialized());
        CHECK(word == 101 + round); /* an inner finalize is a barrier */
        shmem_finalize();
        CHECK(!initialized());
        CHECK(word == 101 + round);
        CHECK(by_graph == 1 + round);
        CHECK(!is_mapped(block)); /* the heap is gone, the globals stay */
    }
    CHECK(shmem_init_thread(17, NULL) != 0);
    CHECK(!initialized());
    start_pes(0); /* ends with the program */
    start_pes(0);
    CHECK(initialized());
    shmem_long_p(&word, -1, (_my_pe() + 1) % _num_pes());
    shmem_wait_until(&word, SHMEM_CMP_EQ, -1L);
    return failures != 0;
}
