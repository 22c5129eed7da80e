// A barrier of all ranks, compiled once and run again and again: no execution claims memory, whoever runs ahead, and afterwards every
// counter has what so many executions make of it.
//
// Run under ptlrun; the first argument is the number of executions.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "engine/goal/calls.hpp"
#include "engine/goal/goal.h"
#include "tests/allocation_probe.hpp"

static int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, GOAL_Explain());
  return 1;
}

static int run(GOAL_Schedule barrier, unsigned long epochs) {
  for (unsigned long epoch = 0; epoch < epochs; ++epoch) {
    GOAL_Request request;
    if (GOAL_Run(barrier, &request) != GOAL_SUCCESS) return failed("GOAL_Run");
    if (GOAL_Wait(&request) != GOAL_SUCCESS) return failed("GOAL_Wait");
  }
  return 0;
}

constexpr unsigned long kFirst = 500;

// On an interface with this limit a chain of more delays cannot be loaded, and leaves nothing behind: a shorter one still can.
static bool too_few_counters_are_told_when_loading() {
  using namespace portunus::goal;
  ptl_ni_limits_t limits{};
  limits.max_cts = 12;
  ptl_handle_ni_t ni;
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &limits, nullptr, &ni) != PTL_OK) return false;
  bool good = true;
  {
    Port port;
    good = port.open(ni, 0) == PTL_OK;
    for (const VertexId length : {20u, 5u, 20u, 5u}) {
      Schedule chain;
      for (VertexId v = 0; v < length; ++v)
        if (chain.calc(1); v > 0) chain.add_dependency(v, v - 1);
      chain.finish();
      LoadedProgram program(port, compile(chain, {}), std::vector<Binding>(length));
      const int code = program.load();
      good = good && code == (length == 20 ? PTL_NO_SPACE : PTL_OK);
      if (code == PTL_OK) good = good && program.start() == PTL_OK && program.wait() == PTL_OK && program.counters_are_full();
    }
  }
  return PtlNIFini(ni) == PTL_OK && good;
}

int main(int argc, char** argv) {
  const unsigned long epochs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  int rank, size;
  if (GOAL_Init(&rank, &size) != GOAL_SUCCESS) return failed("GOAL_Init");
  if (!too_few_counters_are_told_when_loading()) return failed("a schedule with more counters than the interface has");
  GOAL_Schedule barrier;
  GOAL_Op received[32], send;
  int rounds = 0;
  if (GOAL_Create(&barrier) != GOAL_SUCCESS) return failed("GOAL_Create");
  for (int ahead = 1; ahead < size; ahead *= 2) {
    GOAL_Send(barrier, GOAL_Pad(0), 0, (rank + ahead) % size, 0, &send);
    for (int k = 0; k < rounds; ++k) GOAL_Requires(barrier, send, received[k]);
    GOAL_Recv(barrier, GOAL_Pad(0), 0, (rank + size - ahead) % size, 0, &received[rounds++]);
  }
  if (GOAL_Compile(barrier) != GOAL_SUCCESS) return failed("GOAL_Compile");
  if (run(barrier, kFirst) != 0) return 1;  // what grows once, has grown
  const unsigned long before = portunus::allocation_probe::count.load();
  const auto begin = std::chrono::steady_clock::now();
  if (run(barrier, epochs) != 0) return 1;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  const unsigned long during = portunus::allocation_probe::count.load() - before;
  if (rank == 0)
    std::printf("statement id=epochs ranks=%d epochs=%lu allocations=%lu barrier_us=%.3f\n", size, epochs, during,
                took.count() / static_cast<double>(epochs));
  const bool full = barrier->instance->program().counters_are_full() && barrier->instance->program().epoch() == kFirst + epochs;
  if (GOAL_Free(&barrier) != GOAL_SUCCESS || GOAL_Finalize() != GOAL_SUCCESS) return failed("GOAL_Finalize");
  if (during == 0 && full) return 0;
  std::fprintf(stderr, "rank %d: %lu allocations in %lu executions, counters %s\n", rank, during, epochs,
               full ? "full" : "not as they must be");
  return 1;
}
