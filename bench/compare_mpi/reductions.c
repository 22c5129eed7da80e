/* Allreduce and reduce of elements other than doubles. Reductions go to both ends in turn, so that no rank runs far ahead. */
#include "timed.h"

#include <complex.h>

enum { kMost = 256, kElement = 16 /* bytes, at most */ };
enum kind { kComplex, kLongDouble, kMinimum, kBits };

struct pair { /* MPI_DOUBLE_INT */
    double value;
    int rank;
};

static char *sent, *received;
static int elements;
static MPI_Datatype type;
static MPI_Op operation;

static void allreduces(long count) {
    for (long i = 0; i < count; ++i) MPI_Allreduce(sent, received, elements, type, operation, MPI_COMM_WORLD);
}

static void reduce(int root) { MPI_Reduce(sent, received, elements, type, operation, root, MPI_COMM_WORLD); }

static void reduces(long count) {
    for (long i = 0; i < count; ++i) reduce(i % 2 == 0 ? 0 : compare_ranks - 1);
}

/* Element i of a rank. Long doubles have a bit that doubles have no room for; pairs come twice with each value. */
static double complex complex_of(int rank, int i) { return rank + i + (2.0 * rank - i) * I; }
static long double long_double_of(int rank, int i) { return rank + i + 0x1p-45L; }
static struct pair pair_of(int rank, int i) { return (struct pair){.value = (rank + i) % compare_ranks / 2, .rank = rank}; }
static int bits_of(int rank, int i) { return ~(1 << (rank + i) % 31); }

static void fill(enum kind kind) {
    for (int i = 0; i < elements; ++i) {
        if (kind == kComplex) ((double complex *)(void *)sent)[i] = complex_of(compare_me, i);
        if (kind == kLongDouble) ((long double *)(void *)sent)[i] = long_double_of(compare_me, i);
        if (kind == kMinimum) ((struct pair *)(void *)sent)[i] = pair_of(compare_me, i);
        if (kind == kBits) ((int *)(void *)sent)[i] = bits_of(compare_me, i);
    }
}

/* Whether element i is right, and of several least pairs that of the lowest rank. */
static int is_right(enum kind kind, int i) {
    double complex sum = 0;
    long double long_sum = 0;
    struct pair least = pair_of(0, i);
    int bits = -1;
    for (int rank = 0; rank < compare_ranks; ++rank) {
        sum += complex_of(rank, i);
        long_sum += long_double_of(rank, i);
        if (pair_of(rank, i).value < least.value) least = pair_of(rank, i);
        bits &= bits_of(rank, i);
    }
    const struct pair *const pair = (struct pair *)(void *)received + i;
    if (kind == kComplex) return ((double complex *)(void *)received)[i] == sum;
    if (kind == kLongDouble) return ((long double *)(void *)received)[i] == long_sum;
    if (kind == kMinimum) return pair->value == least.value && pair->rank == least.rank;
    return ((int *)(void *)received)[i] == bits;
}

static void check(enum kind kind, const char *bench, long size) {
    for (int i = 0; i < elements; ++i) require(is_right(kind, i), bench, size);
    memset(received, 0x5a, kMost * kElement);
}

static void measure(enum kind kind, const char *name, MPI_Datatype of, MPI_Op by, long bytes) {
    char all[32], one[32];
    snprintf(all, sizeof all, "allreduce-%s", name);
    snprintf(one, sizeof one, "reduce-%s", name);
    type = of;
    operation = by;
    for (elements = 1; elements <= kMost; elements *= 16) {
        fill(kind);
        allreduces(1);
        check(kind, all, elements * bytes);
        for (int root = 0; root < compare_ranks; root += compare_ranks - 1) {
            reduce(root);
            if (compare_me == root) check(kind, one, elements * bytes);
        }
        point(all, elements * bytes, "us", 1e6, 0, allreduces);
        point(one, elements * bytes, "us", 1e6, 0, reduces);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    sent = buffer_of(kMost * kElement);
    received = buffer_of(kMost * kElement);
    measure(kComplex, "complex", MPI_C_DOUBLE_COMPLEX, MPI_SUM, sizeof(double complex));
    measure(kLongDouble, "long-double", MPI_LONG_DOUBLE, MPI_SUM, sizeof(long double));
    measure(kMinimum, "minloc", MPI_DOUBLE_INT, MPI_MINLOC, sizeof(struct pair));
    measure(kBits, "band", MPI_INT, MPI_BAND, sizeof(int));
    free(sent);
    free(received);
    MPI_Finalize();
    return 0;
}
