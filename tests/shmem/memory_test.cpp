// memory_test.cpp: memory that cannot be had is a code of GOAL, CCC and PEACE, and the call has done nothing: made again, it works.
//
// Each call of the tables is made again and again, and its first, second .. allocation fails until none is left. Threads of engines are
// served: only the calling thread is refused, and not in calls of Portals and OpenSHMEM. Source: goal.h, ccc.h, peace.h.
#include <gtest/gtest.h>

#include <ccc.h>
#include <goal_call.h>
#include <peace.h>
#include <shmem.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "tests/allocation_refusal.hpp"

// Calls of OpenSHMEM that find no memory end the job; Clang's are found by their other names.
bool portunus::allocation_refusal::spares(std::string_view function) {
  return function.starts_with("Ptl") || function.starts_with("pshmem_") || function.starts_with("shmem_");
}

namespace {

using portunus::allocation_refusal::armed, portunus::allocation_refusal::before, portunus::allocation_refusal::reached,
    portunus::allocation_refusal::refused;

struct Row {
  const char* name;
  std::function<int()> call;
  std::function<void()> undo = [] {};
};

// True: the call needed no more than `n` allocations.
bool attempt(const Row& row, int n, int no_space, const char* (*explain)()) {
  before = n;
  reached = refused = false;
  armed = true;
  int code = row.call();
  armed = false;
  if (code != 0) {
    EXPECT_TRUE(refused) << row.name << ": " << explain();
    EXPECT_EQ(code, no_space) << row.name << ", allocation " << n << ": " << explain();
    EXPECT_STRNE(explain(), "");
    EXPECT_EQ(code = row.call(), 0) << row.name << ", after allocation " << n << ": " << explain();
  }
  if (code == 0) row.undo();
  return !reached || testing::Test::HasFailure();
}

void attempt_all(const std::vector<Row>& rows, int no_space, const char* (*explain)()) {
  for (const Row& row : rows)
    for (int n = 0; !attempt(row, n, no_space, explain);) ++n;
}

// A message to this process itself, and a sum of what it brings.
int make_schedule(GOAL_Schedule& made, uint64_t* words) {
  GOAL_Schedule schedule = nullptr;
  GOAL_Op send, receive, sum;
  int code = GOAL_Create(&schedule);
  if (code == 0) code = GOAL_Scratch(schedule, 64);
  if (code == 0) code = GOAL_Send(schedule, GOAL_User(&words[0]), 8, 0, 1, &send);
  if (code == 0) code = GOAL_Recv(schedule, GOAL_Pad(8), 8, 0, 1, &receive);
  if (code == 0) code = GOAL_Local(schedule, GOAL_ADD, GOAL_UINT64, GOAL_User(&words[1]), GOAL_User(&words[1]), GOAL_Pad(8), 1, &sum);
  if (code == 0) code = GOAL_Requires(schedule, sum, receive);
  if (code == 0) code = GOAL_Compile(schedule);
  if (code != 0 && schedule != nullptr) GOAL_Free(&schedule);
  made = schedule;
  return code;
}

TEST(NoMemory, IsACodeOfGOAL) {
  static uint64_t words[2] = {1, 0};
  static GOAL_Schedule schedule, other;
  static std::vector<char> block(1 << 20);
  ASSERT_EQ(GOAL_Init(nullptr, nullptr), GOAL_SUCCESS);
  ASSERT_EQ(make_schedule(schedule, words), GOAL_SUCCESS);
  static size_t bytes;
  bytes = block.size();
  ASSERT_EQ(GOAL_Save(schedule, block.data(), &bytes), GOAL_SUCCESS);
  const auto free_other = [] { EXPECT_EQ(GOAL_Free(&other), GOAL_SUCCESS); };
  attempt_all(
      {
          {"GOAL_Init", [] { return GOAL_Init(nullptr, nullptr); }, [] { GOAL_Finalize(); }},
          {"GOAL_Create", [] { return GOAL_Create(&other); }, free_other},
          {"GOAL_Create to GOAL_Compile", [] { return make_schedule(other, words); }, free_other},
          {"GOAL_Run",
           [] {
             GOAL_Request request;
             const uint64_t had = words[1];
             const int code = GOAL_Run(schedule, &request);
             if (code != GOAL_SUCCESS) return code;
             EXPECT_EQ(GOAL_Wait(&request), GOAL_SUCCESS);
             EXPECT_EQ(words[1], had + 1);
             return code;
           }},
          {"GOAL_Save",
           [] {
             bytes = block.size();
             return GOAL_Save(schedule, block.data(), &bytes);
           }},
          {"GOAL_Load", [] { return GOAL_Load(block.data(), bytes, &other); }, free_other},
          {"GOAL_Clone and GOAL_Compile",
           [] {
             int code = GOAL_Clone(schedule, &other);
             if (code == GOAL_SUCCESS && (code = GOAL_Compile(other)) != GOAL_SUCCESS) GOAL_Free(&other);
             return code;
           },
           free_other},
      },
      GOAL_ERR_NO_SPACE, GOAL_Explain);
  EXPECT_EQ(GOAL_Free(&schedule), GOAL_SUCCESS);
  EXPECT_EQ(GOAL_Finalize(), GOAL_SUCCESS);
}

TEST(NoMemory, IsACodeOfCCC) {
  constexpr int kN = 12;
  static ccc_layout rows, columns;
  static ccc_plan plan, other;
  static double from[kN * kN], to[kN * kN];
  shmem_init();
  rows.axes = columns.axes = 2;
  ASSERT_EQ(ccc_block(&rows.axis[0], kN, 1), CCC_SUCCESS);
  ASSERT_EQ(ccc_compress(&rows.axis[1], kN), CCC_SUCCESS);
  ASSERT_EQ(ccc_compress(&columns.axis[0], kN), CCC_SUCCESS);
  ASSERT_EQ(ccc_cyclic(&columns.axis[1], kN, 1), CCC_SUCCESS);
  ASSERT_EQ(ccc_plan_create(&rows, &columns, nullptr, sizeof(double), &plan), CCC_SUCCESS) << ccc_explain();
  for (int i = 0; i < kN * kN; ++i) from[i] = i;
  const auto moved = [] {
    EXPECT_EQ(to[kN + 1], kN + 1);
    std::fill_n(to, kN * kN, -1.0);
  };
  attempt_all(
      {
          {"ccc_cost_of",
           [] {
             ccc_cost cost;
             return ccc_cost_of(&rows, &columns, nullptr, sizeof(double), &cost);
           }},
          {"ccc_relabel",
           [] {
             int pe = -1;
             return ccc_relabel(&rows, &columns, nullptr, &pe);
           }},
          {"ccc_plan_create", [] { return ccc_plan_create(&rows, &columns, nullptr, sizeof(double), &other); },
           [] { EXPECT_EQ(ccc_plan_free(&other), CCC_SUCCESS); }},
          {"ccc_plan_run", [] { return ccc_plan_run(plan, from, to); }, moved},
          {"ccc_plan_start",
           [] {
             const int code = ccc_plan_start(plan, from, to);
             if (code != CCC_SUCCESS) return code;
             EXPECT_EQ(ccc_plan_wait(plan), CCC_SUCCESS);
             return code;
           },
           moved},
          {"ccc_plan_cost",
           [] {
             ccc_cost cost;
             return ccc_plan_cost(plan, &cost);
           }},
      },
      CCC_ERR_NO_SPACE, ccc_explain);
  EXPECT_EQ(ccc_plan_free(&plan), CCC_SUCCESS);
  shmem_finalize();
}

TEST(NoMemory, IsACodeOfPEACE) {
  static peace_port_t port, queue, other;
  static peace_address_t here, queued;
  static long word = 3, got;
  static const peace_pattern_t anybody{{0, 0, 0}, 0, ~0u};
  ASSERT_EQ(peace_init(), PEACE_OK) << peace_explain();
  ASSERT_EQ(peace_open(0, 0, 0, &port), PEACE_OK);
  ASSERT_EQ(peace_open(0, 4, 64, &queue), PEACE_OK);
  ASSERT_EQ(peace_address(port, &here), PEACE_OK);
  ASSERT_EQ(peace_address(queue, &queued), PEACE_OK);
  attempt_all(
      {
          {"peace_init", [] { return peace_init(); }, [] { peace_fini(); }},
          {"peace_open", [] { return peace_open(0, 0, 0, &other); }, [] { peace_close(&other); }},
          {"peace_open with buffers", [] { return peace_open(0, 8, 100, &other); }, [] { peace_close(&other); }},
          {"peace_find",
           [] {
             peace_address_t found;
             return peace_find(peace_process(-1), here.port, PEACE_FOREVER, &found);
           }},
          {"peace_send to a buffer", [] { return peace_send(queued, 1, &word, sizeof word, 0, PEACE_FOREVER, nullptr); },
           [] { EXPECT_EQ(peace_receive(queue, anybody, &got, sizeof got, PEACE_FOREVER, nullptr), PEACE_OK); }},
          {"peace_post", [] { return peace_post(here, 1, &word, sizeof word, nullptr); },
           [] { EXPECT_EQ(peace_receive(port, anybody, &got, sizeof got, PEACE_FOREVER, nullptr), PEACE_OK); }},
          {"peace_isend and peace_wait",
           [] {
             peace_request_t request;
             const int code = peace_isend(here, 1, &word, sizeof word, 0, &request);
             if (code != PEACE_OK) return code;
             const bool was = std::exchange(armed, false);
             EXPECT_EQ(peace_receive(port, anybody, &got, sizeof got, PEACE_FOREVER, nullptr), PEACE_OK);
             EXPECT_EQ(peace_wait(&request, PEACE_FOREVER, nullptr), PEACE_OK);
             armed = was;
             return code;
           }},
          {"peace_ireceive",
           [] {
             peace_request_t request;
             const int code = peace_ireceive(port, anybody, &got, sizeof got, &request);
             if (code != PEACE_OK) return code;
             const bool was = std::exchange(armed, false);
             EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, PEACE_FOREVER, nullptr), PEACE_OK);
             EXPECT_EQ(peace_wait(&request, PEACE_FOREVER, nullptr), PEACE_OK);
             armed = was;
             return code;
           }},
          {"peace_descriptor",
           [] {
             int fd = -1;
             return peace_descriptor(port, &fd);
           }},
      },
      PEACE_NO_SPACE, peace_explain);
  peace_close(&port);
  peace_close(&queue);
  EXPECT_EQ(peace_fini(), PEACE_OK);
}

// Sums and products of sizes and places that no number holds are errors, too, before anything is touched.
TEST(Limits, OfSchedulesAreKept) {
  static uint64_t words[4];
  ASSERT_EQ(GOAL_Init(nullptr, nullptr), GOAL_SUCCESS);
  const GOAL_Buffer places[] = {GOAL_Pad(SIZE_MAX - 7),    GOAL_Pad(SIZE_MAX),    GOAL_Pad(64),
                                GOAL_Arg(0, SIZE_MAX - 7), GOAL_Arg(0, SIZE_MAX), GOAL_Arg(UINT32_MAX, 0)};
  const size_t sizes[] = {8, 16, SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 8, SIZE_MAX / 8 + 2, size_t{1} << 61};
  for (const GOAL_Buffer& place : places)
    for (const size_t bytes : sizes)
      for (int kind = 0; kind < 4; ++kind) {
        GOAL_Schedule schedule;
        const GOAL_Piece pieces[2] = {GOAL_Part(place, bytes), GOAL_Part(GOAL_Pad(0), 8)};
        ASSERT_EQ(GOAL_Create(&schedule), GOAL_SUCCESS);
        EXPECT_EQ(GOAL_Scratch(schedule, 64), GOAL_SUCCESS);
        EXPECT_EQ(GOAL_Bind(schedule, 0, words, sizeof words), GOAL_SUCCESS);
        int code = kind == 0   ? GOAL_Send(schedule, place, bytes, 0, 1, nullptr)
                   : kind == 1 ? GOAL_Recv(schedule, place, bytes, 0, 1, nullptr)
                   : kind == 2 ? GOAL_Local(schedule, GOAL_ADD, GOAL_UINT64, place, place, GOAL_Pad(0), bytes, nullptr)
                               : GOAL_Send(schedule, GOAL_Pieces(pieces, 2), bytes + 8, 0, 1, nullptr);
        if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule);
        EXPECT_TRUE(code == GOAL_ERR_ARG || code == GOAL_ERR_NO_SPACE)
            << code << ": place " << place.place << ", " << bytes << ", kind " << kind;
        EXPECT_EQ(GOAL_Free(&schedule), GOAL_SUCCESS);
      }
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 63, (size_t{1} << 62) + 1}) {
    GOAL_Schedule schedule;
    ASSERT_EQ(GOAL_Create(&schedule), GOAL_SUCCESS);
    int code = GOAL_Scratch(schedule, bytes);
    if (code == GOAL_SUCCESS) code = GOAL_Send(schedule, GOAL_Pad(0), 8, 0, 1, nullptr);
    if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule);
    EXPECT_TRUE(code == GOAL_ERR_ARG || code == GOAL_ERR_NO_SPACE) << code;
    EXPECT_EQ(GOAL_Free(&schedule), GOAL_SUCCESS);
  }
  EXPECT_EQ(GOAL_Finalize(), GOAL_SUCCESS);
}

TEST(Limits, OfLayoutsAreKept) {
  const int64_t numbers[] = {1, 3, int64_t{1} << 21, int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 62, INT64_MAX - 1, INT64_MAX};
  for (const int64_t n : numbers)
    for (const int64_t block : numbers)
      for (const int64_t processors : numbers) {
        ccc_axis axis;
        if (ccc_block_cyclic(&axis, n, block, processors) != CCC_SUCCESS) continue;
        for (const int64_t s : {int64_t{0}, n / 2, n - 1}) {
          const int64_t target = ccc_target(&axis, s), offset = ccc_offset(&axis, s);
          EXPECT_TRUE(target >= 0 && target < processors && offset >= 0 && offset < ccc_room(&axis))
              << n << ' ' << block << ' ' << processors;
          EXPECT_EQ(ccc_global(&axis, target, offset), s) << n << ' ' << block << ' ' << processors;
        }
        ccc_layout layout{}, whole{};
        layout.axes = whole.axes = 3;
        for (int i = 0; i < 3; ++i) {
          layout.axis[i] = axis;
          if (ccc_compress(&whole.axis[i], n) != CCC_SUCCESS) whole.axes = 0;
        }
        ccc_cost cost{};
        const bool large = n > int64_t{1} << 21;
        if (!large || whole.axes != 3) continue;
        for (const size_t size : {size_t{1}, size_t{1} << 40, SIZE_MAX})
          EXPECT_EQ(ccc_cost_of(&whole, &layout, nullptr, size, &cost), CCC_ERR_ARG)
              << n << ' ' << block << ' ' << processors << ' ' << size;
      }
}

}  // namespace
