// Making and timing schedules: see schedules.hpp.
//
// Thread: one.
#include "engine/tools/goaltune/schedules.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace portunus::goaltune {

using goal::collectives::Collective;
using goal::collectives::offered;

namespace {

void add(GOAL_Schedule* s, const GOAL_Group& group, const Point& point, Buffers& buffers) {
  const GOAL_Buffer from = GOAL_User(buffers.from.data()), to = GOAL_User(buffers.to.data());
  const auto size = static_cast<size_t>(group.size);
  const size_t bytes = point.bytes, count = bytes / sizeof(double), each = bytes / size;
  switch (point.collective) {
    case Collective::barrier: return check(GOAL_Barrier(s, &group, nullptr));
    case Collective::bcast: return check(GOAL_Bcast(s, &group, to, bytes, 0, nullptr));
    case Collective::reduce: return check(GOAL_Reduce(s, &group, from, to, count, GOAL_DOUBLE, GOAL_ADD, 0, nullptr));
    case Collective::allreduce: return check(GOAL_Allreduce(s, &group, from, to, count, GOAL_DOUBLE, GOAL_ADD, nullptr));
    case Collective::gather: return check(GOAL_Gather(s, &group, from, to, bytes, 0, nullptr));
    case Collective::scatter: return check(GOAL_Scatter(s, &group, from, to, bytes, 0, nullptr));
    case Collective::allgather: return check(GOAL_Allgather(s, &group, from, to, each, nullptr));
    case Collective::allgatherv: {
      const std::vector<size_t> sizes(size, each);
      std::vector<std::ptrdiff_t> places;
      for (size_t i = 0; i < size; ++i) places.push_back(static_cast<std::ptrdiff_t>(i * each));
      return check(GOAL_Allgatherv(s, &group, from, to, sizes.data(), places.data(), nullptr));
    }
    case Collective::alltoall: return check(GOAL_Alltoall(s, &group, from, to, bytes, nullptr));
    case Collective::reduce_scatter: {
      std::vector<size_t> counts(size, count / size);
      for (size_t i = 0; i < count % size; ++i) ++counts[i];
      return check(GOAL_Reduce_scatter(s, &group, from, to, counts.data(), GOAL_DOUBLE, GOAL_ADD, nullptr));
    }
  }
}

GOAL_Group group_of(const Point& point, int rank, GOAL_Algorithm algorithm) {
  return {.rank = rank, .size = static_cast<int>(point.ranks), .ranks = nullptr, .nodes = nullptr, .tag = 0, .algorithm = algorithm};
}

}  // namespace

void check(int code) {
  if (code != GOAL_SUCCESS) throw Failure(GOAL_Explain());
}

Repeated::Repeated(unsigned context) {
  check(GOAL_Create(&schedule_));
  check(GOAL_Context(schedule_, context));
}

Repeated::Repeated(Repeated&& other) noexcept : schedule_(std::exchange(other.schedule_, nullptr)) {}

Repeated::~Repeated() {
  if (schedule_) GOAL_Free(&schedule_);
}

void Repeated::run() const {
  GOAL_Request request;
  check(GOAL_Run(schedule_, &request));
  check(GOAL_Wait(&request));
}

Schedules::Schedules(const Point& point, int rank, Buffers& buffers, unsigned context)
    : is_barrier_(point.collective == Collective::barrier), barrier_(context) {
  const GOAL_Group group = group_of(point, rank, GOAL_DISSEMINATION);
  check(GOAL_Barrier(barrier_.place(), &group, nullptr));
  barrier_.compile();
  for (const GOAL_Algorithm algorithm : offered(point.collective)) {
    Repeated schedule(++context);
    add(schedule.place(), group_of(point, rank, algorithm), point, buffers);
    schedule.compile();
    algorithms_.push_back(std::move(schedule));
  }
}

// Without a barrier behind each the root of a broadcast would run ahead, and what was measured would be how much passes, not how long it
// takes.
double Schedules::measure(size_t slot, uint32_t repeat) const {
  using Clock = std::chrono::steady_clock;
  const Repeated* const schedule = slot < algorithms_.size() ? &algorithms_[slot] : nullptr;
  barrier_.run();
  const Clock::time_point begin = Clock::now();
  for (uint32_t i = 0; i < repeat; ++i) {
    if (schedule) schedule->run();
    if (!schedule || !is_barrier_) barrier_.run();
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / repeat;
}

}  // namespace portunus::goaltune
