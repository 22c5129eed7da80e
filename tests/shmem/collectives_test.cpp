// collectives_test.cpp: OpenSHMEM 1.6, "Collective Routines", on teams and on the deprecated active sets, every type.
#include <algorithm>
#include "pe.hpp"

namespace collectives_test {
namespace {

constexpr size_t kMost = 70000;  // bytes per PE in the large cases: beyond what is kept compiled

// Teams to try: all, all in reverse, every second.
template <class Body>
void on_teams(Body&& body) {
  shmem_team_t reversed, second;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, count() - 1, -1, count(), nullptr, 0, &reversed);
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (count() + 1) / 2, nullptr, 0, &second);
  for (shmem_team_t team : {SHMEM_TEAM_WORLD, reversed, second})
    if (team != SHMEM_TEAM_INVALID) body(team, shmem_team_my_pe(team), shmem_team_n_pes(team));
  shmem_team_destroy(second);
  shmem_team_destroy(reversed);
  shmem_barrier_all();
}

void fill(unsigned char* to, int pe, size_t number, size_t bytes) { std::ranges::copy(pattern_of(pe, number, bytes), to); }

// A dest must be ready on all PEs before any enters.
void ready(shmem_team_t team) { shmem_team_sync(team); }

TEST(Broadcast, ReachesAllTheRootToo) {
  Symmetric<unsigned char> source(kMost), dest(kMost);
  on_teams([&](shmem_team_t team, int my_pe, int n) {
    size_t number = 0;
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, kMost})
      for (int root = 0; root<n; root += n> 1 ? n - 1 : 1) {
        ++number;
        if (my_pe == root) fill(source.get(), root, number, bytes);
        memset(dest, 0, bytes);
        ready(team);
        EXPECT_EQ(shmem_broadcastmem(team, dest.get(), source.get(), bytes, root), 0);
        EXPECT_TRUE(holds_pattern(dest, root, number, bytes)) << bytes << " bytes from " << root;
      }
  });
}

TEST(Collect, ConcatenatesInTheOrderOfTheTeam) {
  Symmetric<unsigned char> source(kMost), dest(kMost * static_cast<size_t>(count()));
  on_teams([&](shmem_team_t team, int my_pe, int n) {
    for (const size_t bytes : {size_t{0}, size_t{3}, size_t{800}, kMost}) {
      fill(source.get(), my_pe, 1, bytes);
      ready(team);
      EXPECT_EQ(shmem_fcollectmem(team, dest.get(), source.get(), bytes), 0);
      for (int pe = 0; pe < n; ++pe) EXPECT_TRUE(holds_pattern(dest + static_cast<size_t>(pe) * bytes, pe, 1, bytes));
      // As much as everybody likes, nothing included.
      const auto share = [&](int pe) { return static_cast<size_t>(pe) * bytes / static_cast<size_t>(n); };
      ready(team);
      fill(source.get(), my_pe, 2, bytes);
      EXPECT_EQ(shmem_collectmem(team, dest.get(), source.get(), share(my_pe)), 0);
      size_t at = 0;
      for (int pe = 0; pe < n; at += share(pe), ++pe) EXPECT_TRUE(holds_pattern(dest + at, pe, 2, share(pe)));
    }
  });
}

TEST(Alltoall, PieceIGoesToPeI) {
  const auto all = static_cast<size_t>(count());
  Symmetric<int> source(3 * all * 2000), dest(2 * all * 2000);
  on_teams([&](shmem_team_t team, int my_pe, int n) {
    const auto value = [&](int from, int to, size_t k) { return from * 100000 + to * 5000 + static_cast<int>(k); };
    for (const size_t nelems : {size_t{0}, size_t{1}, size_t{17}, size_t{2000}}) {
      for (int to = 0; to < n; ++to)
        for (size_t k = 0; k < nelems; ++k) source[static_cast<size_t>(to) * nelems + k] = value(my_pe, to, k);
      ready(team);
      EXPECT_EQ(shmem_int_alltoall(team, dest, source, nelems), 0);
      for (int from = 0; from < n; ++from)
        for (size_t k = 0; k < nelems; ++k) EXPECT_SAME(int, dest[static_cast<size_t>(from) * nelems + k], value(from, my_pe, k));
      for (int to = 0; to < n; ++to)
        for (size_t k = 0; k < nelems; ++k) source[(static_cast<size_t>(to) * nelems + k) * 3] = value(my_pe, to, k) + 1;
      ready(team);
      EXPECT_EQ(shmem_int_alltoalls(team, dest, source, 2, 3, nelems), 0);
      for (int from = 0; from < n; ++from)
        for (size_t k = 0; k < nelems; ++k) EXPECT_SAME(int, dest[(static_cast<size_t>(from) * nelems + k) * 2], value(from, my_pe, k) + 1);
      ready(team);
    }
  });
}

constexpr size_t kElements = 5;

// Values of the PEs that are small enough for every type.
template <class T>
T given(int pe, size_t i) {
  return static_cast<T>((pe + static_cast<int>(i)) % 3 + 1);
}

#define RESULT(N, T, name, combine)                                                           \
  void name##_##N(shmem_team_t team, int n, void* to, void* from) {                           \
    T* const dest = static_cast<T*>(to);                                                      \
    T* const source = static_cast<T*>(from);                                                  \
    for (size_t i = 0; i < kElements; ++i) source[i] = given<T>(shmem_team_my_pe(team), i);   \
    ready(team);                                                                              \
    EXPECT_EQ(shmem_##N##_##name(team, dest, source, kElements), 0);                          \
    for (size_t i = 0; i < kElements; ++i) {                                                  \
      T x = given<T>(0, i);                                                                   \
      for (int pe = 1; pe < n; ++pe) {                                                        \
        const T y = given<T>(pe, i);                                                          \
        x = static_cast<T>(combine);                                                          \
      }                                                                                       \
      if (!(dest[i] == x)) ADD_FAILURE() << #N " " #name << " of " << n << ", element " << i; \
    }                                                                                         \
    memcpy(to, from, kElements * sizeof(T));                                                  \
    ready(team);                                                                              \
    EXPECT_EQ(shmem_##N##_##name(team, dest, dest, kElements), 0); /* in place */             \
    ready(team);                                                                              \
  }
#define AND(N, T, ...) RESULT(N, T, and_reduce, x& y)
#define OR(N, T, ...) RESULT(N, T, or_reduce, x | y)
#define XOR(N, T, ...) RESULT(N, T, xor_reduce, x ^ y)
#define MAX(N, T, ...) RESULT(N, T, max_reduce, x < y ? y : x)
#define MIN(N, T, ...) RESULT(N, T, min_reduce, y < x ? y : x)
#define SUM(N, T, ...) RESULT(N, T, sum_reduce, x + y)
#define PROD(N, T, ...) RESULT(N, T, prod_reduce, x* y)
SHMEMI_REDUCE_BITWISE(AND, )
SHMEMI_REDUCE_BITWISE(OR, )
SHMEMI_REDUCE_BITWISE(XOR, )
SHMEMI_RMA(MAX, )
SHMEMI_RMA(MIN, )
SHMEMI_REDUCE_SUM(SUM, )
SHMEMI_REDUCE_SUM(PROD, )
#define CALL(N, T, name) name##_##N(team, n, dest.get(), source.get());

TEST(Reduce, EveryOperationOfEveryTypeCombinesAll) {
  Symmetric<long double> source(kElements), dest(kElements);
  const shmem_team_t team = SHMEM_TEAM_WORLD;
  const int n = count();
  SHMEMI_REDUCE_BITWISE(CALL, and_reduce)
  SHMEMI_REDUCE_BITWISE(CALL, or_reduce)
  SHMEMI_REDUCE_BITWISE(CALL, xor_reduce)
  SHMEMI_RMA(CALL, max_reduce)
  SHMEMI_RMA(CALL, min_reduce)
  SHMEMI_REDUCE_SUM(CALL, sum_reduce)
  SHMEMI_REDUCE_SUM(CALL, prod_reduce)
}

TEST(Reduce, LargeVectorsInPlaceToo) {
  constexpr size_t kLarge = 20000;
  Symmetric<long> source(kLarge), dest(kLarge);
  on_teams([&](shmem_team_t team, int my_pe, int n) {
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < kLarge; ++i) source[i] = static_cast<long>(i) * (my_pe + 1) + round;
      ready(team);
      EXPECT_EQ(shmem_sum_reduce(team, dest.get(), source.get(), kLarge), 0);
      EXPECT_EQ(shmem_sum_reduce(team, source.get(), source.get(), kLarge), 0);
      for (size_t i = 0; i < kLarge; ++i) {
        const long sum = static_cast<long>(i) * n * (n + 1) / 2 + n * round;
        EXPECT_SAME(long, dest[i], sum);
        EXPECT_SAME(long, source[i], sum);
      }
      ready(team);
    }
  });
}

#define SCAN(N, T, ...)                                                                \
  void scan_##N(shmem_team_t team, int n, void* to, void* from) {                      \
    T* const dest = static_cast<T*>(to);                                               \
    T* const source = static_cast<T*>(from);                                           \
    const int my_pe = shmem_team_my_pe(team);                                          \
    for (size_t i = 0; i < kElements; ++i) source[i] = given<T>(my_pe, i);             \
    ready(team);                                                                       \
    EXPECT_EQ(shmem_##N##_sum_inscan(team, dest, source, kElements), 0);               \
    for (size_t i = 0; i < kElements; ++i) {                                           \
      T sum = given<T>(0, i);                                                          \
      for (int pe = 1; pe <= my_pe; ++pe) sum = static_cast<T>(sum + given<T>(pe, i)); \
      if (!(dest[i] == sum)) ADD_FAILURE() << #N " inscan of " << n;                   \
    }                                                                                  \
    EXPECT_EQ(shmem_##N##_sum_exscan(team, dest, source, kElements), 0);               \
    for (size_t i = 0; i < kElements; ++i) {                                           \
      T sum{};                                                                         \
      for (int pe = 0; pe < my_pe; ++pe) sum = static_cast<T>(sum + given<T>(pe, i));  \
      if (!(dest[i] == sum)) ADD_FAILURE() << #N " exscan of " << n;                   \
    }                                                                                  \
    ready(team);                                                                       \
  }
SHMEMI_REDUCE_SUM(SCAN, )

TEST(Scan, EveryTypeSumsThoseBeforeAndExclusivelyStartsWithZero) {
  Symmetric<long double> source(kElements), dest(kElements);
  const shmem_team_t team = SHMEM_TEAM_WORLD;
  const int n = count();
  SHMEMI_REDUCE_SUM(CALL, scan)
}

TEST(Scan, SumsInPlaceToo) {
  for (const size_t n : {size_t{3}, size_t{20000}}) {
    Symmetric<long> numbers(n);
    on_teams([&](shmem_team_t team, int my_pe, int) {
      for (const bool inclusive : {true, false}) {
        for (size_t i = 0; i < n; ++i) numbers[i] = my_pe + 1 + static_cast<long>(i);
        ready(team);
        EXPECT_EQ(inclusive ? shmem_long_sum_inscan(team, numbers, numbers, n) : shmem_long_sum_exscan(team, numbers, numbers, n), 0);
        const long before = inclusive ? my_pe + 1 : my_pe;
        for (size_t i = 0; i < n; ++i) EXPECT_SAME(long, numbers[i], before*(before + 1) / 2 + before * static_cast<long>(i));
        ready(team);
      }
    });
  }
}

#define MOVE(N, T, ...)                                                                  \
  void move_##N(shmem_team_t team, int n, void* to, void* from) {                        \
    T* const dest = static_cast<T*>(to);                                                 \
    T* const source = static_cast<T*>(from);                                             \
    const int my_pe = shmem_team_my_pe(team);                                            \
    for (int i = 0; i < n; ++i) source[i] = given<T>(my_pe, static_cast<size_t>(i));     \
    ready(team);                                                                         \
    EXPECT_EQ(shmem_##N##_broadcast(team, dest, source, 1, n - 1), 0);                   \
    EXPECT_SAME(bool, dest[0] == given<T>(n - 1, 0), true);                              \
    ready(team);                                                                         \
    EXPECT_EQ(shmem_##N##_fcollect(team, dest, source, 1), 0);                           \
    EXPECT_SAME(bool, dest[n - 1] == given<T>(n - 1, 0), true);                          \
    ready(team);                                                                         \
    EXPECT_EQ(shmem_##N##_collect(team, dest, source, my_pe == 0 ? 0 : 1), 0);           \
    EXPECT_SAME(bool, n == 1 || dest[0] == given<T>(1, 0), true);                        \
    ready(team);                                                                         \
    EXPECT_EQ(shmem_##N##_alltoall(team, dest, source, 1), 0);                           \
    EXPECT_SAME(bool, dest[n - 1] == given<T>(n - 1, static_cast<size_t>(my_pe)), true); \
    ready(team);                                                                         \
    EXPECT_EQ(shmem_##N##_alltoalls(team, dest, source, 1, 1, 1), 0);                    \
    EXPECT_SAME(bool, dest[0] == given<T>(0, static_cast<size_t>(my_pe)), true);         \
    ready(team);                                                                         \
  }
SHMEMI_RMA(MOVE, )

TEST(Collectives, EveryTypeMoves) {
  Symmetric<long double> source(static_cast<size_t>(count())), dest(static_cast<size_t>(count()));
  const shmem_team_t team = SHMEM_TEAM_WORLD;
  const int n = count();
  SHMEMI_RMA(CALL, move)
}

// More shapes than are kept, twice, so that some are forgotten and made again.
TEST(Collectives, OfManySizesFollowEachOther) {
  Symmetric<int> source(64), dest(64);
  for (int round = 0; round < 2; ++round)
    for (size_t n = 1; n <= 40; ++n) {
      for (size_t i = 0; i < n; ++i) source[i] = me() + static_cast<int>(i) + round;
      EXPECT_EQ(shmem_int_max_reduce(SHMEM_TEAM_WORLD, dest, source, n), 0);
      EXPECT_EQ(dest[n - 1], count() - 1 + static_cast<int>(n) - 1 + round);
      shmem_sync_all();
    }
}

TEST(Collectives, OnAnInvalidTeamReturnNonzero) {
  static int word;
  EXPECT_NE(shmem_int_sum_reduce(SHMEM_TEAM_INVALID, &word, &word, 1), 0);
  EXPECT_NE(shmem_broadcastmem(SHMEM_TEAM_INVALID, &word, &word, 4, 0), 0);
  EXPECT_NE(shmem_sync(SHMEM_TEAM_INVALID), 0);
}

// ---- Active sets ------------------------------------------------------------------------------------------------------

long sync_words[SHMEM_COLLECT_SYNC_SIZE], other_words[SHMEM_REDUCE_SYNC_SIZE];
void prepare_sync() {
  for (long* words : {sync_words, other_words})
    for (int i = 0; i < SHMEM_SYNC_SIZE; ++i) words[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
}

TEST(ActiveSet, BroadcastLeavesTheRootAlone) {
  prepare_sync();
  Symmetric<uint64_t> source(2), dest(2);
  source[0] = 100 + static_cast<uint64_t>(me());
  dest[0] = 7;
  shmem_barrier_all();
  shmem_broadcast64(dest, source, 1, count() - 1, 0, 0, count(), sync_words);
  EXPECT_EQ(dest[0], me() == count() - 1 ? 7u : 100u + static_cast<uint64_t>(count() - 1));
  for (long word : sync_words) EXPECT_EQ(word, SHMEM_SYNC_VALUE);
  shmem_barrier_all();
}

TEST(ActiveSet, OfEverySecondPeWorksByItself) {
  prepare_sync();
  const int n = (count() + 1) / 2;
  Symmetric<int> source(4), dest(4 * static_cast<size_t>(n));
  static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 4];
  if (me() % 2 == 0) {
    for (int round = 0; round < 3; ++round) {
      source[0] = me() + round;
      shmem_barrier(0, 1, n, sync_words);
      shmem_int_sum_to_all(dest, source, 1, 0, 1, n, work, other_words);
      EXPECT_EQ(dest[0], n * (n - 1) + n * round);
      shmem_sync(0, 1, n, sync_words);
      shmem_fcollect32(dest, source, 1, 0, 1, n, sync_words);
      for (int i = 0; i < n; ++i) EXPECT_EQ(dest[static_cast<size_t>(i)], 2 * i + round);
      shmem_sync(0, 1, n, other_words);
      shmem_collect32(dest, source, me() == 0 ? 0 : 1, 0, 1, n, sync_words);
      for (int i = 1; i < n; ++i) EXPECT_EQ(dest[static_cast<size_t>(i) - 1], 2 * i + round);
    }
    for (long word : sync_words) EXPECT_EQ(word, SHMEM_SYNC_VALUE);
  }
  shmem_barrier_all();
}

TEST(ActiveSet, AlltoallsExchangeStridedElements) {
  prepare_sync();
  const auto n = static_cast<size_t>(count());
  Symmetric<uint64_t> source(2 * n), dest(3 * n);
  for (size_t i = 0; i < n; ++i) source[2 * i] = 10 * static_cast<uint64_t>(me()) + i;
  shmem_barrier_all();
  shmem_alltoalls64(dest, source, 3, 2, 1, 0, 0, count(), sync_words);
  for (size_t i = 0; i < n; ++i) EXPECT_EQ(dest[3 * i], 10 * i + static_cast<uint64_t>(me()));
  shmem_barrier_all();
}

#define TO_ALL(N, T, name)                                                     \
  {                                                                            \
    static T from[2], to[2], work[8];                                          \
    from[0] = given<T>(me(), 0);                                               \
    shmem_barrier_all();                                                       \
    shmem_##N##_##name##_to_all(to, from, 1, 0, 0, count(), work, sync_words); \
    static T again[2];                                                         \
    shmem_##N##_##name##_reduce(SHMEM_TEAM_WORLD, again, from, 1);             \
    EXPECT_SAME(bool, to[0] == again[0], true);                                \
  }
#define TO_ALL_OLD_BITWISE(N, T, name)                                                  \
  {                                                                                     \
    static T from[2], to[2], work[8];                                                   \
    from[0] = static_cast<T>(5);                                                        \
    shmem_barrier_all();                                                                \
    shmem_##N##_##name##_to_all(to, from, 1, 0, 0, count(), work, sync_words);          \
    EXPECT_SAME(T, to[0], static_cast<T>(#name[0] == 'x' && count() % 2 == 0 ? 0 : 5)); \
  }
TEST(ActiveSet, ReductionsOfEveryTypeAreThoseOfTeams) {
  prepare_sync();
  SHMEMI_OLD_WAIT(TO_ALL_OLD_BITWISE, and)
  SHMEMI_OLD_WAIT(TO_ALL_OLD_BITWISE, or)
  SHMEMI_OLD_WAIT(TO_ALL_OLD_BITWISE, xor)
  SHMEMI_OLD_ORDERED(TO_ALL, max)
  SHMEMI_OLD_ORDERED(TO_ALL, min)
  SHMEMI_OLD_SUM(TO_ALL, sum)
  SHMEMI_OLD_SUM(TO_ALL, prod)
  shmem_barrier_all();
}

}  // namespace
}  // namespace collectives_test

#undef CALL
