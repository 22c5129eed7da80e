/* event_loop.c: a server that sleeps in epoll, for its clients' messages and for a pipe of its own, and answers each where it comes. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { kRequests = 200, kTag = 1, kAnswer = 2 };

#define EXPECT(condition)                                                   \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "event_loop.c:%d: %s\n", __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

typedef struct {
    int rank, value, left, answer;
} Client;

static MPI_Request all;

static void listen_to(Client *client);
static int answered(int code, void *data) {
    EXPECT(code == MPI_SUCCESS);
    Client *client = data;
    if (--client->left > 0) listen_to(client);
    return MPI_SUCCESS;
}
static int asked(int code, void *data) {
    EXPECT(code == MPI_SUCCESS);
    Client *client = data;
    MPI_Request request;
    client->answer = client->value + 1;
    MPI_Isend(&client->answer, 1, MPI_INT, client->rank, kAnswer, MPI_COMM_WORLD, &request);
    return MPIX_Continue(&request, answered, client, 0, MPI_STATUS_IGNORE, all);
}
static void listen_to(Client *client) {
    MPI_Request request;
    MPI_Irecv(&client->value, 1, MPI_INT, client->rank, kTag, MPI_COMM_WORLD, &request);
    MPIX_Continue(&request, asked, client, 0, MPI_STATUS_IGNORE, all);
}

static void serve(int clients) {
    Client *each = calloc((size_t)clients, sizeof *each);
    int mpi, lines[2], done = 0, bytes = 0;
    EXPECT(MPIX_Continue_init(16, 0, &all, MPI_INFO_NULL) == MPI_SUCCESS && MPIX_Continue_get_fd(all, &mpi) == MPI_SUCCESS);
    EXPECT(pipe(lines) == 0);
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event of_mpi = {.events = EPOLLIN, .data.fd = mpi}, of_lines = {.events = EPOLLIN, .data.fd = lines[0]}, event;
    EXPECT(epoll_ctl(loop, EPOLL_CTL_ADD, mpi, &of_mpi) == 0 && epoll_ctl(loop, EPOLL_CTL_ADD, lines[0], &of_lines) == 0);
    for (int i = 0; i < clients; ++i) {
        each[i] = (Client){.rank = i + 1, .left = kRequests};
        listen_to(&each[i]);
    }
    EXPECT(write(lines[1], "x", 1) == 1);
    MPI_Test(&all, &done, MPI_STATUS_IGNORE);
    while (!done || bytes == 0) {
        EXPECT(epoll_wait(loop, &event, 1, -1) == 1);
        char byte;
        if (event.data.fd == lines[0]) bytes += (int)read(lines[0], &byte, 1);
        else MPI_Test(&all, &done, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < clients; ++i) EXPECT(each[i].left == 0);
    EXPECT(MPI_Request_free(&all) == MPI_SUCCESS);
    close(loop), close(lines[0]), close(lines[1]);
    free(each);
}

int main(int argc, char **argv) {
    int rank, size, level;
    MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) serve(size - 1);
    for (int i = 0; rank > 0 && i < kRequests; ++i) {
        int value = rank * kRequests + i, answer = -1;
        MPI_Sendrecv(&value, 1, MPI_INT, 0, kTag, &answer, 1, MPI_INT, 0, kAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(answer == value + 1);
    }
    MPI_Finalize();
    return 0;
}
