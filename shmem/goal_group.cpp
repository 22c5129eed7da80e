// goal_group.cpp: the call of shmem-goal.h.
#include "shmem/collectives.hpp"
#include "shmem/define.hpp"
#include "shmem/include/shmem-goal.h"
#include "shmem/runtime.hpp"
#include "shmem/team.hpp"

using namespace portunus;
using namespace portunus::shmem;

SHMEMI_DEFINE_BARE(int, shmemx_team_goal_group, (shmem_team_t handle, GOAL_Group* group, unsigned* context)) try {
  static_assert(client::kFirstTeamsProgramContext + kMostTeams <= client::kFirstTeamsGraphContext);
  require_init("shmemx_team_goal_group");
  Team* const team = team_of(handle);
  if (team == nullptr) return 1;
  if (group != nullptr) *group = team->collectives->group();
  if (context != nullptr) *context = client::kFirstTeamsProgramContext + team->id;
  return 0;
}
SHMEMI_BARRIER
