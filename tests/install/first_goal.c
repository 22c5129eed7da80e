/* The engines pass a sum around the ring of processes while they could compute. */
#include <goal.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call) ((call) == GOAL_SUCCESS ? (void)0 : (fprintf(stderr, "%s\n", GOAL_Explain()), exit(1)))

int main(void) {
    int rank, size;
    int64_t mine, sum, before = 0;
    GOAL_Schedule ring;
    GOAL_Request run;
    TRY(GOAL_Init(&rank, &size));
    mine = rank;

    TRY(GOAL_Create(&ring)); /* all processes compile their schedules in the same order */
    GOAL_Op add, heard, sent;
    TRY(GOAL_Local(ring, GOAL_ADD, GOAL_INT64, GOAL_User(&sum), GOAL_User(&mine), GOAL_User(&before), 1, &add));
    if (rank > 0) {
        TRY(GOAL_Recv(ring, GOAL_User(&before), sizeof before, rank - 1, 0, &heard));
        TRY(GOAL_Requires(ring, add, heard));
    }
    if (rank < size - 1) {
        TRY(GOAL_Send(ring, GOAL_User(&sum), sizeof sum, rank + 1, 0, &sent));
        TRY(GOAL_Requires(ring, sent, add));
    }
    TRY(GOAL_Compile(ring));
    TRY(GOAL_Run(ring, &run)); /* what follows is the engine's; this process may compute */
    TRY(GOAL_Wait(&run));

    printf("process %d of %d: the sum is %ld here\n", rank, size, (long)sum);
    int good = sum == (int64_t)rank * (rank + 1) / 2;
    TRY(GOAL_Free(&ring));
    TRY(GOAL_Finalize());
    return good ? 0 : 1;
}
