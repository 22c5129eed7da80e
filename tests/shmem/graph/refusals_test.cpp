// refusals_test.cpp: what a graph cannot be is a code and a sentence on all PEs, and the program goes on.
#include <shmemx.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "graph.hpp"

namespace graph_test {
namespace {

bool explains(const char* what) { return std::string(shmemx_graph_explain()).find(what) != std::string::npos; }

// A capture that fits on all PEs, to see that the library is as usable as before.
void expect_usable() {
  static long word;
  word = 0;
  shmem_barrier_all();
  shmemx_graph_t graph = capture([&] {
    shmem_long_p(&word, 3, right());
    shmem_barrier_all();
  });
  run(graph);
  EXPECT_EQ(word, 3);
  end(graph);
}

TEST(GraphRefusals, CallsWhoseOutcomeDecidesMakeTheCaptureVoid) {
  static long words[2];
  static long lock;
  static uint64_t flag;
  struct Case {
    const char* name;
    std::function<void()> call;
  };
  shmemx_req_t request;
  shmem_team_t team;
  size_t indices[2];
  void* memory = shmem_malloc(8);
  const std::vector<Case> cases{
      {"shmem_long_g", [] { EXPECT_EQ(shmem_long_g(words, right()), 0); }},
      {"shmem_long_atomic_fetch", [] { EXPECT_EQ(shmem_long_atomic_fetch(words, right()), 0); }},
      {"shmem_long_atomic_fetch_add", [] { EXPECT_EQ(shmem_long_atomic_fetch_add(words, 1, right()), 0); }},
      {"shmem_long_atomic_swap", [] { EXPECT_EQ(shmem_long_atomic_swap(words, 1, right()), 0); }},
      {"shmem_long_atomic_compare_swap", [] { EXPECT_EQ(shmem_long_atomic_compare_swap(words, 0, 1, right()), 0); }},
      {"shmem_signal_fetch", [] { EXPECT_EQ(shmem_signal_fetch(&flag), 0u); }},
      {"shmem_long_test", [] { EXPECT_EQ(shmem_long_test(words, SHMEM_CMP_EQ, 0), 0); }},
      {"shmem_long_test_all", [] { EXPECT_EQ(shmem_long_test_all(words, 2, nullptr, SHMEM_CMP_EQ, 0), 0); }},
      {"shmem_long_test_any", [] { EXPECT_EQ(shmem_long_test_any(words, 2, nullptr, SHMEM_CMP_EQ, 0), SIZE_MAX); }},
      {"shmem_long_wait_until_any", [] { EXPECT_EQ(shmem_long_wait_until_any(words, 2, nullptr, SHMEM_CMP_EQ, 0), SIZE_MAX); }},
      {"shmem_long_wait_until_some", [&] { EXPECT_EQ(shmem_long_wait_until_some(words, 2, indices, nullptr, SHMEM_CMP_EQ, 0), 0u); }},
      {"shmem_set_lock", [] { shmem_set_lock(&lock); }},
      {"shmem_test_lock", [] { EXPECT_EQ(shmem_test_lock(&lock), 1); }},
      {"shmem_clear_lock", [] { shmem_clear_lock(&lock); }},
      {"shmem_malloc", [] { EXPECT_EQ(shmem_malloc(8), nullptr); }},
      {"shmem_calloc", [] { EXPECT_EQ(shmem_calloc(1, 8), nullptr); }},
      {"shmem_align", [] { EXPECT_EQ(shmem_align(64, 8), nullptr); }},
      {"shmem_realloc", [&] { EXPECT_EQ(shmem_realloc(memory, 16), nullptr); }},
      {"shmem_free", [&] { shmem_free(memory); }},
      {"shmem_team_split_strided", [&] { EXPECT_NE(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &team), 0); }},
      {"shmem_team_split_2d",
       [&] {
         shmem_team_t other;
         EXPECT_NE(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, nullptr, 0, &team, nullptr, 0, &other), 0);
       }},
      {"shmemx_sync_nb", [&] { EXPECT_EQ(shmemx_sync_nb(SHMEM_TEAM_WORLD, &request), SHMEMX_ERR_UNSUPPORTED); }},
      {"shmemx_long_sum_reduce_nb",
       [&] { EXPECT_EQ(shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, words, words + 1, 1, &request), SHMEMX_ERR_UNSUPPORTED); }},
  };
  for (const Case& one : cases) {
    words[0] = words[1] = 0;
    shmem_barrier_all();
    shmemx_graph_t graph;
    EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
    shmem_long_p(words, 9, right());
    one.call();
    EXPECT_TRUE(explains(one.name)) << one.name << ": " << shmemx_graph_explain();
    EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &graph), SHMEMX_ERR_UNSUPPORTED) << one.name;
    EXPECT_TRUE(explains(one.name)) << one.name << ": " << shmemx_graph_explain();
    EXPECT_EQ(graph, SHMEMX_GRAPH_INVALID);
    EXPECT_EQ(words[0], 0);
  }
  shmem_free(memory);
  expect_usable();
}

TEST(GraphRefusals, ACaptureThatIsVoidOnOnePeIsOnAll) {
  static long word;
  shmemx_graph_t graph;
  EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
  if (me() == count() - 1) {
    EXPECT_EQ(shmem_long_g(&word, 0), 0);
  }
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &graph), SHMEMX_ERR_UNSUPPORTED);
  EXPECT_TRUE(explains(me() == count() - 1 ? "shmem_long_g" : "the capture of PE"));
  expect_usable();
}

TEST(GraphRefusals, PesMustCaptureTheSameCollectives) {
  static long in[4], out[64];
  const std::vector<std::pair<const char*, std::function<void()>>> cases{
      {"but", [] { me() == 0 ? shmem_barrier_all() : static_cast<void>(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, 1)); }},
      {"nothing",
       [] {
         if (me() == 0) shmem_sync_all();
       }},
      {"another length", [] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, out, in, me() == 0 ? 1 : 2); }},
      {"root", [] { shmem_long_broadcast(SHMEM_TEAM_WORLD, out, in, 1, me() == 0 ? 0 : 1); }},
      {"dest", [] { shmem_long_fcollect(SHMEM_TEAM_WORLD, out + (me() == 0 ? 0 : 1), in, 1); }},
  };
  if (count() == 1) return;
  for (const auto& [word, body] : cases) {
    shmemx_graph_t graph;
    EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
    body();
    EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &graph), SHMEMX_ERR_ARG);
    EXPECT_TRUE(explains(word)) << shmemx_graph_explain();
  }
  expect_usable();
}

TEST(GraphRefusals, OtherPesAndTeamsAreNoneOfTheCapture) {
  if (count() < 2) return;
  static long word;
  shmem_team_t alone;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &alone);
  if (me() == 0) {
    shmemx_graph_t graph;
    EXPECT_EQ(shmemx_graph_begin(alone), 0);
    shmem_long_p(&word, 1, 1);
    EXPECT_TRUE(explains("PE 1"));
    EXPECT_EQ(shmemx_graph_end(alone, &graph), SHMEMX_ERR_UNSUPPORTED);
    EXPECT_EQ(shmemx_graph_begin(alone), 0);
    shmem_barrier_all();
    EXPECT_TRUE(explains("team"));
    EXPECT_EQ(shmemx_graph_end(alone, &graph), SHMEMX_ERR_UNSUPPORTED);
  }
  if (alone != SHMEM_TEAM_INVALID) shmem_team_destroy(alone);
  expect_usable();
}

TEST(GraphRefusals, CallsAtTheWrongTimeSayWhy) {
  shmemx_graph_t graph, none = SHMEMX_GRAPH_INVALID;
  shmemx_req_t request;
  int flag;
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &graph), SHMEMX_ERR_STATE) << "no capture";
  EXPECT_EQ(shmemx_graph_gate(0), SHMEMX_ERR_STATE);
  EXPECT_EQ(shmemx_graph_signal(0), SHMEMX_ERR_STATE);
  EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_INVALID), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
  EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), SHMEMX_ERR_STATE);
  EXPECT_TRUE(explains("captures already"));
  EXPECT_EQ(shmemx_graph_gate(-1), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_gate(1024), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_gate(3), 0);
  EXPECT_EQ(shmemx_graph_gate(3), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_signal(3), 0);
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_SHARED, &graph), SHMEMX_ERR_STATE);
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, nullptr), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &graph), 0) << "none of this has made it void";
  EXPECT_EQ(shmemx_graph_open(graph, 3), SHMEMX_ERR_STATE) << "does not run";
  EXPECT_EQ(shmemx_graph_open(graph, 4), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_passed(graph, 4, &flag), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_passed(graph, 3, nullptr), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_start(graph, nullptr), SHMEMX_ERR_ARG);
  request = start(graph);
  shmemx_req_t second;
  EXPECT_EQ(shmemx_graph_start(graph, &second), SHMEMX_ERR_STATE);
  EXPECT_TRUE(explains("runs already"));
  EXPECT_EQ(second, SHMEMX_REQ_INVALID);
  shmemx_graph_t same = graph;
  EXPECT_EQ(shmemx_graph_free(&graph), SHMEMX_ERR_STATE);
  EXPECT_EQ(graph, same);
  EXPECT_EQ(shmemx_graph_open(graph, 3), 0);
  EXPECT_EQ(shmemx_req_wait(&request), 0);
  end(graph);
  EXPECT_EQ(shmemx_graph_free(&same), SHMEMX_ERR_ARG) << "freed already";
  EXPECT_EQ(shmemx_graph_start(none, &request), SHMEMX_ERR_ARG);
  EXPECT_EQ(shmemx_graph_free(nullptr), SHMEMX_ERR_ARG);
  expect_usable();
}

TEST(GraphRefusals, AThreadThatEndsGivesItsCaptureUp) {
  std::thread([] {
    EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
    shmem_barrier_all();
  }).join();
  EXPECT_EQ(shmemx_graph_gate(0), SHMEMX_ERR_STATE) << "another thread's";
  expect_usable();
}

TEST(GraphRefusals, ATeamIsCapturedByOneThread) {
  EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
  std::thread([] { EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), SHMEMX_ERR_STATE); }).join();
  shmemx_graph_t graph;
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &graph), 0);
  end(graph);
}

TEST(GraphRefusals, TooManyPiecesOfACall) {
  static char from[5000], to[5000];
  shmemx_graph_t graph;
  EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
  shmem_char_iput(to, from, 1, 1, 4097, right());
  EXPECT_TRUE(explains("4096 pieces"));
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &graph), SHMEMX_ERR_UNSUPPORTED);
  expect_usable();
}

// More graphs than there are numbers for are refused; those that are freed make room.
TEST(GraphRefusals, GraphsHaveALimitAndGiveTheirPlacesBack) {
  if (count() > 2) return;  // for time's sake
  std::vector<shmemx_graph_t> graphs(512);
  for (shmemx_graph_t& graph : graphs) graph = capture([] {});
  shmemx_graph_t more;
  EXPECT_EQ(shmemx_graph_begin(SHMEM_TEAM_WORLD), 0);
  EXPECT_EQ(shmemx_graph_end(SHMEM_TEAM_WORLD, &more), SHMEMX_ERR_MEMORY);
  EXPECT_TRUE(explains("512"));
  for (shmemx_graph_t& graph : graphs) EXPECT_EQ(shmemx_graph_free(&graph), 0);
  expect_usable();
}

}  // namespace
}  // namespace graph_test
