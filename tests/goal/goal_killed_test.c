/* A rank is killed while schedules run: every rank whose messages come from it or go to it reports the failure, at whatever moment the
 * death comes, and schedules of the others go on. A hang is ended by an alarm.
 *
 * goal_killed_test on 4 ranks: all are in a ring; ranks 0 and 1 have a schedule of their own besides. Rank 2 ends. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/goal/goal.h"

enum { kVictim = 2, kLast = 20, kAfter = 50, kPatience_s = 60 };

#define TRY(call) \
    do { \
        if ((call) != GOAL_SUCCESS) { \
            fprintf(stderr, "%s: %s\n", #call, GOAL_Explain()); \
            exit(1); \
        } \
    } while (0)

static GOAL_Schedule exchange(int with, int from, uint64_t *memory) {
    GOAL_Schedule schedule;
    TRY(GOAL_Create(&schedule));
    if (with >= 0) {
        TRY(GOAL_Send(schedule, GOAL_User(&memory[0]), sizeof *memory, with, 0, NULL));
        TRY(GOAL_Recv(schedule, GOAL_User(&memory[1]), sizeof *memory, from, 0, NULL));
    }
    TRY(GOAL_Compile(schedule));
    return schedule;
}

int main(void) {
    int rank, size, failed = 0;
    uint64_t ring_memory[2], pair_memory[2];
    alarm(kPatience_s);
    TRY(GOAL_Init(&rank, &size));
    if (size != 4) return 2;
    GOAL_Schedule ring = exchange((rank + 1) % size, (rank + size - 1) % size, ring_memory);
    GOAL_Schedule pair = exchange(rank < 2 ? 1 - rank : -1, 1 - rank, pair_memory);
    for (uint64_t i = 0; !failed; ++i) {
        GOAL_Request request;
        ring_memory[0] = 100 * i + (uint64_t)rank;
        const int started = GOAL_Run(ring, &request);
        if (rank == kVictim && i == kLast) raise(SIGKILL);
        const int code = started == GOAL_SUCCESS ? GOAL_Wait(&request) : started;
        failed = code == GOAL_ERR_FAILED;
        if (code != GOAL_SUCCESS && !failed) return 1;
        if (code == GOAL_SUCCESS && ring_memory[1] != 100 * i + (uint64_t)((rank + size - 1) % size)) return 1; /* success with a wrong result */
    }
    for (uint64_t i = 0; i < kAfter; ++i) {
        GOAL_Request request;
        pair_memory[0] = i;
        TRY(GOAL_Run(pair, &request));
        TRY(GOAL_Wait(&request));
        if (rank < 2 && pair_memory[1] != i) return 1;
    }
    TRY(GOAL_Free(&ring));
    printf("rank %d has seen the failure\n", rank);
    fflush(stdout);
    _exit(0); /* the job cannot meet any more */
}
