/* goal_domain.h: ranks whose schedules fail together.
 *
 * A schedule alone hears of failures from those whose messages it waits for, and of their deaths. That is not enough for a
 * library above that keeps several schedules for one group: where a rank dies in one of them, those who wait in another, perhaps
 * for a rank that has given up, would wait for ever. A domain binds all that belongs to one context: when a member dies, when a
 * schedule of the context fails or is cancelled anywhere, or when a member says so, then every schedule of the context fails
 * on every member, those that run, those that are kept, and those that are yet to be compiled; and so does the
 * GOAL_Team that was given the domain.
 *
 * All of it is done by the engine, with triggered operations: each member watches, and tells, those at distances 1, 2, 4 ..
 * in the group; the news reaches all the living as long as fewer than log2(size) members die at the same moment.
 *
 * One thread at a time per domain, any thread; GOAL_Domain_revoke and the questions from any thread. Valid C99 and C++.
 */
#ifndef GOAL_DOMAIN_H
#define GOAL_DOMAIN_H

#include "goal_collectives.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct goal_domain *GOAL_Domain;

/* Local; the arrays of the group are not needed after. `context`: as for GOAL_Context, of the group's schedules. Before the first of them
 * is compiled, and closed after the last is freed. GOAL_ERR_ARG, GOAL_ERR_NO_SPACE. Costs O(log size). */
int GOAL_Domain_open(const GOAL_Group *group, unsigned context, GOAL_Domain *domain);
/* Fails all there is and will be, on all members, for a reason of the caller's. Returns at once. */
void GOAL_Domain_revoke(GOAL_Domain domain);
/* 1: something has failed, here or elsewhere, or a member that this rank watches has died. */
int GOAL_Domain_failed(GOAL_Domain domain);
/* 1: a member has called GOAL_Domain_revoke; told no later than the failure that comes of it. */
int GOAL_Domain_revoked(GOAL_Domain domain);
/* Sets *domain to NULL. Local. After a failure its news may still be under way: the context is not to be used again then. */
void GOAL_Domain_close(GOAL_Domain *domain);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
