/* alone.c: what one process does alone: targets, planning of 10^8 elements, and the virtual processors' order beside memcpy. Each
 * figure is the least of many repeats, which other programs on the machine disturb least. */
#include <ccc.h>
#include <shmem.h>

#include "cases.h"

/* Processor time: what others on the machine take is not counted. */
static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
static double least(double a, double b) { return a < b ? a : b; }

static void targets(void) {
    enum { kCalls = 100000 };
    ccc_axis one, two;
    volatile int64_t sink;
    int64_t sum = 0;
    ccc_block_cyclic(&one, INT64_C(1) << 40, 37, 1021);
    two = one;
    ccc_cascade(&two, 7, 33);
    double of_one = 1e9, of_two = 1e9, offsets = 1e9;
    for (int round = 0; round < 200; ++round) {
        double begin = now();
        for (int64_t i = 0; i < kCalls; ++i) sum += ccc_target(&one, i * 7919);
        of_one = least(of_one, now() - begin);
        begin = now();
        for (int64_t i = 0; i < kCalls; ++i) sum += ccc_offset(&one, i * 7919);
        offsets = least(offsets, now() - begin);
        begin = now();
        for (int64_t i = 0; i < kCalls; ++i) sum += ccc_target(&two, i * 7919);
        of_two = least(of_two, now() - begin);
    }
    sink = sum;
    (void)sink;
    printf("target, one step: %.2f ns; offset: %.2f ns; target of a cascade: %.2f ns\n", of_one * 1e3 / kCalls, offsets * 1e3 / kCalls, of_two * 1e3 / kCalls);
}

/* Planning on `shmem_n_pes()` PEs is collective; on one PE it lists everything. */
static void planning(const char *name, int make_from(ccc_axis *, int64_t, int64_t), int make_to(ccc_axis *, int64_t, int64_t)) {
    ccc_layout from, to;
    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    from.axes = to.axes = 1;
    const int64_t n = 100000000;
    if (make_from(&from.axis[0], n, shmem_n_pes()) || make_to(&to.axis[0], n, shmem_n_pes())) return;
    double time = 1e9;
    size_t memory = 0;
    for (int round = 0; round < 50; ++round) {
        ccc_plan plan;
        shmem_barrier_all();
        const double begin = now();
        if (ccc_plan_create(&from, &to, NULL, 8, &plan)) shmem_global_exit(2);
        time = least(time, now() - begin);
        memory = ccc_plan_memory(plan);
        ccc_plan_free(&plan);
    }
    if (shmem_my_pe() == 0) printf("plan of 10^8 elements on %d PEs, %s: %.1f us, %zu bytes\n", shmem_n_pes(), name, time, memory);
}

static void order(int64_t block, size_t bytes) {
    const int64_t n = (int64_t)(bytes / 8);
    ccc_axis axis;
    if (ccc_block_cyclic(&axis, n, block, 64) || ccc_cascade(&axis, 0, 1)) return;
    char *const a = malloc(bytes), *const b = malloc(bytes);
    memset(a, 1, bytes), memset(b, 2, bytes);
    double turned = 1e12, copied = 1e12;
    for (int round = 0; round < 40; ++round) {
        double begin = cpu();
        if (ccc_to_virtual(&axis, 0, 8, a, b)) fprintf(stderr, "%s\n", ccc_explain());
        turned = least(turned, cpu() - begin);
        begin = cpu();
        memcpy(a, b, bytes);
        __asm__ volatile("" ::"r"(a) : "memory");
        copied = least(copied, cpu() - begin);
    }
    printf("to_virtual, %zu KiB, blocks of %d bytes: %.1f us, %.2f of memcpy\n", bytes >> 10, (int)block * 8, turned, copied / turned);
    free(a), free(b);
}

static int blocks64(ccc_axis *axis, int64_t n, int64_t p) { return ccc_block_cyclic(axis, n, 64, p); }

int main(void) {
    shmem_init();
    planning("cyclic -> block", ccc_cyclic, ccc_block);
    planning("block -> cyclic", ccc_block, ccc_cyclic);
    planning("cyclic -> block-cyclic(64)", ccc_cyclic, blocks64);
    if (shmem_my_pe() == 0) {
        targets();
        for (size_t bytes = 1 << 18; bytes <= 1 << 24; bytes <<= 6) order(1, bytes), order(8, bytes);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
