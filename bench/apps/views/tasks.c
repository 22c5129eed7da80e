/* tasks: the paper's second program: a queue of tasks in one view, the data of each task in a view of its own; every task is done once.
 * In MPI, process 0 deals them out.   tasks [TASKS] */
#include "program.h"

enum { WORDS = 64 };

static long work(const int *data) {
    long sum = 0;
    for (int i = 0; i < WORDS; ++i) sum += data[i];
    return sum;
}

int main(int argc, char **argv) {
    start(argc, argv);
    const long tasks = argument(argc, argv, 1, 400);
    long mine = 0, expected = 0;
    for (long t = 0; t < tasks; ++t) expected += t * WORDS;
    int right = 1;
#if FORM == MPI_FORM
    everybody();
    const double from = seconds_now();
    long total = 0;
    if (me == 0 && n > 1) {
        int data[WORDS];
        MPI_Status status;
        for (long t = 0, left = n - 1; left;) {
            TRY(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status));
            for (int i = 0; i < WORDS; ++i) data[i] = (int)t;
            const int count = t < tasks ? WORDS : 0;
            if (!count) --left;
            ++t;
            TRY(MPI_Send(data, count, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD));
        }
    } else if (n > 1) {
        for (int count = WORDS; count;) {
            int data[WORDS];
            MPI_Status status;
            TRY(MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD));
            TRY(MPI_Recv(data, WORDS, MPI_INT, 0, 1, MPI_COMM_WORLD, &status));
            MPI_Get_count(&status, MPI_INT, &count);
            if (count) mine += work(data);
        }
    } else {
        mine = expected;
    }
    TRY(MPI_Reduce(&mine, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (me == 0) right = total == expected;
#else
    struct queue {
        long head, tail, sum;
    } *const queue = shared(sizeof *queue);
    const int lock = VDC_NVIEWS / 2;
    /* The producer gives each task a view; their numbers are 0 .. tasks-1. */
    if (tasks > VDC_NVIEWS / 2) return 2;
    int *const data = shared((size_t)tasks * WORDS * sizeof(int));
#if FORM == DECLARED
    declare(lock, queue, sizeof *queue);
    for (long t = 0; t < tasks; ++t) declare((int)t, data + t * WORDS, WORDS * sizeof(int));
#endif
    everybody();
    const double from = seconds_now();
    for (long t = me; t < tasks; t += n) {
        WRITE_VIEW((int)t);
        for (int i = 0; i < WORDS; ++i) data[t * WORDS + i] = (int)t;
        WRITTEN((int)t);
    }
    everybody();
    for (;;) {
        WRITE_VIEW(lock);
        const long t = queue->head;
        if (t < tasks) ++queue->head;
        WRITTEN(lock);
        if (t >= tasks) break;
        WRITE_VIEW((int)t);
        mine += work(data + t * WORDS);
        WRITTEN((int)t);
    }
    WRITE_VIEW(lock);
    queue->sum += mine;
    WRITTEN(lock);
    everybody();
    READ_VIEW(lock);
    right = queue->sum == expected && queue->head == tasks;
    HAVE_READ(lock);
#endif
    return verdict("tasks", seconds_now() - from, right);
}
