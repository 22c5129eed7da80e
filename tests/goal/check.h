/* check.h: what C programs that test GOAL's calls expect, each with a static int `rank`: else they say where and why, and end. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "engine/goal/goal.h"

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "rank %d, line %d: %s; %s\n", rank, __LINE__, #condition, GOAL_Explain());     \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)
#define OK(call) CHECK((call) == 0)
