// signals_test.cpp: OpenSHMEM 1.6, "Signaling Operations", strided transfers, waits on several variables, locks, and the
// deprecated spellings of single operations.
#include <algorithm>

#include "pe.hpp"

namespace signals_test {
namespace {

uint64_t static_signal;

TEST(Signal, IsSeenAfterItsPayloadWhereverBothLie) {
  constexpr size_t kMost = 100000;
  Symmetric<unsigned char> box(kMost);
  Symmetric<uint64_t> heap_signal(1);
  size_t number = 0;
  for (uint64_t* signal : {heap_signal.get(), &static_signal})
    for (const size_t size : {size_t{0}, size_t{8}, size_t{5000}, kMost})
      for (const bool nbi : {false, true}) {
        ++number;
        *signal = 0;
        shmem_barrier_all();
        const auto bytes = pattern_of(me(), number, size);
        if (nbi) shmem_putmem_signal_nbi(box.get(), bytes.data(), size, signal, number, SHMEM_SIGNAL_SET, right());
        else shmem_putmem_signal(box.get(), bytes.data(), size, signal, number, SHMEM_SIGNAL_SET, right());
        EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, number), number);
        EXPECT_TRUE(holds_pattern(box, left(), number, size)) << size;
        shmem_barrier_all();
        EXPECT_EQ(shmem_signal_fetch(signal), number);
      }
}

TEST(Signal, AdditionsFromAllAddUp) {
  Symmetric<uint64_t> signal(1);
  Symmetric<long> box(static_cast<size_t>(count()));
  const int n = rounds(200);
  for (int i = 0; i < n; ++i) {
    const long value = me() * 1000 + i;
    for (int pe = 0; pe < count(); ++pe) shmem_long_put_signal(&box[static_cast<size_t>(me())], &value, 1, signal, 1, SHMEM_SIGNAL_ADD, pe);
  }
  EXPECT_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_GE, static_cast<uint64_t>(n * count())), static_cast<uint64_t>(n * count()));
  for (int pe = 0; pe < count(); ++pe) EXPECT_EQ(box[static_cast<size_t>(pe)], pe * 1000 + n - 1);
  shmem_barrier_all();
  shmem_signal_add(signal, 5, right());
  shmem_signal_wait_until(signal, SHMEM_CMP_EQ, static_cast<uint64_t>(n * count()) + 5);
  shmem_barrier_all();
  shmem_signal_set(SHMEM_CTX_DEFAULT, signal, 3, right());
  shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 3);
  shmem_barrier_all();
}

#define PUT_SIGNAL(N, T, ...)                                                                               \
  {                                                                                                         \
    const T value = static_cast<T>(me() + 1);                                                               \
    shmem_##N##_put_signal(static_cast<T*>(area), &value, 1, &static_signal, 1, SHMEM_SIGNAL_ADD, right()); \
    ++expected;                                                                                             \
    shmem_signal_wait_until(&static_signal, SHMEM_CMP_EQ, expected);                                        \
    EXPECT_SAME(T, *static_cast<T*>(area), static_cast<T>(left() + 1));                                     \
    shmem_barrier_all();                                                                                    \
  }
TEST(Signal, EveryTypeIsPutWithIt) {
  Symmetric<long double> word(1);
  void* const area = word.get();
  uint64_t expected = 0;
  static_signal = 0;
  shmem_barrier_all();
  SHMEMI_RMA(PUT_SIGNAL, )
}

#define STRIDED(N, T, ...)                                                                                     \
  void strided_##N(void* area) {                                                                               \
    T* const dest = static_cast<T*>(area);                                                                     \
    T source[24], back[24];                                                                                    \
    for (int i = 0; i < 24; ++i) source[i] = static_cast<T>(i + me()), back[i] = dest[i] = static_cast<T>(99); \
    shmem_barrier_all();                                                                                       \
    shmem_##N##_iput(dest, source, 3, 2, 5, right());                                                          \
    shmem_##N##_ibput(dest + 1, source, 6, 3, 2, 2, right());                                                  \
    shmem_barrier_all();                                                                                       \
    for (int i = 0; i < 5; ++i) EXPECT_SAME(T, dest[3 * i], static_cast<T>(2 * i + left()));                   \
    EXPECT_SAME(T, dest[1], static_cast<T>(left()));                                                           \
    EXPECT_SAME(T, dest[2], static_cast<T>(1 + left()));                                                       \
    EXPECT_SAME(T, dest[7], static_cast<T>(3 + left()));                                                       \
    EXPECT_SAME(T, dest[8], static_cast<T>(4 + left()));                                                       \
    EXPECT_SAME(T, dest[4], static_cast<T>(99));                                                               \
    shmem_##N##_iget(back, dest, 2, 3, 5, right());                                                            \
    shmem_##N##_ibget(back + 15, dest + 1, 2, 6, 2, 2, right());                                               \
    for (int i = 0; i < 5; ++i) EXPECT_SAME(T, back[2 * i], static_cast<T>(2 * i + me()));                     \
    EXPECT_SAME(T, back[1], static_cast<T>(99));                                                               \
    EXPECT_SAME(T, back[18], static_cast<T>(4 + me()));                                                        \
    shmem_barrier_all();                                                                                       \
  }
SHMEMI_RMA(STRIDED, )
#define CALL(N, T, function) function##_##N(area.get());

TEST(Strided, ElementsAndBlocksOfEveryTypeGoWhereTheStridesSay) {
  Symmetric<long double> area(24);
  SHMEMI_RMA(CALL, strided)
}

TEST(Strided, WidthsAndNothing) {
  Symmetric<uint32_t> dest(16);
  const uint32_t source[] = {1, 2, 3, 4, 5, 6, 7, 8};
  shmem_iput32(dest, source, 2, 1, 8, right());
  shmem_iput32(dest, source, 1, 1, 0, right());
  shmem_ibput64(dest + 1, source, 1, 1, 0, 5, right());
  shmem_barrier_all();
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(dest[2 * i], i + 1);
  uint32_t back[8]{};
  shmem_iget32(back, dest.get(), 1, 2, 8, right());
  EXPECT_TRUE(std::equal(back, back + 8, source));
  shmem_barrier_all();
}

// ---- Several variables ------------------------------------------------------------------------------------------------

#define SEVERAL(N, T, ...)                                                                                                        \
  void several_##N(void* area) {                                                                                                  \
    T* const words = static_cast<T*>(area);                                                                                       \
    constexpr size_t kWords = 6;                                                                                                  \
    const int status[kWords] = {0, 1, 0, 0, 1, 0}; /* 1 and 4 are left out */                                                     \
    const T targets[kWords] = {1, 50, 3, 4, 50, 6};                                                                               \
    size_t indices[kWords];                                                                                                       \
    for (size_t i = 0; i < kWords; ++i) words[i] = 0;                                                                             \
    shmem_barrier_all();                                                                                                          \
    EXPECT_SAME(int, shmem_##N##_test_all(words, kWords, status, SHMEM_CMP_EQ, static_cast<T>(7)), 0);                            \
    EXPECT_SAME(size_t, shmem_##N##_test_any(words, kWords, status, SHMEM_CMP_EQ, static_cast<T>(7)), SIZE_MAX);                  \
    EXPECT_SAME(size_t, shmem_##N##_test_some(words, kWords, indices, status, SHMEM_CMP_EQ, static_cast<T>(7)), size_t{0});       \
    shmem_barrier_all();                                                                                                          \
    shmem_##N##_atomic_set(&words[3], static_cast<T>(7), right());                                                                \
    EXPECT_SAME(size_t, shmem_##N##_wait_until_any(words, kWords, status, SHMEM_CMP_EQ, static_cast<T>(7)), size_t{3});           \
    EXPECT_SAME(size_t, shmem_##N##_wait_until_some(words, kWords, indices, status, SHMEM_CMP_EQ, static_cast<T>(7)), size_t{1}); \
    EXPECT_SAME(size_t, indices[0], size_t{3});                                                                                   \
    EXPECT_SAME(size_t, shmem_##N##_test_any(words, kWords, status, SHMEM_CMP_EQ, static_cast<T>(7)), size_t{3});                 \
    EXPECT_SAME(size_t, shmem_##N##_test_some(words, kWords, indices, nullptr, SHMEM_CMP_EQ, static_cast<T>(7)), size_t{1});      \
    shmem_barrier_all();                                                                                                          \
    for (size_t i : {0, 2, 3, 5}) shmem_##N##_atomic_set(&words[i], targets[i], right());                                         \
    shmem_##N##_wait_until_all_vector(words, kWords, status, SHMEM_CMP_EQ, targets);                                              \
    EXPECT_SAME(int, shmem_##N##_test_all_vector(words, kWords, status, SHMEM_CMP_EQ, targets), 1);                               \
    EXPECT_SAME(int, shmem_##N##_test_all(words, kWords, status, SHMEM_CMP_GT, static_cast<T>(0)), 1);                            \
    shmem_##N##_wait_until_all(words, kWords, status, SHMEM_CMP_NE, static_cast<T>(0));                                           \
    EXPECT_SAME(size_t, shmem_##N##_wait_until_some_vector(words, kWords, indices, status, SHMEM_CMP_GE, targets), size_t{4});    \
    EXPECT_SAME(size_t, shmem_##N##_test_some_vector(words, kWords, indices, status, SHMEM_CMP_EQ, targets), size_t{4});          \
    bool seen[kWords] = {};                                                                                                       \
    for (size_t i = 0; i < kWords; ++i) { /* nobody is passed over for ever */                                                    \
      seen[shmem_##N##_wait_until_any_vector(words, kWords, status, SHMEM_CMP_EQ, targets)] = true;                               \
      seen[shmem_##N##_test_any_vector(words, kWords, status, SHMEM_CMP_EQ, targets)] = true;                                     \
    }                                                                                                                             \
    for (size_t i = 0; i < kWords; ++i) EXPECT_SAME(bool, seen[i], status[i] == 0);                                               \
    shmem_barrier_all();                                                                                                          \
  }
SHMEMI_AMO_STANDARD(SEVERAL, )

TEST(Several, WaitAndTestAnyAllAndSomeOfEveryType) {
  Symmetric<uint64_t> area(6);
  SHMEMI_AMO_STANDARD(CALL, several)
}

TEST(Several, OfNoneThereIsNothingToWaitFor) {
  static int words[2];
  const int none[] = {1, 1};
  size_t indices[2];
  for (const size_t n : {size_t{0}, size_t{2}}) {
    shmem_int_wait_until_all(words, n, none, SHMEM_CMP_EQ, 5);
    EXPECT_EQ(shmem_int_wait_until_any(words, n, none, SHMEM_CMP_EQ, 5), SIZE_MAX);
    EXPECT_EQ(shmem_int_wait_until_some(words, n, indices, none, SHMEM_CMP_EQ, 5), 0u);
    EXPECT_EQ(shmem_int_test_all(words, n, none, SHMEM_CMP_EQ, 5), 1);
    EXPECT_EQ(shmem_int_test_any(words, n, none, SHMEM_CMP_EQ, 5), SIZE_MAX);
    EXPECT_EQ(shmem_int_test_some(words, n, indices, none, SHMEM_CMP_EQ, 5), 0u);
  }
  shmem_barrier_all();
}

// ---- Locks ------------------------------------------------------------------------------------------------------------

TEST(Lock, LetsOneInAtATime) {
  Symmetric<long> locks(3), total(1);
  const int n = rounds(300);
  for (int i = 0; i < n; ++i) {
    long* const lock = &locks[2];
    if (i % 3 == 0) {
      while (shmem_test_lock(lock) != 0) {
      }
    } else {
      shmem_set_lock(lock);
    }
    const long before = shmem_long_g(total, 0);
    shmem_long_p(total, before + 1, 0);
    shmem_clear_lock(lock);  // quiets
  }
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_g(total, 0), static_cast<long>(n) * count());
  EXPECT_EQ(locks[2] & 0xffffffff, 0);
  shmem_barrier_all();
}

// The upper half of the lock at its home names the last in the queue (locks.cpp): everybody waits there for the one before.
TEST(Lock, GoesToThoseWhoWaitInTheOrderInWhichTheyCame) {
  Symmetric<long> lock(1), turn(1), order(4);
  const int contenders = std::min(count(), 4);
  const auto await_last = [&](int pe) {
    for (bool found = false; !found;)
      for (int home = 0; home < count(); ++home) found |= shmem_long_g(lock, home) >> 32 == pe + 1;
  };
  if (me() < contenders) {
    if (me() == 0) shmem_set_lock(lock);
    await_last(me() == 0 ? contenders - 1 : me() - 1);
    if (me() != 0) shmem_set_lock(lock);
    const long place = shmem_long_g(turn, 0);
    shmem_long_p(&order[static_cast<size_t>(place)], me(), 0);
    shmem_long_p(turn, place + 1, 0);
    shmem_clear_lock(lock);
  }
  shmem_barrier_all();
  for (int pe = 0; me() == 0 && pe < contenders; ++pe) EXPECT_EQ(order[static_cast<size_t>(pe)], pe);
  shmem_barrier_all();
}

TEST(Lock, ThatSomebodyHasIsNotTakenByTest) {
  Symmetric<long> lock(1);
  if (me() == 0) {
    EXPECT_EQ(shmem_test_lock(lock), 0);
  }
  shmem_barrier_all();
  EXPECT_NE(shmem_test_lock(lock), 0);
  shmem_barrier_all();
  if (me() == 0) shmem_clear_lock(lock);
  shmem_barrier_all();
}

// ---- Deprecated -------------------------------------------------------------------------------------------------------

#define OLD_ATOMICS(N, T, ...)                                                              \
  {                                                                                         \
    static T word;                                                                          \
    word = 5;                                                                               \
    shmem_barrier_all();                                                                    \
    EXPECT_SAME(T, shmem_##N##_swap(&word, static_cast<T>(6), right()), static_cast<T>(5)); \
    EXPECT_SAME(T, shmem_##N##_fetch(&word, right()), static_cast<T>(6));                   \
    shmem_##N##_set(&word, static_cast<T>(7), right());                                     \
    shmem_barrier_all();                                                                    \
    EXPECT_SAME(T, word, static_cast<T>(7));                                                \
    shmem_barrier_all();                                                                    \
  }
#define OLD_ADDS(N, T, ...)                                                                                     \
  {                                                                                                             \
    static T word;                                                                                              \
    word = 1;                                                                                                   \
    shmem_barrier_all();                                                                                        \
    EXPECT_SAME(T, shmem_##N##_cswap(&word, static_cast<T>(1), static_cast<T>(2), right()), static_cast<T>(1)); \
    EXPECT_SAME(T, shmem_##N##_finc(&word, right()), static_cast<T>(2));                                        \
    shmem_##N##_inc(&word, right());                                                                            \
    shmem_quiet();                                                                                              \
    EXPECT_SAME(T, shmem_##N##_fadd(&word, static_cast<T>(3), right()), static_cast<T>(4));                     \
    shmem_##N##_add(&word, static_cast<T>(1), right());                                                         \
    shmem_##N##_wait_until(&word, SHMEM_CMP_EQ, static_cast<T>(8));                                             \
    shmem_barrier_all();                                                                                        \
  }
#define OLD_WAITS(N, T, ...)                                                       \
  {                                                                                \
    static T word;                                                                 \
    word = 0;                                                                      \
    shmem_barrier_all();                                                           \
    shmem_##N##_p(&word, static_cast<T>(2), right());                              \
    shmem_##N##_wait(&word, static_cast<T>(0));                                    \
    shmem_##N##_wait_until(&word, SHMEM_CMP_GT, static_cast<T>(1));                \
    EXPECT_SAME(int, shmem_##N##_test(&word, SHMEM_CMP_EQ, static_cast<T>(2)), 1); \
    shmem_barrier_all();                                                           \
  }
TEST(Deprecated, SingleOperationsDoWhatTheyDid) {
  EXPECT_EQ(_my_pe(), me());
  EXPECT_EQ(_num_pes(), count());
  SHMEMI_AMO_EXTENDED(OLD_ATOMICS, )
  SHMEMI_AMO_STANDARD(OLD_ADDS, )
  SHMEMI_OLD_WAIT(OLD_WAITS, )
  auto* block = static_cast<long*>(shmalloc(16));
  block = static_cast<long*>(shrealloc(block, 4000));
  ASSERT_NE(block, nullptr);
  *block = 0;
  shmem_barrier_all();
  shmem_long_p(block, 3, right());
  shmem_wait(block, 0);
  shmem_wait_until(block, SHMEM_CMP_EQ, 3L);
  shfree(block);
  void* aligned = shmemalign(4096, 10);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 4096, 0u);
  shfree(aligned);
}

}  // namespace
}  // namespace signals_test

#undef CALL
