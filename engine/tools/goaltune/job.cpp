// Orders of rank 0, and how often what is executed: see job.hpp.
//
// Thread: one.
#include "engine/tools/goaltune/job.hpp"

#include <algorithm>

namespace portunus::goaltune {

using goal::collectives::Collective;
using goal::collectives::offered;

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The first two are of the job as a whole. A point takes up to five of the others, which are used in turn.
constexpr unsigned kOrders = 0, kTogether = 1, kFirst = 8, kEach = 8, kTurns = 1024;

constexpr uint32_t kFewestRounds = 3, kMostRepeats = 10'000;
constexpr double kLeast = 0.01;  // microseconds: what is hardly longer than the barrier alone

// The median of rounds, and how far half of them are from it.
struct Estimate {
  double time, doubt;
};
Estimate estimate(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t last = values.size() - 1;
  return {(values[last / 2] + values[(last + 1) / 2]) / 2, (values[last - last / 4] - values[last / 4]) / 2};
}

}  // namespace

Job::Job(int rank, int size, std::vector<Point>& points, size_t bytes)
    : rank_(rank), points_(points), buffers_(bytes), orders_(kOrders), together_(kTogether) {
  const GOAL_Group all{.rank = rank, .size = size, .ranks = nullptr, .nodes = nullptr, .tag = 0, .algorithm = GOAL_BINOMIAL};
  check(GOAL_Bcast(orders_.place(), &all, GOAL_User(&order_), sizeof order_, 0, nullptr));
  orders_.compile();
  check(GOAL_Barrier(together_.place(), &all, nullptr));
  together_.compile();
}

double Job::carry_out() {
  const bool takes_part = order_.verb != Verb::end && static_cast<uint32_t>(rank_) < points_[order_.point].ranks;
  switch (order_.verb) {
    case Verb::begin:
      if (takes_part) schedules_.emplace(points_[order_.point], rank_, buffers_, kFirst + order_.point % kTurns * kEach);
      return 0;
    case Verb::run: return takes_part ? schedules_->measure(order_.slot, order_.repeat) : 0;
    case Verb::finish:
      // No rank is more orders behind than a point has.
      schedules_.reset();
      together_.run();
      return 0;
    default: return 0;
  }
}

double Job::tell(const Order& order) {
  order_ = order;
  orders_.run();
  return carry_out();
}

void Job::serve() {
  do {
    orders_.run();
    carry_out();
  } while (order_.verb != Verb::end);
}

// Algorithms take turns, so that what disturbs the machine for a while disturbs all of them; a median of rounds forgets it.
void Job::measure(size_t number, Seconds share, uint32_t rounds) {
  Point& point = points_[number];
  const auto index = static_cast<uint32_t>(number);
  const size_t algorithms = offered(point.collective).size();
  const bool beside_barrier = point.collective != Collective::barrier;
  const size_t slots = algorithms + (beside_barrier ? 1 : 0);
  const Clock::time_point begin = Clock::now();
  tell({Verb::begin, index, 0, 0});
  std::vector<double> once;
  for (size_t slot = 0; slot < slots; ++slot) {
    tell({Verb::run, index, static_cast<uint32_t>(slot), 1});  // connections, caches
    once.push_back(tell({Verb::run, index, static_cast<uint32_t>(slot), 2}));
  }
  const double each = std::max(0.0, std::chrono::duration<double, std::micro>(share - (Clock::now() - begin)).count()) /
                      static_cast<double>(slots * rounds);
  std::vector<std::vector<double>> samples(slots);
  for (uint32_t round = 0; round < rounds && (round < kFewestRounds || Clock::now() - begin < share); ++round) {
    for (size_t turn = 0; turn < slots; ++turn) {
      const size_t slot = (turn + round) % slots;
      const double repeats = std::clamp(each / std::max(once[slot], kLeast), 1.0, double{kMostRepeats});
      samples[slot].push_back(tell({Verb::run, index, static_cast<uint32_t>(slot), static_cast<uint32_t>(repeats)}));
    }
  }
  tell({Verb::finish, index, 0, 0});
  const double barrier = beside_barrier ? estimate(samples[algorithms]).time : 0;
  for (size_t i = 0; i < algorithms; ++i) {
    const Estimate whole = estimate(samples[i]);
    point.times.push_back(std::max(kLeast, whole.time - barrier));
    point.doubts.push_back(whole.doubt);
  }
}

void Job::measure(double seconds, uint32_t rounds, const std::function<void(size_t)>& progress) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  for (size_t i = 0; i < points_.size(); ++i) {
    progress(i);
    measure(i, Seconds(end - Clock::now()) / static_cast<double>(points_.size() - i), rounds);
  }
  tell({Verb::end, 0, 0, 0});
}

}  // namespace portunus::goaltune
