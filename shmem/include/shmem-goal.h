/* shmem-goal.h: GOAL schedules for the PEs of a team, as mpi-goal.h for the ranks of a communicator. */
#ifndef SHMEM_GOAL_H
#define SHMEM_GOAL_H

#include "goal_collectives.h"
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The PEs of a team as a group of GOAL's, and a context (GOAL_Context, GOAL_Team_open) that is this team's, the same on all its PEs:
 * messages of schedules with it meet none of OpenSHMEM's. Either may be NULL. Local. The group's arrays are the team's, valid until it is
 * destroyed. Schedules of one team that exist at the same time are told apart by their tags. 0; not 0: SHMEM_TEAM_INVALID. */
int shmemx_team_goal_group(shmem_team_t team, GOAL_Group *group, unsigned *context);
int pshmemx_team_goal_group(shmem_team_t team, GOAL_Group *group, unsigned *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
