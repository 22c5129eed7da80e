/* All other PEs fetch-and-add one variable of PE 0's, as long as SECONDS says: one_variable SECONDS. Prints what one update takes a PE. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#include "samples.h"

enum { kBatch = 64 };
static long variable, done, all;

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 0.1;
    shmem_init();
    for (int i = 0; i < kBatch; ++i) shmem_long_atomic_fetch_add(&variable, 1, 0);
    shmem_barrier_all();
    const double begin = seconds_now();
    double now = begin;
    for (; shmem_my_pe() > 0 && now < begin + seconds; now = seconds_now()) {
        for (int i = 0; i < kBatch; ++i) shmem_long_atomic_fetch_add(&variable, 1, 0);
        done += kBatch;
    }
    shmem_long_atomic_add(&all, done, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        const int n = shmem_n_pes();
        const int right = variable == all + (long)n * kBatch;
        printf("one_variable pes=%d us=%.4f verified=%d\n", n, seconds * 1e6 * (n - 1) / (double)all, right);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
