/* domains_mpi.c: the steps of domains.cpp as one writes them by hand in MPI: domains_mpi SECONDS VIRTUAL. Each process has a block of the
 * virtual processors; what passes its edge goes by MPI_Sendrecv, sums by a loop and MPI_Allreduce. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    double value, other;
} State;

static State *own;
static double *got, sum;
static long mine, first, all;
static int rank, size, left, right;

static void get(void) {
    MPI_Sendrecv(&own[mine - 1].value, 1, MPI_DOUBLE, right, 0, &got[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (long i = 1; i < mine; ++i) got[i] = own[i - 1].value;
}

static void put(void) {
    double edge = own[mine - 1].value * 3, arrived;
    for (long i = 1; i < mine; ++i) own[i].other = own[i - 1].value * 3;
    MPI_Sendrecv(&edge, 1, MPI_DOUBLE, right, 0, &arrived, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    own[0].other = arrived;
}

static void reduce(void) {
    double part = 0;
    for (long i = 0; i < mine; ++i) part += own[i].value;
    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b) {
    const double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static void timed(const char *what, double seconds, int wrong, void (*step)(void)) {
    step();
    double begin = MPI_Wtime();
    step();
    long times = (long)(seconds / (MPI_Wtime() - begin));
    times = times < 3 ? 3 : times > 2000 ? 2000 : times;
    MPI_Bcast(&times, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    double *taken = malloc(sizeof *taken * (size_t)times);
    for (long i = 0; i < times; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        step();
        taken[i] = (MPI_Wtime() - begin) * 1e6;
    }
    qsort(taken, (size_t)times, sizeof *taken, ascending);
    if (rank == 0) printf("domains who=mpi step=%s p50=%.3f least=%.3f wrong=%d\n", what, taken[times / 2], taken[0], wrong);
    free(taken);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double seconds = argc > 1 ? atof(argv[1]) : 0.2;
    all = argc > 2 ? atol(argv[2]) : 1000000;
    left = (rank + size - 1) % size, right = (rank + 1) % size;
    const long block = (all + size - 1) / size;
    first = block * rank;
    mine = all - first < block ? all - first : block; /* the script gives every process some */
    own = calloc((size_t)mine, sizeof *own);
    got = calloc((size_t)mine, sizeof *got);
    for (long i = 0; i < mine; ++i) own[i].value = (double)((first + i) % 1000), own[i].other = -1;

    int wrong = 0;
    double expected = 0;
    get(), put(), reduce();
    for (long i = 0; i < mine; ++i) {
        const double before = (double)((first + i + all - 1) % all % 1000);
        wrong |= got[i] != before || own[i].other != before * 3;
    }
    for (long i = 0; i < all; ++i) expected += (double)(i % 1000);
    wrong |= sum != expected;
    timed("get", seconds, wrong, get);
    timed("put", seconds, wrong, put);
    timed("reduce", seconds, wrong, reduce);
    if (rank == 0) puts("domains done");
    MPI_Finalize();
    return 0;
}
