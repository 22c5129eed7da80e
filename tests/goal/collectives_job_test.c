/* The collective calls, as a C99 program on any number of ranks: what each gives, run several times, in place and not, with
 * every algorithm, by nodes that are told, among some of the ranks, within a larger schedule; and mistakes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/goal/goal_collectives.h"
#include "tests/goal/check.h"

static int rank, size;

enum { kEpochs = 3, kMost = 131072 };
static const size_t kCounts[] = {0, 1, 37, 3000, kMost};
enum { kNumCounts = sizeof kCounts / sizeof kCounts[0] };

enum { kRoom = kMost + 4096 };
static int64_t in[kRoom], out[kRoom];

static GOAL_Group group;
static int fake_nodes[64];

static int64_t value(int from, size_t i, int epoch) { return (int64_t)(from + 1) * 1000003 + (int64_t)i * 7 + epoch; }

static void fill(int64_t *at, size_t count, int from, int epoch) {
    for (size_t i = 0; i < count; ++i) at[i] = value(from, i, epoch);
}
static int64_t sum(int first, int last, size_t i, int epoch) {
    int64_t total = 0;
    for (int r = first; r < last; ++r) total += value(r, i, epoch);
    return total;
}
static const char *doing = ""; /* what to blame */
static void expect(int64_t got, int64_t wanted, size_t i, size_t count, int epoch) {
    if (got == wanted) return;
    fprintf(stderr, "rank %d, %s: element %zu of %zu in epoch %d is %lld, not %lld\n", rank, doing, i, count, epoch, (long long)got, (long long)wanted);
    exit(1);
}
static void check_sum(const int64_t *at, int first, int last, size_t begin, size_t count, int epoch) {
    for (size_t i = 0; i < count; ++i) expect(at[i], sum(first, last, begin + i, epoch), i, count, epoch);
}
static void check_values(const int64_t *at, size_t count, int from, int epoch) {
    for (size_t i = 0; i < count; ++i) expect(at[i], value(from, i, epoch), i, count, epoch);
}

static void run(GOAL_Schedule s) {
    GOAL_Request request;
    OK(GOAL_Run(s, &request));
    OK(GOAL_Wait(&request));
}
/* Runs it several times with other data, and frees it. */
#define EACH_EPOCH(s, prepare, judge)                      \
    do {                                                   \
        for (int epoch = 0; epoch < kEpochs; ++epoch) {    \
            memset(out, 0, sizeof out);                       \
            prepare;                                       \
            run(s);                                        \
            judge;                                         \
        }                                                  \
        OK(GOAL_Free(&s));                                 \
    } while (0)

static void reductions(GOAL_Algorithm all, GOAL_Algorithm one, GOAL_Algorithm scattered, size_t n) {
    GOAL_Schedule s = NULL;
    const GOAL_Group saved = group;
    group.algorithm = all;
    doing = "GOAL_Allreduce";
    OK(GOAL_Allreduce(&s, &group, GOAL_User(in), GOAL_User(out), n, GOAL_INT64, GOAL_ADD, NULL));
    EACH_EPOCH(s, fill(in, n, rank, epoch), check_sum(out, 0, size, 0, n, epoch));
    doing = "GOAL_Allreduce";
    OK(GOAL_Allreduce(&s, &group, GOAL_InPlace(), GOAL_User(out), n, GOAL_INT64, GOAL_ADD, NULL));
    EACH_EPOCH(s, fill(out, n, rank, epoch), check_sum(out, 0, size, 0, n, epoch));
    group.algorithm = one;
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        doing = "GOAL_Reduce";
        OK(GOAL_Reduce(&s, &group, rank == root ? GOAL_InPlace() : GOAL_User(in), GOAL_User(out), n, GOAL_INT64, GOAL_ADD, root, NULL));
        EACH_EPOCH(s, fill(rank == root ? out : in, n, rank, epoch), if (rank == root) check_sum(out, 0, size, 0, n, epoch));
    }
    group.algorithm = scattered;
    const size_t share = n / (size_t)size;
    doing = "GOAL_Reduce_scatter_block";
    OK(GOAL_Reduce_scatter_block(&s, &group, GOAL_User(in), GOAL_User(out), share, GOAL_INT64, GOAL_ADD, NULL));
    EACH_EPOCH(s, fill(in, share * (size_t)size, rank, epoch), check_sum(out, 0, size, share * (size_t)rank, share, epoch));
    size_t counts[64], begin = 0, total = 0;
    for (int r = 0; r < size; ++r) {
        counts[r] = r % 2 == 0 ? share : 0;
        if (r < rank) begin += counts[r];
        total += counts[r];
    }
    doing = "GOAL_Reduce_scatter";
    OK(GOAL_Reduce_scatter(&s, &group, GOAL_InPlace(), GOAL_User(out), counts, GOAL_INT64, GOAL_ADD, NULL));
    EACH_EPOCH(s, fill(out, total, rank, epoch), check_sum(out, 0, size, begin, counts[rank], epoch));
    group = saved;
    doing = "GOAL_Scan";
    OK(GOAL_Scan(&s, &group, GOAL_User(in), GOAL_User(out), n, GOAL_INT64, GOAL_ADD, NULL));
    EACH_EPOCH(s, fill(in, n, rank, epoch), check_sum(out, 0, rank + 1, 0, n, epoch));
    doing = "GOAL_Exscan";
    OK(GOAL_Exscan(&s, &group, GOAL_InPlace(), GOAL_User(out), n, GOAL_INT64, GOAL_ADD, NULL));
    EACH_EPOCH(s, fill(out, n, rank, epoch), if (rank > 0) check_sum(out, 0, rank, 0, n, epoch));
}

/* n elements of one rank, or of all together. */
static void movements(GOAL_Algorithm cast, GOAL_Algorithm rooted, GOAL_Algorithm gathered, GOAL_Algorithm exchanged, size_t n) {
    GOAL_Schedule s = NULL;
    const GOAL_Group saved = group;
    const int root = size / 2;
    const size_t bytes = n * sizeof *in;
    group.algorithm = cast;
    doing = "GOAL_Bcast";
    OK(GOAL_Bcast(&s, &group, GOAL_User(out), bytes, root, NULL));
    EACH_EPOCH(s, if (rank == root) fill(out, n, root, epoch), check_values(out, n, root, epoch));
    n /= (size_t)size;
    const size_t piece = n * sizeof *in;
    group.algorithm = rooted;
    doing = "GOAL_Gather";
    OK(GOAL_Gather(&s, &group, GOAL_User(in), GOAL_User(out), piece, root, NULL));
    EACH_EPOCH(s, fill(in, n, rank, epoch),
               for (int r = 0; rank == root && r < size; ++r) check_values(out + n * (size_t)r, n, r, epoch));
    doing = "GOAL_Scatter";
    OK(GOAL_Scatter(&s, &group, GOAL_User(in), GOAL_User(out), piece, root, NULL));
    EACH_EPOCH(s, for (int r = 0; r < size; ++r) fill(in + n * (size_t)r, n, r, epoch), check_values(out, n, rank, epoch));
    group.algorithm = gathered;
    doing = "GOAL_Allgather";
    OK(GOAL_Allgather(&s, &group, GOAL_InPlace(), GOAL_User(out), piece, NULL));
    EACH_EPOCH(s, fill(out + n * (size_t)rank, n, rank, epoch),
               for (int r = 0; r < size; ++r) check_values(out + n * (size_t)r, n, r, epoch));
    group.algorithm = exchanged;
    for (int in_place = 0; in_place < 2; ++in_place) {
        doing = "GOAL_Alltoall";
        OK(GOAL_Alltoall(&s, &group, in_place ? GOAL_InPlace() : GOAL_User(in), GOAL_User(out), piece, NULL));
        EACH_EPOCH(s, for (int r = 0; r < size; ++r) fill((in_place ? out : in) + n * (size_t)r, n, rank * size + r, epoch),
                   for (int r = 0; r < size; ++r) check_values(out + n * (size_t)r, n, r * size + rank, epoch));
    }
    group = saved;
}

/* Rank r has r + 1 elements, or none; they lie in descending order. */
static void pieces_of_all_sizes(void) {
    GOAL_Schedule s = NULL;
    size_t sizes[64] = {0}, to_me[64] = {0};
    ptrdiff_t places[64] = {0}, froms[64] = {0};
    size_t at = 0, from_at = 0;
    for (int r = size; r-- > 0;) {
        sizes[r] = r % 3 == 1 ? 0 : (size_t)(r + 1) * 8;
        places[r] = (ptrdiff_t)at;
        at += sizes[r] + 8;
    }
    for (int r = size; r-- > 0;) {
        to_me[r] = sizes[rank];
        froms[r] = (ptrdiff_t)from_at;
        from_at += to_me[r];
    }
    const size_t n = sizes[rank] / 8;
    int64_t *const all = out;
    doing = "GOAL_Gatherv";
    OK(GOAL_Gatherv(&s, &group, GOAL_User(in), sizes[rank], GOAL_User(out), sizes, places, 0, NULL));
    EACH_EPOCH(s, fill(in, n, rank, epoch),
               for (int r = 0; rank == 0 && r < size; ++r) check_values(all + places[r] / 8, sizes[r] / 8, r, epoch));
    doing = "GOAL_Scatterv";
    OK(GOAL_Scatterv(&s, &group, GOAL_User(in), sizes, places, GOAL_User(out), sizes[rank], 0, NULL));
    EACH_EPOCH(s, for (int r = 0; r < size; ++r) fill(in + places[r] / 8, sizes[r] / 8, r, epoch), check_values(out, n, rank, epoch));
    doing = "GOAL_Allgatherv";
    OK(GOAL_Allgatherv(&s, &group, GOAL_User(in), GOAL_User(out), sizes, places, NULL));
    EACH_EPOCH(s, fill(in, n, rank, epoch), for (int r = 0; r < size; ++r) check_values(all + places[r] / 8, sizes[r] / 8, r, epoch));
    /* Everybody has sizes[r] for rank r. */
    doing = "GOAL_Alltoallv";
    OK(GOAL_Alltoallv(&s, &group, GOAL_User(in), sizes, places, GOAL_User(out), to_me, froms, NULL));
    EACH_EPOCH(s, for (int r = 0; r < size; ++r) fill(in + places[r] / 8, sizes[r] / 8, rank * size + r, epoch),
               for (int r = 0; r < size; ++r) check_values(all + froms[r] / 8, n, r * size + rank, epoch));
}

/* Both ways around a ring: with two ranks both neighbours are the same, and the tags tell the edges apart. */
static void neighbours_on_a_ring(void) {
    GOAL_Schedule s = NULL;
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    const GOAL_Edge leaving[] = {{left, 0, GOAL_User(in), 80}, {right, 1, GOAL_User(in + 10), 80}};
    const GOAL_Edge coming[] = {{left, 1, GOAL_User(out), 80}, {right, 0, GOAL_User(out + 10), 80}};
    doing = "GOAL_Exchange";
    OK(GOAL_Exchange(&s, &group, leaving, 2, coming, 2, NULL));
    EACH_EPOCH(s, fill(in, 10, rank, epoch); fill(in + 10, 10, rank + 100, epoch),
               check_values(out, 10, left + 100, epoch); check_values(out + 10, 10, right, epoch));
}

/* One clock for all: they run on one machine. */
static void barriers_hold(GOAL_Algorithm algorithm) {
    GOAL_Group with = group;
    with.algorithm = algorithm;
    for (int late = 0; late < size; ++late) {
        static uint64_t before, after, latest;
        GOAL_Schedule s = NULL, maximum = NULL;
        GOAL_Op delay, first, second;
        GOAL_Span span;
        OK(GOAL_Create(&s));
        OK(GOAL_Local(s, GOAL_DELAY, GOAL_INT8, GOAL_User(NULL), GOAL_User(NULL), GOAL_User(NULL), rank == late ? 300000 : 0, &delay));
        OK(GOAL_Timestamp(s, GOAL_User(&before), &first));
        OK(GOAL_Requires(s, first, delay));
        OK(GOAL_Barrier(&s, &with, &span));
        OK(GOAL_Requires(s, span.begin, first));
        OK(GOAL_Timestamp(s, GOAL_User(&after), &second));
        OK(GOAL_Requires(s, second, span.end));
        OK(GOAL_Compile(s));
        OK(GOAL_Allreduce(&maximum, &group, GOAL_User(&before), GOAL_User(&latest), 1, GOAL_UINT64, GOAL_MAX, NULL));
        for (int epoch = 0; epoch < kEpochs; ++epoch) {
            run(s);
            run(maximum);
            CHECK(after >= latest);
        }
        OK(GOAL_Free(&maximum));
        OK(GOAL_Free(&s));
    }
}

/* The k-th compiled schedule of one rank meets the k-th of another one; other ranks may have other groups meanwhile. */
static void groups_of_some_ranks(void) {
    int ranks[64], n = 0, me = -1;
    GOAL_Schedule s = NULL;
    for (int r = size; r-- > 0;) { /* even or odd ones, in descending order */
        if (r % 2 != rank % 2) continue;
        if (r == rank) me = n;
        ranks[n++] = r;
    }
    const GOAL_Group some = {me, n, ranks, NULL, 5, GOAL_AUTO};
    doing = "GOAL_Allgather";
    OK(GOAL_Allgather(&s, &some, GOAL_User(in), GOAL_User(out), 80, NULL));
    EACH_EPOCH(s, fill(in, 10, rank, epoch), for (int i = 0; i < n; ++i) check_values(out + 10 * i, 10, ranks[i], epoch));
    OK(GOAL_Create(&s)); /* and by a context of its own, whatever else is compiled */
    doing = "GOAL_Bcast";
    OK(GOAL_Bcast(&s, &some, GOAL_User(out), 80, n - 1, NULL));
    OK(GOAL_Context(s, (unsigned)(7 + rank % 2)));
    for (int i = 0; i < rank % 2; ++i) {
        GOAL_Schedule other = NULL;
        OK(GOAL_Create(&other));
        OK(GOAL_Context(other, 77));
        OK(GOAL_Compile(other));
        OK(GOAL_Free(&other));
    }
    OK(GOAL_Compile(s));
    EACH_EPOCH(s, if (me == n - 1) fill(out, 10, rank, epoch), check_values(out, 10, ranks[n - 1], epoch));
}

/* Arguments, scratchpad and two collectives, one after the other, in one schedule with one tag. */
static void collectives_follow_each_other(void) {
    static int64_t box[4];
    GOAL_Schedule s = NULL;
    GOAL_Span first, second;
    OK(GOAL_Create(&s));
    OK(GOAL_Scratch(s, 32));
    doing = "GOAL_Allreduce";
    OK(GOAL_Allreduce(&s, &group, GOAL_Arg(0, 0), GOAL_Pad(0), 4, GOAL_INT64, GOAL_ADD, &first));
    doing = "GOAL_Scan";
    OK(GOAL_Scan(&s, &group, GOAL_Pad(0), GOAL_Arg(0, 0), 4, GOAL_INT64, GOAL_ADD, &second));
    OK(GOAL_Requires(s, second.begin, first.end));
    CHECK(GOAL_Scratch(s, 64) == GOAL_ERR_STATE);
    OK(GOAL_Bind(s, 0, box, sizeof box));
    OK(GOAL_Compile(s));
    EACH_EPOCH(s, fill(box, 4, rank, epoch), for (size_t i = 0; i < 4; ++i) CHECK(box[i] == (rank + 1) * sum(0, size, i, epoch)));
}

static void mistakes_are_told(void) {
    GOAL_Schedule s = NULL;
    GOAL_Span span;
    GOAL_Group bad = group;
    const GOAL_Piece part = GOAL_Part(GOAL_User(in), 8);
    const size_t huge = (size_t)1 << 60;
    CHECK(GOAL_Barrier(NULL, &group, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Barrier(&s, NULL, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Barrier(&s, &group, &span) == GOAL_ERR_ARG);
    CHECK(GOAL_Bcast(&s, &group, GOAL_User(NULL), 8, 0, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Bcast(&s, &group, GOAL_User(out), 8, size, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Bcast(&s, &group, GOAL_InPlace(), 8, 0, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Bcast(&s, &group, GOAL_Pieces(&part, 1), 8, 0, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Allreduce(&s, &group, GOAL_User(in), GOAL_User(out), 1, GOAL_DOUBLE, GOAL_XOR, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Allreduce(&s, &group, GOAL_User(in), GOAL_User(out), 1, GOAL_DOUBLE, GOAL_SUB, NULL) == GOAL_ERR_ARG);
    CHECK(strstr(GOAL_Explain(), "ADD, MULT, MAX") != NULL);
    CHECK(GOAL_Allreduce(&s, &group, GOAL_User(in), GOAL_User(out), huge, GOAL_DOUBLE, GOAL_ADD, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Reduce_scatter(&s, &group, GOAL_User(in), GOAL_User(out), NULL, GOAL_INT8, GOAL_ADD, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Allgatherv(&s, &group, GOAL_User(in), GOAL_User(out), NULL, NULL, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Exchange(&s, &group, NULL, 1, NULL, 0, NULL) == GOAL_ERR_ARG);
    bad.rank = bad.size;
    CHECK(GOAL_Barrier(&s, &bad, NULL) == GOAL_ERR_ARG);
    bad = group;
    bad.size = size + 1;
    CHECK(GOAL_Barrier(&s, &bad, NULL) == GOAL_ERR_ARG);
    bad = group;
    bad.algorithm = GOAL_RING;
    CHECK(GOAL_Barrier(&s, &bad, NULL) == GOAL_ERR_ARG);
    CHECK(GOAL_Scan(&s, &bad, GOAL_User(in), GOAL_User(out), 1, GOAL_INT8, GOAL_ADD, NULL) == GOAL_ERR_ARG);
    CHECK(s == NULL);
    OK(GOAL_Create(&s));
    CHECK(GOAL_Context(s, 8192) == GOAL_ERR_ARG);
    CHECK(GOAL_Bcast(&s, &group, GOAL_User(NULL), 8, 0, &span) == GOAL_ERR_ARG);
    doing = "GOAL_Barrier";
    OK(GOAL_Barrier(&s, &group, NULL)); /* nothing was added before */
    OK(GOAL_Compile(s));
    CHECK(GOAL_Barrier(&s, &group, NULL) == GOAL_ERR_STATE);
    CHECK(GOAL_Context(s, 1) == GOAL_ERR_STATE);
    run(s);
    OK(GOAL_Free(&s));
}

/* A variable that cannot be understood is told before anything is begun, as often as one tries. */
static int refuses_the_variable(const char *sentence) {
    for (int i = 0; i < 2; ++i) {
        CHECK(GOAL_Init(&rank, &size) == GOAL_ERR_ARG);
        CHECK(strstr(GOAL_Explain(), "the variable PTL_COLLECTIVES has ") == GOAL_Explain());
        CHECK(strstr(GOAL_Explain(), sentence) != NULL);
        CHECK(GOAL_World(&group) == GOAL_ERR_STATE);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "variable") == 0) return refuses_the_variable(argv[2]);
    CHECK(GOAL_World(&group) == GOAL_ERR_STATE);
    OK(GOAL_Init(&rank, &size));
    OK(GOAL_World(&group));
    CHECK(group.rank == rank && group.size == size && size <= 64);
    for (int r = 0; r < size; ++r) CHECK(group.nodes[r] == group.nodes[0]);
    for (size_t k = 0; k < kNumCounts; ++k) {
        const size_t n = kCounts[k];
        reductions(GOAL_AUTO, GOAL_AUTO, GOAL_AUTO, n);
        reductions(GOAL_DOUBLING, GOAL_BINOMIAL, GOAL_HALVING, n);
        reductions(GOAL_HALVING, GOAL_HALVING, GOAL_RING, n);
        reductions(GOAL_RING, GOAL_AUTO, GOAL_AUTO, n);
        reductions(GOAL_PIPELINE, GOAL_AUTO, GOAL_AUTO, n);
        reductions(GOAL_DISSEMINATION, GOAL_AUTO, GOAL_AUTO, n);
        movements(GOAL_AUTO, GOAL_AUTO, GOAL_AUTO, GOAL_AUTO, n);
        movements(GOAL_BINOMIAL, GOAL_BINOMIAL, GOAL_DOUBLING, GOAL_BRUCK, n);
        movements(GOAL_PIPELINE, GOAL_LINEAR, GOAL_RING, GOAL_PAIRWISE, n);
        movements(GOAL_SCATTER_ALLGATHER, GOAL_AUTO, GOAL_BRUCK, GOAL_AUTO, n);
        movements(GOAL_AUTO, GOAL_AUTO, GOAL_PIPELINE, GOAL_AUTO, n);
    }
    pieces_of_all_sizes();
    neighbours_on_a_ring();
    barriers_hold(GOAL_AUTO);
    barriers_hold(GOAL_BINOMIAL);
    groups_of_some_ranks();
    collectives_follow_each_other();
    for (int r = 0; r < size; ++r) fake_nodes[r] = r % 2;
    group.nodes = fake_nodes;
    for (size_t k = 1; k < kNumCounts; ++k) {
        reductions(GOAL_AUTO, GOAL_AUTO, GOAL_AUTO, kCounts[k]);
        movements(GOAL_AUTO, GOAL_AUTO, GOAL_AUTO, GOAL_AUTO, kCounts[k]);
    }
    barriers_hold(GOAL_AUTO);
    mistakes_are_told();
    OK(GOAL_Finalize());
    return 0;
}
