/* Sorts integers that are spread evenly over the PEs and over a range, by buckets: one of the many-to-many programs (ISx).
 *
 * Every PE owns an equal part of the range. It groups its keys by owner, reserves room at each owner by fetch-and-add, puts
 * each group there in one piece, and after a barrier sorts what it was given by counting. The keys are right if they are in
 * their owner's range and ascend, and if number and sum over all PEs are those of the keys that were made.
 *
 * Source: U. Hanebutte, J. Hemstad, ISx: a scalable integer sort for co-design in the exascale era, 2015.
 */
#include "app.h"

typedef struct {
    long count, sum;
} Tally;

static long arrived;   /* keys reserved at this PE */
static Tally made, kept; /* at PE 0: over all PEs */

typedef struct {
    long keys, range; /* keys of each PE; all keys are below range */
    long width;       /* of a PE's part of the range */
    long room;        /* for keys that arrive */
    int *mine, *grouped, *inbox, *counts;
    long *first; /* where each PE's group begins in `grouped`; first[n] is their end */
} Sort;

static void make_keys(Sort *sort, long round) {
    const uint64_t me = (uint64_t)shmem_my_pe();
    for (long i = 0; i < sort->keys; ++i)
        sort->mine[i] = (int)(app_random((me << 40) + ((uint64_t)round << 32) + (uint64_t)i) % (uint64_t)sort->range);
}

static void group_keys(Sort *sort) {
    const int n = shmem_n_pes();
    memset(sort->first, 0, ((size_t)n + 2) * sizeof *sort->first);
    for (long i = 0; i < sort->keys; ++i) ++sort->first[sort->mine[i] / sort->width + 2];
    for (int pe = 1; pe <= n; ++pe) sort->first[pe + 1] += sort->first[pe];
    for (long i = 0; i < sort->keys; ++i) sort->grouped[sort->first[sort->mine[i] / sort->width + 1]++] = sort->mine[i];
}

/* False if an owner has no room: then the keys are spread too unevenly. */
static int hand_out(const Sort *sort) {
    const int me = shmem_my_pe(), n = shmem_n_pes();
    int fits = 1;
    for (int step = 0; step < n; ++step) { /* each begins with itself, so that not all go to one */
        const int pe = (me + step) % n;
        const long count = sort->first[pe + 1] - sort->first[pe];
        if (count == 0) continue;
        const long at = shmem_long_atomic_fetch_add(&arrived, count, pe);
        if (at + count > sort->room) fits = 0;
        else shmem_int_put_nbi(sort->inbox + at, sort->grouped + sort->first[pe], (size_t)count, pe);
    }
    shmem_barrier_all();
    return fits;
}

static void sort_inbox(Sort *sort) {
    const long base = shmem_my_pe() * sort->width;
    int *out = sort->inbox;
    memset(sort->counts, 0, (size_t)sort->width * sizeof *sort->counts);
    for (long i = 0; i < arrived; ++i) ++sort->counts[sort->inbox[i] - base];
    for (long key = 0; key < sort->width; ++key)
        for (int times = sort->counts[key]; times > 0; --times) *out++ = (int)(base + key);
}

static void tally(Tally *at, const int *keys, long count) {
    long sum = 0;
    for (long i = 0; i < count; ++i) sum += keys[i];
    shmem_long_atomic_add(&at->count, count, 0);
    shmem_long_atomic_add(&at->sum, sum, 0);
}

static int in_order(const Sort *sort) {
    for (long i = 1; i < arrived; ++i)
        if (sort->inbox[i - 1] > sort->inbox[i]) return 0;
    return 1;
}

/* Before the sort, which could not bear others. */
static int in_range(const Sort *sort) {
    const long base = shmem_my_pe() * sort->width;
    for (long i = 0; i < arrived; ++i)
        if (sort->inbox[i] < base || sort->inbox[i] >= base + sort->width) return 0;
    return 1;
}

int main(int argc, char **argv) {
    Option options[] = {{"keys", "keys of each PE", 1 << 20, 1, 1 << 28},
                        {"range", "keys are below this", 1 << 22, 1, 1 << 30},
                        {"rounds", "how often new keys are sorted", 3, 1, 1000000}};
    app_start(argc, argv, "integer sort by buckets, in the manner of ISx.", options, 3);
    const int me = shmem_my_pe(), n = shmem_n_pes();
    Sort sort = {.keys = options[0].value, .range = options[1].value};
    sort.width = (sort.range + n - 1) / n;
    sort.room = sort.keys + sort.keys / 2 + 1024;
    sort.inbox = app_memory((size_t)sort.room * sizeof *sort.inbox);
    sort.mine = app_local((size_t)sort.keys * sizeof *sort.mine);
    sort.grouped = app_local((size_t)sort.keys * sizeof *sort.grouped);
    sort.counts = app_local((size_t)sort.width * sizeof *sort.counts);
    sort.first = app_local(((size_t)n + 2) * sizeof *sort.first);
    int right = 1;
    double seconds = 0;
    for (long round = 0; round < options[2].value; ++round) {
        arrived = 0;
        make_keys(&sort, round);
        tally(&made, sort.mine, sort.keys);
        shmem_barrier_all();
        const double begin = app_seconds();
        group_keys(&sort);
        const int whole = hand_out(&sort) && arrived <= sort.room && in_range(&sort);
        if (whole) sort_inbox(&sort);
        shmem_barrier_all();
        seconds += app_seconds() - begin;
        right = right && whole && in_order(&sort);
        tally(&kept, sort.inbox, whole ? arrived : 0);
        shmem_barrier_all();
    }
    if (me == 0) right = right && made.count == kept.count && made.sum == kept.sum;
    const double all = (double)sort.keys * (double)options[2].value * n;
    return app_verdict(right, seconds, "%ld keys each, %.1f million keys/s", sort.keys, 1e-6 * all / seconds);
}
