// sync_test.cpp: OpenSHMEM 1.6, "Point-To-Point Synchronization", "Memory Ordering", "Barrier".
#include <sched.h>

#include <atomic>

#include "pe.hpp"
#include "portals/portals4_ext.h"

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

// PE 0 sleeps until the first word of a cache line changes; PE 1 changes the others by one call after the other, each of which must ring.
class Asleep {
 public:
  Asleep() : ids_(2), line_(static_cast<uint64_t*>(shmem_align(64, 64))) {
    EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni_), PTL_OK);
    ptl_process_t id;
    EXPECT_EQ(PtlGetPhysId(ni_, &id), PTL_OK);
    if (me() == 0) memset(line_, 0, 64), shmem_putmem(ids_, &id, sizeof id, 1);
    shmem_barrier_all();
    if (me() == 1) { EXPECT_EQ(PtlxNodeWatch(ni_, ids_[0], &watch_), PTL_OK); }
    if (me() == 0) shmem_uint64_wait_until(line_, SHMEM_CMP_EQ, 7);
  }
  ~Asleep() {
    if (me() == 1) shmem_uint64_p(line_, 7, 0);
    shmem_barrier_all();
    PtlNIFini(ni_);
    shmem_free(line_);
  }
  template <class Store>
  void is_woken(const char* call, Store&& store) {
    if (me() != 1) return;
    const std::atomic_ref<uint32_t> watched(*watch_.watched);
    const uint64_t source = 7;
    uint32_t asleep = 0;
    for (int i = 0; i < 1'000'000 && (asleep = watched.load()) == 0; ++i) sched_yield();
    const uint64_t before = rings();
    store(line_ + 1, &source);
    EXPECT_TRUE(asleep == 0 || rings() > before) << call << " woke nobody";  // 0: the kernel has no membarrier, so PE 0 naps
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
  for (int pe = 0; pe < count(); ++pe)
    if (!shmem_ptr(&old, pe)) return;  // as on all other PEs: not all of them are on one node
  if (count() < 2) return;
  Asleep pe;
#define STORES(call) pe.is_woken(#call, [](uint64_t* word, const uint64_t* source) { static_cast<void>(source); call; })
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
