/* The program that ptlsim_test.py simulates: its first argument names what the ranks do. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/mpi.h"

static int me, n;

/* A number goes round, and each adds its own. */
static int ring(void) {
    int sum = 0;
    if (me > 0) MPI_Recv(&sum, 1, MPI_INT, me - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += me;
    if (n > 1) MPI_Send(&sum, 1, MPI_INT, (me + 1) % n, 1, MPI_COMM_WORLD);
    if (me == 0 && n > 1) MPI_Recv(&sum, 1, MPI_INT, n - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 0) printf("ring %d\n", sum);
    return 0;
}

static int pi(void) {
    double part = 0, all = 0;
    for (int i = me; i < 100000; i += n) part += 4 / (1 + (i + 0.5) * (i + 0.5) * 1e-10);
    MPI_Reduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) printf("pi %.6f\n", all / 100000);
    return 0;
}

/* Each waits for the next one. */
static int hang(void) {
    int got;
    return MPI_Recv(&got, 1, MPI_INT, (me + 1) % n, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 calls nothing any more. */
static int endless(void) {
    for (volatile int on = me == 1; on;) on = 1;
    return 0;
}

/* Rank 2 comes 40 us after rank 1, who is taken to be first. */
static int race(void) {
    int got[2] = {1, 2}, status = 0;
    for (int i = 0; i < 5; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 2) usleep(40);
        if (me == 1 || me == 2) MPI_Send(&me, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        for (int k = 0; me == 0 && k < 2; ++k) MPI_Recv(&got[k], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got[0] != 1) status = 3;
    }
    return status;
}

/* Time passes by the clock of the simulation: so long for sleeping, and something for each message. */
static int watch(void) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
    const double between = MPI_Wtime();
    sleep(3600);
    printf("%.9f %.9f\n", between - begin, MPI_Wtime() - between);
    return 0;
}

/* One megabyte from rank 0 to the last. */
static int bulk(void) {
    char *const data = calloc(1, 1000000);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (me == 0) MPI_Send(data, 1000000, MPI_BYTE, n - 1, 1, MPI_COMM_WORLD);
    if (me == n - 1) MPI_Recv(data, 1000000, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == n - 1) printf("%.9f\n", MPI_Wtime() - begin);
    free(data);
    return 0;
}

/* Each sends 100 kB to each other one, at once. */
static int all_to_all(void) {
    MPI_Request requests[64];
    const int each = 100000;
    char *const data = calloc((size_t)n, (size_t)each), *const to = calloc((size_t)n, (size_t)each);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    int count = 0;
    for (int i = 1; i < n; ++i) MPI_Irecv(to + (size_t)i * each, each, MPI_BYTE, (me + i) % n, 1, MPI_COMM_WORLD, &requests[count++]);
    for (int i = 1; i < n; ++i) MPI_Isend(data, each, MPI_BYTE, (me + n - i) % n, 1, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    printf("%.9f\n", MPI_Wtime() - begin);
    free(data);
    free(to);
    return 0;
}

/* Those that are left when one has died. */
static int survive(void) {
    MPI_Comm left;
    int failed = 0, count = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 1000 && !failed; ++i) {
        usleep(100);
        failed = MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!failed) return 4;
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &left);
    MPI_Comm_size(left, &count);
    printf("left %d\n", count);
    return 0;
}

static int chance(char **argv, int argc) {
    int option, value = 0;
    while ((option = getopt(argc - 1, argv + 1, "v:")) != -1) value = atoi(optarg);
    srand((unsigned)me);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%d %d\n", value, rand());
    return 0;
}

/* Races without a consequence but for what is printed. */
static int receives_from_any(void) {
    for (int i = 1; me == 0 && i < n; ++i) {
        int from = -1;
        MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("message %d is of rank %d\n", i, from);
    }
    if (me != 0) MPI_Send(&me, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    return 0;
}

static int puts_to_one_place(void) {
    int place = -1;
    MPI_Win win;
    MPI_Win_create(&place, sizeof place, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (me != 0) MPI_Put(&me, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (me == 0) printf("rank %d was last\n", place);
    MPI_Win_free(&win);
    return 0;
}

static int fail(const char *how) {
    if (me == 1 && strcmp(how, "exit") == 0) exit(7);
    if (me == 1 && strcmp(how, "crash") == 0) *(volatile int *)NULL = 1;
    if (me == 1 && strcmp(how, "abort") == 0) abort();
    if (me == 1 && strcmp(how, "fork") == 0) return fork() < 0;
    if (me == 1 && strcmp(how, "end") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

int main(int argc, char **argv) {
    const char *const what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    const int status = strcmp(what, "ring") == 0      ? ring()
                       : strcmp(what, "pi") == 0      ? pi()
                       : strcmp(what, "hang") == 0    ? hang()
                       : strcmp(what, "endless") == 0 ? endless()
                       : strcmp(what, "race") == 0    ? race()
                       : strcmp(what, "watch") == 0   ? watch()
                       : strcmp(what, "bulk") == 0    ? bulk()
                       : strcmp(what, "all") == 0     ? all_to_all()
                       : strcmp(what, "survive") == 0 ? survive()
                       : strcmp(what, "any") == 0     ? receives_from_any()
                       : strcmp(what, "puts") == 0    ? puts_to_one_place()
                       : strcmp(what, "chance") == 0  ? chance(argv, argc)
                                                      : fail(what);
    MPI_Finalize();
    return status;
}
