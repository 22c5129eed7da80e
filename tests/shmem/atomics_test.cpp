// atomics_test.cpp: OpenSHMEM 1.6, "Atomic Memory Operations".
#include <set>

#include "pe.hpp"

namespace atomics_test {
namespace {

long global_counter;

TEST(Atomics, ConcurrentAddsToOnePeLoseNothing) {
  Symmetric<long> sum(1);
  Symmetric<int> small(1);
  const int n = rounds(20000);
  for (int i = 0; i < n; ++i) {
    shmem_long_atomic_add(sum, me() + 1, 0);
    shmem_int_atomic_inc(small, 0);
    shmem_long_atomic_inc(&global_counter, 0);
  }
  shmem_barrier_all();
  if (me() == 0) {
    EXPECT_EQ(sum[0], static_cast<long>(n) * count() * (count() + 1) / 2);
    EXPECT_EQ(small[0], n * count());
    EXPECT_EQ(global_counter, static_cast<long>(n) * count());
  }
  shmem_barrier_all();
}

TEST(Atomics, EveryPeHammersEveryPe) {
  Symmetric<unsigned long long> sum(1);
  const int n = rounds(4000);
  for (int i = 0; i < n; ++i) shmem_ulonglong_atomic_add(sum, 3, (me() + i) % count());
  shmem_barrier_all();
  unsigned long long total = 0;
  for (int pe = 0; pe < count(); ++pe) total += shmem_ulonglong_g(sum, pe);
  EXPECT_EQ(total, 3ull * static_cast<unsigned>(n) * static_cast<unsigned>(count()));
  shmem_barrier_all();
}

// The owner of the word, which adds to it directly, and the others share one atomicity domain.
TEST(Atomics, FetchAndAddGivesEveryTicketOnce) {
  const int n = rounds(3000);
  Symmetric<int> ticket(1), taken(static_cast<size_t>(n * count()));
  for (int i = 0; i < n; ++i) {
    const int mine = i % 2 ? shmem_int_atomic_fetch_add(ticket, 1, 0) : shmem_int_atomic_fetch_inc(ticket, 0);
    EXPECT_GE(mine, 0);
    EXPECT_LT(mine, n * count());
    shmem_int_atomic_inc(&taken[static_cast<size_t>(mine)], 0);
  }
  shmem_barrier_all();
  for (int i = 0; me() == 0 && i < n * count(); ++i) EXPECT_EQ(taken[static_cast<size_t>(i)], 1) << "ticket " << i;
  shmem_barrier_all();
}

TEST(Atomics, CompareAndSwapMakesALock) {
  Symmetric<long> lock(1), guarded(2);
  const int n = rounds(500);
  const int home = count() - 1;
  for (int i = 0; i < n; ++i) {
    while (shmem_long_atomic_compare_swap(lock, 0, me() + 1, home) != 0) {
    }
    EXPECT_EQ(shmem_long_atomic_fetch(lock, home), me() + 1);
    const long one = shmem_long_g(&guarded[0], home), two = shmem_long_g(&guarded[1], home);
    EXPECT_EQ(one, two);
    shmem_long_p(&guarded[0], one + 1, home);
    shmem_long_p(&guarded[1], two + 1, home);
    shmem_quiet();
    EXPECT_EQ(shmem_long_atomic_swap(lock, 0, home), me() + 1);
  }
  shmem_barrier_all();
  if (me() == home) {
    EXPECT_EQ(guarded[0], static_cast<long>(n) * count());
    EXPECT_EQ(guarded[1], static_cast<long>(n) * count());
  }
  shmem_barrier_all();
}

// Swaps only move tokens around: in the end each PE's last token and the word hold all of them once.
TEST(Atomics, SwapsLoseAndDoubleNothing) {
  Symmetric<uint64_t> word(1), held(static_cast<size_t>(count()));
  word[0] = 1000;
  shmem_barrier_all();
  uint64_t token = static_cast<uint64_t>(me());
  const int n = rounds(5000);
  for (int i = 0; i < n; ++i) token = shmem_uint64_atomic_swap(word, token, 0);
  shmem_uint64_p(&held[static_cast<size_t>(me())], token, 0);
  shmem_barrier_all();
  if (me() == 0) {
    std::multiset<uint64_t> tokens{word[0]}, expected{1000};
    for (int pe = 0; pe < count(); ++pe) {
      tokens.insert(held[static_cast<size_t>(pe)]);
      expected.insert(static_cast<uint64_t>(pe));
    }
    EXPECT_EQ(tokens, expected);
  }
  shmem_barrier_all();
}

TEST(Atomics, BitwiseOperationsOfAllPesAreAllSeen) {
  Symmetric<uint64_t> bits(3);
  bits[1] = ~uint64_t{0};
  shmem_barrier_all();
  for (int bit = me(); bit < 64; bit += count()) {
    const uint64_t mask = uint64_t{1} << bit;
    shmem_uint64_atomic_or(&bits[0], mask, 0);
    shmem_uint64_atomic_and(&bits[1], ~mask, 0);
    shmem_uint64_atomic_xor(&bits[2], mask, 0);
  }
  shmem_barrier_all();
  if (me() == 0) {
    EXPECT_EQ(bits[0], ~uint64_t{0});
    EXPECT_EQ(bits[1], 0u);
    EXPECT_EQ(bits[2], ~uint64_t{0});
  }
  shmem_barrier_all();
}

TEST(Atomics, ASetIsOrderedByFenceLikeAPut) {
  Symmetric<long> data(1), flag(1);
  for (long i = 1; i <= rounds(300); ++i) {
    shmem_long_atomic_set(data, i, right());
    shmem_fence();
    shmem_long_atomic_set(flag, i, right());
    shmem_long_wait_until(flag, SHMEM_CMP_GE, i);
    EXPECT_GE(shmem_long_atomic_fetch(data, me()), i);
    shmem_barrier_all();
  }
}

// Word `slot` of every PE belongs to its left neighbour, so results are exact.
#define EXTENDED_BODY(N, T, ...)                                                               \
  void extended_##N(void* area) {                                                              \
    using W = T; /* one word, also where the type has two */                                   \
    W* const word = static_cast<W*>(area);                                                     \
    W old = 0;                                                                                 \
    shmem_barrier_all();                                                                       \
    shmem_##N##_atomic_set(word, W(5), right());                                               \
    shmem_quiet();                                                                             \
    EXPECT_SAME(W, shmem_##N##_atomic_fetch(word, right()), W(5));                             \
    EXPECT_SAME(W, shmem_ctx_##N##_atomic_swap(SHMEM_CTX_DEFAULT, word, W(9), right()), W(5)); \
    shmem_##N##_atomic_fetch_nbi(&old, word, right());                                         \
    shmem_quiet();                                                                             \
    EXPECT_SAME(W, old, W(9));                                                                 \
    shmem_##N##_atomic_swap_nbi(&old, word, W(11), right());                                   \
    shmem_quiet();                                                                             \
    EXPECT_SAME(W, old, W(9));                                                                 \
    shmem_barrier_all();                                                                       \
    EXPECT_SAME(W, word[0], W(11));                                                            \
  }

#define STANDARD_BODY(N, T, ...)                                                         \
  void standard_##N(void* area) {                                                        \
    using W = T; /* one word, also where the type has two */                             \
    W* const word = static_cast<W*>(area);                                               \
    W old = 0;                                                                           \
    shmem_barrier_all();                                                                 \
    word[0] = W(-3);                                                                     \
    word[1] = 42;                                                                        \
    shmem_barrier_all();                                                                 \
    shmem_##N##_atomic_add(word, W(4), right());                                         \
    shmem_quiet();                                                                       \
    EXPECT_SAME(W, shmem_##N##_atomic_fetch_add(word, W(10), right()), W(1));            \
    shmem_##N##_atomic_inc(word, right());                                               \
    shmem_quiet();                                                                       \
    EXPECT_SAME(W, shmem_##N##_atomic_fetch_inc(word, right()), W(12));                  \
    EXPECT_SAME(W, shmem_##N##_atomic_compare_swap(word, W(1), W(0), right()), W(13));   \
    EXPECT_SAME(W, shmem_##N##_atomic_compare_swap(word, W(13), W(-1), right()), W(13)); \
    shmem_##N##_atomic_fetch_add_nbi(&old, word, W(-1), right());                        \
    shmem_quiet();                                                                       \
    EXPECT_SAME(W, old, W(-1));                                                          \
    shmem_##N##_atomic_fetch_inc_nbi(&old, word, right());                               \
    shmem_quiet();                                                                       \
    EXPECT_SAME(W, old, W(-2));                                                          \
    shmem_##N##_atomic_compare_swap_nbi(&old, word, W(-1), W(99), right());              \
    shmem_quiet();                                                                       \
    EXPECT_SAME(W, old, W(-1));                                                          \
    shmem_barrier_all();                                                                 \
    EXPECT_SAME(W, word[0], W(99));                                                      \
    EXPECT_SAME(W, word[1], W(42));                                                      \
  }

#define BITWISE_BODY(N, T, ...)                                                    \
  void bitwise_##N(void* area) {                                                   \
    using W = T; /* one word, also where the type has two */                       \
    W* const word = static_cast<W*>(area);                                         \
    W old = 0;                                                                     \
    shmem_barrier_all();                                                           \
    word[0] = W(0xF0);                                                             \
    shmem_barrier_all();                                                           \
    shmem_##N##_atomic_or(word, W(0x0A), right());                                 \
    shmem_quiet();                                                                 \
    EXPECT_SAME(W, shmem_##N##_atomic_fetch_and(word, W(0x3F), right()), W(0xFA)); \
    shmem_##N##_atomic_xor(word, W(0x01), right());                                \
    shmem_quiet();                                                                 \
    EXPECT_SAME(W, shmem_##N##_atomic_fetch_or(word, W(0x40), right()), W(0x3B));  \
    EXPECT_SAME(W, shmem_##N##_atomic_fetch_xor(word, W(0xFF), right()), W(0x7B)); \
    shmem_##N##_atomic_and(word, W(0x8F), right());                                \
    shmem_quiet();                                                                 \
    shmem_##N##_atomic_fetch_or_nbi(&old, word, W(1), right());                    \
    shmem_quiet();                                                                 \
    EXPECT_SAME(W, old, W(0x84));                                                  \
    shmem_##N##_atomic_fetch_and_nbi(&old, word, W(0x81), right());                \
    shmem_quiet();                                                                 \
    EXPECT_SAME(W, old, W(0x85));                                                  \
    shmem_##N##_atomic_fetch_xor_nbi(&old, word, W(0x81), right());                \
    shmem_quiet();                                                                 \
    EXPECT_SAME(W, old, W(0x81));                                                  \
    shmem_barrier_all();                                                           \
    EXPECT_SAME(W, word[0], W(0));                                                 \
  }

SHMEMI_AMO_EXTENDED(EXTENDED_BODY, )
SHMEMI_AMO_STANDARD(STANDARD_BODY, )
SHMEMI_AMO_BITWISE(BITWISE_BODY, )
#define CALL(N, T, function, ...) function##_##N(area.get());

TEST(Atomics, EveryExtendedTypeFetchesSetsAndSwaps) {
  Symmetric<uint64_t> area(2);
  SHMEMI_AMO_EXTENDED(CALL, extended)
}

TEST(Atomics, EveryStandardTypeAddsAndComparesAndSwaps) {
  Symmetric<uint64_t> area(2);
  SHMEMI_AMO_STANDARD(CALL, standard)
}

TEST(Atomics, EveryBitwiseTypeAndsOrsAndXors) {
  Symmetric<uint64_t> area(2);
  SHMEMI_AMO_BITWISE(CALL, bitwise)
}

}  // namespace
}  // namespace atomics_test

#undef CALL
