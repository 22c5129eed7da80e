/* headers_test.c: the headers compile alone, together and in any order, as C99 and as C11, pedantically. */
#include <shmemx.h>
#include <pshmem.h>
#include <shmem.h>
#include <mpp/shmem.h>

int takes_all(shmem_ctx_t ctx, long *dest, const long *source, shmemx_req_t *request);

int takes_all(shmem_ctx_t ctx, long *dest, const long *source, shmemx_req_t *request)
{
    static const shmem_ctx_t constant = SHMEM_CTX_DEFAULT;
    shmem_long_put(dest, source, 1, 0);
    shmem_ctx_long_put(ctx, dest, source, 1, 0);
    pshmem_ctx_putmem_nbi(constant, dest, source, 8, 0);
    if (shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, dest, source, 1, request) != 0) return 2;
    if (pshmemx_collectmem_nb(SHMEM_TEAM_WORLD, dest, source, 8, request) != SHMEMX_ERR_MEMORY) return 3;
    switch (SHMEM_MAJOR_VERSION) {
    case SHMEM_CMP_EQ:
    case SHMEM_CMP_NE: return 1;
    default: return 0;
    }
}
