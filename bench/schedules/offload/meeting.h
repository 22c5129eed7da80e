/* How ranks of the overlap programs of Portals and GOAL meet, and learn the largest value of all (measured.h): by schedules. */
#ifndef MEETING_H
#define MEETING_H

#include "measured.h"

#include "engine/goal/goal_collectives.h"

static int rank, size;
static GOAL_Group all;
static GOAL_Schedule meeting, maximum, maxima;
static double mine, theirs, all_mine[kMost], all_theirs[kMost];

#define TRY(call) \
    do { \
        if ((call) != GOAL_SUCCESS) { \
            fprintf(stderr, "%s: %s\n", #call, GOAL_Explain()); \
            exit(1); \
        } \
    } while (0)

static void run(GOAL_Schedule what) {
    GOAL_Request running;
    TRY(GOAL_Run(what, &running));
    TRY(GOAL_Wait(&running));
}
static void meet(void) { run(meeting); }
static double largest(double value) {
    mine = value;
    run(maximum);
    return theirs;
}
static void largest_each(double *values) {
    memcpy(all_mine, values, sizeof all_mine);
    run(maxima);
    memcpy(values, all_theirs, sizeof all_theirs);
}

static void join(void) {
    TRY(GOAL_Init(&rank, &size));
    TRY(GOAL_World(&all));
    TRY(GOAL_Barrier(&meeting, &all, NULL));
    TRY(GOAL_Allreduce(&maximum, &all, GOAL_User(&mine), GOAL_User(&theirs), 1, GOAL_DOUBLE, GOAL_MAX, NULL));
    TRY(GOAL_Allreduce(&maxima, &all, GOAL_User(all_mine), GOAL_User(all_theirs), kMost, GOAL_DOUBLE, GOAL_MAX, NULL));
}
static void part(void) {
    TRY(GOAL_Free(&meeting));
    TRY(GOAL_Free(&maximum));
    TRY(GOAL_Free(&maxima));
    TRY(GOAL_Finalize());
}

#endif
