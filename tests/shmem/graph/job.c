/* job.c export PATH: writes a graph as GOAL text.
 * job.c killed WHEN, collective WHEN, awaited WHEN: PE 1 dies after WHEN microseconds of runs of a graph, of puts, signals and waits, of these
 * and collectives, or in the midst of a run in which the others wait for it; they must get SHMEMX_ERR_FAILED and a sentence.
 * job.c many COUNT: makes and frees so many graphs, whose memory, counters and numbers must be there again. */
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kKeepsWhatIsFreed = 1 };
#else
enum { kKeepsWhatIsFreed = 0 };
#endif

enum { kCount = 10000, kWarm = 300, kMostPages = 250 };
static long in[kCount], out[kCount], sum[kCount], fetched;
static uint64_t flag, word;
static int me, pes;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static shmemx_graph_t captured(int steps, size_t count, int collective) {
    shmemx_graph_t graph;
    const int right = (me + 1) % pes;
    shmemx_graph_begin(SHMEM_TEAM_WORLD);
    for (int i = 0; i < steps; ++i) {
        shmem_long_put_signal_nbi(out, in, count, &flag, 1, SHMEM_SIGNAL_ADD, right);
        shmem_long_atomic_fetch_inc_nbi(&fetched, &in[count - 1], right);
        shmem_signal_wait_until(&flag, SHMEM_CMP_GE, 1);
        shmem_signal_add(&flag, (uint64_t)-1, me);
        shmem_fence();
        shmem_long_get(&sum[0], in, 10, right);
        if (collective) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, in, count);
    }
    shmemx_graph_gate(1);
    if (shmemx_graph_end(SHMEM_TEAM_WORLD, &graph) != 0) {
        fprintf(stderr, "%s\n", shmemx_graph_explain());
        shmem_global_exit(3);
    }
    return graph;
}

static int run(shmemx_graph_t graph) {
    shmemx_req_t request;
    const int code = shmemx_graph_start(graph, &request);
    if (code != 0) return code;
    shmemx_graph_open(graph, 1);
    return shmemx_req_wait(&request);
}

static int has_failed(shmemx_graph_t graph, int code) {
    const int said = strstr(shmemx_graph_explain(), "PE 1 has died") != NULL;
    const int good = code == SHMEMX_ERR_FAILED && said;
    if (!good) printf("PE %d: code %d: %s\n", me, code, shmemx_graph_explain());
    shmemx_req_t request;
    return good && shmemx_graph_start(graph, &request) == SHMEMX_ERR_FAILED && shmemx_graph_free(&graph) == 0;
}

static int run_until_killed(shmemx_graph_t graph, double limit) {
    const double end = seconds() + limit;
    int code = 0;
    while (code == 0) {
        shmemx_req_t request;
        code = shmemx_graph_start(graph, &request);
        if (me == 1 && seconds() > end) raise(SIGKILL);
        if (code != 0) break;
        shmemx_graph_open(graph, 1);
        code = shmemx_req_wait(&request);
    }
    return has_failed(graph, code);
}

static int await_killed(double limit) {
    shmemx_graph_t graph;
    shmemx_req_t request;
    shmemx_graph_begin(SHMEM_TEAM_WORLD);
    shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 1); /* which nobody sets */
    shmem_signal_set(&word, 0, (me + 1) % pes);
    if (shmemx_graph_end(SHMEM_TEAM_WORLD, &graph) != 0) shmem_global_exit(3);
    const double end = seconds() + limit;
    int code = shmemx_graph_start(graph, &request), complete = 0;
    while (me == 1 && seconds() < end) {}
    if (me == 1) raise(SIGKILL);
    if (code == 0 && me == 0) code = shmemx_req_wait(&request);
    while (code == 0 && me != 0 && !complete) code = shmemx_req_test(&request, &complete);
    return has_failed(graph, code);
}

static long resident_pages(void) {
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) shmem_global_exit(4);
    fclose(file);
    return resident;
}

static int make_many(long count) {
    long before = 0;
    for (long i = 0; i < count; ++i) {
        if (i == kWarm) before = resident_pages();
        shmemx_graph_t graph = captured(1, 10, i % 2 == 0);
        if (run(graph) != 0 || shmemx_graph_free(&graph) != 0) return 0;
    }
    const long grown = count > kWarm ? resident_pages() - before : 0;
    printf("PE %d: %ld graphs, %ld pages more\n", me, count, grown);
    return grown <= kMostPages || kKeepsWhatIsFreed;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    int good;
    shmem_team_t living;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, NULL, 0, &living);
    if (strcmp(argv[1], "export") == 0) good = shmemx_graph_export(captured(4, 100, 1), argv[2]) == 0;
    else if (strcmp(argv[1], "many") == 0) good = make_many(atol(argv[2]));
    else if (strcmp(argv[1], "awaited") == 0) good = await_killed(atof(argv[2]) * 1e-6);
    else good = run_until_killed(captured(8, kCount, strcmp(argv[1], "collective") == 0), atof(argv[2]) * 1e-6);
    if (good) printf("PE %d is right\n", me);
    fflush(stdout);
    if (strcmp(argv[1], "many") != 0 && strcmp(argv[1], "export") != 0) { /* a PE has died: shmem_finalize would end the job */
        shmem_team_sync(living);        /* else one that has left would be another that has died */
        _Exit(!good);
    }
    shmem_finalize();
    return !good;
}
