/* shmem_overloads.h: the type-generic calls in C++, for example shmem_put([ctx,] dest, source, nelems, pe): for every type
 * of the tables an overload that calls the function of that type. What C11 does by selection, see shmem_generic.h.
 */
#ifndef SHMEMI_OVERLOADS_H
#define SHMEMI_OVERLOADS_H

#include "shmem.h"

#ifdef __cplusplus

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_EACH(LIST) LIST##_DISTINCT

#define SHMEMI_TYPED(R, N, op, params, args) \
    inline R shmem_##op params { return shmem_##N##_##op args; }
#define SHMEMI_TYPED_CTX(R, N, op, params, args)                        \
    inline R shmem_##op params { return shmem_##N##_##op args; }        \
    inline R shmem_##op(shmem_ctx_t ctx, SHMEMI_UNWRAP params) { return shmem_ctx_##N##_##op(ctx, SHMEMI_UNWRAP args); }
#define SHMEMI_SIZED_CTX(op, WIDTH, SUFFIX, BYTES, params, args)
#include "shmem_typed.h"
#include "shmem_typed_team.h"

/* Templates of nothing, because on long shmem_wait and shmem_wait_until are functions of their own, though deprecated: those
 * go before. */
#define SHMEMI_TYPED(R, N, op, params, args) \
    template <class = void>                  \
    inline R shmem_##op params { return shmem_##N##_##op args; }
#include "shmem_typed_wait.h"
#define SHMEMI_TYPED(R, N, op, params, args) \
    template <class = void>                  \
    inline R shmem_##op params { return shmem_##N##_##op args; }
#define SHMEMI_SIZED_SET(op, WIDTH, BYTES, params, args)
#include "shmem_typed_old.h"

inline void shmem_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_add(ctx, sig_addr, signal, pe);
}
inline void shmem_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe) {
    shmem_ctx_signal_set(ctx, sig_addr, signal, pe);
}
inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }

#undef SHMEMI_UNWRAP
#undef SHMEMI_EACH

#endif /* C++ */
#endif
