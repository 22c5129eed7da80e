/* Calls with the small functions and constants of goal_call.h, which compilers see. Valid in every C and C++. */
#include <goal_call.h>

int use(GOAL_Schedule schedule, const void *from, void *to);
int use(GOAL_Schedule schedule, const void *from, void *to) {
    GOAL_Op first, second;
    GOAL_Request request = GOAL_REQUEST_NULL;
    GOAL_Piece pieces[2];
    int error;
    pieces[0] = GOAL_Part(GOAL_User(from), 8);
    pieces[1] = GOAL_Part(GOAL_Pad(16), 8);
    error = GOAL_Send(schedule, GOAL_Pieces(pieces, 2), 16, 1, 3, &first);
    error |= GOAL_Recv(schedule, GOAL_User(to), 16, 1, 3, &second);
    error |= GOAL_Requires(schedule, second, first);
    error |= GOAL_Send(schedule, GOAL_Arg(0, 4), 4, 0, 1, 0);
    return error | GOAL_Test(&request, &error);
}
