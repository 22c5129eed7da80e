/* shmem_generic.h: the C11 type-generic forms, for example shmem_put([ctx,] dest, source, nelems, pe).
 *
 * A selection looks at the first argument: a context, or a pointer whose type names the function. After a context the
 * second argument decides. A type outside the family selects shmemi_no_such_type, which does not take the arguments:
 * the compiler then reports the call. Source: OpenSHMEM 1.6, section "C11 Generic Selection".
 */
#ifndef SHMEMI_GENERIC_H
#define SHMEMI_GENERIC_H

struct shmemi_no_such_type;
void shmemi_no_such_type(struct shmemi_no_such_type *);

#define SHMEMI_FIRST(a, ...) a
#define SHMEMI_SECOND(a, b, ...) b
#define SHMEMI_CASE(N, T, op) T *: shmem_##N##op, const T *: shmem_##N##op,
#define SHMEMI_CTX_CASE(N, T, op) T *: shmem_ctx_##N##op, const T *: shmem_ctx_##N##op,

#define SHMEMI_SELECT(TYPES, op, ...)                                                                   \
    _Generic(SHMEMI_FIRST(__VA_ARGS__, 0), TYPES(SHMEMI_CASE, op) default: shmemi_no_such_type)(__VA_ARGS__)
#define SHMEMI_CTX_SELECT(TYPES, op, ...)                                                               \
    _Generic(SHMEMI_FIRST(__VA_ARGS__, 0),                                                              \
        shmem_ctx_t: _Generic(SHMEMI_SECOND(__VA_ARGS__, 0),                                            \
                              TYPES(SHMEMI_CTX_CASE, op) default: shmemi_no_such_type),                 \
        TYPES(SHMEMI_CASE, op) default: shmemi_no_such_type)(__VA_ARGS__)

#define shmem_put(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _put, __VA_ARGS__)
#define shmem_get(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _get, __VA_ARGS__)
#define shmem_put_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _get_nbi, __VA_ARGS__)
#define shmem_p(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _p, __VA_ARGS__)
#define shmem_g(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _g, __VA_ARGS__)

#define shmem_atomic_fetch(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _atomic_swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _atomic_swap_nbi, __VA_ARGS__)

#define shmem_atomic_compare_swap(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_add, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _atomic_fetch_add_nbi, __VA_ARGS__)

#define shmem_atomic_fetch_and(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_and(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_and, __VA_ARGS__)
#define shmem_atomic_or(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_or, __VA_ARGS__)
#define shmem_atomic_xor(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_AMO_BITWISE_DISTINCT, _atomic_fetch_xor_nbi, __VA_ARGS__)

#define shmem_wait_until(...) SHMEMI_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _wait_until, __VA_ARGS__)
#define shmem_test(...) SHMEMI_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _test, __VA_ARGS__)

#endif
