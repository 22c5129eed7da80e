/* shmem_generic.h: the C11 type-generic forms, for example shmem_put([ctx,] dest, source, nelems, pe).
 *
 * A selection looks at the first argument: a context, or a pointer whose type names the function. After a context the
 * second argument decides. A type outside the family selects shmemi_no_such_type, which takes anything and is nowhere defined: the
 * compiler says what is wrong, or else the linker by its name. Source: OpenSHMEM 1.6, section "C11 Generic Selection".
 */
#ifndef SHMEMI_GENERIC_H
#define SHMEMI_GENERIC_H

#if defined(__has_attribute)
#if __has_attribute(error)
#define SHMEMI_ERROR(sentence) __attribute__((error(sentence)))
#endif
#endif
#ifndef SHMEMI_ERROR
#define SHMEMI_ERROR(sentence)
#endif
int shmemi_no_such_type(const volatile void *first, ...)
    SHMEMI_ERROR("OpenSHMEM has no such generic call for arguments of this type; see the specification's table of types, or cast");

#define SHMEMI_FIRST(a, ...) a
#define SHMEMI_SECOND(a, b, ...) b
#define SHMEMI_CASE(N, T, op) T *: shmem_##N##op, const T *: shmem_##N##op,
#define SHMEMI_CTX_CASE(N, T, op) T *: shmem_ctx_##N##op, const T *: shmem_ctx_##N##op,

/* After a team. */
#define SHMEMI_TEAM_SELECT(TYPES, op, team, dest, ...)                                                  \
    _Generic((dest), TYPES(SHMEMI_CASE, op) default: shmemi_no_such_type)(team, dest, __VA_ARGS__)

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
#define shmem_iput(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _iput, __VA_ARGS__)
#define shmem_iget(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _iget, __VA_ARGS__)
#define shmem_ibput(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _ibput, __VA_ARGS__)
#define shmem_ibget(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _ibget, __VA_ARGS__)
#define shmem_put_signal(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SHMEMI_CTX_SELECT(SHMEMI_RMA_DISTINCT, _put_signal_nbi, __VA_ARGS__)

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

#define shmem_wait_until(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _wait_until, __VA_ARGS__)
#define shmem_test(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _test, __VA_ARGS__)
#define shmem_wait_until_all(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _wait_until_all, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _wait_until_any, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _wait_until_some, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _wait_until_some_vector, __VA_ARGS__)
#define shmem_test_all(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _test_all, __VA_ARGS__)
#define shmem_test_all_vector(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _test_all_vector, __VA_ARGS__)
#define shmem_test_any(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _test_any, __VA_ARGS__)
#define shmem_test_any_vector(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _test_any_vector, __VA_ARGS__)
#define shmem_test_some(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _test_some, __VA_ARGS__)
#define shmem_test_some_vector(...) SHMEMI_SELECT(SHMEMI_WAIT_DISTINCT, _test_some_vector, __VA_ARGS__)

#define shmem_broadcast(...) SHMEMI_TEAM_SELECT(SHMEMI_RMA_DISTINCT, _broadcast, __VA_ARGS__)
#define shmem_collect(...) SHMEMI_TEAM_SELECT(SHMEMI_RMA_DISTINCT, _collect, __VA_ARGS__)
#define shmem_fcollect(...) SHMEMI_TEAM_SELECT(SHMEMI_RMA_DISTINCT, _fcollect, __VA_ARGS__)
#define shmem_alltoall(...) SHMEMI_TEAM_SELECT(SHMEMI_RMA_DISTINCT, _alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) SHMEMI_TEAM_SELECT(SHMEMI_RMA_DISTINCT, _alltoalls, __VA_ARGS__)
#define shmem_and_reduce(...) SHMEMI_TEAM_SELECT(SHMEMI_REDUCE_BITWISE_DISTINCT, _and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) SHMEMI_TEAM_SELECT(SHMEMI_REDUCE_BITWISE_DISTINCT, _or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) SHMEMI_TEAM_SELECT(SHMEMI_REDUCE_BITWISE_DISTINCT, _xor_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) SHMEMI_TEAM_SELECT(SHMEMI_RMA_DISTINCT, _max_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) SHMEMI_TEAM_SELECT(SHMEMI_RMA_DISTINCT, _min_reduce, __VA_ARGS__)
#define shmem_sum_reduce(...) SHMEMI_TEAM_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) SHMEMI_TEAM_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _prod_reduce, __VA_ARGS__)
#define shmem_sum_inscan(...) SHMEMI_TEAM_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _sum_inscan, __VA_ARGS__)
#define shmem_sum_exscan(...) SHMEMI_TEAM_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _sum_exscan, __VA_ARGS__)

/* With a context in front or without. */
#define SHMEMI_SIGNAL_SELECT(op, ...) \
    _Generic(SHMEMI_FIRST(__VA_ARGS__, 0), shmem_ctx_t: shmem_ctx_signal_##op, default: shmem_signal_##op)(__VA_ARGS__)
#define shmem_signal_add(...) SHMEMI_SIGNAL_SELECT(add, __VA_ARGS__)
#define shmem_signal_set(...) SHMEMI_SIGNAL_SELECT(set, __VA_ARGS__)

/* On a team, or the deprecated function on an active set, whose first argument is an int. */
#define shmem_sync(...) _Generic(SHMEMI_FIRST(__VA_ARGS__, 0), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)

/* Deprecated. */
#define shmem_fetch(...) SHMEMI_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _fetch, __VA_ARGS__)
#define shmem_set(...) SHMEMI_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _set, __VA_ARGS__)
#define shmem_swap(...) SHMEMI_SELECT(SHMEMI_AMO_EXTENDED_DISTINCT, _swap, __VA_ARGS__)
#define shmem_cswap(...) SHMEMI_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _cswap, __VA_ARGS__)
#define shmem_finc(...) SHMEMI_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _finc, __VA_ARGS__)
#define shmem_inc(...) SHMEMI_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _inc, __VA_ARGS__)
#define shmem_fadd(...) SHMEMI_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _fadd, __VA_ARGS__)
#define shmem_add(...) SHMEMI_SELECT(SHMEMI_AMO_STANDARD_DISTINCT, _add, __VA_ARGS__)

#endif
