/* shmem_typed_team.h: the collectives on teams, each written once. As shmem_typed.h, without a guard; the includer defines
 *   SHMEMI_TYPED(R, N, op, params, args)  shmem_N_op params
 *   SHMEMI_EACH(LIST)
 * Source: OpenSHMEM 1.6, chapter "Collective Routines".
 */

#define SHMEMI_MOVE_FAMILY(N, T, ...)                                                                   \
    SHMEMI_TYPED(int, N, broadcast, (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root), \
                 (team, dest, source, nelems, PE_root))                                                 \
    SHMEMI_TYPED(int, N, collect, (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems)) \
    SHMEMI_TYPED(int, N, fcollect, (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems)) \
    SHMEMI_TYPED(int, N, alltoall, (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems)) \
    SHMEMI_TYPED(int, N, alltoalls,                                                                     \
                 (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
                 (team, dest, source, dst, sst, nelems))

#define SHMEMI_REDUCE(N, T, op)                                                                         \
    SHMEMI_TYPED(int, N, op, (shmem_team_t team, T *dest, const T *source, size_t nreduce), (team, dest, source, nreduce))

SHMEMI_EACH(SHMEMI_RMA)(SHMEMI_MOVE_FAMILY, )
SHMEMI_EACH(SHMEMI_REDUCE_BITWISE)(SHMEMI_REDUCE, and_reduce)
SHMEMI_EACH(SHMEMI_REDUCE_BITWISE)(SHMEMI_REDUCE, or_reduce)
SHMEMI_EACH(SHMEMI_REDUCE_BITWISE)(SHMEMI_REDUCE, xor_reduce)
SHMEMI_EACH(SHMEMI_RMA)(SHMEMI_REDUCE, max_reduce)
SHMEMI_EACH(SHMEMI_RMA)(SHMEMI_REDUCE, min_reduce)
SHMEMI_EACH(SHMEMI_REDUCE_SUM)(SHMEMI_REDUCE, sum_reduce)
SHMEMI_EACH(SHMEMI_REDUCE_SUM)(SHMEMI_REDUCE, prod_reduce)
SHMEMI_EACH(SHMEMI_REDUCE_SUM)(SHMEMI_REDUCE, sum_inscan)
SHMEMI_EACH(SHMEMI_REDUCE_SUM)(SHMEMI_REDUCE, sum_exscan)

#undef SHMEMI_TYPED
#undef SHMEMI_MOVE_FAMILY
#undef SHMEMI_REDUCE
