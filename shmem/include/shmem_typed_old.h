/* shmem_typed_old.h: the deprecated calls that exist once per type or width, each written once. As shmem_typed.h, without a guard; the
 * includer defines
 *   SHMEMI_TYPED(R, N, op, params, args)             shmem_N_op params
 *   SHMEMI_EACH(LIST)                                LIST, or LIST##_DISTINCT
 *   SHMEMI_SIZED_SET(op, WIDTH, BYTES, params, args) shmem_opWIDTH params, on the active set PE_start, logPE_stride, PE_size
 * Source: OpenSHMEM 1.6, annex "History" (deprecated API); OpenSHMEM 1.3, chapter "Collective Routines".
 */

#define SHMEMI_OLD_FETCH_FAMILY(N, T, ...)                                                              \
    SHMEMI_TYPED(T, N, fetch, (const T *source, int pe), (source, pe))                                  \
    SHMEMI_TYPED(void, N, set, (T *dest, T value, int pe), (dest, value, pe))                           \
    SHMEMI_TYPED(T, N, swap, (T *dest, T value, int pe), (dest, value, pe))
#define SHMEMI_OLD_ADD_FAMILY(N, T, ...)                                                                \
    SHMEMI_TYPED(T, N, cswap, (T *dest, T cond, T value, int pe), (dest, cond, value, pe))              \
    SHMEMI_TYPED(T, N, finc, (T *dest, int pe), (dest, pe))                                             \
    SHMEMI_TYPED(void, N, inc, (T *dest, int pe), (dest, pe))                                           \
    SHMEMI_TYPED(T, N, fadd, (T *dest, T value, int pe), (dest, value, pe))                             \
    SHMEMI_TYPED(void, N, add, (T *dest, T value, int pe), (dest, value, pe))
#define SHMEMI_OLD_WAIT_FAMILY(N, T, ...) SHMEMI_TYPED(void, N, wait, (T *ivar, T cmp_value), (ivar, cmp_value))
#define SHMEMI_TO_ALL(N, T, op)                                                                         \
    SHMEMI_TYPED(void, N, op,                                                                           \
                 (T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, int PE_size, T *pWrk, long *pSync), \
                 (dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync))

#define SHMEMI_OLD_MOVE_FAMILY(WIDTH, BYTES)                                                            \
    SHMEMI_SIZED_SET(broadcast, WIDTH, BYTES,                                                           \
                     (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync), \
                     (dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync))           \
    SHMEMI_SIZED_SET(collect, WIDTH, BYTES,                                                             \
                     (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync), \
                     (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync))                    \
    SHMEMI_SIZED_SET(fcollect, WIDTH, BYTES,                                                            \
                     (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync), \
                     (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync))                    \
    SHMEMI_SIZED_SET(alltoall, WIDTH, BYTES,                                                            \
                     (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync), \
                     (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync))                    \
    SHMEMI_SIZED_SET(alltoalls, WIDTH, BYTES,                                                           \
                     (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync), \
                     (dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, pSync))

SHMEMI_EACH(SHMEMI_AMO_EXTENDED)(SHMEMI_OLD_FETCH_FAMILY, )
SHMEMI_EACH(SHMEMI_AMO_STANDARD)(SHMEMI_OLD_ADD_FAMILY, )
SHMEMI_OLD_WAIT(SHMEMI_OLD_WAIT_FAMILY, )
SHMEMI_OLD_WAIT(SHMEMI_TO_ALL, and_to_all)
SHMEMI_OLD_WAIT(SHMEMI_TO_ALL, or_to_all)
SHMEMI_OLD_WAIT(SHMEMI_TO_ALL, xor_to_all)
SHMEMI_OLD_ORDERED(SHMEMI_TO_ALL, max_to_all)
SHMEMI_OLD_ORDERED(SHMEMI_TO_ALL, min_to_all)
SHMEMI_OLD_SUM(SHMEMI_TO_ALL, sum_to_all)
SHMEMI_OLD_SUM(SHMEMI_TO_ALL, prod_to_all)
SHMEMI_OLD_MOVE_FAMILY(32, 4)
SHMEMI_OLD_MOVE_FAMILY(64, 8)

#undef SHMEMI_TYPED
#undef SHMEMI_SIZED_SET
#undef SHMEMI_OLD_FETCH_FAMILY
#undef SHMEMI_OLD_ADD_FAMILY
#undef SHMEMI_OLD_WAIT_FAMILY
#undef SHMEMI_TO_ALL
#undef SHMEMI_OLD_MOVE_FAMILY
