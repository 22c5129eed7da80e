/* Random updates of a table that is spread over all PEs, each by one atomic XOR (RandomAccess of the HPC Challenge).
 *
 * Done twice with the same numbers, the updates leave the table as it was, if none was lost: the error rate must be 0.
 *
 * Source: P. Luszczek et al., Introduction to the HPC Challenge benchmark suite, 2005.
 */
#include "app.h"

static long errors; /* at PE 0 */

static void update(uint64_t *table, uint64_t words, long updates) {
    const uint64_t n = (uint64_t)shmem_n_pes(), me = (uint64_t)shmem_my_pe();
    for (long i = 0; i < updates; ++i) {
        const uint64_t value = app_random((me << 40) + (uint64_t)i);
        const uint64_t place = value % (words * n);
        shmem_uint64_atomic_xor(table + place % words, value, (int)(place / words));
    }
    shmem_barrier_all();
}

int main(int argc, char **argv) {
    Option options[] = {{"words", "64-bit words of each PE's part of the table", 1 << 20, 1, 1L << 36},
                        {"updates", "updates by each PE", 1 << 21, 1, 1L << 38}};
    app_start(argc, argv, "random atomic updates of one table: giga-updates per second.", options, 2);
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const uint64_t words = (uint64_t)options[0].value;
    const long updates = options[1].value;
    uint64_t *const table = app_memory(words * sizeof *table);
    for (uint64_t i = 0; i < words; ++i) table[i] = (uint64_t)me * words + i;
    shmem_barrier_all();
    const double begin = app_seconds();
    update(table, words, updates);
    const double seconds = app_seconds() - begin;
    update(table, words, updates);
    long wrong = 0;
    for (uint64_t i = 0; i < words; ++i) wrong += table[i] != (uint64_t)me * words + i;
    shmem_long_atomic_add(&errors, wrong, 0);
    shmem_barrier_all();
    const long all = shmem_long_g(&errors, 0);
    return app_verdict(wrong == 0, seconds, "%.6f GUPS, error rate %g", 1e-9 * (double)updates * n / seconds,
                       (double)all / ((double)words * n));
}
