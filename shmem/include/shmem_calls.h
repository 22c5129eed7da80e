/* shmem_calls.h: every call that exists only once, and by inclusion (shmem_typed*.h) all the others.
 *
 * Included once for shmem_ and once for pshmem_ names, hence without a guard. The includer defines
 *   SHMEMI_NAME(x)   the full name of call x
 *   SHMEMI_BARE(x)   the same of a call that begins otherwise than with shmem_
 * and this file undefines them again.
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

void SHMEMI_NAME(pe_quiet)(const int *target_pes, size_t npes);
void SHMEMI_NAME(ctx_pe_quiet)(shmem_ctx_t ctx, const int *target_pes, size_t npes);

/* Teams. Those that split or destroy one are collective over it. */
int SHMEMI_NAME(team_my_pe)(shmem_team_t team);
int SHMEMI_NAME(team_n_pes)(shmem_team_t team);
int SHMEMI_NAME(team_get_config)(shmem_team_t team, long config_mask, shmem_team_config_t *config);
int SHMEMI_NAME(team_translate_pe)(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);
int SHMEMI_NAME(team_split_strided)(shmem_team_t parent_team, int start, int stride, int size,
                                    const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team);
int SHMEMI_NAME(team_split_2d)(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config,
                               long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                               long yaxis_mask, shmem_team_t *yaxis_team);
void SHMEMI_NAME(team_destroy)(shmem_team_t team);
void *SHMEMI_NAME(team_ptr)(shmem_team_t team, const void *dest, int pe);
int SHMEMI_NAME(team_sync)(shmem_team_t team);

/* Contexts and sessions. */
int SHMEMI_NAME(ctx_create)(long options, shmem_ctx_t *ctx);
int SHMEMI_NAME(team_create_ctx)(shmem_team_t team, long options, shmem_ctx_t *ctx);
void SHMEMI_NAME(ctx_destroy)(shmem_ctx_t ctx);
int SHMEMI_NAME(ctx_get_team)(shmem_ctx_t ctx, shmem_team_t *team);
void SHMEMI_NAME(ctx_session_start)(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask);
void SHMEMI_NAME(ctx_session_stop)(shmem_ctx_t ctx);

/* Signals. */
void SHMEMI_NAME(signal_add)(uint64_t *sig_addr, uint64_t signal, int pe);
void SHMEMI_NAME(ctx_signal_add)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);
void SHMEMI_NAME(signal_set)(uint64_t *sig_addr, uint64_t signal, int pe);
void SHMEMI_NAME(ctx_signal_set)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);
uint64_t SHMEMI_NAME(signal_fetch)(const uint64_t *sig_addr);
uint64_t SHMEMI_NAME(signal_wait_until)(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

/* Locks. */
void SHMEMI_NAME(set_lock)(long *lock);
void SHMEMI_NAME(clear_lock)(long *lock);
int SHMEMI_NAME(test_lock)(long *lock);

/* Collectives on bytes. */
int SHMEMI_NAME(broadcastmem)(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root);
int SHMEMI_NAME(collectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);
int SHMEMI_NAME(fcollectmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);
int SHMEMI_NAME(alltoallmem)(shmem_team_t team, void *dest, const void *source, size_t nelems);
int SHMEMI_NAME(alltoallsmem)(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems);

/* Deprecated. An active set is PE_start + i * 2^logPE_stride, i < PE_size. */
void SHMEMI_BARE(start_pes)(int npes);
int SHMEMI_BARE(_my_pe)(void);
int SHMEMI_BARE(_num_pes)(void);
void *SHMEMI_BARE(shmalloc)(size_t size);
void SHMEMI_BARE(shfree)(void *ptr);
void *SHMEMI_BARE(shrealloc)(void *ptr, size_t size);
void *SHMEMI_BARE(shmemalign)(size_t alignment, size_t size);
void SHMEMI_NAME(wait)(long *ivar, long cmp_value);
void SHMEMI_NAME(wait_until)(long *ivar, int cmp, long cmp_value);
void SHMEMI_NAME(barrier)(int PE_start, int logPE_stride, int PE_size, long *pSync);
void SHMEMI_NAME(sync)(int PE_start, int logPE_stride, int PE_size, long *pSync);

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_EACH(LIST) LIST
#define SHMEMI_TYPED_CTX(R, N, op, params, args)                                                        \
    R SHMEMI_NAME(N##_##op) params;                                                                     \
    R SHMEMI_NAME(ctx_##N##_##op)(shmem_ctx_t ctx, SHMEMI_UNWRAP params);
#define SHMEMI_SIZED_CTX(op, WIDTH, SUFFIX, BYTES, params, args)                                        \
    void SHMEMI_NAME(op##WIDTH##SUFFIX) params;                                                         \
    void SHMEMI_NAME(ctx_##op##WIDTH##SUFFIX)(shmem_ctx_t ctx, SHMEMI_UNWRAP params);
#include "shmem_typed.h"
#define SHMEMI_TYPED(R, N, op, params, args) R SHMEMI_NAME(N##_##op) params;
#include "shmem_typed_wait.h"
#define SHMEMI_TYPED(R, N, op, params, args) R SHMEMI_NAME(N##_##op) params;
#include "shmem_typed_team.h"
#define SHMEMI_TYPED(R, N, op, params, args) R SHMEMI_NAME(N##_##op) params;
#define SHMEMI_SIZED_SET(op, WIDTH, BYTES, params, args) void SHMEMI_NAME(op##WIDTH) params;
#include "shmem_typed_old.h"
#undef SHMEMI_EACH
#undef SHMEMI_UNWRAP
#undef SHMEMI_NAME
#undef SHMEMI_BARE
