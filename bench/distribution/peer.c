/* peer.c: the same cases by MPI_Alltoallw with derived types that are made once, and by ScaLAPACK's pdgemr2d and pdtran.
 * usage: peer SECONDS BYTES..
 *
 * A darray type is one process's part of a whole array, as files want it; what two layouts have in common is no darray. The types here
 * are the closest: each axis's common indices as hvector where they are regular, else hindexed, and the product of both axes.
 */
#include <mpi.h>

#include "cases.h"

void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, const char *, int, int);
void Cblacs_gridexit(int);
void Cpdgemr2d(int, int, double *, int, int, int *, double *, int, int, int *, int);
void pdtran_(int *, int *, double *, double *, int *, int *, int *, double *, double *, int *, int *, int *);

static int rank, size;

/* The part of one dimension that `mine` and `other` both have, as a type over `old`, `stride` bytes from index to index. */
static MPI_Datatype along(int64_t n, const Side *a, int da, int64_t ta, const Side *b, int db, int64_t tb, int64_t stride, MPI_Datatype old,
                          int64_t *common) {
    const int64_t own = held(n, a->block[da], a->grid[da], ta);
    MPI_Aint *at = NULL;
    int *lengths = NULL;
    int64_t runs = 0, room = 0, last = -2;
    *common = 0;
    for (int64_t o = 0; o < own; ++o) {
        if (owner(index_at(o, a->block[da], a->grid[da], ta), b->block[db], b->grid[db]) != tb) continue;
        if (runs == room) {
            room = room ? 2 * room : 64;
            at = realloc(at, sizeof *at * (size_t)room);
            lengths = realloc(lengths, sizeof *lengths * (size_t)room);
        }
        if (o == last + 1) ++lengths[runs - 1];
        else at[runs] = o * stride, lengths[runs++] = 1;
        last = o;
        ++*common;
    }
    int regular = 1;
    for (int64_t i = 1; i < runs; ++i) regular &= lengths[i] == lengths[0] && at[i] - at[i - 1] == at[1] - at[0];
    MPI_Datatype unit, type;
    MPI_Type_create_resized(old, 0, stride, &unit);
    if (runs > 0 && regular) {
        MPI_Datatype rows;
        const MPI_Aint step = runs > 1 ? at[1] - at[0] : 0;
        const int one = 1;
        MPI_Type_create_hvector((int)runs, lengths[0], step, unit, &rows);
        MPI_Type_create_hindexed(1, &one, at, rows, &type);
        MPI_Type_free(&rows);
    } else {
        MPI_Type_create_hindexed((int)runs, lengths, at, unit, &type);
    }
    MPI_Type_free(&unit);
    free(at), free(lengths);
    return type;
}

/* The data that go between this process's part of one side and `peer`'s of the other, in the order of `from`'s rows. */
static MPI_Datatype shared(const Case *c, int to, int peer, int64_t width, int *none) {
    const Side *const mine = to ? &c->to : &c->from, *const other = to ? &c->from : &c->to;
    const int64_t m[2] = {rank / mine->grid[1], rank % mine->grid[1]}, o[2] = {peer / other->grid[1], peer % other->grid[1]};
    MPI_Datatype type = MPI_DOUBLE;
    *none = 0;
    for (int d = 1; d >= 0; --d) { /* of `from` */
        const int there = c->transposed ? 1 - d : d, dm = to ? there : d, dother = to ? d : there;
        int64_t common;
        MPI_Datatype next = along(c->n[d], mine, dm, m[dm], other, dother, o[dother], dm == 1 ? 8 : width * 8, type, &common);
        *none |= common == 0;
        if (type != MPI_DOUBLE) MPI_Type_free(&type);
        type = next;
    }
    MPI_Type_commit(&type);
    return type;
}

static int64_t columns_of(const Case *c, int to) {
    const Side *const side = to ? &c->to : &c->from;
    const int64_t n = held(c->n[to && c->transposed ? 0 : 1], side->block[1], side->grid[1], rank % side->grid[1]);
    return n > 0 ? n : 1;
}
static int64_t rows_of(const Case *c, int to) {
    const Side *const side = to ? &c->to : &c->from;
    const int64_t n = held(c->n[to && c->transposed ? 1 : 0], side->block[0], side->grid[0], rank / side->grid[1]);
    return n > 0 ? n : 1;
}

/* ScaLAPACK stores columns: its rows are our columns. */
static void describe(const Case *c, int to, int *descriptor, int *context) {
    const Side *const side = to ? &c->to : &c->from;
    const int turned = to && c->transposed;
    Cblacs_get(0, 0, context);
    Cblacs_gridinit(context, "Col", (int)side->grid[1], (int)side->grid[0]);
    const int filled[9] = {1, *context, (int)c->n[turned ? 0 : 1], (int)c->n[turned ? 1 : 0], (int)side->block[1], (int)side->block[0], 0, 0,
                           (int)columns_of(c, to)};
    memcpy(descriptor, filled, sizeof filled);
}

typedef struct {
    const Case *c;
    double *from, *to;
    int *out, *in, *zero;
    MPI_Datatype *out_types, *in_types;
    int a[9], b[9], all;
} Work;

static void alltoallw(Work *w) { MPI_Alltoallw(w->from, w->out, w->zero, w->out_types, w->to, w->in, w->zero, w->in_types, MPI_COMM_WORLD); }
static void scalapack(Work *w) {
    int one = 1, m = w->b[2], n = w->b[3];
    double unit = 1, zero = 0;
    if (w->c->transposed) pdtran_(&m, &n, &unit, w->from, &one, &one, w->a, &zero, w->to, &one, &one, w->b);
    else Cpdgemr2d(w->a[2], w->a[3], w->from, 1, 1, w->a, w->to, 1, 1, w->b, w->all);
}

static void measure(const char *who, Work *w, void (*move)(Work *), double seconds) {
    double samples[kMostSamples];
    memset(w->to, 0, (size_t)(rows_of(w->c, 1) * columns_of(w->c, 1)) * 8);
    move(w);
    long here = (long)visit(w->c, 1, rank, w->to, columns_of(w->c, 1), 0), wrong = 0;
    MPI_Allreduce(&here, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    int count = 0;
    for (double spent = 0; goes_on(count, spent, seconds); ++count) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = now();
        move(w);
        const double mine = now() - begin;
        MPI_Allreduce(&mine, &samples[count], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        spent += samples[count];
    }
    if (rank == 0) report(who, w->c, samples, count, wrong != 0);
}

static void one_case(const Case *c, double seconds) {
    Work w = {.c = c};
    w.from = malloc((size_t)(rows_of(c, 0) * columns_of(c, 0)) * 8);
    w.to = malloc((size_t)(rows_of(c, 1) * columns_of(c, 1)) * 8);
    visit(c, 0, rank, w.from, columns_of(c, 0), 1);
    w.out = calloc((size_t)size, sizeof(int)), w.in = calloc((size_t)size, sizeof(int)), w.zero = calloc((size_t)size, sizeof(int));
    w.out_types = malloc(sizeof(MPI_Datatype) * (size_t)size), w.in_types = malloc(sizeof(MPI_Datatype) * (size_t)size);
    for (int peer = 0; peer < size; ++peer) {
        int none;
        w.out_types[peer] = shared(c, 0, peer, columns_of(c, 0), &none);
        w.out[peer] = !none;
        w.in_types[peer] = shared(c, 1, peer, columns_of(c, 1), &none);
        w.in[peer] = !none;
    }
    measure("alltoallw", &w, alltoallw, seconds);
    int ca, cb;
    describe(c, 0, w.a, &ca);
    describe(c, 1, w.b, &cb);
    w.all = ca;
    /* pdtran wants the blocks of one matrix to be those of the other, turned. */
    const int fits = !c->transposed || (w.a[4] == w.b[5] && w.a[5] == w.b[4]);
    if (fits) measure("scalapack", &w, scalapack, seconds);
    Cblacs_gridexit(ca);
    Cblacs_gridexit(cb);
    for (int peer = 0; peer < size; ++peer) MPI_Type_free(&w.out_types[peer]), MPI_Type_free(&w.in_types[peer]);
    free(w.from), free(w.to), free(w.out), free(w.in), free(w.zero), free(w.out_types), free(w.in_types);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double seconds = argc > 1 ? atof(argv[1]) : 0.1;
    for (int a = 2; a < argc; ++a)
        for (int kind = 0; kind < kKinds; ++kind) {
            const Case c = make_case(kind, atoll(argv[a]), size);
            one_case(&c, seconds);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("compare done\n");
    MPI_Finalize();
    return 0;
}
