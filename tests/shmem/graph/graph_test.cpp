// graph_test.cpp: shmemx.h: what its comments promise of graphs, on several PEs: order, gates, signals, runs, many graphs.
#include <shmemx.h>

#include <algorithm>
#include <array>
#include <vector>

#include "graph.hpp"

namespace graph_test {
namespace {

constexpr int kRuns = 50;

TEST(Graph, ACaptureExecutesNothing) {
  Symmetric<long> word(1);
  shmemx_graph_t graph = capture([&] {
    shmem_long_p(word, 7, right());
    shmem_long_atomic_add(word, 5, right());
    shmem_barrier_all();
  });
  shmem_barrier_all();
  EXPECT_EQ(word[0], 0);
  shmem_barrier_all();
  run(graph);
  EXPECT_EQ(word[0], 12);
  end(graph);
}

// A chain around the ring: each PE forwards, with its own number added by an atomic, what it was sent.
TEST(Graph, AMessageGoesAroundTheRingInEachRun) {
  Symmetric<uint64_t> flag(1), box(2);
  shmemx_graph_t graph = capture([&] {
    const auto pass_on = [&] { shmem_uint64_put_signal(box, box, 1, flag, 1, SHMEM_SIGNAL_ADD, right()); };
    if (me() == 0) pass_on();
    shmem_signal_wait_until(flag, SHMEM_CMP_GE, 1);
    shmem_signal_add(flag, static_cast<uint64_t>(-1), me());
    shmem_uint64_atomic_add(box, static_cast<uint64_t>(me()) + 1, me());
    if (me() != 0) pass_on();
  });
  const auto n = static_cast<uint64_t>(count());
  for (uint64_t i = 1; i <= kRuns; ++i) {
    run(graph);
    if (me() == 0) {
      EXPECT_EQ(box[0], i * n * (n + 1) / 2);
    }
  }
  EXPECT_EQ(flag[0], 0u);
  end(graph);
}

// A PE starts runs as fast as it can; data and signals of the next run may come before its own is over.
TEST(Graph, HalosAreExchangedRunAfterRun) {
  constexpr std::array kLengths{size_t{8}, size_t{600}, size_t{70'000}};
  for (const size_t bytes : kLengths) {
    Symmetric<unsigned char> out(bytes), in(2 * bytes);
    Symmetric<uint64_t> flags(2), free(2);
    free[0] = free[1] = 1;
    shmem_barrier_all();
    shmemx_graph_t graph = capture([&] {
      for (const int side : {0, 1}) shmem_signal_wait_until(&free[side], SHMEM_CMP_GE, 1);
      for (const int side : {0, 1}) shmem_signal_add(&free[side], static_cast<uint64_t>(-1), me());
      shmem_putmem_signal_nbi(in, out, bytes, &flags[0], 1, SHMEM_SIGNAL_ADD, right());
      shmem_putmem_signal_nbi(in + bytes, out, bytes, &flags[1], 1, SHMEM_SIGNAL_ADD, left());
      for (const int side : {0, 1}) shmem_signal_wait_until(&flags[side], SHMEM_CMP_GE, 1);
      for (const int side : {0, 1}) shmem_signal_add(&flags[side], static_cast<uint64_t>(-1), me());
    });
    for (size_t i = 0; i < kRuns; ++i) {
      std::ranges::copy(pattern_of(me(), i, bytes), out.get());
      run(graph);
      EXPECT_TRUE(holds_pattern(in, left(), i, bytes)) << "run " << i << " of " << bytes << " bytes";
      EXPECT_TRUE(holds_pattern(in + bytes, right(), i, bytes)) << "run " << i << " of " << bytes << " bytes";
      shmem_signal_add(&free[0], 1, left());
      shmem_signal_add(&free[1], 1, right());
    }
    end(graph);
  }
}

TEST(Graph, WhatComesBehindAGateWaitsUntilItIsOpened) {
  Symmetric<int> word(1);
  shmemx_graph_t graph = capture([&] {
    EXPECT_EQ(shmemx_graph_signal(0), 0);
    EXPECT_EQ(shmemx_graph_gate(5), 0);
    shmem_int_atomic_inc(word, right());
    EXPECT_EQ(shmemx_graph_signal(1), 0);
    shmem_barrier_all();
  });
  for (int i = 0; i < kRuns; ++i) {
    shmemx_req_t request = start(graph);
    int flag = 0;
    while (!flag) EXPECT_EQ(shmemx_graph_passed(graph, 0, &flag), 0);
    EXPECT_EQ(shmemx_graph_passed(graph, 1, &flag), 0);
    EXPECT_EQ(flag, 0);
    shmem_barrier_all();
    EXPECT_EQ(word[0], i);
    shmem_barrier_all();
    EXPECT_EQ(shmemx_graph_open(graph, 5), 0);
    EXPECT_EQ(shmemx_graph_open(graph, 5), SHMEMX_ERR_STATE) << "once in a run";
    EXPECT_EQ(shmemx_req_wait(&request), 0);
    EXPECT_EQ(shmemx_graph_passed(graph, 1, &flag), 0);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(word[0], i + 1);
  }
  end(graph);
}

// A wait of a graph ends by whatever stores: a call of another PE, of this one, and a store by shmem_ptr.
TEST(Graph, AWaitEndsByStoresFromOutsideOfTheGraph) {
  Symmetric<int> word(1), seen(1);
  shmemx_graph_t graph = capture([&] {
    shmem_int_wait_until(word, SHMEM_CMP_EQ, 3);
    shmem_int_p(word, 0, me());
    shmem_int_atomic_inc(seen, me());
  });
  for (int i = 0; i < kRuns; ++i) {
    shmemx_req_t request = start(graph);
    int complete = 1;
    EXPECT_EQ(shmemx_req_test(&request, &complete), 0);
    EXPECT_EQ(complete, 0);
    shmem_barrier_all();
    const int whom = i % 3 == 0 ? me() : right();
    if (int* const there = i % 3 == 1 ? static_cast<int*>(shmem_ptr(word, whom)) : nullptr) __atomic_store_n(there, 3, __ATOMIC_RELEASE);
    else shmem_int_p(word, 3, whom);
    EXPECT_EQ(shmemx_req_wait(&request), 0);
    EXPECT_EQ(seen[0], i + 1);
    EXPECT_EQ(word[0], 0);
    shmem_barrier_all();
  }
  end(graph);
}

// A fence orders operations at each PE, and quiet all.
TEST(Graph, FencesAndQuietsOrderWhatDoesNotBlock) {
  constexpr size_t kMost = 100'000;
  Symmetric<unsigned char> from(2 * kMost), to(kMost), back(kMost);
  Symmetric<int> flag(1);
  for (size_t i = 0; i < kMost; ++i) from[i] = 1, from[kMost + i] = 2;
  shmemx_graph_t graph = capture([&] {
    shmem_putmem_nbi(to, from, kMost, right());
    shmem_fence();
    shmem_putmem_nbi(to, from + kMost, kMost, right());
    shmem_fence();
    shmem_int_atomic_inc(flag, right());
    shmem_int_wait_until(flag, SHMEM_CMP_GE, 1);
    shmem_int_atomic_add(flag, -1, me());
    shmem_getmem_nbi(back, to, kMost, me());
    shmem_quiet();
    shmem_putmem_nbi(to, from, 1, me());
  });
  for (int i = 0; i < kRuns; ++i) {
    run(graph);
    EXPECT_TRUE(std::all_of(back.get(), back.get() + kMost, [](unsigned char byte) { return byte == 2; }));
    EXPECT_EQ(to[0], 1);
    shmem_barrier_all();
  }
  end(graph);
}

// Runs without a receiver's word: each PE is any number of runs ahead.
TEST(Graph, RunsOfPutsAloneWaitForNobody) {
  Symmetric<uint64_t> words(static_cast<size_t>(count()));
  shmemx_graph_t graph = capture([&] { shmem_uint64_atomic_inc(&words[static_cast<size_t>(me())], 0); });
  const int runs = rounds(300);
  for (int i = 0; i < runs * (me() + 1); ++i) run(graph);
  shmem_barrier_all();
  for (int pe = 0; pe < count(); ++pe)
    if (me() == 0) {
      EXPECT_EQ(words[static_cast<size_t>(pe)], static_cast<uint64_t>(runs * (pe + 1)));
    }
  end(graph);
}

TEST(Graph, SeveralGraphsRunAtOnceAndOutliveTheirTeam) {
  constexpr int kGraphs = 8;
  Symmetric<int> words(kGraphs);
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, count() - 1, -1, count(), nullptr, 0, &team);
  std::vector<shmemx_graph_t> graphs;
  for (int i = 0; i < kGraphs; ++i)
    graphs.push_back(capture(
        [&] {
          shmem_int_wait_until(&words[i], SHMEM_CMP_EQ, 1);
          shmem_int_p(&words[i], 0, me());
          shmem_team_sync(team);
        },
        team));
  for (int round = 0; round < kRuns; ++round) {
    std::vector<shmemx_req_t> requests;
    if (round == kRuns / 2) shmem_team_destroy(team);
    for (shmemx_graph_t graph : graphs) requests.push_back(start(graph));
    for (int i = kGraphs; i-- > 0;) shmem_int_p(&words[i], 1, right());
    for (shmemx_req_t& request : requests) EXPECT_EQ(shmemx_req_wait(&request), 0);
    shmem_barrier_all();
  }
  for (shmemx_graph_t& graph : graphs) end(graph);
}

TEST(Graph, RequestsMayBeFreedAndGraphsStartedAgainWhenTheirRunHasEnded) {
  Symmetric<int> word(1);
  shmemx_graph_t graph = capture([&] { shmem_int_atomic_inc(word, right()); });
  for (int i = 0; i < kRuns; ++i) {
    shmemx_req_t request = start(graph);
    EXPECT_EQ(shmemx_req_free(&request), 0);
    shmemx_req_t again = SHMEMX_REQ_INVALID;
    int code;
    while ((code = shmemx_graph_start(graph, &again)) == SHMEMX_ERR_STATE) {
    }
    EXPECT_EQ(code, 0);
    EXPECT_EQ(shmemx_req_wait(&again), 0);
  }
  shmem_barrier_all();
  EXPECT_EQ(word[0], 2 * kRuns);
  end(graph);
}

TEST(Graph, AnEmptyGraphEnds) {
  shmemx_graph_t graph = capture([] {});
  for (int i = 0; i < kRuns; ++i) run(graph);
  end(graph);
}

}  // namespace
}  // namespace graph_test
