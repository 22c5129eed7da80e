/* Time of a message that matches one of many posted receives, chosen at random among them: the best of several passes, as each
 * is short. */
#include "timed.h"

enum { kTag = 1, kSample = 1000, kReady = 902 };

/* One pass: seconds for a message, on rank 0. */
static double many_posted(int posted) {
    int *room = NULL;
    MPI_Request *requests = NULL;
    double seconds = 0;
    char *const drawn = calloc((size_t)posted, 1);
    int *const order = malloc(kSample * sizeof *order);
    unsigned long state = 1;
    for (int i = 0; i < kSample;) { /* the same on both ranks */
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        const int number = (int)((state >> 33) % (unsigned long)posted);
        if (drawn[number]) {
            if (posted <= kSample) /* few: take the next that is left */
                for (int next = 0; next < posted; ++next)
                    if (!drawn[next]) { drawn[next] = 1; order[i++] = next; break; }
            continue;
        }
        drawn[number] = 1;
        order[i++] = number;
    }
    int word = 0;
    if (compare_me == 1) {
        room = malloc((size_t)posted * sizeof *room);
        requests = malloc((size_t)posted * sizeof(MPI_Request));
        for (int i = 0; i < posted; ++i) MPI_Irecv(&room[i], 1, MPI_INT, 0, kTag + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        for (int i = 0; i < kSample; ++i) MPI_Wait(&requests[order[i]], MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < posted; ++i)
            if (room[i] != i) MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (compare_me == 0) {
        MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double begin = MPI_Wtime();
        for (int i = 0; i < kSample; ++i) MPI_Send(&order[i], 1, MPI_INT, 1, kTag + order[i], MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        seconds = (MPI_Wtime() - begin) / kSample;
        for (int i = 0; i < posted; ++i) /* the rest, in the order of posting */
            if (!drawn[i]) MPI_Send(&i, 1, MPI_INT, 1, kTag + i, MPI_COMM_WORLD);
    }
    free(room), free(requests), free(drawn), free(order);
    return seconds;
}

static void best_of(int passes, int posted) {
    double best = 1e9;
    for (int pass = 0; pass < passes; ++pass) {
        const double seconds = many_posted(posted);
        if (seconds < best) best = seconds;
    }
    if (compare_me == 0) printf("compare bench=posted-%d size=0 unit=us value=%.9g beside=0\n", posted, 1e6 * best);
    fflush(stdout);
}

int main(int argc, char **argv) {
    start(argc, argv);
    best_of(50, 1000);
    best_of(3, 100000);
    MPI_Finalize();
    return 0;
}
