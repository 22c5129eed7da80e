// Schedules of the program's own that a team starts: by messages, and through memory that the ranks of a node share.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/goal/goal_call.h"
#include "portals/portals4_ext.h"
#include "tests/goal/call/case.hpp"

namespace portunus::test::goal_call {
namespace {

uint64_t messages_sent() {
  ptlx_engine_info_t info{};
  return PtlxEngineInfo(&info) == PTL_OK ? info.sends : 0;
}

// A run of what GOAL_Compile_on_node or GOAL_Compile has made: the code of its result.
int run_made(GOAL_Started started) {
  std::atomic<int> told{0};
  const int code = GOAL_Restart(
      started, [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); }, &told);
  if (code != GOAL_SUCCESS) return code;
  PtlxWait([](void* arg) -> int { return *static_cast<std::atomic<int>*>(arg); }, &told, 0, PTL_TIME_FOREVER);
  return GOAL_Result(started);
}

}  // namespace

void a_schedule_of_the_programs(const GOAL_Group& world) {
  const int64_t mine = rank + 1, total = int64_t{size} * (size + 1) / 2;
  int64_t sum = 0, largest = 0;
  const auto call_for = [&](GOAL_Local_op op, int64_t& out) {
    GOAL_Call call{};
    call.kind = GOAL_CALL_ALLREDUCE;
    call.in = &mine;
    call.out = &out;
    call.count = 1;
    call.type = GOAL_INT64;
    call.op = op;
    return call;
  };
  const GOAL_Call first = call_for(GOAL_ADD, sum), second = call_for(GOAL_MAX, largest);
  GOAL_Schedule schedule;
  GOAL_Span before, after;
  size_t bytes = 0;
  expect(GOAL_Create(&schedule) == GOAL_SUCCESS && GOAL_Context(schedule, 9) == GOAL_SUCCESS, "a schedule");
  expect(GOAL_Call_add(schedule, &world, &first, &before) == GOAL_SUCCESS, "adding a collective");
  expect(GOAL_Call_add(schedule, &world, &second, &after) == GOAL_SUCCESS, "adding another");
  expect(GOAL_Requires(schedule, after.begin, before.end) == GOAL_SUCCESS, "an edge");
  expect(GOAL_Call_add(nullptr, &world, &first, nullptr) == GOAL_ERR_ARG, "a collective in no schedule");
  GOAL_Started started = nullptr;
  expect(GOAL_Make_of(team, schedule, &started) == GOAL_ERR_STATE && started == nullptr, "starting what is not compiled");
  expect(GOAL_Text(schedule, &world, nullptr, &bytes) == GOAL_SUCCESS && bytes > 0, "the size of the text");
  std::string text(bytes, '\0');
  expect(GOAL_Text(schedule, &world, text.data(), &bytes) == GOAL_SUCCESS && text.starts_with("rank " + std::to_string(rank) + " {"),
         "text");
  bytes = 3;
  expect(GOAL_Text(schedule, &world, text.data(), &bytes) == GOAL_ERR_NO_SPACE, "text that has no room");
  expect(GOAL_Compile(schedule) == GOAL_SUCCESS, "compiling");
  expect(GOAL_Text(schedule, &world, nullptr, &bytes) == GOAL_ERR_STATE, "the text of what is compiled");
  expect(GOAL_Make_of(team, schedule, &started) == GOAL_SUCCESS, "making");
  for (int i = 0; i < 3; ++i) {
    std::atomic<int> told{0};
    sum = largest = 0;
    const int code = GOAL_Restart(
        started, [](void* arg) { ++*static_cast<std::atomic<int>*>(arg); }, &told);
    expect(code == GOAL_SUCCESS, "starting");
    PtlxWait([](void* arg) -> int { return *static_cast<std::atomic<int>*>(arg); }, &told, 0, PTL_TIME_FOREVER);
    expect(GOAL_Result(started) == GOAL_SUCCESS && sum == total && largest == size, "the results");
  }
  GOAL_Release(&started);
  GOAL_Free(&schedule);
}

void through_memory_of_the_node(const GOAL_Group& world) {
  constexpr unsigned kContext = 10;
  const char* const by_node = std::getenv("PTL_NODE");
  const bool shares = size > 1 && !(by_node && *by_node == '0');
  GOAL_Domain domain = nullptr;
  expect(GOAL_Domain_open(&world, kContext, &domain) == GOAL_SUCCESS, "a domain");
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const auto compile = [&](GOAL_Schedule schedule, bool fits) {
    int compiled = 2;
    expect(GOAL_Compile_on_node(schedule, &world, kContext, domain, &compiled) == GOAL_SUCCESS, "compiling for the node");
    expect(compiled == (shares && fits ? 1 : 0), "whether it runs through memory");
    return compiled == 1;
  };

  // A sum that passes around the ring, in two pieces; and how far a sender may be ahead.
  struct {
    int64_t mine[2], before[2], sum[2];
  } memory{};
  GOAL_Schedule ring, ahead, unequal, large;
  GOAL_Started started = nullptr;
  GOAL_Op add, heard, sent;
  expect(GOAL_Create(&ring) == GOAL_SUCCESS, "a schedule");
  GOAL_Local(ring, GOAL_ADD, GOAL_INT64, GOAL_User(memory.sum), GOAL_User(memory.mine), GOAL_User(memory.before), 2, &add);
  const GOAL_Piece pieces[] = {{GOAL_USERSPACE, 0, reinterpret_cast<uintptr_t>(&memory.before[1]), 8},
                               {GOAL_USERSPACE, 0, reinterpret_cast<uintptr_t>(&memory.before[0]), 8}};
  if (rank > 0) GOAL_Recv(ring, GOAL_Pieces(pieces, 2), 16, left, 0, &heard), GOAL_Requires(ring, add, heard);
  if (rank < size - 1) GOAL_Send(ring, GOAL_User(memory.sum), 16, right, 0, &sent), GOAL_Requires(ring, sent, add);
  if (compile(ring, true)) {
    expect(GOAL_Make_of(team, ring, &started) == GOAL_SUCCESS, "making");
    for (int64_t i = 0; i < 40; ++i) {
      memory.mine[0] = i, memory.mine[1] = 1;
      const uint64_t before = messages_sent();
      expect(run_made(started) == GOAL_SUCCESS && messages_sent() == before, "a run without messages");
      const int64_t straight = rank % 2 == 0 ? 1 + rank / 2 : (rank + 1) / 2, crossed = rank + 1 - straight;  // turned at each rank
      expect(memory.sum[0] == straight * i + crossed && memory.sum[1] == straight + crossed * i, "the sum");
    }
    GOAL_Release(&started);
  }

  int64_t number = 0;
  expect(GOAL_Create(&ahead) == GOAL_SUCCESS, "a schedule");
  if (rank == 0 && size > 1) GOAL_Send(ahead, GOAL_User(&number), 8, 1, 3, nullptr);
  if (rank == 1) GOAL_Recv(ahead, GOAL_User(&number), 8, 0, 3, nullptr);
  if (compile(ahead, true)) {
    expect(GOAL_Make_of(team, ahead, &started) == GOAL_SUCCESS, "making");
    const auto run_all = [&] {
      for (int64_t i = 1; i <= 8; ++i) {
        if (rank == 0) number = i;
        expect(run_made(started) == GOAL_SUCCESS && (rank > 1 || number == i), "a run ahead");
      }
    };
    for (int turn = 0; turn < 3; ++turn) {
      if (rank == 0) run_all();
      Case(GOAL_CALL_BARRIER, 0, 0, ++calls, false).run("a barrier behind runs that are ahead");
      if (rank != 0) run_all();
    }
    for (int i = 0; i < 100; ++i) expect(run_made(started) == GOAL_SUCCESS, "a run");
    GOAL_Release(&started);
  }

  int64_t room[2] = {0, 5};
  expect(GOAL_Create(&unequal) == GOAL_SUCCESS, "a schedule");
  if (rank == 0 && size > 1) GOAL_Send(unequal, GOAL_User(room), 8, 1, 3, nullptr);
  if (rank == 1) GOAL_Recv(unequal, GOAL_User(room), 16, 0, 3, nullptr);
  if (compile(unequal, true)) {
    expect(GOAL_Make_of(team, unequal, &started) == GOAL_SUCCESS, "making");
    expect(run_made(started) == (rank == 1 ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS}) && room[1] == 5, "a message that is too short");
    GOAL_Release(&started);
  }

  // A gate, with and without others.
  GOAL_Schedule gated;
  GOAL_Op gate;
  int64_t copied = 0;
  expect(GOAL_Create(&gated) == GOAL_SUCCESS, "a schedule");
  GOAL_Recv(gated, GOAL_User(nullptr), 0, rank, 6, &gate);
  GOAL_Local(gated, GOAL_COPY, GOAL_INT64, GOAL_User(&copied), GOAL_User(&number), GOAL_User(nullptr), 1, &add);
  GOAL_Requires(gated, add, gate);
  expect(GOAL_Open(gated, gate) == GOAL_ERR_STATE, "a gate of what is not compiled");
  if (!compile(gated, true)) {
    GOAL_Free(&gated);
    expect(GOAL_Create(&gated) == GOAL_SUCCESS && GOAL_Context(gated, kContext) == GOAL_SUCCESS, "a schedule");
    GOAL_Recv(gated, GOAL_User(nullptr), 0, rank, 6, &gate);
    GOAL_Local(gated, GOAL_COPY, GOAL_INT64, GOAL_User(&copied), GOAL_User(&number), GOAL_User(nullptr), 1, &add);
    GOAL_Requires(gated, add, gate);
    expect(GOAL_Compile(gated) == GOAL_SUCCESS, "compiling");
  }
  expect(GOAL_Open(gated, add) == GOAL_ERR_ARG, "what is no gate");
  for (int64_t i = 1; i <= 300; ++i) {
    GOAL_Request run = GOAL_REQUEST_NULL;
    int done = 1;
    expect(GOAL_Run(gated, &run) == GOAL_SUCCESS && GOAL_Test(&run, &done) == GOAL_SUCCESS && !done, "a run before its gate");
    number = i;
    expect(GOAL_Open(gated, gate) == GOAL_SUCCESS && GOAL_Wait(&run) == GOAL_SUCCESS && copied == i, "a gate");
  }
  GOAL_Free(&gated);

  std::vector<std::byte> much(5000);
  expect(GOAL_Create(&large) == GOAL_SUCCESS, "a schedule");
  if (rank == 0 && size > 1) GOAL_Send(large, GOAL_User(much.data()), much.size(), 1, 3, nullptr);
  if (rank == 1) GOAL_Recv(large, GOAL_User(much.data()), much.size(), 0, 3, nullptr);
  compile(large, false);

  // A revocation ends a run, and what is started behind it.
  GOAL_Schedule stuck;
  expect(GOAL_Create(&stuck) == GOAL_SUCCESS, "a schedule");
  GOAL_Send(stuck, GOAL_User(&number), 8, right, 4, &sent);
  GOAL_Recv(stuck, GOAL_User(&room[0]), 8, left, 4, &heard);
  if (compile(stuck, true)) {
    expect(GOAL_Make_of(team, stuck, &started) == GOAL_SUCCESS, "making");
    Case(GOAL_CALL_BARRIER, 0, 0, ++calls, false).run("a barrier behind compiling");
    if (rank == 0) GOAL_Domain_revoke(domain);
    if (rank == 1) expect(run_made(started) == GOAL_ERR_FAILED, "a run that was revoked");
    while (!GOAL_Domain_failed(domain)) PtlxProgress();
    expect(run_made(started) != GOAL_SUCCESS, "a run behind that");
    GOAL_Release(&started);
  }
  for (GOAL_Schedule* one : {&ring, &ahead, &unequal, &large, &stuck}) GOAL_Free(one);
  GOAL_Domain_close(&domain);
}

}  // namespace portunus::test::goal_call
