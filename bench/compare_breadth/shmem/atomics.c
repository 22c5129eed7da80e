/* Atomics on the right neighbour's memory, which nobody else touches; what they fetch is looked at each time. */
#include "kinds.h"

static long fetched;
static const long kMask = 0x5555;

static void check(void) { expect(exposed[0] == turn); }
static void offer(void) {
    exposed[0] = kMask;
    shmem_barrier_all();
}

static void fetch(void) { expect(shmem_long_atomic_fetch(exposed, right) == kMask); }
static void set(void) { shmem_long_atomic_set(exposed, ++turn, right); }
static void swap(void) {
    fetched = shmem_long_atomic_swap(exposed, turn + 1, right);
    expect(fetched == turn++);
}
static void compare_swap(void) {
    fetched = shmem_long_atomic_compare_swap(exposed, turn, turn + 1, right);
    expect(fetched == turn++);
}
static void inc(void) {
    ++turn;
    shmem_long_atomic_inc(exposed, right);
}
static void fetch_inc(void) { expect(shmem_long_atomic_fetch_inc(exposed, right) == turn++); }
static void add(void) {
    ++turn;
    shmem_long_atomic_add(exposed, 1, right);
}
static void fetch_add(void) { expect(shmem_long_atomic_fetch_add(exposed, 1, right) == turn++); }
static void add_of_all(void) {
    ++turn;
    shmem_long_atomic_add(exposed, 1, 0);
}
static void fetch_add_of_all(void) {
    ++turn;
    shmem_long_atomic_fetch_add(exposed, 1, 0);
}
static void check_all(void) { expect(me != 0 || exposed[0] == turn * pes); }
static void add_self(void) {
    ++turn;
    shmem_long_atomic_add(exposed, 1, me);
}

/* Bits: what is there is kMask or what one operation makes of it, in turn. */
static unsigned long *bits(void) { return (unsigned long *)exposed; }
static void and(void) { shmem_ulong_atomic_and(bits(), kMask, right); }
static void or(void) { shmem_ulong_atomic_or(bits(), kMask, right); }
static void xor(void) {
    ++turn;
    shmem_ulong_atomic_xor(bits(), 1, right);
}
static void fetch_and(void) { expect(shmem_ulong_atomic_fetch_and(bits(), kMask, right) == kMask); }
static void fetch_or(void) { expect(shmem_ulong_atomic_fetch_or(bits(), kMask, right) == kMask); }
static void fetch_xor(void) { expect(shmem_ulong_atomic_fetch_xor(bits(), 1, right) == (kMask ^ (unsigned long)(turn++ & 1))); }
static void check_mask(void) { expect(exposed[0] == kMask); }
static void check_xor(void) { expect(exposed[0] == (kMask ^ (turn & 1))); }

/* Other types. */
static void int_add(void) {
    ++turn;
    shmem_int_atomic_add((int *)exposed, 1, right);
}
static void int_fetch_add(void) { expect(shmem_int_atomic_fetch_add((int *)exposed, 1, right) == turn++); }
static void int_compare_swap(void) {
    fetched = shmem_int_atomic_compare_swap((int *)exposed, (int)turn, (int)turn + 1, right);
    expect(fetched == turn++);
}
static void check_int(void) { expect(*(int *)exposed == turn); }
static void float_set(void) { shmem_float_atomic_set((float *)exposed, (float)++turn, right); }
static void check_float(void) { expect(*(float *)exposed == (float)turn); }
static void double_fetch(void) { expect(shmem_double_atomic_fetch((double *)exposed, right) == 0); }
static void double_swap(void) {
    expect(shmem_double_atomic_swap((double *)exposed, (double)turn + 1, right) == (double)turn);
    ++turn;
}
static void check_double(void) { expect(*(double *)exposed == (double)turn); }

#if HAS_1_5
/* Those without blocking are waited for by a quiet. */
static void done(long before) {
    shmem_quiet();
    expect(fetched == before);
}
static void fetch_nbi(void) {
    shmem_long_atomic_fetch_nbi(&fetched, exposed, right);
    done(kMask);
}
static void swap_nbi(void) {
    shmem_long_atomic_swap_nbi(&fetched, exposed, turn + 1, right);
    done(turn++);
}
static void compare_swap_nbi(void) {
    shmem_long_atomic_compare_swap_nbi(&fetched, exposed, turn, turn + 1, right);
    done(turn++);
}
static void fetch_inc_nbi(void) {
    shmem_long_atomic_fetch_inc_nbi(&fetched, exposed, right);
    done(turn++);
}
static void fetch_add_nbi(void) {
    shmem_long_atomic_fetch_add_nbi(&fetched, exposed, 1, right);
    done(turn++);
}
static void fetch_and_nbi(void) {
    shmem_ulong_atomic_fetch_and_nbi((unsigned long *)&fetched, bits(), kMask, right);
    done(kMask);
}
static void fetch_or_nbi(void) {
    shmem_ulong_atomic_fetch_or_nbi((unsigned long *)&fetched, bits(), kMask, right);
    done(kMask);
}
static void fetch_xor_nbi(void) {
    shmem_ulong_atomic_fetch_xor_nbi((unsigned long *)&fetched, bits(), 1, right);
    done(kMask ^ (turn++ & 1));
}
#endif

const struct Kind atomics[] = {
    {"atomic-fetch", fetch, offer, check_mask},
    {"atomic-set", set, NULL, check},
    {"atomic-swap", swap, NULL, check},
    {"atomic-compare-swap", compare_swap, NULL, check},
    {"atomic-inc", inc, NULL, check},
    {"atomic-fetch-inc", fetch_inc, NULL, check},
    {"atomic-add", add, NULL, check},
    {"atomic-fetch-add", fetch_add, NULL, check},
    {"atomic-add-of-all", add_of_all, NULL, check_all},
    {"atomic-fetch-add-of-all", fetch_add_of_all, NULL, check_all},
    {"atomic-add-self", add_self, NULL, check},
    {"atomic-and", and, offer, check_mask},
    {"atomic-or", or, offer, check_mask},
    {"atomic-xor", xor, offer, check_xor},
    {"atomic-fetch-and", fetch_and, offer, check_mask},
    {"atomic-fetch-or", fetch_or, offer, check_mask},
    {"atomic-fetch-xor", fetch_xor, offer, check_xor},
    {"int-atomic-add", int_add, NULL, check_int},
    {"int-atomic-fetch-add", int_fetch_add, NULL, check_int},
    {"int-atomic-compare-swap", int_compare_swap, NULL, check_int},
    {"float-atomic-set", float_set, NULL, check_float},
    {"double-atomic-fetch", double_fetch, NULL, NULL},
    {"double-atomic-swap", double_swap, NULL, check_double},
    SINCE_1_5("atomic-fetch-nbi", fetch_nbi, offer, check_mask),
    SINCE_1_5("atomic-swap-nbi", swap_nbi, NULL, check),
    SINCE_1_5("atomic-compare-swap-nbi", compare_swap_nbi, NULL, check),
    SINCE_1_5("atomic-fetch-inc-nbi", fetch_inc_nbi, NULL, check),
    SINCE_1_5("atomic-fetch-add-nbi", fetch_add_nbi, NULL, check),
    SINCE_1_5("atomic-fetch-and-nbi", fetch_and_nbi, offer, check_mask),
    SINCE_1_5("atomic-fetch-or-nbi", fetch_or_nbi, offer, check_mask),
    SINCE_1_5("atomic-fetch-xor-nbi", fetch_xor_nbi, offer, check_xor),
    {NULL, NULL, NULL, NULL},
};
