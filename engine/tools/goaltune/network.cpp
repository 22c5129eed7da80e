// network.cpp: see network.hpp.
//
// Thread: one.
#include "engine/tools/goaltune/network.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <vector>

#include "engine/tools/goaltune/schedules.hpp"

namespace portunus::goaltune {
namespace {

constexpr uint32_t kTurns = 10, kBurst = 100;
constexpr size_t kAnnounced = 65'536;  // bytes of a message, above which it is announced first

struct Ends {
  int rank, peer;
  bool is_first() const { return rank == 0; }
};

// One run of a schedule takes this on this rank, in ns.
struct Taken {
  double time, processor;
};

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

// The least of some runs, each behind a barrier, so that both ranks begin at once: what others on the machine take does not count.
Taken take(const Ends& ends, const Repeated& schedule, size_t bytes, unsigned context) {
  const std::array<int, 2> ranks{std::min(ends.rank, ends.peer), std::max(ends.rank, ends.peer)};
  const GOAL_Group both{
      .rank = ends.is_first() ? 0 : 1, .size = 2, .ranks = ranks.data(), .nodes = nullptr, .tag = 0, .algorithm = GOAL_DISSEMINATION};
  Repeated barrier(context);
  check(GOAL_Barrier(barrier.place(), &both, nullptr));
  barrier.compile();
  Taken least{1e18, 1e18};
  for (int run = bytes > kAnnounced ? 20 : 200; run > 0; --run) {
    barrier.run();
    const double begin = now(CLOCK_MONOTONIC), busy = now(CLOCK_PROCESS_CPUTIME_ID);
    schedule.run();
    least.processor = std::min(least.processor, now(CLOCK_PROCESS_CPUTIME_ID) - busy);
    least.time = std::min(least.time, now(CLOCK_MONOTONIC) - begin);
  }
  return least;
}

// There and back, `turns` times.
Taken turns(const Ends& ends, std::vector<std::byte>& memory, size_t bytes, uint32_t turns, unsigned& context) {
  Repeated schedule(++context);
  GOAL_Op last{};
  for (uint32_t turn = 0; turn < turns; ++turn)
    for (const bool sends : {ends.is_first(), !ends.is_first()}) {
      GOAL_Op op{};
      check((sends ? GOAL_Send : GOAL_Recv)(*schedule.place(), GOAL_User(memory.data()), bytes, ends.peer,
                                            2 * turn + (sends != ends.is_first()), &op));
      if (turn > 0 || sends != ends.is_first()) check(GOAL_Requires(*schedule.place(), op, last));
      last = op;
    }
  schedule.compile();
  return take(ends, schedule, bytes, ++context);
}

// So many messages one after the other, and an answer to all of them.
Taken burst(const Ends& ends, std::vector<std::byte>& memory, uint32_t messages, unsigned& context) {
  Repeated schedule(++context);
  std::vector<GOAL_Op> all(messages);
  for (uint32_t i = 0; i < messages; ++i)
    check((ends.is_first() ? GOAL_Send : GOAL_Recv)(*schedule.place(), GOAL_User(memory.data()), 8, ends.peer, 1, &all[i]));
  GOAL_Op answer{};
  check((ends.is_first() ? GOAL_Recv : GOAL_Send)(*schedule.place(), GOAL_User(memory.data() + 8), 8, ends.peer, 2, &answer));
  for (uint32_t i = 0; !ends.is_first() && i < messages; ++i) check(GOAL_Requires(*schedule.place(), answer, all[i]));
  schedule.compile();
  return take(ends, schedule, 8, ++context);
}

}  // namespace

// Differences of two lengths, so that what a run itself takes does not count.
MeasuredNetwork measure_network(int rank, int size, size_t most, const std::function<void(size_t, double)>& found) {
  const Ends ends{rank, rank == 0 ? size - 1 : 0};
  std::vector<std::byte> memory(std::max<size_t>(most, 16));
  unsigned context = 0;
  const auto message = [&](size_t bytes) {
    const double few = turns(ends, memory, bytes, kTurns, context).time;
    const double ns = std::max(0.0, (turns(ends, memory, bytes, 2 * kTurns, context).time - few) / (2.0 * kTurns));
    if (ends.is_first()) found(bytes, ns);
    return ns;
  };
  MeasuredNetwork network;
  const double shortest = message(8);
  double last = shortest;
  for (size_t bytes = 1024, before = 8; bytes <= most; before = bytes, bytes *= 4) {
    const double ns = message(bytes);
    network.byte_gap = std::max(0.0, (ns - last) / static_cast<double>(bytes - before));
    last = ns;
  }
  const Taken few = burst(ends, memory, kBurst, context), many = burst(ends, memory, 2 * kBurst, context);
  network.gap = std::max(0.0, (many.time - few.time) / kBurst);
  network.overhead = std::clamp((many.processor - few.processor) / kBurst, 0.0, std::min(network.gap, shortest / 2));
  network.latency = shortest - 2 * network.overhead;
  return network;
}

std::string network_text(const MeasuredNetwork& network) {
  char text[160];
  std::snprintf(text, sizeof text, "L=%.0f,o=%.0f,g=%.0f,G=%.4f,S=%zu", network.latency, network.overhead, network.gap, network.byte_gap,
                kAnnounced);
  return text;
}

}  // namespace portunus::goaltune
