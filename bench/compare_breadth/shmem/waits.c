/* Waits for memory: a number goes once around the ring of PEs, and each waits for it in one of these ways. And waits in vain, or for what
 * is there. */
#include "kinds.h"

enum { kFlags = 8 };

static void send_one(void) { shmem_long_p(exposed, turn, right); }
static void around(void (*send)(void), void (*wait)(void)) {
    ++turn;
    if (me != 0) wait();
    send();
    if (me == 0) wait();
}

static void for_one(void) {
    shmem_long_wait_until(exposed, SHMEM_CMP_EQ, turn);
    expect(exposed[0] == turn);
}
static void for_one_int(void) { shmem_int_wait_until((int *)exposed, SHMEM_CMP_GE, (int)turn); }
static void send_int(void) { shmem_int_p((int *)exposed, (int)turn, right); }
static void poll_one(void) {
    while (!shmem_long_test(exposed, SHMEM_CMP_EQ, turn)) continue;
}
static void wait_until(void) { around(send_one, for_one); }
static void int_wait_until(void) { around(send_int, for_one_int); }
static void test(void) { around(send_one, poll_one); }
static void wait_for_nothing(void) { shmem_long_wait_until(exposed, SHMEM_CMP_EQ, 0); }
static void test_in_vain(void) { expect(!shmem_long_test(exposed, SHMEM_CMP_NE, 0)); }
static void put_wait(void) {
    ++turn;
    shmem_long_p(exposed, turn, right);
    shmem_long_wait_until(exposed, SHMEM_CMP_GE, turn);
}
static void all_come(void) {
    ++turn;
    shmem_long_atomic_inc(exposed, 0);
    if (me == 0) {
        shmem_long_wait_until(exposed, SHMEM_CMP_GE, turn * pes);
        for (int i = 1; i < pes; ++i) shmem_long_p(exposed, turn, i);
    } else {
        shmem_long_wait_until(exposed, SHMEM_CMP_EQ, turn);
    }
}

#if HAS_1_5
static long *numbers; /* kFlags times `turn` */
static void make_numbers(void) { numbers = sent; }
static size_t chosen(void) { return (size_t)turn % kFlags; }
static void send_chosen(void) { shmem_long_p(exposed + chosen(), turn, right); }
static void send_all(void) {
    for (int i = 0; i < kFlags; ++i) shmem_long_p(exposed + i, turn, right);
}
static void number(void) {
    for (int i = 0; i < kFlags; ++i) numbers[i] = turn;
}
static void for_any(void) { expect(shmem_long_wait_until_any(exposed, kFlags, NULL, SHMEM_CMP_EQ, turn) == chosen()); }
static void for_all(void) { shmem_long_wait_until_all(exposed, kFlags, NULL, SHMEM_CMP_EQ, turn); }
static void for_some(void) {
    size_t which[kFlags];
    expect(shmem_long_wait_until_some(exposed, kFlags, which, NULL, SHMEM_CMP_EQ, turn) == 1 && which[0] == chosen());
}
static void for_any_vector(void) {
    number();
    expect(shmem_long_wait_until_any_vector(exposed, kFlags, NULL, SHMEM_CMP_EQ, numbers) == chosen());
}
static void for_all_vector(void) {
    number();
    shmem_long_wait_until_all_vector(exposed, kFlags, NULL, SHMEM_CMP_EQ, numbers);
}
static void for_some_vector(void) {
    size_t which[kFlags];
    number();
    expect(shmem_long_wait_until_some_vector(exposed, kFlags, which, NULL, SHMEM_CMP_EQ, numbers) == 1 && which[0] == chosen());
}
static void poll_any(void) {
    size_t found;
    do found = shmem_long_test_any(exposed, kFlags, NULL, SHMEM_CMP_EQ, turn);
    while (found == SIZE_MAX);
    expect(found == chosen());
}
static void poll_all(void) {
    while (!shmem_long_test_all(exposed, kFlags, NULL, SHMEM_CMP_EQ, turn)) continue;
}
static void poll_some(void) {
    size_t which[kFlags];
    while (shmem_long_test_some(exposed, kFlags, which, NULL, SHMEM_CMP_EQ, turn) == 0) continue;
    expect(which[0] == chosen());
}
static void poll_any_vector(void) {
    number();
    while (shmem_long_test_any_vector(exposed, kFlags, NULL, SHMEM_CMP_EQ, numbers) == SIZE_MAX) continue;
}
static void poll_all_vector(void) {
    number();
    while (!shmem_long_test_all_vector(exposed, kFlags, NULL, SHMEM_CMP_EQ, numbers)) continue;
}
static void poll_some_vector(void) {
    size_t which[kFlags];
    number();
    while (shmem_long_test_some_vector(exposed, kFlags, which, NULL, SHMEM_CMP_EQ, numbers) == 0) continue;
}
static void wait_until_any(void) { around(send_chosen, for_any); }
static void wait_until_all(void) { around(send_all, for_all); }
static void wait_until_some(void) { around(send_chosen, for_some); }
static void wait_until_any_vector(void) { around(send_chosen, for_any_vector); }
static void wait_until_all_vector(void) { around(send_all, for_all_vector); }
static void wait_until_some_vector(void) { around(send_chosen, for_some_vector); }
static void test_any(void) { around(send_chosen, poll_any); }
static void test_all(void) { around(send_all, poll_all); }
static void test_some(void) { around(send_chosen, poll_some); }
static void test_any_vector(void) { around(send_chosen, poll_any_vector); }
static void test_all_vector(void) { around(send_all, poll_all_vector); }
static void test_some_vector(void) { around(send_chosen, poll_some_vector); }
#endif

static void check(void) { expect(exposed[0] == turn); }
static void check_gathered(void) { expect(exposed[0] == (me == 0 ? turn * pes : turn)); }

const struct Kind waits[] = {
    {"wait-until", wait_until, NULL, check},
    {"int-wait-until", int_wait_until, NULL, NULL},
    {"test", test, NULL, check},
    {"wait-until-true", wait_for_nothing, NULL, NULL},
    {"test-in-vain", test_in_vain, NULL, NULL},
    {"p-wait-until", put_wait, NULL, check},
    {"add-of-all-wait-until", all_come, NULL, check_gathered},
    SINCE_1_5("wait-until-any", wait_until_any, NULL, NULL),
    SINCE_1_5("wait-until-all", wait_until_all, NULL, check),
    SINCE_1_5("wait-until-some", wait_until_some, NULL, NULL),
    SINCE_1_5("wait-until-any-vector", wait_until_any_vector, make_numbers, NULL),
    SINCE_1_5("wait-until-all-vector", wait_until_all_vector, make_numbers, check),
    SINCE_1_5("wait-until-some-vector", wait_until_some_vector, make_numbers, NULL),
    SINCE_1_5("test-any", test_any, NULL, NULL),
    SINCE_1_5("test-all", test_all, NULL, check),
    SINCE_1_5("test-some", test_some, NULL, NULL),
    SINCE_1_5("test-any-vector", test_any_vector, make_numbers, NULL),
    SINCE_1_5("test-all-vector", test_all_vector, make_numbers, check),
    SINCE_1_5("test-some-vector", test_some_vector, make_numbers, NULL),
    {NULL, NULL, NULL, NULL},
};
