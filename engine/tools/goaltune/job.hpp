// All ranks at work: rank 0 says what is measured next, the others do it with rank 0.
//
// Thread: one. Invariants: a rank that is not in the group of a point waits for the next order meanwhile, asleep.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/tools/goaltune/schedules.hpp"

namespace portunus::goaltune {

class Job {
 public:
  // Collective over the job; `points` as on all ranks, `bytes`: the longest buffer of all.
  Job(int rank, int size, std::vector<Point>& points, size_t bytes);
  // Rank 0: measures all points in about so many seconds, in `rounds` rounds each, or fewer where these take too long; tells `progress`
  // before each which one it is. Then the others are let go.
  void measure(double seconds, uint32_t rounds, const std::function<void(size_t)>& progress);
  // The others: until rank 0 has done so.
  void serve();

 private:
  enum class Verb : uint32_t { begin, run, finish, end };
  struct Order {
    Verb verb = Verb::end;
    uint32_t point = 0, slot = 0, repeat = 0;
  };

  double carry_out();               // order_
  double tell(const Order& order);  // rank 0
  void measure(size_t point, std::chrono::duration<double> share, uint32_t rounds);

  int rank_;
  std::vector<Point>& points_;
  Buffers buffers_;
  Order order_;
  Repeated orders_, together_;
  std::optional<Schedules> schedules_;
};

}  // namespace portunus::goaltune
