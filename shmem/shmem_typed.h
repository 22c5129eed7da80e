/* shmem_typed.h: every call that exists once per type or element width, written once per family.
 *
 * Included several times, each time for another purpose, hence without a guard. The includer defines
 *   SHMEMI_TYPED(R, N, op, params, args)      shmem_N_op params
 *   SHMEMI_TYPED_CTX(R, N, op, params, args)  shmem_N_op params, and shmem_ctx_N_op with the context in front
 *   SHMEMI_SIZED_CTX(op, WIDTH, NBI, BYTES)   shmem_opWIDTHNBI, and shmem_ctx_opWIDTHNBI: elements of BYTES; WIDTH is
 *                                             bits or "mem", NBI is "_nbi" or nothing, all have the same parameters
 * and this file undefines them again. `params` is the parameter list, `args` the same names for handing on.
 *
 * Source: OpenSHMEM 1.6, chapters "Remote Memory Access", "Atomic Memory Operations", "Point-To-Point Synchronization".
 */

#define SHMEMI_RMA_FAMILY(N, T, ...)                                                                    \
    SHMEMI_TYPED_CTX(void, N, put, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, get, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, put_nbi, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, get_nbi, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, p, (T *dest, T value, int pe), (dest, value, pe))                         \
    SHMEMI_TYPED_CTX(T, N, g, (const T *source, int pe), (source, pe))

#define SHMEMI_SIZED_FAMILY(WIDTH, BYTES, ...)                                                          \
    SHMEMI_SIZED_CTX(put, WIDTH, , BYTES) SHMEMI_SIZED_CTX(put, WIDTH, _nbi, BYTES)                     \
    SHMEMI_SIZED_CTX(get, WIDTH, , BYTES) SHMEMI_SIZED_CTX(get, WIDTH, _nbi, BYTES)

#define SHMEMI_AMO_EXTENDED_FAMILY(N, T, ...)                                                           \
    SHMEMI_TYPED_CTX(T, N, atomic_fetch, (const T *source, int pe), (source, pe))                       \
    SHMEMI_TYPED_CTX(void, N, atomic_set, (T *dest, T value, int pe), (dest, value, pe))                \
    SHMEMI_TYPED_CTX(T, N, atomic_swap, (T *dest, T value, int pe), (dest, value, pe))                  \
    SHMEMI_TYPED_CTX(void, N, atomic_fetch_nbi, (T *fetch, const T *source, int pe), (fetch, source, pe)) \
    SHMEMI_TYPED_CTX(void, N, atomic_swap_nbi, (T *fetch, T *dest, T value, int pe), (fetch, dest, value, pe))

#define SHMEMI_AMO_STANDARD_FAMILY(N, T, ...)                                                           \
    SHMEMI_TYPED_CTX(T, N, atomic_compare_swap, (T *dest, T cond, T value, int pe), (dest, cond, value, pe)) \
    SHMEMI_TYPED_CTX(T, N, atomic_fetch_inc, (T *dest, int pe), (dest, pe))                             \
    SHMEMI_TYPED_CTX(void, N, atomic_inc, (T *dest, int pe), (dest, pe))                                \
    SHMEMI_TYPED_CTX(T, N, atomic_fetch_add, (T *dest, T value, int pe), (dest, value, pe))             \
    SHMEMI_TYPED_CTX(void, N, atomic_add, (T *dest, T value, int pe), (dest, value, pe))                \
    SHMEMI_TYPED_CTX(void, N, atomic_compare_swap_nbi, (T *fetch, T *dest, T cond, T value, int pe), (fetch, dest, cond, value, pe)) \
    SHMEMI_TYPED_CTX(void, N, atomic_fetch_inc_nbi, (T *fetch, T *dest, int pe), (fetch, dest, pe))     \
    SHMEMI_TYPED_CTX(void, N, atomic_fetch_add_nbi, (T *fetch, T *dest, T value, int pe), (fetch, dest, value, pe))

#define SHMEMI_AMO_BITWISE_FAMILY(N, T, ...)                                                            \
    SHMEMI_TYPED_CTX(T, N, atomic_fetch_and, (T *dest, T value, int pe), (dest, value, pe))             \
    SHMEMI_TYPED_CTX(T, N, atomic_fetch_or, (T *dest, T value, int pe), (dest, value, pe))              \
    SHMEMI_TYPED_CTX(T, N, atomic_fetch_xor, (T *dest, T value, int pe), (dest, value, pe))             \
    SHMEMI_TYPED_CTX(void, N, atomic_and, (T *dest, T value, int pe), (dest, value, pe))                \
    SHMEMI_TYPED_CTX(void, N, atomic_or, (T *dest, T value, int pe), (dest, value, pe))                 \
    SHMEMI_TYPED_CTX(void, N, atomic_xor, (T *dest, T value, int pe), (dest, value, pe))                \
    SHMEMI_TYPED_CTX(void, N, atomic_fetch_and_nbi, (T *fetch, T *dest, T value, int pe), (fetch, dest, value, pe)) \
    SHMEMI_TYPED_CTX(void, N, atomic_fetch_or_nbi, (T *fetch, T *dest, T value, int pe), (fetch, dest, value, pe)) \
    SHMEMI_TYPED_CTX(void, N, atomic_fetch_xor_nbi, (T *fetch, T *dest, T value, int pe), (fetch, dest, value, pe))

#define SHMEMI_SYNC_FAMILY(N, T, ...)                                                                   \
    SHMEMI_TYPED(void, N, wait_until, (T *ivar, int cmp, T cmp_value), (ivar, cmp, cmp_value))          \
    SHMEMI_TYPED(int, N, test, (T *ivar, int cmp, T cmp_value), (ivar, cmp, cmp_value))

SHMEMI_RMA(SHMEMI_RMA_FAMILY, )
SHMEMI_SIZES(SHMEMI_SIZED_FAMILY, )
SHMEMI_SIZED_FAMILY(mem, 1, )
SHMEMI_AMO_EXTENDED(SHMEMI_AMO_EXTENDED_FAMILY, )
SHMEMI_AMO_STANDARD(SHMEMI_AMO_STANDARD_FAMILY, )
SHMEMI_AMO_BITWISE(SHMEMI_AMO_BITWISE_FAMILY, )
SHMEMI_AMO_STANDARD(SHMEMI_SYNC_FAMILY, )

#undef SHMEMI_TYPED
#undef SHMEMI_TYPED_CTX
#undef SHMEMI_SIZED_CTX
#undef SHMEMI_RMA_FAMILY
#undef SHMEMI_SIZED_FAMILY
#undef SHMEMI_AMO_EXTENDED_FAMILY
#undef SHMEMI_AMO_STANDARD_FAMILY
#undef SHMEMI_AMO_BITWISE_FAMILY
#undef SHMEMI_SYNC_FAMILY
