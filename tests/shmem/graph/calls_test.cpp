// calls_test.cpp: each call that is recorded does in a run what it does outside of a capture.
#include <shmemx.h>

#include <algorithm>
#include <array>
#include <complex>
#include <vector>

#include "graph.hpp"

namespace graph_test {
namespace {

constexpr int kRunsOfACall = 3;

// Captures the body once; in each run checks what `holds()` says, when all PEs have ended it.
template <class Prepare, class Body, class Holds>
void in_runs(Prepare&& prepare, Body&& body, Holds&& holds, shmem_team_t team = SHMEM_TEAM_WORLD) {
  shmemx_graph_t graph = capture(body, team);
  for (int i = 0; i < kRunsOfACall; ++i) {
    prepare(i);
    shmem_barrier_all();
    run(graph);
    shmem_barrier_all();
    holds(i);
    shmem_barrier_all();
  }
  end(graph);
}

TEST(GraphCalls, PutsAndGetsOfAllForms) {
  constexpr size_t kMost = 64;
  Symmetric<int> from(kMost), to(kMost), got(kMost);
  shmem_ctx_t context;
  ASSERT_EQ(shmem_ctx_create(0, &context), 0);
  const auto fill = [&](int i) {
    for (size_t k = 0; k < kMost; ++k) from[k] = 1000 * i + 100 * me() + static_cast<int>(k), to[k] = got[k] = -1;
  };
  const auto there = [&](int i, int pe, size_t k) { return 1000 * i + 100 * pe + static_cast<int>(k); };
  in_runs(
      fill,
      [&] {
        shmem_int_put(to, from, 4, right());
        shmem_ctx_int_put_nbi(context, &to[4], &from[4], 4, right());
        shmem_putmem(&to[8], &from[8], 4 * sizeof(int), right());
        shmem_put32_nbi(&to[12], &from[12], 4, right());
        shmem_int_iput(&to[16], &from[16], 2, 3, 4, right());
        shmem_ctx_int_ibput(context, &to[32], &from[32], 6, 4, 3, 2, right());
        shmem_int_p(&to[60], 77, right());
        shmem_int_put(to, from, 0, right());
        shmem_ctx_quiet(context);
        shmem_int_get(got, from, 4, right());
        shmem_getmem_nbi(&got[4], &from[4], 4 * sizeof(int), right());
        shmem_int_iget(&got[16], &from[16], 2, 3, 4, right());
        shmem_int_ibget(&got[32], &from[32], 6, 4, 3, 2, right());
      },
      [&](int i) {
        for (size_t k = 0; k < 16; ++k) EXPECT_EQ(to[k], there(i, left(), k));
        for (size_t k = 0; k < 4; ++k) EXPECT_EQ(to[16 + 2 * k], there(i, left(), 16 + 3 * k));
        for (size_t k = 0; k < 2; ++k)
          for (size_t j = 0; j < 3; ++j) EXPECT_EQ(to[32 + 6 * k + j], there(i, left(), 32 + 4 * k + j));
        EXPECT_EQ(to[17], -1);
        EXPECT_EQ(to[60], 77);
        for (size_t k = 0; k < 8; ++k) EXPECT_EQ(got[k], there(i, right(), k));
        for (size_t k = 0; k < 4; ++k) EXPECT_EQ(got[16 + 2 * k], there(i, right(), 16 + 3 * k));
        for (size_t k = 0; k < 2; ++k)
          for (size_t j = 0; j < 3; ++j) EXPECT_EQ(got[32 + 6 * k + j], there(i, right(), 32 + 4 * k + j));
      });
  shmem_ctx_destroy(context);
}

TEST(GraphCalls, ContextsOfTeamsNumberTheirPes) {
  Symmetric<int> word(1);
  shmem_team_t reversed;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, count() - 1, -1, count(), nullptr, 0, &reversed);
  shmem_ctx_t context;
  ASSERT_EQ(shmem_team_create_ctx(reversed, 0, &context), 0);
  in_runs([&](int) { word[0] = -1; }, [&] { shmem_ctx_int_p(context, word, me(), me()); },
          [&](int) { EXPECT_EQ(word[0], count() - 1 - me()); }, reversed);
  shmem_ctx_destroy(context);
  shmem_team_destroy(reversed);
}

template <class T>
struct AtomicCalls;
#define ATOMIC_CALLS(T, N)                                                    \
  template <>                                                                 \
  struct AtomicCalls<T> {                                                     \
    static void record(T* word, T* fetched, int pe) {                         \
      shmem_##N##_atomic_set(&word[0], 3, pe);                                \
      shmem_##N##_atomic_add(&word[0], 4, pe);                                \
      shmem_##N##_atomic_inc(&word[0], pe);                                   \
      shmem_##N##_atomic_or(&word[0], 0x31, pe);                              \
      shmem_##N##_atomic_and(&word[0], 0x39, pe);                             \
      shmem_##N##_atomic_xor(&word[0], 0x11, pe);                             \
      shmem_##N##_atomic_fetch_nbi(&fetched[0], &word[0], pe);                \
      shmem_quiet();                                                          \
      shmem_##N##_atomic_fetch_add_nbi(&fetched[1], &word[0], 5, pe);         \
      shmem_quiet();                                                          \
      shmem_##N##_atomic_fetch_inc_nbi(&fetched[2], &word[0], pe);            \
      shmem_quiet();                                                          \
      shmem_##N##_atomic_swap_nbi(&fetched[3], &word[0], 90, pe);             \
      shmem_quiet();                                                          \
      shmem_##N##_atomic_compare_swap_nbi(&fetched[4], &word[0], 91, 92, pe); \
      shmem_quiet();                                                          \
      shmem_##N##_atomic_compare_swap_nbi(&fetched[5], &word[0], 90, 93, pe); \
    }                                                                         \
  };
ATOMIC_CALLS(uint32_t, uint32)
ATOMIC_CALLS(int64_t, int64)

template <class T>
void atomics() {
  Symmetric<T> word(1), fetched(6);
  in_runs([&](int) { word[0] = 0; }, [&] { AtomicCalls<T>::record(word, fetched, right()); },
          [&](int) {
            EXPECT_EQ(word[0], T{93});
            const T first = ((((3 + 4 + 1) | 0x31) & 0x39) ^ 0x11);
            const std::array<T, 6> expected{first, first, static_cast<T>(first + 5), static_cast<T>(first + 6), 90, 90};
            for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(fetched[i], expected[i]) << i;
          });
}
TEST(GraphCalls, AtomicsOf4Bytes) { atomics<uint32_t>(); }
TEST(GraphCalls, AtomicsOf8Bytes) { atomics<int64_t>(); }

TEST(GraphCalls, AtomicsOfFloatingPointNumbersMoveBits) {
  Symmetric<double> word(1), fetched(2);
  in_runs([&](int) { word[0] = 0.5; },
          [&] {
            shmem_double_atomic_fetch_nbi(&fetched[0], word, right());
            shmem_quiet();
            shmem_double_atomic_swap_nbi(&fetched[1], word, 2.5, right());
            shmem_quiet();
            shmem_double_atomic_set(word, -1.25, right());
          },
          [&](int) {
            EXPECT_EQ(fetched[0], 0.5);
            EXPECT_EQ(fetched[1], 0.5);
            EXPECT_EQ(word[0], -1.25);
          });
}

TEST(GraphCalls, SignalsAreSetAndAdded) {
  Symmetric<uint64_t> flags(4);
  Symmetric<char> from(100), to(300);
  in_runs(
      [&](int i) {
        for (int k = 0; k < 4; ++k) flags[k] = 10;
        std::fill_n(from.get(), 100, static_cast<char>(i + me()));
      },
      [&] {
        shmem_putmem_signal(to, from, 100, &flags[0], 7, SHMEM_SIGNAL_SET, right());
        shmem_putmem_signal_nbi(to + 100, from, 100, &flags[1], 7, SHMEM_SIGNAL_ADD, right());
        shmem_putmem_signal(to + 200, from, 0, &flags[1], 1, SHMEM_SIGNAL_ADD, right());
        shmem_signal_set(&flags[2], 8, right());
        shmem_signal_add(&flags[3], 8, right());
      },
      [&](int i) {
        EXPECT_EQ(flags[0], 7u);
        EXPECT_EQ(flags[1], 18u);
        EXPECT_EQ(flags[2], 8u);
        EXPECT_EQ(flags[3], 18u);
        for (size_t k = 0; k < 200; ++k) EXPECT_EQ(to[k], static_cast<char>(i + left()));
      });
}

TEST(GraphCalls, WaitsHaveAllComparisonsAndTypes) {
  Symmetric<short> small(1);
  Symmetric<int> words(6);
  Symmetric<unsigned long> large(2);
  Symmetric<uint64_t> order(1);
  in_runs(
      [&](int) {
        small[0] = 0, large[0] = large[1] = 0, order[0] = 0;
        for (int k = 0; k < 6; ++k) words[k] = 5;
      },
      [&] {
        constexpr std::array kStored{4, 6, 6, 6, -1, -2};
        shmem_short_p(small, -1, right());
        for (size_t k = 0; k < kStored.size(); ++k) shmem_int_p(&words[k], kStored[k], right());
        for (const int k : {0, 1}) shmem_ulong_p(&large[k], 1ul << 63, right());
        shmem_signal_set(order, 2, right());
        shmem_short_wait_until(small, SHMEM_CMP_LT, 0);
        shmem_int_wait_until(&words[0], SHMEM_CMP_EQ, 4);
        shmem_int_wait_until(&words[1], SHMEM_CMP_NE, 5);
        shmem_int_wait_until(&words[2], SHMEM_CMP_GT, 5);
        shmem_int_wait_until(&words[3], SHMEM_CMP_GE, 6);
        shmem_int_wait_until(&words[4], SHMEM_CMP_LT, 0);
        shmem_int_wait_until(&words[5], SHMEM_CMP_LE, -2);
        const std::array<int, 6> left_out{0, 0, 0, 0, 1, 1};
        const std::array<unsigned long, 2> values{1ul << 63, 3};
        shmem_ulong_wait_until_all_vector(large, 2, nullptr, SHMEM_CMP_GE, values.data());
        shmem_int_wait_until_all(words, 6, left_out.data(), SHMEM_CMP_GT, 3);
        EXPECT_EQ(shmem_signal_wait_until(order, SHMEM_CMP_GE, 2), 2u) << "what it is to wait for";
      },
      [](int) {});
  // With the stores under way in the run.
  shmemx_graph_t graph = capture([&] {
    shmem_short_wait_until(small, SHMEM_CMP_LT, 0);
    shmem_ulong_wait_until(large, SHMEM_CMP_GE, 1ul << 63);
  });
  small[0] = 0, large[0] = 1;
  shmem_barrier_all();
  shmemx_req_t request = start(graph);
  shmem_short_p(small, -3, right());
  shmem_ulong_atomic_add(large, 1ul << 63, right());
  EXPECT_EQ(shmemx_req_wait(&request), 0);
  end(graph);
}

TEST(GraphCalls, Collectives) {
  constexpr size_t kMost = 3000;
  const auto n = static_cast<size_t>(count()), self = static_cast<size_t>(me());
  for (const size_t nelems : {size_t{1}, size_t{5}, kMost}) {
    Symmetric<long> from(kMost * n), to(9 * kMost * n);
    const auto out = [&](size_t which) { return to + which * kMost * n; };
    const auto value = [](int i, size_t pe, size_t k) {
      return static_cast<long>(10'000 * i + 1000 * static_cast<int>(pe) + static_cast<int>(k % 997));
    };
    in_runs(
        [&](int i) {
          for (size_t k = 0; k < nelems * n; ++k) from[k] = value(i, self, k);
          std::fill_n(to.get(), 9 * kMost * n, -1);
        },
        [&] {
          EXPECT_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, out(0), from, nelems, count() - 1), 0);
          EXPECT_EQ(shmem_long_fcollect(SHMEM_TEAM_WORLD, out(1), from, nelems), 0);
          EXPECT_EQ(shmem_long_collect(SHMEM_TEAM_WORLD, out(2), from, self == 0 ? nelems : self - 1), 0);
          EXPECT_EQ(shmem_long_alltoall(SHMEM_TEAM_WORLD, out(3), from, nelems), 0);
          EXPECT_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out(4), from, nelems), 0);
          EXPECT_EQ(shmem_long_max_reduce(SHMEM_TEAM_WORLD, out(5), from, nelems), 0);
          EXPECT_EQ(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, out(6), from, nelems), 0);
          EXPECT_EQ(shmem_long_sum_exscan(SHMEM_TEAM_WORLD, out(7), from, nelems), 0);
          shmem_sync_all();
          EXPECT_EQ(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
          shmem_long_p(out(8), value(0, self, 1), right());
          shmem_barrier_all();
        },
        [&](int i) {
          size_t begin = 0;
          for (size_t pe = 0; pe < n; ++pe) {
            const size_t mine = pe == 0 ? nelems : pe - 1;
            for (size_t k = 0; k < mine; ++k) EXPECT_SAME(long, out(2)[begin + k], value(i, pe, k));
            begin += mine;
          }
          for (size_t k = 0; k < nelems; ++k) {
            EXPECT_SAME(long, out(0)[k], value(i, n - 1, k));
            long sum = 0, before = 0, up_to = 0;
            for (size_t pe = 0; pe < n; ++pe) {
              EXPECT_SAME(long, out(1)[pe * nelems + k], value(i, pe, k));
              EXPECT_SAME(long, out(3)[pe * nelems + k], value(i, pe, self * nelems + k));
              sum += value(i, pe, k);
              if (pe < self) before += value(i, pe, k);
              if (pe <= self) up_to += value(i, pe, k);
            }
            EXPECT_SAME(long, out(4)[k], sum);
            EXPECT_SAME(long, out(5)[k], value(i, n - 1, k));
            EXPECT_SAME(long, out(6)[k], up_to);
            EXPECT_SAME(long, out(7)[k], before);
          }
          EXPECT_EQ(out(8)[0], value(0, static_cast<size_t>(left()), 1));
        });
  }
}

TEST(GraphCalls, StridedAlltoallAndOtherTypes) {
  const auto n = static_cast<size_t>(count());
  Symmetric<int> from(4 * n), to(6 * n);
  Symmetric<std::complex<float>> products(2);
  in_runs(
      [&](int i) {
        for (size_t k = 0; k < 4 * n; ++k) from[k] = 100 * i + 10 * me() + static_cast<int>(k);
        products[0] = {0, 1};
      },
      [&] {
        EXPECT_EQ(shmem_int_alltoalls(SHMEM_TEAM_WORLD, to, from, 3, 2, 2), 0);
        EXPECT_EQ(shmem_complexf_prod_reduce(SHMEM_TEAM_WORLD, reinterpret_cast<shmemi_complexf*>(&products[1]),
                                             reinterpret_cast<shmemi_complexf*>(&products[0]), 1),
                  0);
      },
      [&](int i) {
        for (size_t pe = 0; pe < n; ++pe)
          for (size_t k = 0; k < 2; ++k)
            EXPECT_EQ(to[3 * (2 * pe + k)],
                      100 * i + 10 * static_cast<int>(pe) + static_cast<int>(2 * (2 * static_cast<size_t>(me()) + k)));
        std::complex<float> all = 1;
        for (size_t pe = 0; pe < n; ++pe) all *= std::complex<float>(0, 1);
        EXPECT_EQ(products[1], all);
      });
}

// A schedule of collectives alone, which runs through memory of the node where it can.
TEST(GraphCalls, CollectivesOfATeamAlone) {
  shmem_team_t even;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (count() + 1) / 2, nullptr, 0, &even);
  Symmetric<int> words(2);
  if (even != SHMEM_TEAM_INVALID) {
    shmemx_graph_t graph = capture([&] { shmem_int_sum_reduce(even, &words[1], &words[0], 1); }, even);
    for (int i = 0; i < 300; ++i) {
      words[0] = i;
      run(graph);
      EXPECT_EQ(words[1], i * shmem_team_n_pes(even));
    }
    EXPECT_EQ(shmemx_graph_free(&graph), 0);
    shmem_team_destroy(even);
  }
  shmem_barrier_all();
}

}  // namespace
}  // namespace graph_test
