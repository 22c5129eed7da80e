/* The yardstick: how much the kernel hides by itself: the data of an operation of two processes, one way or both, written to a TCP
 * socket whose buffers hold all of them, and read from it (measured.h). No library; nothing is added up. What is missing here
 * to an overlap of 1 is what the link itself takes from the processors: timers, packets, copies. */
#include "measured.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static int rank, peer;
static double calls_us; /* processor time of the operation's system calls */
static size_t bytes;
static char *in, *out;

static void fail(const char *what) {
    perror(what);
    exit(1);
}
static void send_all(const char *from, size_t size) {
    while (size > 0) {
        const ssize_t n = write(peer, from, size);
        if (n <= 0) fail("overlap_sockets: write");
        from += n;
        size -= (size_t)n;
    }
}
static void receive_all(char *to, size_t size) {
    while (size > 0) {
        const ssize_t n = read(peer, to, size);
        if (n <= 0) fail("overlap_sockets: read");
        to += n;
        size -= (size_t)n;
    }
}
static void swap(const void *mine, void *theirs, size_t size) {
    send_all(mine, size);
    receive_all(theirs, size);
}
static void meet(void) {
    char byte = 0;
    swap(&byte, &byte, 1);
}
static double largest(double value) {
    double theirs;
    swap(&value, &theirs, sizeof value);
    return value > theirs ? value : theirs;
}
static void largest_each(double *values) {
    static double theirs[kMost];
    swap(values, theirs, sizeof theirs);
    for (int i = 0; i < kMost; ++i)
        if (theirs[i] > values[i]) values[i] = theirs[i];
}
static double thread_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}
static double spent_us(void) { return calls_us; }
static void start_swap(void) {
    const double before = thread_us();
    send_all(in, bytes);
    calls_us += thread_us() - before;
}
static void wait_swap(void) {
    const double before = thread_us();
    receive_all(out, bytes);
    calls_us += thread_us() - before;
}
static void start_bcast(void) {
    if (rank == 0) start_swap();
}
static void wait_bcast(void) {
    if (rank != 0) wait_swap();
}
static void start_reduce(void) {
    if (rank != 0) start_swap();
}
static void wait_reduce(void) {
    if (rank == 0) wait_swap();
}

/* Rank 0 is called, rank 1 calls. */
static void join(const char *address, int port) {
    const int one = 1, room = 64 << 20;
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int listener = rank == 0 ? socket(AF_INET, SOCK_STREAM, 0) : -1;
    if (inet_pton(AF_INET, address, &where.sin_addr) != 1) fail("overlap_sockets: address");
    if (rank == 0) {
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room); /* or as much as the system lets everybody have */
        if (bind(listener, (struct sockaddr *)&where, sizeof where) != 0 || listen(listener, 1) != 0) fail("overlap_sockets: listen");
        peer = accept(listener, NULL, NULL);
        close(listener);
    }
    for (int tries = 0; rank != 0; ++tries) {
        peer = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(peer, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
        if (connect(peer, (struct sockaddr *)&where, sizeof where) == 0) break;
        if (tries == 1000) fail("overlap_sockets: connect");
        close(peer);
        usleep(10000);
    }
    if (peer < 0) fail("overlap_sockets: accept");
    setsockopt(peer, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int main(int argc, char **argv) {
    static const struct operation kOperations[] = {
        {"bcast", start_bcast, wait_bcast}, {"reduce", start_reduce, wait_reduce}, {"allreduce", start_swap, wait_swap},
        {"alltoall", start_swap, wait_swap}, {"allgather", start_swap, wait_swap}, {"halo", start_swap, wait_swap},
        {"file", start_swap, wait_swap},     {"put_nbi", start_swap, wait_swap},   {"put", start_swap, wait_swap},
        {"get", start_swap, wait_swap}};
    struct wanted wanted;
    if (argc != 8 || !read_wanted(argc - 3, argv + 3, &wanted)) {
        fprintf(stderr, "usage: %s RANK ADDRESS PORT OPERATIONS SIZES RATIO SECONDS\n", argv[0]);
        return 2;
    }
    rank = atoi(argv[1]);
    join(argv[2], atoi(argv[3]));
    engine_us = spent_us;
    calibrate();
    for (int o = 0; o < 10; ++o) {
        for (int s = 0; among(wanted.operations, kOperations[o].name) && s < wanted.num_sizes; ++s) {
            bytes = wanted.sizes[s];
            in = calloc(1, bytes + 1);
            out = calloc(1, bytes + 1);
            if (!in || !out) fail("overlap_sockets: memory");
            measure(&kOperations[o], bytes, wanted.ratio, wanted.seconds, rank == 0);
            meet();
            free(in);
            free(out);
        }
    }
    return 0;
}
