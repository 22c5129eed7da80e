/* shmem_typed_wait.h: the calls of point-to-point synchronization, each written once. As shmem_typed.h, without a guard; the includer defines
 *   SHMEMI_TYPED(R, N, op, params, args)  shmem_N_op params
 *   SHMEMI_EACH(LIST)
 * Source: OpenSHMEM 1.6, chapter "Point-To-Point Synchronization".
 */

#define SHMEMI_WAIT_FAMILY(N, T, ...)                                                                   \
    SHMEMI_TYPED(void, N, wait_until, (T *ivar, int cmp, T cmp_value), (ivar, cmp, cmp_value))          \
    SHMEMI_TYPED(int, N, test, (T *ivar, int cmp, T cmp_value), (ivar, cmp, cmp_value))                 \
    SHMEMI_TYPED(void, N, wait_until_all, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value), \
                 (ivars, nelems, status, cmp, cmp_value))                                               \
    SHMEMI_TYPED(size_t, N, wait_until_any, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value), \
                 (ivars, nelems, status, cmp, cmp_value))                                               \
    SHMEMI_TYPED(size_t, N, wait_until_some,                                                            \
                 (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value),   \
                 (ivars, nelems, indices, status, cmp, cmp_value))                                      \
    SHMEMI_TYPED(void, N, wait_until_all_vector, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
                 (ivars, nelems, status, cmp, cmp_values))                                              \
    SHMEMI_TYPED(size_t, N, wait_until_any_vector, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
                 (ivars, nelems, status, cmp, cmp_values))                                              \
    SHMEMI_TYPED(size_t, N, wait_until_some_vector,                                                     \
                 (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values), \
                 (ivars, nelems, indices, status, cmp, cmp_values))                                     \
    SHMEMI_TYPED(int, N, test_all, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value),  \
                 (ivars, nelems, status, cmp, cmp_value))                                               \
    SHMEMI_TYPED(size_t, N, test_any, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value), \
                 (ivars, nelems, status, cmp, cmp_value))                                               \
    SHMEMI_TYPED(size_t, N, test_some,                                                                  \
                 (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value),   \
                 (ivars, nelems, indices, status, cmp, cmp_value))                                      \
    SHMEMI_TYPED(int, N, test_all_vector, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
                 (ivars, nelems, status, cmp, cmp_values))                                              \
    SHMEMI_TYPED(size_t, N, test_any_vector, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values), \
                 (ivars, nelems, status, cmp, cmp_values))                                              \
    SHMEMI_TYPED(size_t, N, test_some_vector,                                                           \
                 (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values), \
                 (ivars, nelems, indices, status, cmp, cmp_values))

SHMEMI_EACH(SHMEMI_WAIT)(SHMEMI_WAIT_FAMILY, )

#undef SHMEMI_TYPED
#undef SHMEMI_WAIT_FAMILY
