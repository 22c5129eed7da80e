// The schedules of one point on one rank: each algorithm, and the barrier between executions.
//
// Thread: one. Invariants: made and freed by all ranks of the group together; contexts are counted on, so that late messages of what was
// freed meet nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "engine/goal/goal_collectives.h"
#include "engine/tools/goaltune/points.hpp"

namespace portunus::goaltune {

// An error, as a sentence for the user.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void check(int code);  // a GOAL_* code; throws Failure

// A compiled schedule that is executed again and again.
class Repeated {
 public:
  explicit Repeated(unsigned context);
  Repeated(Repeated&& other) noexcept;
  ~Repeated();
  [[nodiscard]] GOAL_Schedule* place() { return &schedule_; }  // to add to
  void compile() const { check(GOAL_Compile(schedule_)); }
  void run() const;

 private:
  GOAL_Schedule schedule_ = nullptr;
};

// Memory of collectives, for all points.
struct Buffers {
  explicit Buffers(size_t bytes) : from(bytes / sizeof(double) + 1), to(from.size()) {}
  std::vector<double> from, to;
};

class Schedules {
 public:
  // `context`: the first of as many as there are algorithms, and one.
  Schedules(const Point& point, int rank, Buffers& buffers, unsigned context);
  // How long one execution of an algorithm took, in microseconds, on average of `repeat` with a barrier behind each; of the barrier
  // alone, if `slot` is the number of algorithms. All ranks of the group call this alike.
  [[nodiscard]] double measure(size_t slot, uint32_t repeat) const;

 private:
  bool is_barrier_;
  std::vector<Repeated> algorithms_;
  Repeated barrier_;
};

}  // namespace portunus::goaltune
