/* OpenSHMEM calls of one PE on another's memory, or of all PEs together, beside the bare processor where PEs share memory.
 *
 * usage: points pair|all|collectives [SECONDS FOR EACH POINT]. "pair": PE 0 works on PE 1 while the others wait. "all": all PEs at
 * once. "collectives": of all PEs, by sizes.
 * To OpenSHMEM 1.4, so that other libraries compile it.
 */
#include "samples.h"

#include <limits.h>
#include <linux/futex.h>
#include <shmem.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kBytes = 4 << 20, kStrided = 512, kBurst = 256, kAtOnce = 32, kMostOfEach = 65536 };

static long *target;            /* symmetric */
static char *source;            /* local */
static long *there;             /* PE 1's `target`, where plain loads and stores reach it */
static volatile long sink;
static long *flags;             /* symmetric */
static char *first_flags;       /* PE 0's, where it is reached by loads and stores */
static long turns;
static size_t bytes;            /* for the points of several sizes */
static long decision;
static long *all;               /* symmetric: kMostOfEach of every PE */
static long syncs[kAtOnce][SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE];
static long works[2][kMostOfEach / sizeof(long) + SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void put8(long count) { for (long i = 0; i < count; ++i) shmem_long_p(target + i % 8, i, 1); }
static void get8(long count) { for (long i = 0; i < count; ++i) sink = shmem_long_g(target + i % 8, 1); }
static void put_quiet(long count) {
    for (long i = 0; i < count; ++i) {
        shmem_long_p(target, i, 1);
        shmem_quiet();
    }
}
static void nbi_burst(long count) {
    for (long i = 0; i < count; ++i) {
        for (int k = 0; k < kBurst; ++k) shmem_putmem_nbi(target + k, source + 8 * k, 8, 1);
        shmem_quiet();
    }
}
static void put_bytes(long count) { for (long i = 0; i < count; ++i) shmem_putmem(target, source, bytes, 1); }
static void get_bytes(long count) { for (long i = 0; i < count; ++i) shmem_getmem(source, target, bytes, 1); }
static void strided_put(long count) {
    for (long i = 0; i < count; ++i) shmem_long_iput(target, (const long *)source, 2, 3, kStrided, 1);
}
static void strided_get(long count) {
    for (long i = 0; i < count; ++i) shmem_long_iget((long *)source, target, 2, 3, kStrided, 1);
}
static void add(long count) { for (long i = 0; i < count; ++i) shmem_long_atomic_add(target, 1, 1); }
static void fetch_add(long count) { for (long i = 0; i < count; ++i) sink = shmem_long_atomic_fetch_add(target, 1, 1); }
static void barrier(long count) { for (long i = 0; i < count; ++i) shmem_barrier_all(); }

/* PE 0 and 1 in turn store what the other one waits for. */
static void ping(long count) {
    const int me = shmem_my_pe();
    for (long i = 0; i < count && me < 2; ++i) {
        if (me == 0) shmem_long_p(flags, ++turns, 1);
        shmem_long_wait_until(flags, SHMEM_CMP_EQ, me == 0 ? turns : ++turns);
        if (me == 1) shmem_long_p(flags, turns, 0);
    }
}
static void bare_ping(long count) {
    const int me = shmem_my_pe();
    volatile long *const mine = flags, *const other = me < 2 ? shmem_ptr(flags, 1 - me) : NULL;
    for (long i = 0; i < count && me < 2; ++i) {
        if (me == 0) *other = ++turns;
        for (const long expected = me == 0 ? turns : ++turns; *mine != expected;) {
        }
        if (me == 1) *other = turns;
    }
}

/* The least that processes which sleep need: the last to come wakes the others, by a futex. */
static void bare_barrier(long count) {
    struct { int arrived, generation; } *const at = (void *)first_flags + 64;
    for (long i = 0; i < count; ++i) {
        const int now = __atomic_load_n(&at->generation, __ATOMIC_ACQUIRE);
        if (__atomic_add_fetch(&at->arrived, 1, __ATOMIC_ACQ_REL) == shmem_n_pes()) {
            __atomic_store_n(&at->arrived, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&at->generation, now + 1, __ATOMIC_RELEASE);
            syscall(SYS_futex, &at->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
            continue;
        }
        while (__atomic_load_n(&at->generation, __ATOMIC_ACQUIRE) == now)
            syscall(SYS_futex, &at->generation, FUTEX_WAIT, now, NULL, NULL, 0);
    }
}

static void bare_put8(long count) { for (long i = 0; i < count; ++i) *(volatile long *)(there + i % 8) = i; }
static void bare_get8(long count) { for (long i = 0; i < count; ++i) sink = *(volatile long *)(there + i % 8); }
static void bare_put(long count) {
    for (long i = 0; i < count; ++i) {
        memcpy(there, source, bytes);
        __asm__ volatile("" ::: "memory");
    }
}
static void bare_get(long count) {
    for (long i = 0; i < count; ++i) {
        memcpy(source, there, bytes);
        __asm__ volatile("" ::: "memory");
    }
}
static void bare_strided_put(long count) {
    for (long i = 0; i < count; ++i) {
        for (long k = 0; k < kStrided; ++k) there[2 * k] = ((const long *)source)[3 * k];
        __asm__ volatile("" ::: "memory");
    }
}
static void bare_strided_get(long count) {
    for (long i = 0; i < count; ++i) {
        for (long k = 0; k < kStrided; ++k) ((long *)source)[2 * k] = there[3 * k];
        __asm__ volatile("" ::: "memory");
    }
}
static void bare_add(long count) { for (long i = 0; i < count; ++i) __atomic_fetch_add(there, 1, __ATOMIC_ACQ_REL); }

/* Each of several calls in a row has a pSync of its own; before the first is used again, all PEs meet. */
static long *sync_of(long i) {
    if (i % kAtOnce == 0) shmem_barrier_all();
    return syncs[i % kAtOnce];
}
static void broadcasts(long count) {
    for (long i = 0; i < count; ++i) {
        const int root = i % 2 == 0 ? 0 : shmem_n_pes() - 1; /* from both ends in turn: nobody runs far ahead */
        shmem_broadcast64(all, target, bytes / 8, root, 0, 0, shmem_n_pes(), sync_of(i));
    }
}
static void fcollects(long count) {
    for (long i = 0; i < count; ++i) shmem_fcollect64(all, target, bytes / 8, 0, 0, shmem_n_pes(), sync_of(i));
}
static void collects(long count) {
    for (long i = 0; i < count; ++i) shmem_collect64(all, target, bytes / 8, 0, 0, shmem_n_pes(), sync_of(i));
}
static void alltoalls(long count) {
    for (long i = 0; i < count; ++i) shmem_alltoall64(all, target, bytes / 8, 0, 0, shmem_n_pes(), sync_of(i));
}
static void sums(long count) {
    for (long i = 0; i < count; ++i)
        shmem_long_sum_to_all(all, target, (int)(bytes / 8), 0, 0, shmem_n_pes(), works[i % 2], sync_of(i));
}

static void both(const char *bench, long size, void (*body)(long count), void (*bare)(long count)) {
    sample("library", bench, size, body);
    if (there && bare) sample("bare", bench, size, bare);
}

static void pair(void) {
    if (shmem_my_pe() != 0) return;
    both("put", 8, put8, bare_put8);
    both("get", 8, get8, bare_get8);
    both("put+quiet", 8, put_quiet, NULL);
    both("256_nbi_puts", 8, nbi_burst, NULL);
    for (bytes = 4096; bytes <= kBytes; bytes *= 32) {
        both("put", (long)bytes, put_bytes, bare_put);
        both("get", (long)bytes, get_bytes, bare_get);
    }
    both("iput_of_512", 8, strided_put, bare_strided_put);
    both("iget_of_512", 8, strided_get, bare_strided_get);
    both("add", 8, add, bare_add);
    both("fetch_add", 8, fetch_add, bare_add);
}

/* PE 0 says how it goes on; everyone hears. */
static long agree(long count) {
    if (shmem_my_pe() == 0)
        for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_long_p(&decision, count, pe);
    shmem_barrier_all();
    count = decision;
    shmem_barrier_all();
    return count;
}

static void together(const char *who, const char *bench, long size, void (*body)(long count)) {
    static double samples[kMostSamples];
    int done = 0;
    long count = 1;
    double took = time_of(body, 1);
    while (agree(took < 100e-6)) took = time_of(body, count *= 2);
    const double end = seconds_now() + compare_seconds;
    while (agree(done < kMostSamples && (done < kLeastSamples || seconds_now() < end)))
        samples[done++] = 1e9 * time_of(body, count) / (double)count;
    if (shmem_my_pe() == 0) print_samples(who, bench, size, samples, done);
}

static void collectives(void) {
    static const size_t sizes[] = {8, 256, 2048, 8192, kMostOfEach};
    all = shmem_malloc((size_t)kMostOfEach * (size_t)shmem_n_pes());
    if (!all) shmem_global_exit(3);
    for (size_t i = 0; i < kAtOnce; ++i)
        for (size_t k = 0; k < sizeof syncs[0] / sizeof syncs[0][0]; ++k) syncs[i][k] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        bytes = sizes[i];
        together("library", "broadcast", (long)bytes, broadcasts);
        together("library", "fcollect", (long)bytes, fcollects);
        together("library", "collect", (long)bytes, collects);
        together("library", "alltoall", (long)bytes, alltoalls);
        together("library", "sum_to_all", (long)bytes, sums);
    }
}

int main(int argc, char **argv) {
    if (argc > 2) compare_seconds = atof(argv[2]);
    shmem_init();
    if (argc < 2 || shmem_n_pes() < 2 || !(compare_seconds > 0)) {
        fprintf(stderr, "usage: points pair|all|collectives [SECONDS FOR EACH POINT], on at least two PEs\n");
        shmem_global_exit(2);
    }
    target = shmem_malloc(kBytes);
    flags = shmem_calloc(1, 128);
    source = malloc(kBytes);
    if (!target || !source || !flags) shmem_global_exit(3);
    memset(target, 1, kBytes);
    memset(source, 1, kBytes);
    there = shmem_ptr(target, 1);
    first_flags = shmem_ptr(flags, 0);
    shmem_barrier_all();
    if (strcmp(argv[1], "pair") == 0) {
        pair();
    } else if (strcmp(argv[1], "collectives") == 0) {
        collectives();
    } else {
        if (shmem_n_pes() == 2) {
            together("library", "ping_pong", 8, ping);
            if (there) together("bare", "ping_pong", 8, bare_ping);
        }
        together("library", "barrier_all", 8, barrier);
        if (there) together("bare", "barrier_all", 8, bare_barrier);
        together("library", "add_by_all", 8, add);
        if (there) together("bare", "add_by_all", 8, bare_add);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) printf("compare done\n");
    fflush(stdout);
    shmem_finalize();
    return 0;
}
