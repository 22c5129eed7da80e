/* Rank 0 hands tasks of different lengths to whoever asks, and takes results from MPI_ANY_SOURCE; the others work. The sum of
 * the results must be that of the tasks. */
#include "app.h"

enum { kAsk = 1, kTask = 2, kStop = 3 };
typedef struct {
    uint64_t task, result;
} Result;

static uint64_t work(uint64_t task, long effort) {
    uint64_t value = task;
    for (long i = (long)(app_random(task) % (uint64_t)(2 * effort + 1)); i > 0; --i) value = app_random(value);
    return value;
}

/* Tasks done by each worker are counted in `share`. */
static uint64_t hand_out(long tasks, long *share) {
    uint64_t sum = 0;
    long given = 0;
    for (int working = ranks - 1; working > 0;) {
        Result answer;
        MPI_Status status;
        MPI_Recv(&answer, 2, MPI_UINT64_T, MPI_ANY_SOURCE, kAsk, MPI_COMM_WORLD, &status);
        sum += answer.result;
        if (given == tasks) {
            MPI_Send(NULL, 0, MPI_UINT64_T, status.MPI_SOURCE, kStop, MPI_COMM_WORLD);
            --working;
            continue;
        }
        const uint64_t task = (uint64_t)given++;
        ++share[status.MPI_SOURCE];
        MPI_Send(&task, 1, MPI_UINT64_T, status.MPI_SOURCE, kTask, MPI_COMM_WORLD);
    }
    return sum;
}

static void do_tasks(long effort) {
    Result answer = {0, 0}; /* the first question has no result */
    for (;;) {
        MPI_Status status;
        MPI_Send(&answer, 2, MPI_UINT64_T, 0, kAsk, MPI_COMM_WORLD);
        MPI_Recv(&answer.task, 1, MPI_UINT64_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == kStop) return;
        answer.result = work(answer.task, effort);
    }
}

int main(int argc, char **argv) {
    Option options[] = {{"tasks", "to be done", 20000, 0, 100000000}, {"effort", "steps of a task, on average", 1000, 0, 100000000}};
    app_start(argc, argv, "a master hands out tasks.", options, 2);
    const long tasks = options[0].value, effort = options[1].value;
    if (ranks < 2) {
        fprintf(stderr, "master_worker: there must be a rank that works besides the master\n");
        app_leave(2);
    }
    long *share = app_memory((size_t)ranks * sizeof(long)), least = tasks, most = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    uint64_t sum = 0, expected = 0;
    if (me == 0) sum = hand_out(tasks, share);
    else do_tasks(effort);
    const double seconds = MPI_Wtime() - begin;
    for (long task = 0; me == 0 && task < tasks; ++task) expected += work((uint64_t)task, effort);
    for (int rank = 1; me == 0 && rank < ranks; ++rank) {
        least = share[rank] < least ? share[rank] : least;
        most = share[rank] > most ? share[rank] : most;
    }
    free(share);
    return app_verdict(sum == expected, seconds, "%ld tasks, %ld to %ld a worker", tasks, least, most);
}
