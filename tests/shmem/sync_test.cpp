// sync_test.cpp: OpenSHMEM 1.6, "Point-To-Point Synchronization", "Memory Ordering", "Barrier".
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "pe.hpp"
#include "portals/portals4_ext.h"

namespace sync_test {
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
#define COMPARISON_BODY(N, T, ...)                                               \
  void comparison_##N(void* area, const Case& c) {                               \
    T* const word = static_cast<T*>(area);                                       \
    word[0] = static_cast<T>(c.before);                                          \
    shmem_barrier_all();                                                         \
    shmem_##N##_atomic_set(word, static_cast<T>(c.after), right());              \
    shmem_##N##_wait_until(word, c.cmp, static_cast<T>(c.value));                \
    EXPECT_SAME(T, word[0], static_cast<T>(c.after));                            \
    EXPECT_SAME(int, shmem_##N##_test(word, c.cmp, static_cast<T>(c.value)), 1); \
    shmem_barrier_all();                                                         \
    word[0] = static_cast<T>(c.before);                                          \
    EXPECT_SAME(int, shmem_##N##_test(word, c.cmp, static_cast<T>(c.value)), 0); \
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

bool all_on_one_node() {
  static int word;
  for (int pe = 0; pe < count(); ++pe)
    if (!shmem_ptr(&word, pe)) return false;  // as on all other PEs
  return true;
}

// PE 0 sleeps until words of a cache line, zero at first, let it go; PE 1 changes them.
class Asleep {
 public:
  explicit Asleep(void (*wait)(uint64_t* line)) : ids_(2), line_(static_cast<uint64_t*>(shmem_align(64, 64))) {
    EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni_), PTL_OK);
    ptl_process_t id;
    EXPECT_EQ(PtlGetPhysId(ni_, &id), PTL_OK);
    if (me() == 0) memset(line_, 0, 64), shmem_putmem(ids_, &id, sizeof id, 1);
    shmem_barrier_all();
    if (me() == 1) {
      EXPECT_EQ(PtlxNodeWatch(ni_, ids_[0], &watch_), PTL_OK);
    }
    if (me() == 0) wait(line_);
  }
  ~Asleep() {
    shmem_barrier_all();
    PtlNIFini(ni_);
    shmem_free(line_);
  }
  // False: it was not seen to; where the kernel has no membarrier, PE 0 naps.
  bool seen() const {
    constexpr uint32_t kLibrary = uint32_t{1} << 31;  // set by barriers
    const std::atomic_ref<uint32_t> watched(*watch_.watched);
    watched.fetch_and(kLibrary);  // what former sleeps left; who sleeps now sets his bits again soon
    for (int i = 0; i < 1'000'000; ++i, sched_yield())
      if ((watched.load() & ~kLibrary) != 0) return true;
    return false;
  }
  template <class Store>
  void is_woken(const char* call, Store&& store) {
    if (me() != 1) return;
    const uint64_t source = 7;
    const bool asleep = seen();
    const uint64_t before = rings();
    store(line_ + 1, &source);
    EXPECT_TRUE(!asleep || rings() > before) << call << " woke nobody";
  }
  void store(size_t word, uint64_t value) const {
    if (me() == 1) shmem_uint64_p(line_ + word, value, 0);
  }

 private:
  static uint64_t rings() {
    ptlx_engine_info_t engine{};
    EXPECT_EQ(PtlxEngineInfo(&engine), PTL_OK);
    return engine.rings;
  }

  Symmetric<ptl_process_t> ids_;
  uint64_t* line_;
  ptl_handle_ni_t ni_{};
  ptlx_watch_t watch_{};
};

TEST(Wait, EveryCallThatStoresWakesWhoSleepsThere) {
  static uint64_t old, payload;
  if (count() < 2 || !all_on_one_node()) return;
  Asleep pe([](uint64_t* line) { shmem_uint64_wait_until(line, SHMEM_CMP_EQ, 7); });
#define STORES(call)                                              \
  pe.is_woken(#call, [](uint64_t* word, const uint64_t* source) { \
    static_cast<void>(source);                                    \
    call;                                                         \
  })
  STORES(shmem_uint64_p(word, 7, 0));
  STORES(shmem_uint64_put(word, source, 1, 0));
  STORES(shmem_putmem_nbi(word, source, 8, 0));
  STORES(shmem_uint64_iput(word, source, 1, 1, 1, 0));
  STORES(shmem_uint64_ibput(word, source, 1, 1, 1, 1, 0));
  STORES(shmem_uint64_atomic_set(word, 7, 0));
  STORES(shmem_uint64_atomic_add(word, 7, 0));
  STORES(shmem_uint64_atomic_swap(word, 7, 0));
  STORES(shmem_uint64_atomic_compare_swap(word, 0, 7, 0));
  STORES(shmem_uint64_atomic_fetch_xor_nbi(&old, word, 7, 0));
  STORES(shmem_uint64_put_signal(&payload, source, 1, word, 7, SHMEM_SIGNAL_SET, 0));
  STORES(shmem_uint64_put_signal_nbi(word, source, 1, &payload, 7, SHMEM_SIGNAL_ADD, 0));
  STORES(shmem_signal_add(word, 7, 0));
#undef STORES
  pe.store(0, 7);
}

TEST(Wait, ForAllItIsEnoughThatEachHasHeldOnce) {
  if (count() < 2 || !all_on_one_node()) return;
  Asleep pe([](uint64_t* line) {
    line[0] = 7;
    shmem_uint64_wait_until_all(line, 2, nullptr, SHMEM_CMP_EQ, 7);
  });
  if (me() == 1 && pe.seen()) pe.store(0, 1);  // it has seen the first, and waits for the second
  pe.store(1, 7);
}

TEST(Wait, AStoreThroughAPointerIsSeen) {
  Symmetric<long> word(1);
  auto* const there = static_cast<long*>(shmem_ptr(word, right()));
  if (there) __atomic_store_n(there, 5, __ATOMIC_RELEASE);
  else shmem_long_p(word, 5, right());
  shmem_long_wait_until(word, SHMEM_CMP_EQ, 5);
  shmem_barrier_all();
}

TEST(Order, FencePutsDataBeforeTheFlag) {
  for (const size_t size : {size_t{8}, size_t{60}, size_t{1000}, size_t{40000}, size_t{400000}}) {
    SCOPED_TRACE(size);
    Symmetric<unsigned char> data(size);
    Symmetric<long> flag(1), done(1);
    for (long i = 1; i <= rounds(100); ++i) {
      const std::vector<unsigned char> source = pattern_of(me(), static_cast<size_t>(i), size);
      if (i % 2) shmem_putmem(data, source.data(), size, right());
      else shmem_putmem_nbi(data, source.data(), size, right());
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

// The update of a signal follows its payload; a fence must not forget that it is still to come.
TEST(Order, FencePutsSignalsAndAtomicsBeforeTheFlag) {
  Symmetric<long> box(1000), flag(1), counter(1);
  Symmetric<uint64_t> signal(2);
  const std::vector<long> source(1000, 7);
  long old = 0;
  for (long i = 1; i <= rounds(90); ++i) {
    const size_t size = i % 3 == 0 ? 1000 : i % 3 == 1 ? 1 : 0;
    if (i % 2) shmem_long_put_signal(box, source.data(), size, signal, static_cast<uint64_t>(i), SHMEM_SIGNAL_SET, right());
    else shmem_long_put_signal_nbi(box, source.data(), size, signal, static_cast<uint64_t>(i), SHMEM_SIGNAL_SET, right());
    shmem_signal_add(&signal[1], 1, right());
    shmem_long_atomic_fetch_add_nbi(&old, counter, 1, right());
    shmem_fence();
    shmem_long_p(flag, i, right());
    shmem_long_wait_until(flag, SHMEM_CMP_EQ, i);
    EXPECT_EQ(shmem_signal_fetch(signal), static_cast<uint64_t>(i));
    EXPECT_EQ(shmem_signal_fetch(&signal[1]), static_cast<uint64_t>(i));
    EXPECT_EQ(shmem_long_atomic_fetch(counter, me()), i);
    shmem_barrier_all();
    EXPECT_EQ(old, i - 1);
  }
}

// PE 0 makes no call while the others read, write and count in its memory.
TEST(Progress, APeThatComputesServesTheOthers) {
  Symmetric<long> words(3000), counter(1), done(static_cast<size_t>(count()));
  for (size_t i = 0; i < 3000; ++i) words[i] = static_cast<long>(i);
  shmem_barrier_all();
  constexpr long kRounds = 3;
  const int others = std::min(count() - 1, 3);
  if (me() == 0) {
    for (size_t pe = 1; pe <= static_cast<size_t>(others); ++pe)
      while (__atomic_load_n(&done[pe], __ATOMIC_ACQUIRE) == 0) {
      }
    EXPECT_EQ(counter[0], kRounds * others);
  } else if (me() <= others) {
    std::vector<long> got(3000);
    for (long i = 1; i <= kRounds; ++i) {
      shmem_long_get(got.data(), words, 3000, 0);
      EXPECT_EQ(got[2999], 2999);
      EXPECT_GE(shmem_long_atomic_fetch_inc(counter, 0), i - 1);
    }
    shmem_long_p(&done[static_cast<size_t>(me())], 1, 0);
  }
  shmem_barrier_all();
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
}  // namespace sync_test

#undef CALL
