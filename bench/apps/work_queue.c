/* A queue of uneven tasks at PE 0: PEs draw numbers by fetch-and-increment, and append what they found under a lock.
 *
 * A task looks for the longest Collatz sequence that begins in its range. Right is a list that has every task once, with
 * what PE 0 computes for it.
 */
#include "app.h"

typedef struct {
    long task, longest, by;
} Result;

static long next_task, results, lock; /* at PE 0 */

static long longest_of(long task, long width) {
    long longest = 0;
    for (long start = task * width + 1; start <= (task + 1) * width; ++start) {
        long length = 1;
        for (uint64_t n = (uint64_t)start; n != 1; ++length) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        if (length > longest) longest = length;
    }
    return longest;
}

static void append(Result *list, const Result *result) {
    shmem_set_lock(&lock);
    const long place = shmem_long_g(&results, 0);
    shmem_putmem(list + place, result, sizeof *result, 0);
    shmem_long_p(&results, place + 1, 0);
    shmem_clear_lock(&lock); /* completes both before it lets others in */
}

static int all_there(const Result *list, long tasks, long width) {
    char *const seen = app_local((size_t)tasks);
    memset(seen, 0, (size_t)tasks);
    if (results != tasks) return 0;
    for (long i = 0; i < tasks; ++i) {
        const Result *const result = &list[i];
        if (result->task < 0 || result->task >= tasks || seen[result->task]) return 0;
        if (result->longest != longest_of(result->task, width)) return 0;
        seen[result->task] = 1;
    }
    return 1;
}

int main(int argc, char **argv) {
    Option options[] = {{"tasks", "tasks in the queue", 2000, 1, 1 << 26},
                        {"width", "numbers that a task looks at", 500, 1, 1 << 26}};
    app_start(argc, argv, "uneven tasks, drawn from a queue and reported under a lock.", options, 2);
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const long tasks = options[0].value, width = options[1].value;
    Result *const list = app_memory((size_t)tasks * sizeof *list);
    long *const share = app_memory((size_t)n * sizeof *share);
    long mine = 0;
    const double begin = app_seconds();
    for (long task; (task = shmem_long_atomic_fetch_inc(&next_task, 0)) < tasks; ++mine) {
        const Result result = {task, longest_of(task, width), me};
        append(list, &result);
    }
    shmem_long_p(&share[me], mine, 0);
    shmem_barrier_all();
    const double seconds = app_seconds() - begin;
    long most = 0;
    for (int pe = 0; me == 0 && pe < n; ++pe) most = share[pe] > most ? share[pe] : most;
    return app_verdict(me != 0 || all_there(list, tasks, width), seconds, "%ld tasks, %ld of them by the busiest PE", tasks, most);
}
