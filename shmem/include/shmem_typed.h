/* shmem_typed.h: the calls of remote memory access and the atomics that exist once per type or element width, each family
 * written once.
 *
 * Included several times, each time for another purpose, hence without a guard. The includer defines
 *   SHMEMI_TYPED_CTX(R, N, op, params, args)  shmem_N_op params, and shmem_ctx_N_op with the context in front
 *   SHMEMI_SIZED_CTX(op, WIDTH, SUFFIX, BYTES, params, args)  shmem_opWIDTHSUFFIX, and shmem_ctx_opWIDTHSUFFIX: elements of
 *                                             BYTES; WIDTH is bits or "mem"
 *   SHMEMI_EACH(LIST)                         LIST, or LIST_DISTINCT for what may name a type only once
 * and this file undefines the first two again. `params` is the parameter list, `args` the same names for handing on.
 *
 * Source: OpenSHMEM 1.6, chapters "Remote Memory Access", "Atomic Memory Operations", "Signaling Operations".
 */

#define SHMEMI_RMA_FAMILY(N, T, ...)                                                                    \
    SHMEMI_TYPED_CTX(void, N, put, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, get, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, put_nbi, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, get_nbi, (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_TYPED_CTX(void, N, p, (T *dest, T value, int pe), (dest, value, pe))                         \
    SHMEMI_TYPED_CTX(T, N, g, (const T *source, int pe), (source, pe))                                  \
    SHMEMI_TYPED_CTX(void, N, iput, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                     (dest, source, dst, sst, nelems, pe))                                              \
    SHMEMI_TYPED_CTX(void, N, iget, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                     (dest, source, dst, sst, nelems, pe))                                              \
    SHMEMI_TYPED_CTX(void, N, ibput,                                                                    \
                     (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
                     (dest, source, dst, sst, bsize, nblocks, pe))                                      \
    SHMEMI_TYPED_CTX(void, N, ibget,                                                                    \
                     (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
                     (dest, source, dst, sst, bsize, nblocks, pe))                                      \
    SHMEMI_TYPED_CTX(void, N, put_signal,                                                               \
                     (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
                     (dest, source, nelems, sig_addr, signal, sig_op, pe))                              \
    SHMEMI_TYPED_CTX(void, N, put_signal_nbi,                                                           \
                     (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
                     (dest, source, nelems, sig_addr, signal, sig_op, pe))

#define SHMEMI_SIZED_FAMILY(WIDTH, BYTES, ...)                                                          \
    SHMEMI_SIZED_CTX(put, WIDTH, , BYTES, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_SIZED_CTX(get, WIDTH, , BYTES, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_SIZED_CTX(put, WIDTH, _nbi, BYTES, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_SIZED_CTX(get, WIDTH, _nbi, BYTES, (void *dest, const void *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    SHMEMI_SIZED_CTX(put, WIDTH, _signal, BYTES,                                                        \
                     (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
                     (dest, source, nelems, sig_addr, signal, sig_op, pe))                              \
    SHMEMI_SIZED_CTX(put, WIDTH, _signal_nbi, BYTES,                                                    \
                     (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
                     (dest, source, nelems, sig_addr, signal, sig_op, pe))

#define SHMEMI_SIZED_STRIDED_FAMILY(WIDTH, BYTES, ...)                                                  \
    SHMEMI_SIZED_CTX(iput, WIDTH, , BYTES, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                     (dest, source, dst, sst, nelems, pe))                                              \
    SHMEMI_SIZED_CTX(iget, WIDTH, , BYTES, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
                     (dest, source, dst, sst, nelems, pe))                                              \
    SHMEMI_SIZED_CTX(ibput, WIDTH, , BYTES,                                                             \
                     (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
                     (dest, source, dst, sst, bsize, nblocks, pe))                                      \
    SHMEMI_SIZED_CTX(ibget, WIDTH, , BYTES,                                                             \
                     (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
                     (dest, source, dst, sst, bsize, nblocks, pe))

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

SHMEMI_EACH(SHMEMI_RMA)(SHMEMI_RMA_FAMILY, )
SHMEMI_SIZES(SHMEMI_SIZED_FAMILY, )
SHMEMI_SIZED_FAMILY(mem, 1, )
SHMEMI_SIZES(SHMEMI_SIZED_STRIDED_FAMILY, )
SHMEMI_EACH(SHMEMI_AMO_EXTENDED)(SHMEMI_AMO_EXTENDED_FAMILY, )
SHMEMI_EACH(SHMEMI_AMO_STANDARD)(SHMEMI_AMO_STANDARD_FAMILY, )
SHMEMI_EACH(SHMEMI_AMO_BITWISE)(SHMEMI_AMO_BITWISE_FAMILY, )

#undef SHMEMI_TYPED_CTX
#undef SHMEMI_SIZED_CTX
#undef SHMEMI_RMA_FAMILY
#undef SHMEMI_SIZED_FAMILY
#undef SHMEMI_SIZED_STRIDED_FAMILY
#undef SHMEMI_AMO_EXTENDED_FAMILY
#undef SHMEMI_AMO_STANDARD_FAMILY
#undef SHMEMI_AMO_BITWISE_FAMILY
