/* A server of many clients, each of which has a request outstanding: an event loop that sleeps in epoll until continuations are due (new),
 * beside one that tests all requests between looks at its descriptors (plain), and a server without descriptors that waits for any request
 * (waitany). Clients are dealt to the other ranks, or to the server's if it is alone, and check each answer. */
#define _GNU_SOURCE
#include "in_turn.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { kServer = 0, kPlain = 0, kNew = 1, kWaitany = 2 };

static long clients, questions;  /* each client asks so many in a run */
static long served;
static long *left_to_serve, *left_to_ask;
static uint64_t *question;       /* of each client, where its receive puts it */
static MPI_Request *requests;    /* persistent receives of questions */
static int *indices, *numbers;   /* of requests that are complete; of clients */
static int loop, plain_loop, is_wrong;
static MPI_Comm answers;
static MPI_Request continuations;
static double busy[kMostForms], passed[kMostForms]; /* the server's processor time, and all time */

static int rank_of(long client) { return ranks > 1 ? 1 + (int)(client % (ranks - 1)) : 0; }
static uint64_t question_of(long client, long which) { return app_random((uint64_t)(which * clients + client)); }

static void ask(long client) {
    const uint64_t asked = question_of(client, left_to_ask[client]);
    MPI_Send(&asked, 1, MPI_UINT64_T, kServer, (int)client, MPI_COMM_WORLD);
}

/* Takes an answer, whose tag is its client's number, and lets that client ask again. */
static void hear(void) {
    MPI_Status status;
    uint64_t answer;
    MPI_Recv(&answer, 1, MPI_UINT64_T, kServer, MPI_ANY_TAG, answers, &status);
    const int client = status.MPI_TAG;
    is_wrong |= answer != app_random(question_of(client, left_to_ask[client]));
    if (--left_to_ask[client] > 0) ask(client);
}

static void ask_all(void) {
    for (long i = 0; i < clients; ++i) left_to_ask[i] = questions;
    for (long i = 0; i < clients; ++i)
        if (rank_of(i) == me) ask(i);
}

static void be_clients(void) {
    long mine = 0;
    ask_all();
    for (long i = 0; i < clients; ++i) mine += rank_of(i) == me;
    for (long i = 0; i < mine * questions; ++i) hear();
}

/* Answers, and receives the client's next question; returns whether there will be one. */
static int serve(long client) {
    const uint64_t answer = app_random(question[client]);
    const int more = --left_to_serve[client] > 0;
    ++served;
    if (more) MPI_Start(&requests[client]);
    MPI_Send(&answer, 1, MPI_UINT64_T, rank_of(client), (int)client, answers);
    if (ranks == 1) hear();
    return more;
}

static void listen_to(long client);
static int asked(int code, void *number) {
    const long client = *(int *)number;
    is_wrong |= code != MPI_SUCCESS;
    if (serve(client)) listen_to(client);
    return MPI_SUCCESS;
}
static void listen_to(long client) {
    MPIX_Continue(&requests[client], asked, &numbers[client], 0, MPI_STATUS_IGNORE, continuations);
}

/* Sleeps only when a test has run no function: who asks has often been answered before a sleeper would have been woken. */
static void by_continuations(void) {
    int done = 0;
    struct epoll_event event;
    for (long i = 0; i < clients; ++i) listen_to(i);
    for (;;) {
        const long before = served;
        MPI_Test(&continuations, &done, MPI_STATUS_IGNORE);
        if (done) return;
        epoll_wait(loop, &event, 1, served == before ? -1 : 0);
    }
}
static void by_testing(void) {
    struct epoll_event event;
    for (int some = 0; some != MPI_UNDEFINED; epoll_wait(plain_loop, &event, 1, 0)) {
        MPI_Testsome((int)clients, requests, &some, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; some != MPI_UNDEFINED && i < some; ++i) serve(indices[i]);
    }
}
static void by_waiting(void) {
    for (int which = 0; which != MPI_UNDEFINED;) {
        MPI_Waitany((int)clients, requests, &which, MPI_STATUS_IGNORE);
        if (which != MPI_UNDEFINED) serve(which);
    }
}

static double processor_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void run(int form, void (*server)(void)) {
    if (me != kServer) {
        be_clients();
        return;
    }
    for (long i = 0; i < clients; ++i) left_to_serve[i] = questions;
    const double begin = MPI_Wtime(), used = processor_seconds();
    MPI_Startall((int)clients, requests);
    if (ranks == 1) ask_all();
    server();
    busy[form] += processor_seconds() - used, passed[form] += MPI_Wtime() - begin;
}
static void plain(void) { run(kPlain, by_testing); }
static void continued(void) { run(kNew, by_continuations); }
static void waitany(void) { run(kWaitany, by_waiting); }

int main(int argc, char **argv) {
    Option options[] = {{"clients", "each with a request outstanding", 1000, 1, 30000},
                        {"questions", "of each client in a run", 20, 1, 100000000},
                        {"rounds", "runs of each form", 11, 1, 100000}};
    app_start(argc, argv, "a server of many clients, by tests and by continuations in an event loop.", options, 3);
    clients = options[0].value, questions = options[1].value;
    const size_t each = (size_t)clients;
    left_to_serve = app_memory(each * sizeof(long)), left_to_ask = app_memory(each * sizeof(long));
    question = app_memory(each * 8), requests = app_memory(each * sizeof(MPI_Request));
    indices = app_memory(each * sizeof(int)), numbers = app_memory(each * sizeof(int));
    MPI_Comm_dup(MPI_COMM_WORLD, &answers);
    for (int i = 0; i < clients; ++i) {
        numbers[i] = i;
        if (me == kServer) MPI_Recv_init(&question[i], 1, MPI_UINT64_T, rank_of(i), i, MPI_COMM_WORLD, &requests[i]);
    }
    int of_mpi, line[2]; /* the line stands for what else a server listens to */
    MPIX_Continue_init(-1, MPIX_CONT_POLL_ONLY, &continuations, MPI_INFO_NULL);
    MPIX_Continue_get_fd(continuations, &of_mpi);
    loop = epoll_create1(EPOLL_CLOEXEC), plain_loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event mpi = {.events = EPOLLIN, .data.fd = of_mpi}, other = {.events = EPOLLIN};
    if (pipe(line) != 0 || epoll_ctl(loop, EPOLL_CTL_ADD, of_mpi, &mpi) != 0 || epoll_ctl(loop, EPOLL_CTL_ADD, line[0], &other) != 0 ||
        epoll_ctl(plain_loop, EPOLL_CTL_ADD, line[0], &other) != 0) {
        perror("event_server: no descriptors for the event loop");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    Form forms[] = {{"plain", plain, 0}, {"new", continued, 0}, {"waitany", waitany, 0}};
    in_turn(forms, 3, options[2].value);
    close(loop), close(plain_loop), close(line[0]), close(line[1]);
    MPI_Request_free(&continuations);
    for (int i = 0; me == kServer && i < clients; ++i) MPI_Request_free(&requests[i]);
    MPI_Comm_free(&answers);
    free(left_to_serve), free(left_to_ask), free(question), free(requests), free(indices), free(numbers);
    char more[96];
    for (int f = 0; f < kMostForms; ++f) busy[f] /= passed[f];
    snprintf(more, sizeof more, " plain_busy=%.2f new_busy=%.2f waitany_busy=%.2f", busy[kPlain], busy[kNew], busy[kWaitany]);
    return in_turn_verdict(!is_wrong, clients, forms, 3, clients * questions, more);
}
