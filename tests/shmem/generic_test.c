/* generic_test.c: the C11 type-generic calls, with and without a context, each on its type.
 * Source: OpenSHMEM 1.6, "C11 Generic Selection".
 */
#include <shmemx.h>
#include <stdio.h>

static int failures = 0;
#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fprintf(stderr, "PE %d: %s:%d: %s\n", shmem_my_pe(), __FILE__, __LINE__, #condition); \
            ++failures;                                                                          \
        }                                                                                        \
    } while (0)

#define FOR_BITWISE(X)                                                                           \
    X(unsigned int) X(unsigned long) X(unsigned long long) X(int32_t) X(int64_t) X(uint32_t) X(uint64_t)
#define FOR_STANDARD(X) FOR_BITWISE(X) X(int) X(long) X(long long) X(size_t) X(ptrdiff_t)
#define FOR_FLOATING(X) X(float) X(double)
#define FOR_OTHERS(X)                                                                            \
    X(long double) X(char) X(signed char) X(short) X(unsigned char) X(unsigned short)            \
    X(int8_t) X(int16_t) X(uint8_t) X(uint16_t)

#define RMA_BODY(T)                                                                               \
    {                                                                                            \
        static T word, array[3];                                                                 \
        T source[3] = {(T)1, (T)2, (T)3}, back[3];                                               \
        const T *const_array = array;                                                            \
        shmem_p(&word, (T)(me + 1), right);                                                      \
        shmem_p(SHMEM_CTX_DEFAULT, &array[2], (T)9, right);                                      \
        shmem_put(array, source, 2, right);                                                      \
        shmem_put_nbi(SHMEM_CTX_DEFAULT, &array[1], &source[1], 1, right);                       \
        shmem_barrier_all();                                                                     \
        CHECK(word == (T)(left + 1) && array[0] == (T)1 && array[1] == (T)2 && array[2] == (T)9); \
        CHECK(shmem_g(&const_array[1], right) == (T)2);                                          \
        CHECK(shmem_g(SHMEM_CTX_DEFAULT, &word, right) == (T)(me + 1));                          \
        shmem_get(SHMEM_CTX_DEFAULT, back, array, 3, right);                                     \
        CHECK(back[0] == (T)1 && back[2] == (T)9);                                               \
        shmem_get_nbi(&back[0], const_array, 1, right);                                          \
        shmem_quiet();                                                                           \
        shmem_barrier_all();                                                                     \
    }

#define EXTENDED_BODY(T)                                                                          \
    {                                                                                            \
        static T word;                                                                           \
        T old;                                                                                   \
        shmem_atomic_set(&word, (T)4, right);                                                    \
        shmem_quiet();                                                                           \
        CHECK(shmem_atomic_fetch((const T *)&word, right) == (T)4);                              \
        CHECK(shmem_atomic_swap(SHMEM_CTX_DEFAULT, &word, (T)6, right) == (T)4);                 \
        shmem_atomic_fetch_nbi(&old, &word, right);                                              \
        shmem_quiet();                                                                           \
        CHECK(old == (T)6);                                                                      \
        shmem_atomic_swap_nbi(SHMEM_CTX_DEFAULT, &old, &word, (T)7, right);                      \
        shmem_barrier_all();                                                                     \
        CHECK(word == (T)7);                                                                     \
    }

#define STANDARD_BODY(T)                                                                          \
    {                                                                                            \
        static T word;                                                                           \
        T old;                                                                                   \
        shmem_atomic_inc(&word, right);                                                          \
        shmem_atomic_add(SHMEM_CTX_DEFAULT, &word, (T)2, right);                                 \
        shmem_quiet();                                                                           \
        CHECK(shmem_atomic_fetch_inc(&word, right) == (T)3);                                     \
        CHECK(shmem_atomic_fetch_add(&word, (T)6, right) == (T)4);                               \
        CHECK(shmem_atomic_compare_swap(SHMEM_CTX_DEFAULT, &word, (T)10, (T)20, right) == (T)10); \
        shmem_atomic_fetch_inc_nbi(&old, &word, right);                                          \
        shmem_quiet();                                                                           \
        shmem_atomic_fetch_add_nbi(&old, &word, (T)1, right);                                    \
        shmem_quiet();                                                                           \
        shmem_atomic_compare_swap_nbi(&old, &word, (T)22, (T)30, right);                         \
        shmem_wait_until(&word, SHMEM_CMP_EQ, (T)30);                                            \
        CHECK(shmem_test(&word, SHMEM_CMP_GE, (T)30));                                           \
        shmem_barrier_all();                                                                     \
        CHECK(old == (T)22);                                                                     \
    }

#define BITWISE_BODY(T)                                                                           \
    {                                                                                            \
        static T word;                                                                           \
        T old;                                                                                   \
        shmem_atomic_or(&word, (T)12, right);                                                    \
        shmem_atomic_and(SHMEM_CTX_DEFAULT, &word, (T)6, right);                                 \
        shmem_atomic_xor(&word, (T)1, right);                                                    \
        shmem_quiet();                                                                           \
        CHECK(shmem_atomic_fetch_or(&word, (T)8, right) == (T)5);                                \
        CHECK(shmem_atomic_fetch_and(SHMEM_CTX_DEFAULT, &word, (T)12, right) == (T)13);          \
        CHECK(shmem_atomic_fetch_xor(&word, (T)4, right) == (T)12);                              \
        shmem_atomic_fetch_or_nbi(&old, &word, (T)1, right);                                     \
        shmem_quiet();                                                                           \
        shmem_atomic_fetch_and_nbi(&old, &word, (T)1, right);                                    \
        shmem_quiet();                                                                           \
        shmem_atomic_fetch_xor_nbi(SHMEM_CTX_DEFAULT, &old, &word, (T)1, right);                 \
        shmem_barrier_all();                                                                     \
        CHECK(old == (T)1 && word == (T)0);                                                      \
    }

/* Waiting and testing also on the types that were deprecated. */
#define WAIT_BODY(T)                                                                              \
    {                                                                                            \
        static T words[2];                                                                       \
        const T wanted[2] = {(T)(left + 1), (T)(left + 2)};                                      \
        size_t found[2];                                                                         \
        shmem_p(&words[0], (T)(me + 1), right);                                                  \
        shmem_p(&words[1], (T)(me + 2), right);                                                  \
        shmem_wait_until(&words[0], SHMEM_CMP_EQ, wanted[0]);                                    \
        shmem_wait_until_all(words, 2, NULL, SHMEM_CMP_NE, (T)0);                                \
        shmem_wait_until_all_vector(words, 2, NULL, SHMEM_CMP_EQ, wanted);                       \
        CHECK(shmem_wait_until_any(words, 2, NULL, SHMEM_CMP_GT, wanted[0]) == 1);               \
        CHECK(shmem_wait_until_any_vector(words, 1, NULL, SHMEM_CMP_EQ, wanted) == 0);           \
        CHECK(shmem_wait_until_some(words, 2, found, NULL, SHMEM_CMP_GE, (T)1) >= 1);            \
        CHECK(shmem_wait_until_some_vector(words, 2, found, NULL, SHMEM_CMP_EQ, wanted) >= 1);   \
        CHECK(shmem_test(&words[1], SHMEM_CMP_EQ, wanted[1]));                                   \
        CHECK(shmem_test_all(words, 2, NULL, SHMEM_CMP_GE, (T)1));                               \
        CHECK(shmem_test_all_vector(words, 2, NULL, SHMEM_CMP_EQ, wanted));                      \
        CHECK(shmem_test_any(words, 2, NULL, SHMEM_CMP_LT, (T)1) == SIZE_MAX);                   \
        CHECK(shmem_test_any_vector(words, 2, NULL, SHMEM_CMP_EQ, wanted) < 2);                  \
        CHECK(shmem_test_some(words, 2, found, NULL, SHMEM_CMP_GE, (T)1) == 2);                  \
        CHECK(shmem_test_some_vector(words, 2, found, NULL, SHMEM_CMP_EQ, wanted) == 2);         \
        shmem_barrier_all();                                                                     \
    }

/* Calls that have no test of their own type by type: that each selects by its arguments. */
static void check_the_others(void) {
    static long words[8], box[8], sync_words[SHMEM_SYNC_SIZE];
    static uint64_t signal;
    static double _Complex z[2], sum[2];
    static short half;
    const int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    const long source[4] = {me, me + 1, me + 2, me + 3};
    size_t indices[4];
    shmem_ctx_t context;
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &context) == 0);
    shmem_iput(box, source, 2, 1, 4, right);
    shmem_ibput(context, &box[1], source, 4, 2, 1, 2, right);
    shmem_put_signal(&words[7], source, 1, &signal, 1, SHMEM_SIGNAL_ADD, right);
    shmem_put_signal_nbi(context, &words[6], source, 1, &signal, 1, SHMEM_SIGNAL_ADD, right);
    shmem_signal_add(context, &signal, 1, right);
    shmem_signal_add(&signal, 1, right);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 4) == 4);
    shmem_barrier_all();
    CHECK(box[6] == left + 3 && box[1] == left && box[5] == left + 2 && words[7] == left);
    long back[4];
    shmem_iget(context, back, box, 1, 2, 4, right);
    CHECK(back[3] == me + 3);
    shmem_ibget(back, box, 1, 2, 1, 2, right);
    CHECK(back[1] == me + 1);
    CHECK(shmem_test_all(words, 0, (const int *)NULL, SHMEM_CMP_EQ, 1L) == 1);
    CHECK(shmem_wait_until_some(&box[6], 1, indices, (const int *)NULL, SHMEM_CMP_EQ, (long)left + 3) == 1);
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    shmem_sync(0, 0, n, sync_words);
    z[0] = me;
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, sum, z, 1) == 0 && sum[0] == n * (n - 1) / 2);
    CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, words, box, 1, 0) == 0);
    CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, box, words, 1) == 0);
    shmem_barrier_all();
    shmemx_req_t request[4];
    CHECK(shmemx_sum_reduce_nb(SHMEM_TEAM_WORLD, sum, z, 1, &request[0]) == 0);
    CHECK(shmemx_xor_reduce_nb(SHMEM_TEAM_WORLD, &signal, &signal, 1, &request[1]) == 0);
    CHECK(shmemx_alltoalls_nb(SHMEM_TEAM_WORLD, words, (const long *)box, 1, 1, 1, &request[2]) == 0);
    CHECK(shmemx_sum_exscan_nb(SHMEM_TEAM_WORLD, &half, &half, 1, &request[3]) == 0);
    for (int i = 0; i < 4; ++i) CHECK(shmemx_req_wait(&request[i]) == 0 && request[i] == SHMEMX_REQ_INVALID);
    CHECK(sum[0] == n * (n - 1) / 2 && half == 0);
    shmem_barrier_all();
    words[0] = 5;
    shmem_barrier_all();
    CHECK(shmem_fadd(&words[0], 2L, right) == 5);
    shmem_wait_until(&words[0], SHMEM_CMP_EQ, 7L);
    shmem_p(&half, (short)3, right);
    shmem_wait_until(&half, SHMEM_CMP_EQ, (short)3);
    shmem_ctx_destroy(context);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const int right = (me + 1) % n, left = (me + n - 1) % n;
    FOR_STANDARD(RMA_BODY)
    FOR_FLOATING(RMA_BODY)
    FOR_OTHERS(RMA_BODY)
    FOR_STANDARD(EXTENDED_BODY)
    FOR_FLOATING(EXTENDED_BODY)
    FOR_STANDARD(STANDARD_BODY)
    FOR_BITWISE(BITWISE_BODY)
    FOR_STANDARD(WAIT_BODY)
    WAIT_BODY(short)
    WAIT_BODY(unsigned short)
    check_the_others();
    shmem_finalize();
    return failures != 0;
}
