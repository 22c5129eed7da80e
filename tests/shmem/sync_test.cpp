// sync_test.cpp: OpenSHMEM 1.6, "Point-To-Point Synchronization", "Memory Ordering", "Barrier".
#include "pe.hpp"

namespace {

TEST(Wait, ATokenGoesRoundTheRingManyTimes) {
  Symmetric<long> token(1);
  const long n = rounds(500);
  for (long lap = 1; lap <= n; ++lap) {
    if (me() == 0) shmem_long_p(token, lap, right());
    shmem_long_wait_until(token, SHMEM_CMP_EQ, lap);
    if (me() != 0) shmem_long_p(token, lap, right());
  }
  shmem_barrier_all();
  EXPECT_EQ(token[0], n);
}

struct Case {
  int cmp, before, after, value;
};

// The value that ends the wait comes from the left neighbour, by an atomic.
#define COMPARISON_BODY(N, T, ...)                                                             \
  void comparison_##N(void* area, const Case& c) {                                             \
    T* const word = static_cast<T*>(area);                                                     \
    word[0] = static_cast<T>(c.before);                                                        \
    shmem_barrier_all();                                                                       \
    shmem_##N##_atomic_set(word, static_cast<T>(c.after), right());                            \
    shmem_##N##_wait_until(word, c.cmp, static_cast<T>(c.value));                              \
    EXPECT_SAME(T, word[0], static_cast<T>(c.after));                                          \
    EXPECT_SAME(int, shmem_##N##_test(word, c.cmp, static_cast<T>(c.value)), 1);               \
    shmem_barrier_all();                                                                       \
    word[0] = static_cast<T>(c.before);                                                        \
    EXPECT_SAME(int, shmem_##N##_test(word, c.cmp, static_cast<T>(c.value)), 0);               \
  }
SHMEMI_AMO_STANDARD(COMPARISON_BODY, )
#define CALL(N, T, function, ...) function##_##N(area.get(), c);

TEST(Wait, EveryComparisonOfEveryTypeEndsWhenItHolds) {
  constexpr Case cases[] = {{SHMEM_CMP_EQ, 1, 7, 7}, {SHMEM_CMP_NE, 1, 2, 1}, {SHMEM_CMP_GT, 1, 6, 5},
                            {SHMEM_CMP_GE, 1, 5, 5}, {SHMEM_CMP_LT, 9, 4, 5}, {SHMEM_CMP_LE, 9, 5, 5}};
  Symmetric<uint64_t> area(1);
  for (const Case& c : cases) {
    SHMEMI_AMO_STANDARD(CALL, comparison)
  }
  shmem_barrier_all();
}

TEST(Wait, SignedValuesAreComparedAsSuch) {
  Symmetric<int> word(1);
  word[0] = 3;
  shmem_barrier_all();
  shmem_int_p(word, -1, right());
  shmem_int_wait_until(word, SHMEM_CMP_LT, 0);
  EXPECT_EQ(word[0], -1);
  shmem_barrier_all();
}

TEST(Wait, ALoopOfTestsSeesTheChange) {
  Symmetric<int> word(1);
  for (int i = 1; i <= rounds(100); ++i) {
    shmem_int_p(word, i, right());
    while (!shmem_int_test(word, SHMEM_CMP_GE, i)) {
    }
    shmem_barrier_all();
  }
  EXPECT_EQ(word[0], rounds(100));
}

TEST(Order, FencePutsDataBeforeTheFlag) {
  for (const size_t size : {size_t{8}, size_t{60}, size_t{1000}, size_t{40000}, size_t{400000}}) {
    SCOPED_TRACE(size);
    Symmetric<unsigned char> data(size);
    Symmetric<long> flag(1), done(1);
    for (long i = 1; i <= rounds(100); ++i) {
      const std::vector<unsigned char> source = pattern_of(me(), static_cast<size_t>(i), size);
      if (i % 2)
        shmem_putmem(data, source.data(), size, right());
      else
        shmem_putmem_nbi(data, source.data(), size, right());
      shmem_fence();
      shmem_long_p(flag, i, right());
      shmem_long_wait_until(flag, SHMEM_CMP_EQ, i);
      EXPECT_TRUE(holds_pattern(data, left(), static_cast<size_t>(i), size));
      shmem_long_p(done, i, left());
      shmem_long_wait_until(done, SHMEM_CMP_EQ, i);
      shmem_quiet();
    }
    shmem_barrier_all();
  }
}

TEST(Order, QuietMakesUpdatesVisibleToThirdPes) {
  Symmetric<long> data(1), flag(1);
  for (long i = 1; i <= rounds(200); ++i) {
    const int holder = (me() + 1) % count(), reader = (me() + 2) % count();
    shmem_long_p(data, i, holder);
    shmem_quiet();
    shmem_long_p(flag, i, reader);
    shmem_long_wait_until(flag, SHMEM_CMP_EQ, i);
    EXPECT_EQ(shmem_long_g(data, (me() + count() - 1) % count()), i);  // written by me - 2 into me - 1
    shmem_barrier_all();
  }
}

TEST(Order, FenceAndQuietOnNoContextDoNothing) {
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_ctx_fence(SHMEM_CTX_DEFAULT);
  shmem_ctx_quiet(SHMEM_CTX_DEFAULT);
}

TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  Symmetric<long> arrived(static_cast<size_t>(count()));
  const long n = rounds(2000);
  for (long i = 1; i <= n; ++i) {
    const int shift = static_cast<int>(i % count());
    shmem_long_p(&arrived[static_cast<size_t>(me())], i, (me() + shift) % count());
    shmem_barrier_all();
    const int writer = (me() + count() - shift) % count();
    EXPECT_EQ(arrived[static_cast<size_t>(writer)], i);
    if (i % 16 == 0) shmem_sync_all();
    shmem_barrier_all();
  }
}

TEST(Barrier, SyncAllOrdersStoresToOnesOwnMemory) {
  Symmetric<long> value(1);
  for (long i = 1; i <= rounds(1000); ++i) {
    value[0] = i * 10 + me();
    shmem_sync_all();
    EXPECT_EQ(shmem_long_g(value, right()), i * 10 + right());
    shmem_sync_all();
  }
}

TEST(Barrier, LateComersAreWaitedFor) {
  Symmetric<int> arrived(1);
  for (int late = 0; late < count(); ++late) {
    volatile unsigned long work = 0;
    if (me() == late)
      for (int i = 0; i < 3000000; ++i) work = work + 1;
    shmem_int_atomic_inc(arrived, 0);
    shmem_barrier_all();
    EXPECT_EQ(shmem_int_g(arrived, 0), (late + 1) * count());
    shmem_barrier_all();
  }
}

}  // namespace
