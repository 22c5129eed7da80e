/* Schedules that ranks compile in the same order or not: "goal_order_test CASE". Each rank says how its runs ended, and why; a rank whose
 * schedule fails ends well. */
#include <stdio.h>
#include <string.h>

#include "engine/goal/goal.h"
#include "engine/goal/goal_collectives.h"
#include "tests/goal/check.h"

static int rank, size;
static long mine[64], theirs[64];

static GOAL_Schedule ring(size_t bytes, uint32_t tag) {
    GOAL_Schedule s;
    OK(GOAL_Create(&s));
    OK(GOAL_Send(s, GOAL_User(mine), bytes, (rank + 1) % size, tag, NULL));
    OK(GOAL_Recv(s, GOAL_User(theirs), bytes, (rank + size - 1) % size, tag, NULL));
    OK(GOAL_Compile(s));
    return s;
}

static GOAL_Schedule nothing(void) {
    GOAL_Schedule s;
    OK(GOAL_Create(&s));
    OK(GOAL_Compile(s));
    return s;
}

static GOAL_Schedule barrier(void) {
    GOAL_Group all;
    OK(GOAL_World(&all));
    GOAL_Schedule s = NULL;
    OK(GOAL_Barrier(&s, &all, NULL));
    return s;
}

static GOAL_Schedule sum(void) {
    GOAL_Group all;
    OK(GOAL_World(&all));
    GOAL_Schedule s = NULL;
    OK(GOAL_Allreduce(&s, &all, GOAL_User(mine), GOAL_User(theirs), 8, GOAL_INT64, GOAL_ADD, NULL));
    return s;
}

static int run(GOAL_Schedule s) {
    GOAL_Request request;
    int code = GOAL_Run(s, &request);
    if (code == GOAL_SUCCESS) code = GOAL_Wait(&request);
    CHECK(code == GOAL_SUCCESS || code == GOAL_ERR_FAILED);
    if (code == GOAL_ERR_FAILED) printf("rank %d failed: %s\n", rank, GOAL_Explain());
    return code;
}

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "";
    OK(GOAL_Init(&rank, &size));
    const int other = rank == 0;
    GOAL_Schedule first = NULL, second = NULL;
    if (strcmp(which, "tags") == 0) {
        if (other) second = ring(8, 2), first = ring(8, 1);
        else first = ring(8, 1), second = ring(8, 2);
    } else if (strcmp(which, "collectives") == 0) {
        if (other) second = sum(), first = barrier();
        else first = barrier(), second = sum();
    } else if (strcmp(which, "one-more") == 0) {
        if (other) second = nothing();
        first = ring(8, 1);
    } else { /* the same; the second has more bytes, which is no other order */
        first = ring(8, 1);
        second = ring(rank == 0 ? 8 : 64, 1);
        GOAL_Schedule third = sum(), copy;
        OK(GOAL_Clone(third, &copy));
        OK(GOAL_Compile(copy));
        for (int i = 0; i < 3; ++i) CHECK(run(third) == GOAL_SUCCESS && run(copy) == GOAL_SUCCESS);
        OK(GOAL_Free(&third));
        OK(GOAL_Free(&copy));
    }
    int code = run(first);
    if (second && code == GOAL_SUCCESS) code = run(second);
    if (code == GOAL_SUCCESS) printf("rank %d ended well\n", rank);
    if (first) OK(GOAL_Free(&first));
    if (second) OK(GOAL_Free(&second));
    OK(GOAL_Finalize());
    return 0;
}
