/* SHMEM: puts and gets that arrive, the latency of an 8-byte put, and the rate of puts.
 *
 * All PEs put to and get from all others first, so that a wrong byte anywhere ends the demo; then PEs 0 and 1 measure
 * while the others wait.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kPutsPerBatch = 1000, kRounds = 100, kBatches = 25, kTargets = 64 };

static long flag = 0;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* Every PE puts a row into every PE's table and then gets it back from there. */
static void put_and_get(int me, int n) {
    enum { kRow = 1024 };
    long *table = shmem_malloc((size_t)n * kRow * sizeof *table);
    long row[kRow], back[kRow];
    for (int i = 0; i < kRow; ++i) row[i] = me * 100000L + i;
    for (int pe = 0; pe < n; ++pe) shmem_long_put(table + (size_t)me * kRow, row, kRow, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < n; ++pe) {
        shmem_long_get(back, table + (size_t)me * kRow, kRow, pe);
        if (memcmp(row, back, sizeof row) != 0 || table[(size_t)pe * kRow + 7] != pe * 100000L + 7) {
            fprintf(stderr, "PE %d: what was put to PE %d did not come back\n", me, pe);
            shmem_global_exit(1);
        }
    }
    shmem_barrier_all();
    shmem_free(table);
}

/* Half a round trip, the median of the batches; PE 0 stops PE 1 with a negative value. */
static double put_latency(int me) {
    double batch[kBatches];
    const double limit = now_s() + 3;
    int done = 0;
    long value = 0;
    if (me == 1) {
        while (value >= 0) {
            shmem_long_wait_until(&flag, SHMEM_CMP_NE, value);
            value = flag;
            shmem_long_p(&flag, value, 0);
        }
        return 0;
    }
    while (done < kBatches && (done == 0 || now_s() < limit)) {
        const double begin = now_s();
        for (int i = 0; i < kRounds; ++i) {
            ++value;
            shmem_long_p(&flag, value, 1);
            shmem_long_wait_until(&flag, SHMEM_CMP_EQ, value);
        }
        batch[done++] = (now_s() - begin) / (2 * kRounds);
    }
    shmem_long_p(&flag, -1, 1);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, -1);
    return median(batch, done);
}

static double put_rate(long *target) {
    const double begin = now_s();
    double seconds = 0;
    long puts = 0;
    while (seconds < 0.2) {
        for (int i = 0; i < kPutsPerBatch; ++i) shmem_long_p(target + i % kTargets, puts + i, 1);
        shmem_quiet();
        puts += kPutsPerBatch;
        seconds = now_s() - begin;
    }
    return (double)puts / seconds;
}

int main(void) {
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes();
    long *target = shmem_malloc(kTargets * sizeof *target);
    if (n < 2 || !target) {
        fprintf(stderr, "shmem_putget needs at least two PEs\n");
        shmem_global_exit(1);
    }
    put_and_get(me, n);
    if (me < 2) {
        const double latency = put_latency(me);
        if (me == 0) {
            const double rate = put_rate(target);
            printf("demo what=shmem_put ranks=%d latency_us=%.2f rate_per_s=%.0f\n", n, latency * 1e6, rate);
        }
    }
    shmem_barrier_all();
    shmem_free(target);
    shmem_finalize();
    return 0;
}
