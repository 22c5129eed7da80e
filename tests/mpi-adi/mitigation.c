/* mitigation.c: a computation that loses a rank at a random moment, and goes on with the others to the right result.
 *
 * mitigation SEED: rank SEED % size is killed by a timer, some microseconds after MPI_Init that SEED gives. In each step the ranks add up
 * their shares of a range of numbers, in one of several ways; they agree on whether all have the sum, and if not, those who live
 * shrink the communicator and repeat the step. Every survivor checks the total.
 * mitigation calls: the calls one by one. */
#define _GNU_SOURCE
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { kSteps = 150, kEach = 1000 };

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "mitigation.c:%d: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static void die(int number) {
    (void)number;
    kill(getpid(), SIGKILL);
}

static void die_after(long microseconds) {
    const struct itimerval timer = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* The sum of the step's numbers: 0 if it is here. */
static int add_up(MPI_Comm comm, int step, long long *sum) {
    static long long out[2048], in[2048];
    static char bulk[2][100000];
    int rank, size, error;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    long long mine = 0;
    for (int i = rank; i < kEach; i += size) mine += (long long)step * kEach + i;
    for (int i = 0; i < 2048; ++i) out[i] = mine;
    MPI_Request request;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    switch (step % 6) {
    case 0: error = MPI_Allreduce(out, in, 1, MPI_LONG_LONG, MPI_SUM, comm); break;
    case 1: error = MPI_Allreduce(out, in, 2048, MPI_LONG_LONG, MPI_SUM, comm); break;
    case 2: /* around the ring */
        in[0] = mine;
        error = MPI_SUCCESS;
        for (int i = 1; i < size && error == MPI_SUCCESS; ++i) {
            error = MPI_Sendrecv(&out[0], 1, MPI_LONG_LONG, next, i, &out[1], 1, MPI_LONG_LONG, before, i, comm, MPI_STATUS_IGNORE);
            out[0] = out[1];
            in[0] += out[0];
        }
        break;
    case 3:
        error = MPI_Iallreduce(out, in, 200, MPI_LONG_LONG, MPI_SUM, comm, &request);
        if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 4:
        error = MPI_Reduce(out, in, 3, MPI_LONG_LONG, MPI_SUM, step % size, comm);
        if (error == MPI_SUCCESS) error = MPI_Bcast(in, 3, MPI_LONG_LONG, step % size, comm);
        break;
    default: /* long messages, of which some wait for their receives */
        error = MPI_Isend(bulk[0], sizeof bulk[0], MPI_CHAR, next, 7, comm, &request);
        if (error == MPI_SUCCESS) {
            error = MPI_Recv(bulk[1], sizeof bulk[1], MPI_CHAR, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE);
            if (error != MPI_SUCCESS) MPIX_Comm_revoke(comm); /* who sends to this rank waits as well */
            const int sent = MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (error == MPI_SUCCESS) error = sent;
        }
        if (error == MPI_SUCCESS) error = MPI_Allreduce(out, in, 1, MPI_LONG_LONG, MPI_SUM, comm);
    }
    *sum = in[0];
    return error;
}

static int computes(long seed) {
    int rank, size, steps_done = 0;
    MPI_Comm comm, smaller;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int victim = (int)(seed % size);
    if (rank == victim) die_after(1 + (seed * 7919) % 60000);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    comm = MPI_COMM_WORLD;
    long long total = 0, sum;
    while (steps_done < kSteps) {
        const int error = add_up(comm, steps_done, &sum);
        int class = MPI_SUCCESS, well = error == MPI_SUCCESS;
        if (error != MPI_SUCCESS) {
            MPI_Error_class(error, &class);
            EXPECT(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED);
            MPIX_Comm_revoke(comm);
        }
        /* An agreement that names a death has agreed on the flag all the same. */
        MPIX_Comm_agree(comm, &well);
        if (well) {
            total += sum;
            ++steps_done;
            continue;
        }
        MPIX_Comm_revoke(comm);
        EXPECT(MPIX_Comm_shrink(comm, &smaller) == MPI_SUCCESS);
        if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
        comm = smaller;
    }
    const long long all = (long long)kSteps * kEach;
    EXPECT(total == all * (all - 1) / 2);
    printf("rank %d is right\n", rank);
    fflush(stdout);
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}

/* The last rank dies; what the calls say of it, one after the other. */
static int one_by_one(void) {
    int rank, size, flag, acked, word = 0;
    MPI_Comm comm = MPI_COMM_WORLD, smaller;
    MPI_Group failed, world;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    flag = 3 | 4 << rank;
    EXPECT(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 3);
    if (rank == size - 1) raise(SIGKILL);
    EXPECT(MPI_Recv(&word, 1, MPI_INT, size - 1, 0, comm, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED);
    EXPECT(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED);
    EXPECT(MPIX_Comm_failure_get_acked(comm, &failed) == MPI_SUCCESS && failed == MPI_GROUP_EMPTY);
    flag = 6;
    EXPECT(MPIX_Comm_agree(comm, &flag) == MPIX_ERR_PROC_FAILED && flag == 6);
    EXPECT(MPIX_Comm_ack_failed(comm, 0, &acked) == MPI_SUCCESS && acked == 0);
    if (rank == 0) EXPECT(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    flag = ~0;
    EXPECT(MPIX_Comm_agree(comm, &flag) == MPIX_ERR_PROC_FAILED && flag == ~0); /* not all have acknowledged it */
    EXPECT(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_failure_get_acked(comm, &failed) == MPI_SUCCESS);
    MPI_Comm_group(comm, &world);
    int first = 0, translated = -1;
    MPI_Group_size(failed, &acked);
    MPI_Group_translate_ranks(failed, 1, &first, world, &translated);
    EXPECT(acked == 1 && translated == size - 1);
    MPI_Group_free(&failed);
    flag = 5;
    EXPECT(MPIX_Comm_iagree(comm, &flag, &request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 5);
    /* Receives from anybody work again. */
    const int next = (rank + 1) % (size - 1);
    MPI_Send(&rank, 1, MPI_INT, next, 1, comm);
    EXPECT(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS && (word + 1) % (size - 1) == rank);

    /* Everybody but the first waits for somebody who will not come; the first one wakes them. */
    EXPECT(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && !flag);
    static char bulk[200000];
    int error = MPI_SUCCESS;
    MPI_Comm copy; /* of the living */
    EXPECT(MPIX_Comm_shrink(comm, &copy) == MPI_SUCCESS);
    if (rank == 0) {
        for (int i = 1; i < size - 1; ++i) MPI_Recv(&word, 1, MPI_INT, i, 2, comm, MPI_STATUS_IGNORE);
        EXPECT(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 2, comm);
        if (rank == 1) error = MPI_Recv(&word, 1, MPI_INT, 0, 3, copy, MPI_STATUS_IGNORE);
        if (rank == 2) error = MPI_Ssend(bulk, sizeof bulk, MPI_CHAR, 0, 3, copy);
        if (rank > 2) error = MPI_Barrier(copy);
        EXPECT(error == MPIX_ERR_REVOKED);
    }
    EXPECT(MPIX_Comm_is_revoked(copy, &flag) == MPI_SUCCESS && flag);
    EXPECT(MPI_Send(&word, 1, MPI_INT, 0, 4, copy) == MPIX_ERR_REVOKED);
    EXPECT(MPI_Irecv(&word, 1, MPI_INT, 0, 4, copy, &request) == MPIX_ERR_REVOKED);
    EXPECT(MPI_Allreduce(&rank, &word, 1, MPI_INT, MPI_SUM, copy) == MPIX_ERR_REVOKED);
    EXPECT(MPI_Comm_dup(copy, &smaller) == MPIX_ERR_REVOKED);
    flag = 1;
    EXPECT(MPIX_Comm_agree(copy, &flag) == MPI_SUCCESS && flag == 1);
    EXPECT(MPIX_Comm_shrink(copy, &smaller) == MPI_SUCCESS);
    MPI_Comm_size(smaller, &word);
    EXPECT(word == size - 1);
    int one = 1;
    EXPECT(MPI_Allreduce(&one, &word, 1, MPI_INT, MPI_SUM, smaller) == MPI_SUCCESS && word == size - 1);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    EXPECT(MPI_Error_string(MPIX_ERR_REVOKED, text, &length) == MPI_SUCCESS && strstr(text, "MPIX_ERR_REVOKED"));
    EXPECT(MPIX_Comm_shrink(MPI_COMM_SELF, &copy) == MPI_SUCCESS);
    printf("rank %d is right\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    return argc > 1 && !strcmp(argv[1], "calls") ? one_by_one() : computes(argc > 1 ? atol(argv[1]) : 1);
}
