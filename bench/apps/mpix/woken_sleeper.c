/* How long it takes to wake a process that sleeps in poll(2): when a message comes, by the descriptor of continuations (new, and until the
 * function that continues it has run: called), and when eight bytes come by a named pipe (plain), which no library does faster. Rank 0 sends
 * to rank 1, each time after it has slept itself; other ranks do nothing. */
#define _GNU_SOURCE
#include "in_turn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kPlain, kNew, kCalled, kWays, kPath = 64 };

static long messages, pause_us;
static double *times[kWays]; /* of each message of each run, those of the first run, too, which do not count */
static long round_now;
static int pipe_end, readable, is_wrong, has_run;
static MPI_Request continuations;

/* Processes of one machine have the same clock. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void sleep_on(int descriptor) {
    struct pollfd one = {descriptor, POLLIN, 0};
    while (poll(&one, 1, -1) != 1) {
    }
}
static int continued(int code, void *unused) {
    (void)unused;
    is_wrong |= code != MPI_SUCCESS;
    has_run = 1;
    return MPI_SUCCESS;
}

static void send_all(int way) {
    for (long i = 0; i < messages; ++i) {
        usleep((useconds_t)pause_us);
        const double sent = now();
        if (way == kPlain) is_wrong |= write(pipe_end, &sent, sizeof sent) != sizeof sent;
        else MPI_Send(&sent, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    }
}
static void read_all(void) {
    for (long i = 0; i < messages; ++i) {
        double sent = 0;
        sleep_on(pipe_end);
        const double woken = now();
        is_wrong |= read(pipe_end, &sent, sizeof sent) != sizeof sent;
        times[kPlain][round_now * messages + i] = woken - sent;
    }
}
static void receive_all(void) {
    for (long i = 0; i < messages; ++i) {
        double sent = 0, woken = 0;
        int none = 0;
        MPI_Request request;
        MPI_Irecv(&sent, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
        has_run = 0;
        MPIX_Continue(&request, continued, NULL, 0, MPI_STATUS_IGNORE, continuations);
        for (MPI_Test(&continuations, &none, MPI_STATUS_IGNORE); !has_run; MPI_Test(&continuations, &none, MPI_STATUS_IGNORE)) {
            sleep_on(readable);
            woken = now();
        }
        times[kNew][round_now * messages + i] = woken - sent;
        times[kCalled][round_now * messages + i] = now() - sent;
    }
}

static void plain(void) {
    if (me == 0) send_all(kPlain);
    else if (me == 1) read_all();
}
static void continuing(void) {
    if (me == 0) send_all(kNew);
    else if (me == 1) receive_all();
    ++round_now;
}

int main(int argc, char **argv) {
    Option options[] = {{"messages", "of a run", 20, 1, 1000000},
                        {"pause", "before each, in us", 10000, 1, 999999},
                        {"rounds", "runs of each form", 11, 1, 100000}};
    app_start(argc, argv, "how long a message takes to wake a process that sleeps in poll.", options, 3);
    messages = options[0].value, pause_us = options[1].value;
    const long rounds = options[2].value;
    if (ranks < 2) {
        fprintf(stderr, "woken_sleeper: needs 2 ranks; start it by ptlrun -n 2\n");
        MPI_Finalize();
        return 2;
    }
    Form forms[] = {{"plain", plain, 0}, {"new", continuing, 0}, {"called", NULL, 0}};
    char path[kPath];
    snprintf(path, sizeof path, "/tmp/woken_sleeper.%ld", (long)getpid());
    if (me == 0) is_wrong |= mkfifo(path, S_IRUSR | S_IWUSR) != 0;
    MPI_Bcast(path, kPath, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (me < 2 && (pipe_end = open(path, O_RDWR)) < 0) {
        perror("woken_sleeper: a named pipe");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) unlink(path);
    if (me == 1) {
        MPIX_Continue_init(MPIX_CONT_POLL_ONLY, 0, &continuations, MPI_INFO_NULL);
        MPIX_Continue_get_fd(continuations, &readable);
    }
    for (int way = 0; way < kWays; ++way) times[way] = app_memory((size_t)((rounds + 1) * messages) * sizeof(double));
    in_turn(forms, kCalled, rounds);
    double medians[kWays] = {0};
    if (me == 1) {
        for (int way = 0; way < kWays; ++way) medians[way] = median_of(times[way] + messages, rounds * messages);
        MPI_Request_free(&continuations);
    }
    MPI_Bcast(medians, kWays, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    for (int way = 0; way < kWays; ++way) forms[way].seconds = medians[way], free(times[way]);
    if (me < 2) close(pipe_end);
    return in_turn_verdict(!is_wrong, sizeof(double), forms, kWays, 1, "");
}
