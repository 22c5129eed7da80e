// rma_test.cpp: OpenSHMEM 1.6, "Remote Memory Access Routines".
#include "pe.hpp"

namespace rma_test {
namespace {

constexpr size_t kSizes[] = {0,    1,    2,    3,    7,     8,     9,     16,     63,     64,      65,      127,     128,
                             1000, 4095, 4096, 4097, 16384, 65535, 65536, 100003, 262144, 1048575, 1048576, 1048579, 3000001};
constexpr size_t kLargest = 3000001;
constexpr size_t kGuard = 64;
constexpr unsigned char kUntouched = 0xEE;

unsigned char global_bytes[4096];
long global_initialized = 12345;

TEST(Rma, APutOfAnySizeArrivesWholeAndTouchesNothingElse) {
  Symmetric<unsigned char> area(kLargest + 2 * kGuard);
  for (size_t number = 0; number < std::size(kSizes); ++number) {
    const size_t size = kSizes[number];
    memset(area, kUntouched, size + 2 * kGuard);
    shmem_barrier_all();
    std::vector<unsigned char> source = pattern_of(me(), number, size);
    shmem_putmem(area + kGuard, source.data(), size, right());
    std::fill(source.begin(), source.end(), 0);  // the source is free on return
    shmem_barrier_all();
    EXPECT_TRUE(holds_pattern(area + kGuard, left(), number, size)) << size << " bytes";
    EXPECT_EQ(area[kGuard - 1], kUntouched) << size << " bytes";
    EXPECT_EQ(area[kGuard + size], kUntouched) << size << " bytes";
    shmem_barrier_all();
  }
}

TEST(Rma, AGetOfAnySizeBringsTheWholeAndTouchesNothingElse) {
  Symmetric<unsigned char> area(kLargest);
  for (size_t number = 0; number < std::size(kSizes); ++number) {
    const size_t size = kSizes[number];
    const std::vector<unsigned char> mine = pattern_of(me(), number, size);
    if (size != 0) memcpy(area, mine.data(), size);
    shmem_barrier_all();
    std::vector<unsigned char> dest(size + 2 * kGuard, kUntouched);
    shmem_getmem(dest.data() + kGuard, area, size, right());
    EXPECT_TRUE(holds_pattern(dest.data() + kGuard, right(), number, size)) << size << " bytes";
    EXPECT_EQ(dest[kGuard - 1], kUntouched) << size << " bytes";
    EXPECT_EQ(dest[kGuard + size], kUntouched) << size << " bytes";
    shmem_barrier_all();
  }
}

TEST(Rma, NonBlockingPutsAndGetsAreCompleteAfterQuiet) {
  constexpr size_t kPieces = 16;
  const size_t size = 70001;
  Symmetric<unsigned char> in(kPieces * size), out(kPieces * size);
  std::vector<std::vector<unsigned char>> sources;
  for (size_t i = 0; i < kPieces; ++i) sources.push_back(pattern_of(me(), i, size));
  for (size_t i = 0; i < kPieces; ++i) shmem_putmem_nbi(in + i * size, sources[i].data(), size, right());
  shmem_quiet();
  shmem_barrier_all();
  for (size_t i = 0; i < kPieces; ++i) EXPECT_TRUE(holds_pattern(in + i * size, left(), i, size));
  for (size_t i = 0; i < kPieces; ++i) shmem_getmem_nbi(out + i * size, in + i * size, size, right());
  shmem_quiet();
  for (size_t i = 0; i < kPieces; ++i) EXPECT_TRUE(holds_pattern(out + i * size, me(), i, size));
  shmem_barrier_all();
}

TEST(Rma, EveryPePutsToEveryPe) {
  constexpr size_t kSlot = 5000;
  Symmetric<unsigned char> slots(kSlot * static_cast<size_t>(count()));
  for (int step = 0; step < count(); ++step) {
    const int target = (me() + step) % count();
    const std::vector<unsigned char> source = pattern_of(me(), static_cast<size_t>(target), kSlot);
    shmem_putmem(slots + static_cast<size_t>(me()) * kSlot, source.data(), kSlot, target);
  }
  shmem_barrier_all();
  for (int pe = 0; pe < count(); ++pe)
    EXPECT_TRUE(holds_pattern(slots + static_cast<size_t>(pe) * kSlot, pe, static_cast<size_t>(me()), kSlot)) << "from " << pe;
}

TEST(Rma, OddAddressesServeCallsOnBytes) {
  Symmetric<unsigned char> area(256);
  const std::vector<unsigned char> source = pattern_of(me(), 1, 103);
  shmem_putmem(area + 3, source.data() + 1, 101, right());
  shmem_barrier_all();
  EXPECT_TRUE(memcmp(area + 3, pattern_of(left(), 1, 103).data() + 1, 101) == 0);
}

TEST(Rma, GlobalsOfTheExecutableAreSymmetric) {
  static long in_function = -1;
  shmem_long_p(&global_initialized, 1000 + me(), right());
  shmem_long_p(&in_function, 2000 + me(), right());
  const std::vector<unsigned char> source = pattern_of(me(), 3, sizeof global_bytes);
  shmem_putmem(global_bytes, source.data(), sizeof global_bytes, right());
  shmem_barrier_all();
  EXPECT_EQ(global_initialized, 1000 + left());
  EXPECT_EQ(in_function, 2000 + left());
  EXPECT_TRUE(holds_pattern(global_bytes, left(), 3, sizeof global_bytes));
  EXPECT_EQ(shmem_long_g(&global_initialized, right()), 1000 + me());
  shmem_barrier_all();
}

TEST(Rma, OneCallMayMixHeapAndGlobals) {
  Symmetric<unsigned char> heap(sizeof global_bytes);
  const std::vector<unsigned char> mine = pattern_of(me(), 4, sizeof global_bytes);
  memcpy(heap, mine.data(), mine.size());
  shmem_barrier_all();
  shmem_putmem(global_bytes, heap, sizeof global_bytes, right());
  shmem_barrier_all();
  EXPECT_TRUE(holds_pattern(global_bytes, left(), 4, sizeof global_bytes));
  shmem_getmem(heap, global_bytes, sizeof global_bytes, right());
  EXPECT_TRUE(holds_pattern(heap, me(), 4, sizeof global_bytes));
  shmem_barrier_all();
}

TEST(Rma, APeMayAddressItself) {
  Symmetric<int> word(2);
  shmem_int_p(&word[0], 77, me());
  shmem_quiet();
  EXPECT_EQ(shmem_int_g(&word[0], me()), 77);
  shmem_int_put(&word[1], &word[0], 1, me());
  shmem_quiet();
  EXPECT_EQ(word[1], 77);
  shmem_barrier_all();
}

// One type: put and get, blocking or not, with context or without, p and g.
#define TYPED_TEST_BODY(N, T, ...)                                                                                    \
  void typed_##N(void* area) {                                                                                        \
    constexpr size_t kElements = 37;                                                                                  \
    T source[kElements], back[kElements];                                                                             \
    for (size_t i = 0; i < kElements; ++i) source[i] = static_cast<T>(me() * 3 + i);                                  \
    T* const put = static_cast<T*>(area);                                                                             \
    T *const put_nbi = put + kElements, *const ctx_put = put_nbi + kElements;                                         \
    T *const ctx_put_nbi = ctx_put + kElements, *const single = ctx_put_nbi + kElements;                              \
    shmem_barrier_all();                                                                                              \
    shmem_##N##_put(put, source, kElements, right());                                                                 \
    shmem_##N##_put_nbi(put_nbi, source, kElements, right());                                                         \
    shmem_ctx_##N##_put(SHMEM_CTX_DEFAULT, ctx_put, source, kElements, right());                                      \
    shmem_ctx_##N##_put_nbi(SHMEM_CTX_DEFAULT, ctx_put_nbi, source, kElements, right());                              \
    shmem_##N##_p(single, source[5], right());                                                                        \
    shmem_ctx_##N##_p(SHMEM_CTX_DEFAULT, single + 1, source[6], right());                                             \
    shmem_barrier_all();                                                                                              \
    for (size_t i = 0; i < kElements; ++i)                                                                            \
      for (const T* at : {put, put_nbi, ctx_put, ctx_put_nbi}) EXPECT_SAME(T, at[i], static_cast<T>(left() * 3 + i)); \
    EXPECT_SAME(T, single[0], static_cast<T>(left() * 3 + 5));                                                        \
    EXPECT_SAME(T, single[1], static_cast<T>(left() * 3 + 6));                                                        \
    EXPECT_SAME(T, shmem_##N##_g(put + 9, right()), source[9]);                                                       \
    EXPECT_SAME(T, shmem_ctx_##N##_g(SHMEM_CTX_DEFAULT, put + 8, right()), source[8]);                                \
    shmem_##N##_get(back, put, kElements, right());                                                                   \
    for (size_t i = 0; i < kElements; ++i) EXPECT_SAME(T, back[i], source[i]);                                        \
    shmem_ctx_##N##_get(SHMEM_CTX_DEFAULT, back, put_nbi, 1, right());                                                \
    EXPECT_SAME(T, back[0], source[0]);                                                                               \
    T nbi[2];                                                                                                         \
    shmem_##N##_get_nbi(&nbi[0], put + 3, 1, right());                                                                \
    shmem_ctx_##N##_get_nbi(SHMEM_CTX_DEFAULT, &nbi[1], put + 4, 1, right());                                         \
    shmem_quiet();                                                                                                    \
    EXPECT_SAME(T, nbi[0], source[3]);                                                                                \
    EXPECT_SAME(T, nbi[1], source[4]);                                                                                \
  }
SHMEMI_RMA(TYPED_TEST_BODY, )
#define CALL(N, T, function, ...) function##_##N(area.get());

TEST(Rma, EveryTypeMovesByPutGetPAndG) {
  Symmetric<long double> area(4 * 37 + 2);
  SHMEMI_RMA(CALL, typed)
  shmem_barrier_all();
}

#define SIZED_TEST_BODY(BITS, BYTES, ...)                                                           \
  void sized_##BITS(unsigned char* area) {                                                          \
    constexpr size_t kElements = 11, kBytes = kElements * BYTES;                                    \
    const std::vector<unsigned char> source = pattern_of(me(), BYTES, kBytes);                      \
    std::vector<unsigned char> back(kBytes);                                                        \
    memset(area, 0, 2 * kBytes + 2);                                                                \
    shmem_barrier_all();                                                                            \
    shmem_put##BITS(area, source.data(), kElements, right());                                       \
    shmem_ctx_put##BITS##_nbi(SHMEM_CTX_DEFAULT, area + kBytes, source.data(), kElements, right()); \
    shmem_barrier_all();                                                                            \
    EXPECT_TRUE(holds_pattern(area, left(), BYTES, kBytes));                                        \
    EXPECT_TRUE(holds_pattern(area + kBytes, left(), BYTES, kBytes));                               \
    EXPECT_EQ(area[2 * kBytes], 0);                                                                 \
    shmem_get##BITS(back.data(), area, kElements, right());                                         \
    EXPECT_EQ(back, source);                                                                        \
    std::fill(back.begin(), back.end(), 0);                                                         \
    shmem_get##BITS##_nbi(back.data(), area, kElements, right());                                   \
    shmem_barrier_all();                                                                            \
    EXPECT_EQ(back, source);                                                                        \
  }
SHMEMI_SIZES(SIZED_TEST_BODY, )

TEST(Rma, ElementsOfAFixedWidthAreCountedInThatWidth) {
  Symmetric<unsigned char> area(1024);
  SHMEMI_SIZES(CALL, sized)
  shmem_barrier_all();
}

}  // namespace
}  // namespace rma_test

#undef CALL
