/* The cost of one PE of many: prints "growth INIT FINALIZE PRIVATE PROPORTIONAL", seconds and KiB. See bench/growth-shmem. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

#include "samples.h"

static long word;

/* The sum of a field of /proc/self/smaps_rollup, in KiB. */
static long kib_of(const char *field) {
    FILE *const file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long sum = 0, kib;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0 && sscanf(line + strlen(field), ": %ld", &kib) == 1) sum += kib;
    if (file) fclose(file);
    return sum;
}

int main(void) {
    const double begin = seconds_now();
    shmem_init();
    const double init = seconds_now() - begin;
    for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_long_atomic_inc(&word, pe);
    shmem_barrier_all();
    const int right = word == shmem_n_pes();
    const long private = kib_of("Private_Dirty") + kib_of("Private_Clean"), proportional = kib_of("Pss");
    shmem_barrier_all();
    const double end = seconds_now();
    shmem_finalize();
    printf("growth %.6f %.6f %ld %ld\n", init, seconds_now() - end, private, proportional);
    return right ? 0 : 1;
}
