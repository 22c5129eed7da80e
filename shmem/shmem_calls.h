/* shmem_calls.h: every call that exists only once, and by inclusion (shmem_typed.h) all the others.
 *
 * Included once for shmem_ and once for pshmem_ names, hence without a guard. The includer defines
 *   SHMEMI_NAME(x)   the full name of call x
 * and this file undefines it again.
 */

/* Set-up and queries. */
void SHMEMI_NAME(init)(void);
int SHMEMI_NAME(init_thread)(int requested, int *provided);
void SHMEMI_NAME(query_thread)(int *provided);
void SHMEMI_NAME(query_initialized)(int *initialized);
void SHMEMI_NAME(finalize)(void);
SHMEMI_NORETURN void SHMEMI_NAME(global_exit)(int status);
int SHMEMI_NAME(my_pe)(void);
int SHMEMI_NAME(n_pes)(void);
int SHMEMI_NAME(pe_accessible)(int pe);
int SHMEMI_NAME(addr_accessible)(const void *addr, int pe);
void *SHMEMI_NAME(ptr)(const void *dest, int pe);
void SHMEMI_NAME(info_get_version)(int *major, int *minor);
void SHMEMI_NAME(info_get_name)(char *name);
void SHMEMI_NAME(pcontrol)(int level, ...);

/* The symmetric heap. Collective: all PEs, same order, same arguments. */
void *SHMEMI_NAME(malloc)(size_t size);
void *SHMEMI_NAME(calloc)(size_t count, size_t size);
void *SHMEMI_NAME(align)(size_t alignment, size_t size);
void *SHMEMI_NAME(realloc)(void *ptr, size_t size);
void *SHMEMI_NAME(malloc_with_hints)(size_t size, long hints);
void SHMEMI_NAME(free)(void *ptr);

/* Ordering and the whole job's synchronization. */
void SHMEMI_NAME(fence)(void);
void SHMEMI_NAME(ctx_fence)(shmem_ctx_t ctx);
void SHMEMI_NAME(quiet)(void);
void SHMEMI_NAME(ctx_quiet)(shmem_ctx_t ctx);
void SHMEMI_NAME(barrier_all)(void);
void SHMEMI_NAME(sync_all)(void);

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_TYPED(R, N, op, params, args) R SHMEMI_NAME(N##_##op) params;
#define SHMEMI_TYPED_CTX(R, N, op, params, args)                                                        \
    R SHMEMI_NAME(N##_##op) params;                                                                     \
    R SHMEMI_NAME(ctx_##N##_##op)(shmem_ctx_t ctx, SHMEMI_UNWRAP params);
#define SHMEMI_SIZED_CTX(op, WIDTH, NBI, BYTES)                                                          \
    void SHMEMI_NAME(op##WIDTH##NBI)(void *dest, const void *source, size_t nelems, int pe);            \
    void SHMEMI_NAME(ctx_##op##WIDTH##NBI)(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe);
#include "shmem_typed.h"
#undef SHMEMI_UNWRAP
#undef SHMEMI_NAME
