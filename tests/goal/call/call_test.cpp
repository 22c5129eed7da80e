// The calls of goal_call.h, on every rank of a job: each kind and each form of call (run, started, made and started again), in lengths
// around those at which another way is taken, in place and not, on the same memory and on other memory each time. Ends with status 1 and a
// sentence where one does not hold.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/goal/goal_call.h"
#include "portals/portals4_ext.h"
#include "tests/goal/call/case.hpp"
#include "tests/support/thorough.hpp"

namespace {

using namespace portunus::test::goal_call;

void each_kind_in_each_form(size_t count) {
  for (int k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<GOAL_Call_kind>(k);
    const int root = static_cast<int>((count + static_cast<size_t>(k)) % static_cast<size_t>(size));
    for (int turn = 0; turn < 6; ++turn) {
      Case run(kind, count, root, ++calls, turn % 2 == 1);
      run.run("a call that is run");
      Case started(kind, count, root, ++calls, turn % 2 == 1);
      started.start();
      started.finish("a call that is started");
    }
    for (const auto make : {GOAL_Make, GOAL_Prepare}) {
      Case made(kind, count, root, ++calls, false);
      int code = make(team, &made.call, &made.started);
      expect(code == GOAL_SUCCESS, "making", kind, count, code);
      for (int turn = 0; turn < 9; ++turn) {
        std::ranges::fill(made.out, 5);
        if (kind == GOAL_CALL_BCAST && rank == root) made.out = made.expected;
        code = GOAL_Restart(made.started, Case::has_ended, &made);
        expect(code == GOAL_SUCCESS, "starting what was made", kind, count, code);
        made.await();
        made.check("what was made", GOAL_Result(made.started));
      }
      GOAL_Release(&made.started);
    }
  }
}

// Each rank starts what was prepared in an order of its own, several at a time, and meets the others only through these.
void prepared_in_any_order(size_t count) {
  constexpr GOAL_Call_kind kAll[] = {GOAL_CALL_BARRIER, GOAL_CALL_BCAST,  GOAL_CALL_ALLREDUCE, GOAL_CALL_ALLTOALL,
                                     GOAL_CALL_REDUCE,  GOAL_CALL_GATHER, GOAL_CALL_ALLGATHER, GOAL_CALL_SCAN};
  std::deque<Case> all;
  for (const GOAL_Call_kind kind : kAll) {
    Case& made = all.emplace_back(kind, count, static_cast<int>(all.size()) % size, ++calls, false);
    const int code = GOAL_Prepare(team, &made.call, &made.started);
    expect(code == GOAL_SUCCESS, "preparing", kind, count, code);
  }
  std::mt19937 own(static_cast<unsigned>(rank) + 1);
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const uint32_t turns = portunus::test::runs(80);
  for (uint32_t turn = 0; turn < turns; ++turn) {
    std::ranges::shuffle(order, own);
    for (const size_t i : order) {
      Case& made = all[i];
      std::ranges::fill(made.out, 5);
      if (made.call.kind == GOAL_CALL_BCAST && rank == made.call.root) made.out = made.expected;
      const int code = GOAL_Restart(made.started, Case::has_ended, &made);
      expect(code == GOAL_SUCCESS, "starting what was prepared", made.call.kind, count, code);
    }
    std::ranges::shuffle(order, own);
    for (const size_t i : order) {
      all[i].await();
      all[i].check("what was prepared", GOAL_Result(all[i].started));
    }
    if (turn % 20 == 0) Case(GOAL_CALL_ALLREDUCE, count, 0, ++calls, false).run("a call beside what was prepared");
  }
  for (Case& made : all) GOAL_Release(&made.started);
}

// More than there is memory for: the rest goes by schedules, and what was freed is there again.
void many_are_prepared() {
  for (int turn = 0; turn < 2; ++turn) {
    std::deque<Case> all;
    for (int i = 0; i < 150; ++i) {
      Case& made = all.emplace_back(GOAL_CALL_ALLREDUCE, i % 3 == 0 ? 20000 : 3, 0, ++calls, false);
      const int code = GOAL_Prepare(team, &made.call, &made.started);
      expect(code == GOAL_SUCCESS, "preparing one of many", made.call.kind, made.call.count, code);
    }
    for (Case& made : all) {
      const int code = GOAL_Restart(made.started, Case::has_ended, &made);
      expect(code == GOAL_SUCCESS, "starting one of many", made.call.kind, made.call.count, code);
    }
    for (Case& made : all) made.finish("one of many");
  }
}

// Many are under way, and end in any order, with blocking ones between them.
void many_at_once(std::mt19937& random, size_t most) {
  constexpr size_t kMany = 60;
  std::deque<Case> all;
  for (size_t i = 0; i < kMany; ++i) {
    const auto kind = static_cast<GOAL_Call_kind>(random() % kKinds);
    const size_t count = random() % 4 == 0 ? random() % most : random() % 3 * 50;  // few shapes come again and again
    const int root = static_cast<int>(random() % static_cast<size_t>(size));
    all.emplace_back(kind, count, root, ++calls, random() % 2 == 0).start();
    if (i % 7 == 6) Case(static_cast<GOAL_Call_kind>(random() % kKinds), 40, root, ++calls, false).run("a call among started ones");
  }
  std::vector<size_t> order(kMany);
  for (size_t i = 0; i < kMany; ++i) order[i] = i;
  std::ranges::shuffle(order, random);
  for (const size_t i : order) all[i].finish("one of many");
}

// A root that nobody answers may not run ahead without limit, whatever it calls.
void roots_run_ahead() {
  for (const size_t count : {size_t{3}, size_t{20000}})
    for (size_t i = 0; i < 600; ++i) Case(GOAL_CALL_BCAST, count, 0, ++calls, false).run("a broadcast after broadcasts");
  std::deque<Case> all;
  for (size_t i = 0; i < 300; ++i) all.emplace_back(GOAL_CALL_REDUCE, 3, size - 1, ++calls, false).start();
  for (Case& one : all) one.finish("a reduction after reductions");
}

// A call with sizes that were there before compiles nothing, whatever its memory; calls in which the ranks meet have schedules of their
// own. `sizes` of them alternate.
void later_calls_compile_nothing(size_t count, size_t sizes) {
  for (int k = 0; k < kKinds; ++k)
    for (const bool starts : {false, true}) {
      const auto kind = static_cast<GOAL_Call_kind>(k);
      const uint64_t before = GOAL_Compilations();
      for (size_t turn = 0; turn < 70; ++turn) {
        Case one(kind, count + turn % sizes, 0, 2 * ++calls + (starts != (sizes == 3) ? 1 : 0), false);
        if (starts) {
          one.start();
          one.finish("a start that came before");
        } else {
          one.run("a call that came before");
        }
      }
      expect(GOAL_Compilations() - before <= 2 * sizes, "compiling nothing", kind, count, starts);
    }
}

// Whether processes of this user may read one another's memory: nothing of the parent's lies at this address.
bool reads_others() {
  uint64_t word;
  const iovec here{&word, sizeof word}, there{reinterpret_cast<void*>(16), sizeof word};
  return process_vm_readv(getppid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT;
}

// A team that shares memory from the start compiles nothing for what goes through it, be it started or not, not even at first; what calls
// that were prepared had is there again when they are freed.
void sharing_precedes_the_first_call(const GOAL_Group& world) {
  expect(GOAL_Team_share(nullptr) == GOAL_ERR_ARG, "sharing of nobody");
  const GOAL_Team others = team;
  const char* const by_node = std::getenv("PTL_NODE");
  const bool shares = size > 1 && !(by_node && *by_node == '0'), reads = reads_others();
  for (const bool starts : {false, true}) {
    expect(GOAL_Team_open(&world, starts ? 9 : 11, 0, nullptr, nullptr, nullptr, &team) == GOAL_SUCCESS, "opening");
    for (int again = 0; again < 2; ++again) expect(GOAL_Team_share(team) == GOAL_SUCCESS, "sharing");
    for (int k = 0; k < kKinds; ++k)
      for (const size_t count : {1, 100, 1000}) {
        const uint64_t before = GOAL_Compilations();
        const auto kind = static_cast<GOAL_Call_kind>(k);
        Case one(kind, count, 0, ++calls, false);
        if (starts) {
          one.start();
          one.finish("a first start");
        } else {
          one.run("a first call");
        }
        if (shares && (reads || kind < GOAL_CALL_GATHERV)) expect(GOAL_Compilations() == before, "compiling nothing at first", kind, count);
      }
    GOAL_Team_close(&team);
  }
  team = others;
}

// Parts that only two ranks know, some of which are too long for a slot, of many calls at a time, which end in any order.
void parts_of_any_length(const GOAL_Group& world, std::mt19937& random) {
  const GOAL_Team others = team;
  expect(GOAL_Team_open(&world, 12, 0, nullptr, nullptr, nullptr, &team) == GOAL_SUCCESS, "opening");
  expect(GOAL_Team_share(team) == GOAL_SUCCESS, "sharing");
  constexpr GOAL_Call_kind kAll[] = {GOAL_CALL_GATHERV, GOAL_CALL_SCATTERV, GOAL_CALL_ALLGATHERV, GOAL_CALL_ALLTOALLV,
                                     GOAL_CALL_REDUCE_SCATTER};
  for (int turn = 0; turn < 20; ++turn) {
    std::deque<Case> all;
    std::vector<size_t> order;
    for (size_t i = 0; i < 12; ++i) {
      const size_t lengths[] = {0, 1, 50, 700, 3000, 40000};
      const int root = static_cast<int>(random() % static_cast<size_t>(size));
      Case& one =
          all.emplace_back(kAll[random() % std::size(kAll)], lengths[random() % std::size(lengths)], root, ++calls, random() % 2 == 0);
      one.start();
      order.push_back(i);
    }
    std::ranges::shuffle(order, random);
    for (const size_t i : order) {
      all[i].finish("one of many by parts");
      std::ranges::fill(all[i].in, -1);  // nobody reads it any more
    }
  }
  GOAL_Team_close(&team);
  team = others;
}

// The ranks give and take unlike data by a rank's fault: all that get something learn of it, and nothing waits for ever.
void lengths_differ() {
  Case wrong(GOAL_CALL_ALLTOALLV, 10, 0, ++calls, false);
  if (rank == 0 && size > 1) wrong.in_sizes[1] -= 4;
  const int code = GOAL_Call_run(team, &wrong.call);
  expect(code == (rank == 1 ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS}), "a message that is too short", wrong.call.kind, 10, code);
}

// Arguments that are wrong are told before anything is done, by each form of call.
void wrong_arguments() {
  Element word = 0;
  const auto call_of = [&](GOAL_Call_kind kind) {
    GOAL_Call call{};
    call.kind = kind;
    call.bytes = sizeof word;
    call.count = 1;
    call.type = GOAL_UINT32;
    call.in = call.out = &word;
    return call;
  };
  std::vector<GOAL_Call> wrong;
  const auto add = [&](GOAL_Call_kind kind, auto&& spoil) { spoil(wrong.emplace_back(call_of(kind))); };
  for (const int kind : {kKinds, -1, INT_MAX}) add(static_cast<GOAL_Call_kind>(kind), [](GOAL_Call&) {});
  for (const auto kind : {GOAL_CALL_BCAST, GOAL_CALL_GATHER, GOAL_CALL_SCATTER, GOAL_CALL_REDUCE, GOAL_CALL_GATHERV, GOAL_CALL_SCATTERV})
    for (const int root : {-1, size}) add(kind, [root](GOAL_Call& call) { call.root = root; });
  for (const auto kind : {GOAL_CALL_REDUCE, GOAL_CALL_ALLREDUCE, GOAL_CALL_SCAN, GOAL_CALL_EXSCAN, GOAL_CALL_REDUCE_SCATTER}) {
    add(kind, [](GOAL_Call& call) { call.op = GOAL_SUB; });
    add(kind, [](GOAL_Call& call) { call.op = GOAL_COPY; });
    for (const int type : {GOAL_LONG_DOUBLE_LOC + 1, -1, INT_MAX})
      add(kind, [type](GOAL_Call& call) { call.type = static_cast<GOAL_Type>(type); });
    for (const int op : {GOAL_DELAY + 1, -1, INT_MAX}) add(kind, [op](GOAL_Call& call) { call.op = static_cast<GOAL_Local_op>(op); });
    add(kind, [](GOAL_Call& call) { call.op = GOAL_AND, call.type = GOAL_DOUBLE; });
  }
  for (const auto kind : {GOAL_CALL_ALLGATHER, GOAL_CALL_ALLTOALL, GOAL_CALL_ALLREDUCE, GOAL_CALL_SCAN}) {
    add(kind, [](GOAL_Call& call) { call.in = nullptr; });
    add(kind, [](GOAL_Call& call) { call.out = nullptr; });
  }
  add(GOAL_CALL_BCAST, [](GOAL_Call& call) { call.out = nullptr; });
  for (const auto kind : {GOAL_CALL_ALLGATHERV, GOAL_CALL_ALLTOALLV}) add(kind, [](GOAL_Call&) {});  // no sizes, no places
  for (const GOAL_Call& call : wrong) {
    GOAL_Started started = nullptr;
    for (const int code : {GOAL_Call_run(team, &call), GOAL_Start(team, &call, Case::has_ended, nullptr, &started),
                           GOAL_Make(team, &call, &started), GOAL_Prepare(team, &call, &started)})
      expect(code == GOAL_ERR_ARG && started == nullptr && GOAL_Explain()[0] != '\0', "a wrong argument", call.kind, call.count, code);
  }
  const GOAL_Call barrier = call_of(GOAL_CALL_BARRIER);
  GOAL_Started started = nullptr;
  expect(GOAL_Call_run(nullptr, &barrier) == GOAL_ERR_ARG && GOAL_Call_run(team, nullptr) == GOAL_ERR_ARG, "no team, or no call");
  expect(GOAL_Start(team, &barrier, Case::has_ended, nullptr, nullptr) == GOAL_ERR_ARG, "no place for what is started");
  expect(GOAL_Restart(started, Case::has_ended, nullptr) == GOAL_ERR_ARG && GOAL_Result(started) == GOAL_ERR_ARG, "nothing to start");
  expect(GOAL_Abandon(started) == 0, "nothing to give up");
  GOAL_Release(&started);
}

int give_up_at_once(void*, int) { return 1; }

// A rank gives up what nobody answers: by itself what it has started, because it is told so what it waits for. What was given up fails
// the team.
void one_is_given_up(const GOAL_Group& world) {
  GOAL_Team lonely, hopeless;
  expect(GOAL_Team_open(&world, 6, GOAL_TEAM_NO_MEMORY, nullptr, nullptr, nullptr, &lonely) == GOAL_SUCCESS, "opening");
  expect(GOAL_Team_open(&world, 7, GOAL_TEAM_NO_MEMORY, nullptr, give_up_at_once, nullptr, &hopeless) == GOAL_SUCCESS, "opening");
  if (rank == 0) {
    Case other(GOAL_CALL_GATHER, 3, 0, ++calls, false);
    int told = 0;
    const auto tell = [](void* arg) { ++*static_cast<int*>(arg); };
    int code = GOAL_Start(lonely, &other.call, tell, &told, &other.started);
    expect(code == GOAL_SUCCESS && told == 0, "a start that nobody answers", GOAL_CALL_GATHER, 3, code);
    expect(GOAL_Abandon(other.started) == 1 && GOAL_Result(other.started) == GOAL_ERR_FAILED, "giving up");
    expect(GOAL_Abandon(other.started) == 0 && told == 0, "giving up again");
    GOAL_Release(&other.started);
    code = GOAL_Call_run(lonely, &other.call);
    expect(code == GOAL_ERR_FAILED, "a call behind one that was given up", GOAL_CALL_GATHER, 3, code);
    code = GOAL_Call_run(hopeless, &other.call);
    expect(code == GOAL_ABANDONED, "a call that nobody answers", GOAL_CALL_GATHER, 3, code);
  }
  Case(GOAL_CALL_BARRIER, 0, 0, ++calls, false).run("another team's barrier");
  GOAL_Team_close(&lonely);
  GOAL_Team_close(&hopeless);
}

}  // namespace

int main() {
  GOAL_Group world{0, 1, nullptr, nullptr, 0, GOAL_AUTO};
  expect(GOAL_Team_open(&world, 5, 0, nullptr, nullptr, nullptr, &team) == GOAL_ERR_STATE, "a team before GOAL_Init");
  if (GOAL_Init(&rank, &size) != GOAL_SUCCESS || GOAL_World(&world) != GOAL_SUCCESS) return 2;
  expect(GOAL_Team_open(&world, 8192, 0, nullptr, nullptr, nullptr, &team) == GOAL_ERR_ARG, "a context that there is not");
  expect(GOAL_Team_open(nullptr, 5, 0, nullptr, nullptr, nullptr, &team) == GOAL_ERR_ARG, "a team of nobody");
  expect(GOAL_Team_open(&world, 5, 0, nullptr, nullptr, nullptr, &team) == GOAL_SUCCESS, "opening a team");
  for (const size_t count : {0, 1, 100, 3000, 9000, 150000}) each_kind_in_each_form(count);
  std::mt19937 random(5);  // alike on all ranks
  for (int turn = 0; turn < 3; ++turn) many_at_once(random, 20000);
  for (const size_t count : {0, 3, 2000, 30000}) prepared_in_any_order(count);
  many_are_prepared();
  GOAL_Team with_memory = team;
  expect(GOAL_Team_open(&world, 8, GOAL_TEAM_NO_MEMORY, nullptr, nullptr, nullptr, &team) == GOAL_SUCCESS, "opening");
  for (const size_t count : {100, 9000})
    for (const size_t sizes : {1, 3}) later_calls_compile_nothing(count, sizes);
  GOAL_Team_close(&team);
  team = with_memory;
  roots_run_ahead();
  wrong_arguments();
  lengths_differ();
  a_schedule_of_the_programs(world);
  through_memory_of_the_node(world);
  sharing_precedes_the_first_call(world);
  parts_of_any_length(world, random);
  parts_have_places(world);
  if (size > 1) one_is_given_up(world);
  GOAL_Team_close(&team);
  expect(team == nullptr, "closing a team");
  GOAL_Finalize();
  return 0;
}
