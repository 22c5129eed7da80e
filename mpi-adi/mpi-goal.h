/* mpi-goal.h: GOAL schedules for the ranks of a communicator.
 *
 *     GOAL_Group group;  unsigned context;  GOAL_Schedule schedule;
 *     MPIX_Comm_goal_group(comm, &group, &context);
 *     GOAL_Create(&schedule);
 *     GOAL_Context(schedule, context);
 *     GOAL_Allreduce(schedule, &group, ...);
 *
 * Messages of schedules with this context meet none of MPI's, and none of other communicators' schedules.
 */
#ifndef MPI_GOAL_H
#define MPI_GOAL_H

#include "goal_collectives.h"
#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The ranks of an intracommunicator as a group of GOAL's, and a context (GOAL_Context, GOAL_Team_open) that is this communicator's, the
 * same on all its ranks. Either may be NULL. Local. The group's arrays are the communicator's, valid until it is freed. Schedules of one
 * communicator that exist at the same time are told apart by their tags. MPI_ERR_COMM: no communicator, or an intercommunicator;
 * MPI_ERR_NO_MEM. */
int MPIX_Comm_goal_group(MPI_Comm comm, GOAL_Group *group, unsigned *context);
int PMPIX_Comm_goal_group(MPI_Comm comm, GOAL_Group *group, unsigned *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
