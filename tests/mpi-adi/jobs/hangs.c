/* hangs.c HOW: programs of which some ranks wait for one another for ever, and programs that only look like that. See hangs_test.py. */
#include <mpi-ext.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char large[8 << 20], room[8 << 20];
static int rank, size, one = 1, sum, next, last;
static MPI_Request request, requests[2];
static MPI_Comm W = MPI_COMM_WORLD;
static MPI_Status status;

static void seconds(double time) { nanosleep(&(struct timespec){(time_t)time, (long)((time - (double)(time_t)time) * 1e9)}, NULL); }
static void compute(double time) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < time);
}
static int receive(int from, int tag) { return MPI_Recv(room, sizeof room, MPI_CHAR, from, tag, W, &status); }
static int send(int bytes, int to, int tag) { return MPI_Send(large, bytes, MPI_CHAR, to, tag, W); }

/* ---- those that never end ---- */
static void cycle_of_receives(void) { receive(next, 0); }
static void receive_of_oneself(void) {
    if (rank == 0) receive(0, 0);
}
static void wrong_tag(void) {
    if (rank == 0) send(8, 1, 6);
    if (rank == 1) receive(0, 5);
}
static void wrong_communicator(void) {
    MPI_Comm copy;
    MPI_Comm_dup(W, &copy);
    if (rank == 0) MPI_Send(large, 8, MPI_CHAR, 1, 5, copy);
    if (rank == 1) receive(0, 5);
}
static void cycle_of_ssends(void) { MPI_Ssend(large, 8, MPI_CHAR, next, 0, W); }
static void cycle_of_long_sends(void) {
    send(sizeof large, next, 0);
    receive(MPI_ANY_SOURCE, 0);
}
static void barrier_against_receive(void) {
    if (rank == 0) receive(1, 0);
    else MPI_Barrier(W);
}
static void one_leaves_out_a_barrier(void) {
    if (rank != last) MPI_Barrier(W);
}
static void one_leaves_out_an_allreduce(void) {
    if (rank != last) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, W);
}
static void one_leaves_out_an_ibarrier(void) {
    if (rank == last) return;
    MPI_Ibarrier(W, &request);
    MPI_Wait(&request, &status);
}
static int nothing_else(int rc, void *data) {
    (void)rc, (void)data;
    return MPI_SUCCESS;
}
static void continues_after_an_ibarrier(void) {
    MPI_Request all;
    if (rank == last) return;
    MPIX_Continue_init(-1, 0, &all, MPI_INFO_NULL);
    MPI_Ibarrier(W, &request);
    MPIX_Continue(&request, nothing_else, NULL, 0, MPI_STATUS_IGNORE, all);
    MPI_Wait(&all, &status);
}
static void partition_that_is_not_ready(void) {
    if (rank == 1) MPI_Psend_init(large, 4, 100000, MPI_CHAR, 0, 0, W, MPI_INFO_NULL, &request);
    else if (rank == 0) MPI_Precv_init(room, 1, 8, MPI_CHAR, 1, 0, W, MPI_INFO_NULL, &request);
    else return;
    if (rank == 1) return;
    MPI_Start(&request);
    MPI_Wait(&request, &status);
}
static void probe_for_nothing(void) {
    if (rank == 0) MPI_Probe(MPI_ANY_SOURCE, 3, W, &status);
}
static void waits_for_either(void) {
    if (rank != 0) return;
    MPI_Irecv(room, 8, MPI_CHAR, 1, 1, W, &requests[0]);
    MPI_Irecv(room + 8, 8, MPI_CHAR, last, 2, W, &requests[1]);
    int which;
    MPI_Waitany(2, requests, &which, &status);
}
static void waits_for_all(void) {
    if (rank != 0) return;
    MPI_Irecv(room, 8, MPI_CHAR, 0, 1, W, &requests[0]);
    MPI_Irecv(room + 8, 8, MPI_CHAR, last, 2, W, &requests[1]);
    send(8, 0, 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void persistent_receive(void) {
    if (rank != 0) return;
    MPI_Recv_init(room, 8, MPI_CHAR, 1, 1, W, &request);
    MPI_Start(&request);
    MPI_Wait(&request, &status);
}
static void sendrecv_out_of_step(void) {
    if (rank < 2) MPI_Sendrecv(large, 8, MPI_CHAR, 1 - rank, rank, room, 8, MPI_CHAR, 1 - rank, rank, W, &status);
}
static void dup_by_some(void) {
    MPI_Comm copy;
    if (rank != last) MPI_Comm_dup(W, &copy);
}
static void two_while_another_computes(void) {
    if (rank < 2) receive(1 - rank, 0);
    else for (;;) compute(1);
}
static void *waits_too(void *from) { return receive(*(int *)from, 1), NULL; }
static void all_threads(void) {
    pthread_t other;
    pthread_create(&other, NULL, waits_too, &next);
    receive(next, 0);
    pthread_join(other, NULL);
}

/* ---- those that do ---- */
static void late_sender(void) {
    if (rank == 0) seconds(4);
    if (rank == 0)
        for (int i = 1; i < size; ++i) send(8, i, 0);
    else receive(0, 0);
}
static void late_by_computing(void) {
    if (rank == 0) compute(4);
    MPI_Barrier(W);
}
static void other_thread_sends(void);
static void *sends_late(void *unused) {
    seconds(4);
    send(8, next, 0);
    return unused;
}
static void other_thread_sends(void) {
    pthread_t other;
    pthread_create(&other, NULL, sends_late, NULL);
    receive(MPI_ANY_SOURCE, 0);
    pthread_join(other, NULL);
}
static void waits_outside(void) { /* for a pipe that the other end of which is a process that sleeps */
    char line[8] = "";
    if (rank == 0) {
        FILE *file = popen("sleep 4; echo x", "r");
        if (!file || !fgets(line, sizeof line, file)) exit(3);
        pclose(file);
    }
    MPI_Bcast(large, 8, MPI_CHAR, 0, W);
}
static void accumulates_meanwhile(void) { /* one rank works on memory of those that wait */
    MPI_Win win;
    static long words[64];
    MPI_Win_create(words, sizeof words, sizeof(long), MPI_INFO_NULL, W, &win);
    if (rank == last) {
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < 40; ++i) {
            long add = 1;
            for (int to = 0; to < size; ++to) MPI_Accumulate(&add, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
            MPI_Win_flush_all(win);
            seconds(0.1);
        }
        MPI_Win_unlock_all(win);
        for (int to = 0; to < last; ++to) send(8, to, 0);
    } else {
        receive(last, 0);
    }
    MPI_Win_free(&win);
}
static void wait_for_notification(void) { /* while the others end */
    MPI_Win win;
    static long words[64];
    MPI_Win_create(words, sizeof words, sizeof(long), MPI_INFO_NULL, W, &win);
    MPIX_Win_create_notify(win, 4);
    if (rank == 0) MPIX_Win_wait_notify(win, 3, 1);
}
static void post_or_start_alone(int starts) {
    MPI_Win win;
    long *words;
    MPI_Group all, of_last;
    MPI_Win_allocate(64, sizeof(long), MPI_INFO_NULL, W, &words, &win);
    MPI_Comm_group(W, &all);
    MPI_Group_incl(all, 1, &last, &of_last);
    if (rank == 0 && starts) MPI_Win_start(of_last, 0, win);
    if (rank == 0 && !starts) MPI_Win_post(of_last, 0, win), MPI_Win_wait(win);
}
static void start_without_post(void) { post_or_start_alone(1); }
static void post_without_complete(void) { post_or_start_alone(0); }
static void notifies_late(void) {
    MPI_Win win;
    long *words;
    MPI_Win_allocate(64, sizeof(long), MPI_INFO_NULL, W, &words, &win);
    MPIX_Win_create_notify(win, 1);
    if (rank == last) {
        seconds(4);
        MPI_Win_lock_all(0, win);
        MPIX_Put_notify(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win, 0);
        MPI_Win_unlock_all(win);
    }
    if (rank == 0) MPIX_Win_wait_notify(win, 0, 1);
    MPI_Win_free(&win);
}
static void polls(void) { /* a rank that tests is not one that waits */
    int flag = 0, count = 0;
    if (rank == 0) {
        MPI_Irecv(room, 8, MPI_CHAR, 1, 0, W, &request);
        for (; !flag && count < 40; ++count) MPI_Test(&request, &flag, &status), seconds(0.1);
        send(8, 1, 1);
        if (!flag) MPI_Wait(&request, &status);
    }
    if (rank == 1) receive(0, 1), send(8, 0, 0);
}
static void stopped_for_a_while(void) { /* the message is there, and its receiver does not run */
    if (rank == 1) {
        receive(0, 0);
        send(8, 0, 1);
    }
    if (rank == 0) {
        pid_t receiver;
        MPI_Recv(&receiver, sizeof receiver, MPI_CHAR, last, 9, W, &status);
        seconds(2.5);
        kill(receiver, SIGSTOP);
        if (fork() == 0) {
            seconds(4);
            kill(receiver, SIGCONT);
            _exit(0);
        }
        send(8, 1, 0);
        receive(1, 1);
    }
}
static void goes_round(void) { /* each waits long for the one before it */
    for (int i = 0; i < 2; ++i) {
        if (rank == 0) seconds(1.3), send(8, next, i), receive(last, i);
        else receive(rank - 1, i), seconds(1.3), send(8, next, i);
    }
}
static void accepts(void) { /* another job may connect at any time; here it is the same one */
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm both;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        send(0, 1, 0);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 0, W);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both);
    }
    if (rank == 1) {
        receive(0, 0);
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, W, &status);
        seconds(4);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both);
    }
    if (rank < 2) MPI_Comm_disconnect(&both);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
#define KIND(name) {#name, name}
    KIND(cycle_of_receives), KIND(receive_of_oneself), KIND(wrong_tag), KIND(wrong_communicator), KIND(cycle_of_ssends),
    KIND(cycle_of_long_sends), KIND(barrier_against_receive), KIND(one_leaves_out_a_barrier), KIND(one_leaves_out_an_allreduce),
    KIND(one_leaves_out_an_ibarrier), KIND(continues_after_an_ibarrier), KIND(partition_that_is_not_ready), KIND(probe_for_nothing), KIND(waits_for_either), KIND(waits_for_all), KIND(persistent_receive),
    KIND(sendrecv_out_of_step), KIND(dup_by_some), KIND(start_without_post), KIND(post_without_complete),
    KIND(wait_for_notification), KIND(two_while_another_computes), KIND(all_threads),
    KIND(late_sender), KIND(late_by_computing), KIND(other_thread_sends), KIND(waits_outside), KIND(accumulates_meanwhile), KIND(notifies_late), KIND(polls),
    KIND(stopped_for_a_while), KIND(goes_round), KIND(accepts)};

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    const int threads = !strcmp(how, "all_threads") || !strcmp(how, "other_thread_sends");
    int level;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    next = (rank + 1) % size;
    last = size - 1;
    if (!strcmp(how, "stopped_for_a_while")) {
        pid_t receiver = getpid();
        if (rank == 1) MPI_Send(&receiver, sizeof receiver, MPI_CHAR, last, 9, W);
        if (rank == last) {
            MPI_Recv(&receiver, sizeof receiver, MPI_CHAR, 1, 9, W, &status);
            MPI_Send(&receiver, sizeof receiver, MPI_CHAR, 0, 9, W);
        }
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (!strcmp(kinds[i].name, how)) {
            kinds[i].run();
            MPI_Finalize();
            return 0;
        }
    return 2;
}
