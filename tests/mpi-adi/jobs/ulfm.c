/* ulfm.c: a computation that loses a rank at a random moment, and goes on with the others to the right result.
 *
 * ulfm SEED: rank SEED % size is killed by a timer, some microseconds after MPI_Init that SEED gives. In each step the ranks add up
 * their shares of a range of numbers, in one of several ways; they agree on whether all have the sum, and if not, those who live
 * shrink the communicator and repeat the step. Every survivor checks the total.
 * ulfm calls: the calls one by one; ulfm calls-threads: the same with MPI_THREAD_MULTIPLE. */
#define _GNU_SOURCE
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
            fprintf(stderr, "ulfm.c:%d: %s\n", __LINE__, #condition); \
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

static int note_code(int code, void *noted) {
    *(int *)noted = code;
    return MPI_SUCCESS;
}
/* A continuation of a receive that a dead rank, or anybody, was to serve has its error. */
static void go_on_after_a_death(MPI_Comm comm, int size) {
    MPI_Request all, request;
    int word, codes[2] = {-1, -1};
    EXPECT(MPIX_Continue_init(-1, 0, &all, MPI_INFO_NULL) == MPI_SUCCESS);
    for (int i = 0; i < 2; ++i) {
        MPI_Irecv(&word, 1, MPI_INT, i == 0 ? size - 1 : MPI_ANY_SOURCE, 22, comm, &request);
        EXPECT(MPIX_Continue(&request, note_code, &codes[i], 0, MPI_STATUS_IGNORE, all) == MPI_SUCCESS);
    }
    EXPECT(MPI_Wait(&all, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    EXPECT(codes[0] == MPIX_ERR_PROC_FAILED && codes[1] == MPIX_ERR_PROC_FAILED);
    EXPECT(MPI_Request_free(&all) == MPI_SUCCESS);
}

/* Those who wait for a notification of one that is dead learn of it; then the living notify one another. */
static void wait_for_notifications(MPI_Win win, MPI_Comm comm, int rank, int size) {
    const int next = (rank + 1) % (size - 1);
    MPI_Count value = -1;
    int flag = -1;
    EXPECT(MPIX_Win_wait_notify(win, 0, 1) == MPIX_ERR_PROC_FAILED);
    EXPECT(MPIX_Win_test_notify(win, 0, 1, &flag) == MPI_SUCCESS && !flag);
    for (int i = 0; i < size - 1; ++i) /* before anybody is notified */
        if (i != rank) MPI_Sendrecv(&rank, 1, MPI_INT, i, 21, &flag, 1, MPI_INT, i, 21, comm, MPI_STATUS_IGNORE);
    EXPECT(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win) == MPI_SUCCESS);
    EXPECT(MPIX_Put_notify(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win, 0) == MPI_SUCCESS);
    EXPECT(MPI_Win_unlock(next, win) == MPI_SUCCESS);
    int error; /* before all have acknowledged the death */
    while ((error = MPIX_Win_wait_notify(win, 0, 1)) != MPI_SUCCESS) EXPECT(error == MPIX_ERR_PROC_FAILED);
    EXPECT(MPIX_Win_get_notify(win, 0, &value) == MPI_SUCCESS && value == 1);
}

/* A rank that has granted a dead one access, or waits for its grant, learns of its death; the living go on. */
static void post_and_start(MPI_Win win, MPI_Comm comm, int rank, int size) {
    const int dead = size - 1, next = (rank + 1) % dead, before = (rank + dead - 1) % dead;
    MPI_Group all, of_dead, of_next, of_before;
    int flag = 0, error = MPI_SUCCESS;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &dead, &of_dead);
    MPI_Group_incl(all, 1, &next, &of_next);
    MPI_Group_incl(all, 1, &before, &of_before);
    EXPECT(MPI_Win_post(of_dead, 0, win) == MPI_SUCCESS);
    EXPECT(MPI_Win_wait(win) == MPIX_ERR_PROC_FAILED);
    EXPECT(MPI_Win_post(of_dead, 0, win) == MPI_SUCCESS);
    while (error == MPI_SUCCESS && !flag) error = MPI_Win_test(win, &flag);
    EXPECT(error == MPIX_ERR_PROC_FAILED);
    EXPECT(MPI_Win_start(of_dead, 0, win) == MPIX_ERR_PROC_FAILED);
    EXPECT(MPI_Win_post(of_before, 0, win) == MPI_SUCCESS);
    EXPECT(MPI_Win_start(of_next, 0, win) == MPI_SUCCESS);
    EXPECT(MPI_Win_complete(win) == MPI_SUCCESS);
    EXPECT(MPI_Win_wait(win) == MPI_SUCCESS);
    MPI_Group_free(&of_dead);
    MPI_Group_free(&of_next);
    MPI_Group_free(&of_before);
    MPI_Group_free(&all);
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
    MPI_Win windows[2];
    static long area[2];
    void *base;
    MPI_Win_create(area, sizeof area, 1, MPI_INFO_NULL, comm, &windows[0]);
    MPI_Win_allocate(sizeof area, 1, MPI_INFO_NULL, comm, &base, &windows[1]);
    for (int i = 0; i < 2; ++i) {
        MPI_Win_set_errhandler(windows[i], MPI_ERRORS_RETURN);
        EXPECT(MPIX_Win_create_notify(windows[i], 1) == MPI_SUCCESS);
    }
    if (rank == size - 1) raise(SIGKILL);
    for (int i = 0; i < 2; ++i) wait_for_notifications(windows[i], comm, rank, size);
    for (int i = 0; i < 2; ++i) post_and_start(windows[i], comm, rank, size);
    go_on_after_a_death(comm, size);
    EXPECT(MPI_Recv(&word, 1, MPI_INT, size - 1, 0, comm, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED);
    EXPECT(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED);
    const int next = (rank + 1) % (size - 1), before = (rank + size - 2) % (size - 1);
    EXPECT(MPI_Sendrecv(&rank, 1, MPI_INT, rank, 0, &word, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED);
    EXPECT(MPI_Recv(&word, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    /* Requests for a message from anybody stay, whichever call hears of the death, and are served in their order by those who live. */
    enum { kPending = 8 };
    MPI_Request pending[kPending], cancelled;
    MPI_Status statuses[kPending];
    int words[kPending][2], indices[kPending], index, count;
    MPI_Datatype pair;
    MPI_Type_vector(2, 1, 1, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < kPending; ++i) {
        if (i == 3) MPI_Recv_init(words[i], 2, MPI_INT, MPI_ANY_SOURCE, 11, comm, &pending[i]), MPI_Start(&pending[i]);
        else MPI_Irecv(words[i], i == 5 ? 1 : 2, i == 5 ? pair : MPI_INT, MPI_ANY_SOURCE, 11, comm, &pending[i]);
    }
    MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 12, comm, &cancelled);
    for (int again = 0; again < 2; ++again) {
        EXPECT(MPI_Wait(&pending[0], MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED_PENDING && pending[0] != MPI_REQUEST_NULL);
        flag = 1;
        EXPECT(MPI_Test(&pending[3], &flag, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED_PENDING && !flag);
        EXPECT(MPI_Waitall(kPending, pending, statuses) == MPI_ERR_IN_STATUS);
        for (int i = 0; i < kPending; ++i) EXPECT(statuses[i].MPI_ERROR == MPIX_ERR_PROC_FAILED_PENDING && pending[i] != MPI_REQUEST_NULL);
        EXPECT(MPI_Waitany(kPending, pending, &index, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED_PENDING && index == 0);
        EXPECT(MPI_Waitsome(kPending, pending, &count, indices, statuses) == MPI_ERR_IN_STATUS && count == kPending);
        EXPECT(MPI_Testall(kPending, pending, &flag, MPI_STATUSES_IGNORE) == MPIX_ERR_PROC_FAILED_PENDING && !flag);
        EXPECT(MPI_Testany(kPending, pending, &index, &flag, MPI_STATUS_IGNORE) == MPIX_ERR_PROC_FAILED_PENDING && index == 0);
        EXPECT(MPI_Testsome(kPending, pending, &count, indices, statuses) == MPI_ERR_IN_STATUS && count == kPending);
        EXPECT(MPI_Request_get_status(pending[5], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    }
    EXPECT(MPI_Cancel(&cancelled) == MPI_SUCCESS && MPI_Wait(&cancelled, &statuses[0]) == MPI_SUCCESS);
    MPI_Test_cancelled(&statuses[0], &flag);
    EXPECT(flag);
    EXPECT(MPIX_Comm_failure_get_acked(comm, &failed) == MPI_SUCCESS && failed == MPI_GROUP_EMPTY);
    flag = 6;
    EXPECT(MPIX_Comm_agree(comm, &flag) == MPIX_ERR_PROC_FAILED && flag == 6);
    for (int i = 0; i < kPending; ++i) MPI_Send((int[]){rank, i}, 2, MPI_INT, next, 11, comm);
    EXPECT(MPIX_Comm_ack_failed(comm, 0, &acked) == MPI_SUCCESS && acked == 0);
    if (rank == 0) EXPECT(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    flag = ~0;
    EXPECT(MPIX_Comm_agree(comm, &flag) == MPIX_ERR_PROC_FAILED && flag == ~0); /* not all have acknowledged it */
    EXPECT(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    EXPECT(MPI_Waitall(kPending, pending, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < kPending; ++i) EXPECT(words[i][0] == before && words[i][1] == i);
    EXPECT(pending[3] != MPI_REQUEST_NULL && MPI_Request_free(&pending[3]) == MPI_SUCCESS);
    MPI_Type_free(&pair);
    EXPECT(MPIX_Comm_failure_get_acked(comm, &failed) == MPI_SUCCESS);
    MPI_Comm_group(comm, &world);
    int first = 0, translated = -1;
    MPI_Group_size(failed, &acked);
    MPI_Group_translate_ranks(failed, 1, &first, world, &translated);
    EXPECT(acked == 1 && translated == size - 1);
    MPI_Group_free(&failed);
    flag = 5;
    EXPECT(MPIX_Comm_iagree(comm, &flag, &request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 5);
    /* Several at a time, of both kinds, and completed in another order; nobody waits in the calls. */
    MPI_Comm small[2];
    int flags[3] = {1 << rank | 16, 2 | 16, 3 << rank};
    MPI_Request together[5];
    EXPECT(MPIX_Comm_iagree(comm, &flags[0], &together[0]) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_ishrink(comm, &small[0], &together[1]) == MPI_SUCCESS);
    if (rank == 1) MPI_Recv(&word, 1, MPI_INT, 0, 13, comm, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 13, comm);
    EXPECT(MPIX_Comm_iagree(comm, &flags[1], &together[2]) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_ishrink(comm, &small[1], &together[3]) == MPI_SUCCESS);
    EXPECT(MPIX_Comm_iagree(comm, &flags[2], &together[4]) == MPI_SUCCESS);
    flag = rank == 0 ? 6 : 14;
    EXPECT(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 6);
    for (int i = 4; i >= 0; --i) {
        for (flag = 0; rank == 0 && !flag;) EXPECT(MPI_Test(&together[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        if (rank != 0) EXPECT(MPI_Wait(&together[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    EXPECT(flags[0] == 16 && flags[1] == 18 && flags[2] == 0);
    for (int i = 0; i < 2; ++i) {
        int there = 0, ones = 1;
        EXPECT(MPI_Allreduce(&ones, &there, 1, MPI_INT, MPI_SUM, small[i]) == MPI_SUCCESS && there == size - 1);
        EXPECT(MPI_Comm_free(&small[i]) == MPI_SUCCESS);
    }
    /* Receives from anybody work again. */
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
    const char *what = argc > 1 ? argv[1] : "1";
    int level;
    MPI_Init_thread(&argc, &argv, strcmp(what, "calls-threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    return !strncmp(what, "calls", 5) ? one_by_one() : computes(atol(what));
}
