/* The files of kinds of GOAL calls share this: each has a table of them, which ends with a kind without a name. */
#ifndef COMPARE_BREADTH_GOAL_KINDS_H
#define COMPARE_BREADTH_GOAL_KINDS_H

#include <goal.h>
#include <goal_call.h>
#include <goal_collectives.h>
#include <stdint.h>

#include "../job.h"

#define TRY(call) do { if ((call) != GOAL_SUCCESS) PtlxJobAbort(1, GOAL_Explain()); } while (0)

enum { kLong = 8192, kChain = 16 }; /* kLong numbers are 64 KiB */

extern const struct Kind schedules[], runs[], calls[];

extern int me, ranks, right, left;
extern GOAL_Group world;
extern int64_t *in, *out; /* kLong or kCount numbers for each rank */
extern int64_t turn;      /* the number of this round, from 1 on, where a kind counts them */

/* Adds to a schedule; the compiled ones are made of these. */
void add_barrier(GOAL_Schedule *schedule);
void add_allreduce(GOAL_Schedule *schedule);
void add_alltoall(GOAL_Schedule *schedule);
void add_chain(GOAL_Schedule *schedule);
void add_nothing(GOAL_Schedule *schedule);

#endif
