// nonblocking_test.cpp: shmemx.h: what its comments promise of collectives that are started, on teams, over every way.
#include <shmemx.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "pe.hpp"

namespace nonblocking_test {
namespace {

// A dest must be ready on all PEs before any enters.
void ready(shmem_team_t team) { shmem_team_sync(team); }

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

// Ends a request by one of the two calls.
void end(shmemx_req_t& request, bool by_tests) {
  EXPECT_NE(request, SHMEMX_REQ_INVALID);
  if (by_tests) {
    int complete = 0;
    while (!complete)
      if (shmemx_req_test(&request, &complete) != 0) break;
    EXPECT_EQ(complete, 1);
  } else {
    EXPECT_EQ(shmemx_req_wait(&request), 0);
  }
  EXPECT_EQ(request, SHMEMX_REQ_INVALID);
}

// Lengths that go by shared slots, by kept schedules with copies, and by schedules on the memory of the call.
constexpr std::array kLengths{size_t{0}, size_t{1}, size_t{1000}, size_t{9000}, size_t{70000}};
constexpr size_t kMost = kLengths.back();

TEST(Nonblocking, BroadcastReachesAllTheRootToo) {
  Symmetric<unsigned char> source(kMost), dest(kMost);
  on_teams([&](shmem_team_t team, int my_pe, int n) {
    size_t number = 0;
    for (const size_t bytes : kLengths)
      for (const int root : {0, n - 1}) {
        ++number;
        if (my_pe == root) fill(source.get(), root, number, bytes);
        memset(dest, 0, bytes);
        ready(team);
        shmemx_req_t request;
        EXPECT_EQ(shmemx_broadcastmem_nb(team, dest.get(), source.get(), bytes, root, &request), 0);
        end(request, number % 2 == 0);
        EXPECT_TRUE(holds_pattern(dest, root, number, bytes)) << bytes << " bytes from " << root;
      }
  });
}

TEST(Nonblocking, CollectConcatenatesInTheOrderOfTheTeam) {
  Symmetric<unsigned char> source(kMost), dest(kMost * static_cast<size_t>(count())), other(kMost * static_cast<size_t>(count()));
  on_teams([&](shmem_team_t team, int my_pe, int n) {
    for (const size_t bytes : kLengths) {
      fill(source.get(), my_pe, 1, bytes);
      // As much as everybody likes, nothing included.
      const auto share = [&](int pe) { return static_cast<size_t>(pe) * bytes / static_cast<size_t>(n); };
      ready(team);
      shmemx_req_t same, own;
      EXPECT_EQ(shmemx_collectmem_nb(team, other.get(), source.get(), share(my_pe), &own), 0);
      EXPECT_EQ(shmemx_fcollectmem_nb(team, dest.get(), source.get(), bytes, &same), 0);
      end(same, my_pe % 2 == 0);
      end(own, my_pe % 2 != 0);
      for (int pe = 0; pe < n; ++pe) EXPECT_TRUE(holds_pattern(dest + static_cast<size_t>(pe) * bytes, pe, 1, bytes));
      size_t at = 0;
      for (int pe = 0; pe < n; at += share(pe), ++pe) EXPECT_TRUE(holds_pattern(other + at, pe, 1, share(pe)));
      ready(team);
    }
  });
}

TEST(Nonblocking, AlltoallSendsPieceIToPeI) {
  const auto all = static_cast<size_t>(count());
  Symmetric<int> source(3 * all * 2000), dest(2 * all * 2000);
  on_teams([&](shmem_team_t team, int my_pe, int n) {
    const auto value = [&](int from, int to, size_t k) { return from * 100000 + to * 5000 + static_cast<int>(k); };
    for (const size_t nelems : {size_t{0}, size_t{1}, size_t{17}, size_t{2000}}) {
      for (int to = 0; to < n; ++to)
        for (size_t k = 0; k < nelems; ++k) source[static_cast<size_t>(to) * nelems + k] = value(my_pe, to, k);
      ready(team);
      shmemx_req_t request;
      EXPECT_EQ(shmemx_int_alltoall_nb(team, dest, source, nelems, &request), 0);
      end(request, false);
      for (int from = 0; from < n; ++from)
        for (size_t k = 0; k < nelems; ++k) EXPECT_SAME(int, dest[static_cast<size_t>(from) * nelems + k], value(from, my_pe, k));
      for (int to = 0; to < n; ++to)
        for (size_t k = 0; k < nelems; ++k) source[(static_cast<size_t>(to) * nelems + k) * 3] = value(my_pe, to, k) + 1;
      std::fill_n(dest.get(), 2 * static_cast<size_t>(n) * nelems, -1);
      ready(team);
      EXPECT_EQ(shmemx_int_alltoalls_nb(team, dest, source, 2, 3, nelems, &request), 0);
      end(request, true);
      for (int from = 0; from < n; ++from)
        for (size_t k = 0; k < nelems; ++k) {
          EXPECT_SAME(int, dest[(static_cast<size_t>(from) * nelems + k) * 2], value(from, my_pe, k) + 1);
          EXPECT_SAME(int, dest[(static_cast<size_t>(from) * nelems + k) * 2 + 1], -1);
        }
      ready(team);
    }
  });
}

constexpr size_t kElements = 5;

// Both forms of a call, on every type: what the nonblocking one gives is what the blocking one gives.
#define NB_BOTH(N, T, name)                                                                                  \
  {                                                                                                          \
    T *const source = static_cast<T*>(from), *const dest = static_cast<T*>(to);                              \
    T expected[kElements];                                                                                   \
    for (size_t i = 0; i < kElements; ++i) source[i] = static_cast<T>((me() + static_cast<int>(i)) % 3 + 1); \
    ready(SHMEM_TEAM_WORLD);                                                                                 \
    EXPECT_EQ(shmem_##N##_##name(SHMEM_TEAM_WORLD, dest, source, kElements), 0);                             \
    std::copy_n(dest, kElements, expected);                                                                  \
    memset(dest, 0, kElements * sizeof(T));                                                                  \
    ready(SHMEM_TEAM_WORLD);                                                                                 \
    shmemx_req_t request;                                                                                    \
    EXPECT_EQ(shmemx_##N##_##name##_nb(SHMEM_TEAM_WORLD, dest, source, kElements, &request), 0);             \
    end(request, false);                                                                                     \
    EXPECT_SAME(bool, std::equal(dest, dest + kElements, expected), true);                                   \
  }
#define NB_TRY(N, T, name) void name##_##N(void* to, void* from) NB_BOTH(N, T, name)
#define NB_CALL(N, T, name) name##_##N(dest.get(), source.get());
SHMEMI_REDUCE_BITWISE(NB_TRY, and_reduce)
SHMEMI_REDUCE_BITWISE(NB_TRY, or_reduce)
SHMEMI_REDUCE_BITWISE(NB_TRY, xor_reduce)
SHMEMI_RMA(NB_TRY, max_reduce)
SHMEMI_RMA(NB_TRY, min_reduce)
SHMEMI_REDUCE_SUM(NB_TRY, sum_reduce)
SHMEMI_REDUCE_SUM(NB_TRY, prod_reduce)
SHMEMI_REDUCE_SUM(NB_TRY, sum_inscan)
SHMEMI_REDUCE_SUM(NB_TRY, sum_exscan)

TEST(Nonblocking, EveryOperationOfEveryTypeCombinesAsTheBlockingOne) {
  Symmetric<long double> source(kElements), dest(kElements);
  SHMEMI_REDUCE_BITWISE(NB_CALL, and_reduce)
  SHMEMI_REDUCE_BITWISE(NB_CALL, or_reduce)
  SHMEMI_REDUCE_BITWISE(NB_CALL, xor_reduce)
  SHMEMI_RMA(NB_CALL, max_reduce)
  SHMEMI_RMA(NB_CALL, min_reduce)
  SHMEMI_REDUCE_SUM(NB_CALL, sum_reduce)
  SHMEMI_REDUCE_SUM(NB_CALL, prod_reduce)
  SHMEMI_REDUCE_SUM(NB_CALL, sum_inscan)
  SHMEMI_REDUCE_SUM(NB_CALL, sum_exscan)
}

#define NB_MOVE(N, T, ...)                                                                         \
  void move_##N(void* to, void* from) {                                                            \
    T *const source = static_cast<T*>(from), *const dest = static_cast<T*>(to);                    \
    const shmem_team_t team = SHMEM_TEAM_WORLD;                                                    \
    const auto given = [](int pe, int i) { return static_cast<T>((pe + i) % 3 + 1); };             \
    const int last = count() - 1;                                                                  \
    for (int i = 0; i <= last; ++i) source[i] = given(me(), i);                                    \
    ready(team);                                                                                   \
    shmemx_req_t r[5];                                                                             \
    EXPECT_EQ(shmemx_##N##_broadcast_nb(team, dest, source, 1, last, &r[0]), 0);                   \
    EXPECT_EQ(shmemx_##N##_collect_nb(team, dest + 1, source, me() == last ? 1 : 0, &r[1]), 0);    \
    EXPECT_EQ(shmemx_##N##_fcollect_nb(team, dest + 2, source, 1, &r[2]), 0);                      \
    EXPECT_EQ(shmemx_##N##_alltoall_nb(team, dest + 2 + count(), source, 1, &r[3]), 0);            \
    EXPECT_EQ(shmemx_##N##_alltoalls_nb(team, dest + 2 + 2 * count(), source, 1, 1, 1, &r[4]), 0); \
    for (int i = 4; i >= 0; --i) end(r[i], i % 2 == 0);                                            \
    EXPECT_SAME(bool, dest[0] == given(last, 0) && dest[1] == given(last, 0), true);               \
    EXPECT_SAME(bool, dest[2 + last] == given(last, 0), true);                                     \
    EXPECT_SAME(bool, dest[2 + count() + last] == given(last, me()), true);                        \
    EXPECT_SAME(bool, dest[2 + 2 * count() + last] == given(last, me()), true);                    \
    ready(team);                                                                                   \
  }
SHMEMI_RMA(NB_MOVE, )

TEST(Nonblocking, EveryTypeMovesSeveralAtOnce) {
  const auto n = static_cast<size_t>(count());
  Symmetric<long double> source(n), dest(3 * n + 2);
#define NB_CALL_MOVE(N, T, ...) move_##N(dest.get(), source.get());
  SHMEMI_RMA(NB_CALL_MOVE, )
}

TEST(Nonblocking, GenericFormsSelectByTheirTypes) {
  static long words[2], sums[2], spread[2];
  words[0] = me() + 1;
  ready(SHMEM_TEAM_WORLD);
  shmemx_req_t first, second;
  EXPECT_EQ(shmemx_sum_reduce_nb(SHMEM_TEAM_WORLD, sums, words, 1, &first), 0);
  EXPECT_EQ(shmemx_broadcast_nb(SHMEM_TEAM_WORLD, spread, words, 1, count() - 1, &second), 0);
  end(first, false);
  end(second, false);
  EXPECT_EQ(sums[0], count() * (count() + 1L) / 2);
  EXPECT_EQ(spread[0], count());
}

TEST(Nonblocking, SumsInPlaceToo) {
  for (const size_t n : {size_t{3}, size_t{20000}}) {
    Symmetric<long> numbers(n);
    on_teams([&](shmem_team_t team, int my_pe, int members) {
      for (size_t i = 0; i < n; ++i) numbers[i] = my_pe + 1 + static_cast<long>(i);
      ready(team);
      shmemx_req_t request;
      EXPECT_EQ(shmemx_long_sum_reduce_nb(team, numbers, numbers, n, &request), 0);
      end(request, n == 3);
      const long all = members * (members + 1L) / 2;
      for (size_t i = 0; i < n; ++i) EXPECT_SAME(long, numbers[i], all + members * static_cast<long>(i));
      ready(team);
      EXPECT_EQ(shmemx_long_sum_exscan_nb(team, numbers, numbers, n, &request), 0);
      end(request, n != 3);
      for (size_t i = 0; i < n; ++i) EXPECT_SAME(long, numbers[i], my_pe*(all + members * static_cast<long>(i)));
      ready(team);
    });
  }
}

// More than a team keeps compiled of one shape, of different lengths, beside blocking ones, and ended in the opposite order.
TEST(Nonblocking, ManyAreUnderWayOnOneTeamAndEndInAnyOrder) {
  constexpr size_t kMany = 24, kLength = 3000;
  Symmetric<long> source(kMany * kLength), dest(kMany * kLength), word(2);
  for (int round = 0; round < 3; ++round) {
    for (size_t k = 0; k < kMany; ++k)
      for (size_t i = 0; i < kLength; ++i) source[k * kLength + i] = static_cast<long>(1000 * k + i) + me() + round;
    word[0] = me();
    ready(SHMEM_TEAM_WORLD);
    std::array<shmemx_req_t, kMany> requests;
    const auto length = [](size_t k) { return k % 3 == 0 ? size_t{1} : k % 3 == 1 ? size_t{100} : kLength; };
    for (size_t k = 0; k < kMany; ++k) {
      EXPECT_EQ(shmemx_long_max_reduce_nb(SHMEM_TEAM_WORLD, dest + k * kLength, source + k * kLength, length(k), &requests[k]), 0);
      if (k % 8 == 3) {
        EXPECT_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, word + 1, word, 1), 0);
        EXPECT_EQ(word[1], count() * (count() - 1L) / 2);
        shmem_team_sync(SHMEM_TEAM_WORLD);
      }
    }
    for (size_t k = kMany; k-- > 0;) {
      end(requests[k], k % 2 == 0);
      const size_t last = length(k) - 1;
      EXPECT_EQ(dest[k * kLength + last], static_cast<long>(1000 * k + last) + count() - 1 + round);
    }
    ready(SHMEM_TEAM_WORLD);
  }
}

// The teams' PEs start them in different orders, which only what is started allows.
TEST(Nonblocking, DifferentTeamsDoNotWaitForEachOther) {
  shmem_team_t left_team, right_team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, count(), nullptr, 0, &left_team);
  shmem_team_split_strided(SHMEM_TEAM_WORLD, count() - 1, -1, count(), nullptr, 0, &right_team);
  Symmetric<int> source(1), sums(2);
  source[0] = me() + 1;
  shmem_barrier_all();
  for (int round = 0; round < 20; ++round) {
    shmemx_req_t first, second;
    const bool turned = me() % 2 != 0;
    EXPECT_EQ(shmemx_int_sum_reduce_nb(turned ? right_team : left_team, sums + turned, source, 1, &first), 0);
    EXPECT_EQ(shmemx_int_sum_reduce_nb(turned ? left_team : right_team, sums + !turned, source, 1, &second), 0);
    end(second, false);
    end(first, false);
    EXPECT_EQ(sums[0], count() * (count() + 1) / 2);
    EXPECT_EQ(sums[1], sums[0]);
    shmem_barrier_all();
  }
  shmem_team_destroy(left_team);
  shmem_team_destroy(right_team);
}

// Each PE starts its own when the one before it has told it so, and that tells after its own start only: no start may wait for the others.
template <class Start>
void one_after_the_other(Start&& start) {
  static uint64_t turn;
  turn = 0;
  shmem_barrier_all();
  if (me() != 0) shmem_signal_wait_until(&turn, SHMEM_CMP_EQ, 1);
  shmemx_req_t request;
  EXPECT_EQ(start(&request), 0);
  if (me() + 1 < count()) shmem_signal_set(&turn, 1, me() + 1);
  end(request, false);
  shmem_barrier_all();
}

TEST(Nonblocking, StartsWaitForNoOtherPe) {
  const auto n = static_cast<size_t>(count());
  constexpr size_t kLength = 20000;
  Symmetric<int> source(n * kLength), dest(n * kLength);
  const shmem_team_t team = SHMEM_TEAM_WORLD;
  for (size_t i = 0; i < n * kLength; ++i) source[i] = me();
  for (const size_t length : {size_t{1}, kLength}) {
    one_after_the_other([&](shmemx_req_t* request) { return shmemx_int_fcollect_nb(team, dest, source, length, request); });
    for (size_t pe = 0; pe < n; ++pe) EXPECT_EQ(dest[pe * length], static_cast<int>(pe));
    one_after_the_other([&](shmemx_req_t* request) { return shmemx_int_collect_nb(team, dest, source, length - (me() == 0), request); });
    if (n * length > 1) {  // else nobody gave anything
      EXPECT_EQ(dest[n * length - 2], count() - 1);
    }
    one_after_the_other([&](shmemx_req_t* request) { return shmemx_int_alltoall_nb(team, dest, source, length, request); });
    EXPECT_EQ(dest[n * length - 1], count() - 1);
    one_after_the_other([&](shmemx_req_t* request) { return shmemx_int_sum_reduce_nb(team, dest, source, length, request); });
    EXPECT_EQ(dest[length - 1], count() * (count() - 1) / 2);
    one_after_the_other([&](shmemx_req_t* request) { return shmemx_int_broadcast_nb(team, dest, source, length, count() - 1, request); });
    EXPECT_EQ(dest[length - 1], count() - 1);
  }
  one_after_the_other([&](shmemx_req_t* request) { return shmemx_barrier_nb(team, request); });
  one_after_the_other([&](shmemx_req_t* request) { return shmemx_sync_nb(team, request); });
}

// Two collects are under way: the data of the first one come first on all PEs, wherever its sizes come later.
TEST(Nonblocking, CollectsUnderWayKeepTheirOrder) {
  const auto n = static_cast<size_t>(count());
  constexpr size_t kCollects = 6, kLength = 500;
  Symmetric<int> source(kLength), dest(kCollects * n * kLength), sum(1);
  std::fill_n(source.get(), kLength, me() + 1);
  for (int round = 0; round < 4; ++round) {
    std::fill_n(dest.get(), kCollects * n * kLength, 0);
    ready(SHMEM_TEAM_WORLD);
    std::array<shmemx_req_t, kCollects> requests;
    const auto length = [&](size_t k, size_t pe) { return (k * 97 + pe * 31 + static_cast<size_t>(round)) % kLength; };
    for (size_t k = 0; k < kCollects; ++k) {
      const size_t mine = length(k, static_cast<size_t>(me()));
      EXPECT_EQ(shmemx_int_collect_nb(SHMEM_TEAM_WORLD, dest + k * n * kLength, source, mine, &requests[k]), 0);
      if (me() % 2 == 0) {
        int complete;
        shmemx_req_t none = SHMEMX_REQ_INVALID;
        EXPECT_EQ(shmemx_req_test(&none, &complete), 0);
        shmem_int_g(sum, right());
      }
    }
    for (size_t k = kCollects; k-- > 0;) end(requests[k], false);
    for (size_t k = 0; k < kCollects; ++k) {
      const int* at = dest + k * n * kLength;
      for (size_t pe = 0; pe < n; at += length(k, pe++))
        EXPECT_TRUE(std::all_of(at, at + length(k, pe), [&](int x) { return x == static_cast<int>(pe) + 1; })) << k << ", PE " << pe;
      EXPECT_EQ(*at, 0);
    }
    ready(SHMEM_TEAM_WORLD);
  }
}

TEST(Nonblocking, ABarrierCompletesThePutsAndAtomicsBeforeIt) {
  constexpr size_t kLength = 40000;
  Symmetric<long> box(kLength), counter(1), signalled(1);
  Symmetric<uint64_t> signal(1);
  std::vector<long> source(kLength);
  for (long round = 1; round <= 10; ++round) {
    std::fill(source.begin(), source.end(), 100 * round + me());
    shmem_long_put_nbi(box, source.data(), kLength, right());
    shmem_long_atomic_inc(counter, right());
    shmem_long_put_signal_nbi(signalled, source.data(), 1, signal, 1, SHMEM_SIGNAL_ADD, right());
    shmemx_req_t request;
    EXPECT_EQ(shmemx_barrier_nb(SHMEM_TEAM_WORLD, &request), 0);
    end(request, round % 2 == 0);
    EXPECT_EQ(box[0], 100 * round + left());
    EXPECT_EQ(box[kLength - 1], 100 * round + left());
    EXPECT_EQ(counter[0], round);
    EXPECT_EQ(signalled[0], 100 * round + left());
    EXPECT_EQ(signal[0], static_cast<uint64_t>(round));
    EXPECT_EQ(shmemx_sync_nb(SHMEM_TEAM_WORLD, &request), 0);
    end(request, round % 2 != 0);
  }
}

TEST(Nonblocking, NothingEndsABarrierBeforeAllHaveBegunIt) {
  static std::atomic<int> begun;
  static int at_zero;
  for (int round = 1; round <= 30; ++round) {
    static_assert(sizeof begun == sizeof(int));
    auto* const word = reinterpret_cast<int*>(&begun);
    shmem_int_atomic_inc(word, 0);
    shmem_quiet();
    shmemx_req_t request;
    EXPECT_EQ(shmemx_sync_nb(SHMEM_TEAM_WORLD, &request), 0);
    end(request, round % 3 == 0);
    at_zero = shmem_int_atomic_fetch(word, 0);
    EXPECT_GE(at_zero, round * count());
  }
  shmem_barrier_all();
}

TEST(Nonblocking, WhatIsFreedGoesOnUntilItsTeamEnds) {
  constexpr size_t kLength = 5000;
  Symmetric<long> source(kLength), dest(3 * kLength);
  std::fill_n(source.get(), kLength, me() + 1L);
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, count(), nullptr, 0, &team);
  ready(team);
  const size_t lengths[] = {1, kLength, kLength};
  shmemx_req_t request = SHMEMX_REQ_INVALID;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(shmemx_long_sum_reduce_nb(team, dest + i * kLength, source, lengths[i], &request), 0);
    if (i == 2) break;
    EXPECT_EQ(shmemx_req_free(&request), 0);
    EXPECT_EQ(request, SHMEMX_REQ_INVALID);
  }
  shmem_team_destroy(team);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(dest[i * kLength + lengths[i] - 1], count() * (count() + 1L) / 2);
  EXPECT_EQ(shmemx_req_wait(&request), 0);
  EXPECT_EQ(request, SHMEMX_REQ_INVALID);
  shmem_barrier_all();
}

TEST(Nonblocking, OfNoRequestNothingIsWaitedFor) {
  shmemx_req_t none = SHMEMX_REQ_INVALID;
  int complete = 7;
  EXPECT_EQ(shmemx_req_wait(&none), 0);
  EXPECT_EQ(shmemx_req_free(&none), 0);
  EXPECT_EQ(shmemx_req_test(&none, &complete), 0);
  EXPECT_EQ(complete, 1);
}

TEST(Nonblocking, WhatIsWrongIsACode) {
  static int words[2];
  shmemx_req_t request = reinterpret_cast<shmemx_req_t>(uintptr_t{1});
  int complete;
  EXPECT_EQ(shmemx_int_sum_reduce_nb(SHMEM_TEAM_INVALID, words, words, 1, &request), SHMEMX_ERR_ARG);
  EXPECT_EQ(request, SHMEMX_REQ_INVALID);
  EXPECT_EQ(shmemx_barrier_nb(SHMEM_TEAM_INVALID, &request), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_collectmem_nb(SHMEM_TEAM_INVALID, words, words, 4, &request), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_sync_nb(SHMEM_TEAM_WORLD, nullptr), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_req_wait(nullptr), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_req_free(nullptr), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_req_test(nullptr, &complete), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_req_test(&request, nullptr), SHMEMX_ERR_ARG);
  for (const uintptr_t word : {uintptr_t{1}, uintptr_t{0x7fff} << 24, UINTPTR_MAX, reinterpret_cast<uintptr_t>(words)}) {
    request = reinterpret_cast<shmemx_req_t>(word);
    EXPECT_EQ(shmemx_req_wait(&request), SHMEMX_ERR_ARG);
    EXPECT_EQ(shmemx_req_test(&request, &complete), SHMEMX_ERR_ARG);
    EXPECT_EQ(complete, 0);
    EXPECT_EQ(shmemx_req_free(&request), SHMEMX_ERR_ARG);
  }
  // A copy of a handle outlives the request, and names it no more.
  EXPECT_EQ(shmemx_sync_nb(SHMEM_TEAM_WORLD, &request), 0);
  shmemx_req_t copy = request;
  end(request, false);
  EXPECT_EQ(shmemx_req_wait(&copy), SHMEMX_ERR_ARG);
  shmem_barrier_all();
}

// The last test of the file leaves some behind, for shmem_finalize.
TEST(Nonblocking, ZFinalizeWaitsForWhatIsLeft) {
  static long source[3000], dest[2][3000];
  std::fill_n(source, 3000, 1L);
  shmem_barrier_all();
  shmemx_req_t freed, forgotten;
  EXPECT_EQ(shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, dest[0], source, 3000, &freed), 0);
  EXPECT_EQ(shmemx_req_free(&freed), 0);
  EXPECT_EQ(shmemx_long_collect_nb(SHMEM_TEAM_WORLD, dest[1], source, me() == 0 ? 9 : 0, &forgotten), 0);
}

}  // namespace
}  // namespace nonblocking_test
