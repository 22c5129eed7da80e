/* lifecycle_test.c: init and finalize nest, init may follow the last finalize, globals keep their values throughout.
 * Source: OpenSHMEM 1.6, "Library Setup, Exit, and Query Routines".
 */
#include <errno.h>
#include <shmem.h>
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
        shmem_barrier_all();
        shmem_long_atomic_inc(&word, right);
        CHECK(shmem_long_g(block, right) == 7 * round);
        shmem_finalize();
        CHECK(initialized());
        CHECK(word == 101 + round); /* an inner finalize is a barrier */
        shmem_finalize();
        CHECK(!initialized());
        CHECK(word == 101 + round);
        CHECK(!is_mapped(block)); /* the heap is gone, the globals stay */
    }
    CHECK(shmem_init_thread(17, NULL) != 0);
    CHECK(!initialized());
    return failures != 0;
}
