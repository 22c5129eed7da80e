/* ways.c: start and wait of arrays from blocks of some bytes, dealt out in turn, to one block for each PE, and back: what the table of
 * ways is about. usage: ways SECONDS; PTL_DEBUG=ccc-schedule or ccc-laid-out says which way is taken. Prints one line for each size of array and piece. */
#include <ccc.h>
#include <shmem.h>

#include "cases.h"

static double slowest, mine;

static void require(int code) {
    if (code == CCC_SUCCESS) return;
    fprintf(stderr, "%s\n", ccc_explain());
    shmem_global_exit(2);
}

static void measure(int64_t bytes, int64_t piece, double seconds, int runs) {
    const int64_t n = bytes / 8;
    ccc_layout turns, whole;
    memset(&turns, 0, sizeof turns), memset(&whole, 0, sizeof whole);
    turns.axes = whole.axes = 1;
    require(ccc_block_cyclic(&turns.axis[0], n, piece / 8, shmem_n_pes()));
    require(ccc_block(&whole.axis[0], n, shmem_n_pes()));
    char *const a = shmem_calloc((size_t)ccc_room(&turns.axis[0]) * 8, 1), *const b = shmem_calloc((size_t)ccc_room(&whole.axis[0]) * 8, 1);
    static double samples[2][kMostSamples];
    double middle[2];
    for (int back = 0; back < 2; ++back) {
        ccc_plan plan;
        require(back ? ccc_plan_create(&whole, &turns, NULL, 8, &plan) : ccc_plan_create(&turns, &whole, NULL, 8, &plan));
        int count = -2; /* the first two are not counted */
        for (double spent = 0; count < 0 || goes_on(count, spent, seconds); ++count) {
            shmem_barrier_all();
            const double begin = now();
            if (runs) require(ccc_plan_run(plan, back ? b : a, back ? a : b));
            else require(ccc_plan_start(plan, back ? b : a, back ? a : b)), require(ccc_plan_wait(plan));
            mine = now() - begin;
            shmem_double_max_reduce(SHMEM_TEAM_WORLD, &slowest, &mine, 1);
            if (count < 0) continue;
            samples[back][count] = slowest;
            spent += slowest;
        }
        qsort(samples[back], (size_t)count, sizeof(double), ascending);
        middle[back] = samples[back][count / 2];
        require(ccc_plan_free(&plan));
    }
    if (shmem_my_pe() == 0) printf("ways bytes=%lld piece=%lld gather=%.2f scatter=%.2f\n", (long long)bytes, (long long)piece, middle[0], middle[1]);
    shmem_free(b), shmem_free(a);
}

int main(int argc, char **argv) {
    shmem_init();
    const double seconds = argc > 1 ? atof(argv[1]) : 0.01;
    const int runs = argc > 2 && strcmp(argv[2], "run") == 0;
    for (int64_t bytes = 4096; bytes <= 16 << 20; bytes *= 16)
        for (int64_t piece = 16; piece <= 65536 && piece * shmem_n_pes() <= bytes; piece *= 4) measure(bytes, piece, seconds, runs);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
