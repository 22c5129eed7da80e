/* A started schedule goes on by itself: after GOAL_Run no rank makes a call of any library until its result is there.
 *
 * Each repetition is an allreduce of LENGTH floats, so that both hosts send, receive and add. The program looks at the memory of the
 * result, and only at that; an engine that waits for a call lets it look for ever, which the caller's limit ends. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/goal/goal_collectives.h"

enum { kRepetitions = 20, kMost = 1 << 18 };
static float in[kMost];
static volatile float out[kMost];

#define TRY(call) \
    do { \
        if ((call) != GOAL_SUCCESS) { \
            fprintf(stderr, "without_calls: %s\n", GOAL_Explain()); \
            exit(1); \
        } \
    } while (0)

int main(void) {
    static const int kLengths[] = {2, 2048, 16384, kMost};
    int rank, size;
    GOAL_Group all;
    TRY(GOAL_Init(&rank, &size));
    TRY(GOAL_World(&all));
    for (unsigned l = 0; l < sizeof kLengths / sizeof *kLengths; ++l) {
        const int length = kLengths[l];
        GOAL_Schedule schedule = NULL;
        TRY(GOAL_Allreduce(&schedule, &all, GOAL_User(in), GOAL_User((float *)out), (size_t)length, GOAL_FLOAT, GOAL_ADD, NULL));
        for (int repetition = 1; repetition <= kRepetitions; ++repetition) {
            GOAL_Request request;
            const float sum = (float)(size * (size + 1) / 2 * repetition);
            for (int i = 0; i < length; ++i) {
                in[i] = (float)((rank + 1) * repetition);
                out[i] = 0;
            }
            TRY(GOAL_Run(schedule, &request));
            for (int i = 0; i < length; ++i)
                while (out[i] != sum) {}
            TRY(GOAL_Wait(&request));
        }
        TRY(GOAL_Free(&schedule));
    }
    TRY(GOAL_Finalize());
    printf("rank %d: all results came without a call\n", rank);
    return 0;
}
