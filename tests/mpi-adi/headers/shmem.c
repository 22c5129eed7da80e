/* Calls of each kind: of types, of sizes, generic where the language has them. */
#include <shmem.h>

long use(long *symmetric, int *flags);
long use(long *symmetric, int *flags) {
    long mine[2] = {0, 0};
    shmem_long_put(symmetric, mine, 2, 0);
    shmem_putmem_nbi(symmetric, mine, sizeof mine, 0);
    shmem_int_wait_until(flags, SHMEM_CMP_NE, 0);
    shmem_ctx_fence(SHMEM_CTX_DEFAULT);
#if defined(__cplusplus) || __STDC_VERSION__ >= 201112L
    shmem_put(symmetric, mine, 2, 0);
    shmem_p(symmetric, mine[0], 0);
    mine[0] += shmem_g(symmetric, 0) + shmem_atomic_fetch_add(symmetric, 1L, 0);
#endif
    return mine[0] + shmem_long_atomic_fetch(symmetric, 0) + shmem_long_sum_reduce(SHMEM_TEAM_WORLD, symmetric, symmetric, 1);
}
