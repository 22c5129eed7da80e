// places.cpp: asking the team of MPI_COMM_WORLD for places.
#include "mpi-adi/collectives/places.hpp"

#include <array>

#include "mpi-adi/collectives/state.hpp"

namespace portunus::mpi::collectives {
namespace {

constexpr int kMostRanks = 128;

GOAL_Team whole() { return predefined_count != 0 && world().collectives ? world().collectives->team() : nullptr; }

// Calls f(team, part) with the group in the words of GOAL.
template <class F>
int with_part(const Group& group, F&& f) {
  if (group.size < 2 || group.size > kMostRanks) return 0;
  std::array<int, kMostRanks> ranks;
  for (int i = 0; i < group.size; ++i) ranks[static_cast<size_t>(i)] = group.job_rank(i);
  const GOAL_Group part{group.rank, group.size, ranks.data(), nullptr, 0, GOAL_AUTO};
  return f(whole(), &part);
}

}  // namespace

int take_place(const Group& group, uint64_t key) {
  return with_part(group, [&](GOAL_Team team, const GOAL_Group* part) { return GOAL_Place_take(team, part, key); });
}

int find_place(const Group& group, uint64_t key) {
  return with_part(group, [&](GOAL_Team team, const GOAL_Group* part) { return GOAL_Place_find(team, part, key); });
}

void leave_place(const Group& group, int place) {
  with_part(group, [&](GOAL_Team team, const GOAL_Group* part) { return GOAL_Place_leave(team, part, place), 0; });
}

void return_place(const Group& group, int place) {
  with_part(group, [&](GOAL_Team team, const GOAL_Group* part) { return GOAL_Place_return(team, part, place), 0; });
}

}  // namespace portunus::mpi::collectives
