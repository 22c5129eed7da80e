/* plain WAY ROW SECONDS: rendezvous of two processes by what the system offers: futex (by hand: two words in shared memory; spins as long
 * as Portunus does, then sleeps), pipe, socket (unix, seqpacket), mq (POSIX) and cma (futex words, and process_vm_readv for the data). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "samples.h"

enum { SPINS = 20000 };
enum way { FUTEX, PIPE, SOCKET, MQ, CMA };

struct word {
    _Alignas(64) atomic_uint value;
    atomic_uint asleep;
};
struct shared {
    struct word request[2], taken[2]; /* of each direction: a message is there; it has been taken */
    _Alignas(64) char data[2][64];
    char *source[2];
};

static enum way way;
static struct shared *shared;
static int in_fd[2], out_fd[2], side, spins;
static mqd_t queue[2];
static pid_t peer;

static void await(struct word *word, unsigned value)
{
    for (int i = 0; i < spins; ++i) {
        if (atomic_load_explicit(&word->value, memory_order_acquire) == value) return;
        __builtin_ia32_pause();
    }
    while (atomic_load(&word->value) != value) {
        atomic_store(&word->asleep, 1);
        unsigned seen = atomic_load(&word->value);
        if (seen != value) syscall(SYS_futex, &word->value, FUTEX_WAIT, seen, NULL, NULL, 0);
        atomic_store(&word->asleep, 0);
    }
}

static void tell(struct word *word, unsigned value)
{
    atomic_store(&word->value, value);
    if (atomic_load(&word->asleep)) syscall(SYS_futex, &word->value, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static unsigned turn[2];

/* A rendezvous: returns when the receiver has the data. The others only hand over to a buffer. */
static void send_message(char *data, size_t bytes)
{
    switch (way) {
        case FUTEX:
        case CMA:
            shared->source[side] = data;
            if (way == FUTEX) memcpy(shared->data[side], data, bytes);
            tell(&shared->request[side], ++turn[side]);
            await(&shared->taken[side], turn[side]);
            break;
        case MQ:
            if (mq_send(queue[side], data, bytes, 0) != 0) exit(1);
            break;
        default:
            for (size_t done = 0; done < bytes;) {
                ssize_t n = write(out_fd[side], data + done, bytes - done);
                if (n <= 0) exit(1);
                done += (size_t)n;
            }
    }
}

static void receive_message(char *data, size_t bytes)
{
    int other = 1 - side;
    switch (way) {
        case FUTEX:
        case CMA:
            await(&shared->request[other], ++turn[other]);
            if (way == FUTEX) {
                memcpy(data, shared->data[other], bytes);
            } else {
                struct iovec here = {data, bytes}, there = {shared->source[other], bytes};
                if (process_vm_readv(peer, &here, 1, &there, 1, 0) != (ssize_t)bytes) exit(1);
            }
            tell(&shared->taken[other], turn[other]);
            break;
        case MQ:
            if (mq_receive(queue[other], data, 64, NULL) < 0) exit(1);
            break;
        default:
            for (size_t done = 0; done < bytes;) {
                ssize_t n = read(in_fd[side], data + done, bytes - done);
                if (n <= 0) exit(1);
                done += (size_t)n;
            }
    }
}

/* The same of the blocks of a stride, by writev, readv or process_vm_readv of so many at a time. */
enum { MOST_AT_ONCE = 1024 };
static void fill_list(struct iovec *list, char *data, int first)
{
    for (int i = 0; i < MOST_AT_ONCE; ++i) list[i] = (struct iovec){data + (size_t)(first + i) * STRIDE, BLOCK};
}

static void move_stride(char *data, int sends)
{
    struct iovec here[MOST_AT_ONCE], there[MOST_AT_ONCE];
    const ssize_t size = (ssize_t)MOST_AT_ONCE * BLOCK;
    int other = 1 - side;
    if (way == CMA && sends) {
        shared->source[side] = data;
        tell(&shared->request[side], ++turn[side]);
        await(&shared->taken[side], turn[side]);
        return;
    }
    if (way == CMA) await(&shared->request[other], ++turn[other]);
    for (int i = 0; i < BLOCKS; i += MOST_AT_ONCE) {
        fill_list(here, data, i);
        ssize_t moved;
        if (way == CMA) {
            fill_list(there, shared->source[other], i);
            moved = process_vm_readv(peer, here, MOST_AT_ONCE, there, MOST_AT_ONCE, 0);
        } else {
            moved = sends ? writev(out_fd[side], here, MOST_AT_ONCE) : readv(in_fd[side], here, MOST_AT_ONCE);
        }
        if (moved != size) exit(1); /* packets keep their limits */
    }
    if (way == CMA) tell(&shared->taken[other], turn[other]);
}

static void strides(double seconds)
{
    char *memory = calloc(BLOCKS, STRIDE);
    double *samples = malloc(MOST_SAMPLES * sizeof *samples);
    size_t count = 0;
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
    for (char go = 1; go;) {
        uint64_t start = now_ns();
        if (side == 0) memory[0] = go = start < end && count < MOST_SAMPLES;
        move_stride(memory, side == 0);
        go = memory[0];
        move_stride(memory, side == 1);
        if (side == 0 && go) samples[count++] = (double)(now_ns() - start) / 2;
    }
    if (side == 0) print_samples("stride", (size_t)BLOCKS * BLOCK, samples, count);
}

static void pingpong(const char *row, size_t bytes, double seconds)
{
    static char *memory;
    memory = malloc(bytes + 64);
    memset(memory, 1, bytes);
    double *samples = malloc(MOST_SAMPLES * sizeof *samples);
    size_t count = 0;
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
    for (char go = 1; go;) {
        uint64_t start = now_ns();
        if (side == 0) {
            memory[0] = go = start < end && count < MOST_SAMPLES;
            send_message(memory, bytes);
            receive_message(memory, bytes);
            if (go) samples[count++] = (double)(now_ns() - start) / 2;
        } else {
            receive_message(memory, bytes);
            go = memory[0];
            send_message(memory, bytes);
        }
    }
    if (side == 0) print_samples(row, bytes, samples, count);
}

static void sleeper(double seconds)
{
    double samples[1000];
    size_t count = 0, rounds = (size_t)(seconds * 90) + 3;
    for (size_t i = 0; i < rounds && count < 1000; ++i) {
        char data[64];
        uint64_t sent;
        if (side == 0) {
            usleep(10000);
            sent = now_ns();
            memcpy(data, &sent, 8);
            send_message(data, 8);
        } else {
            receive_message(data, 8);
            memcpy(&sent, data, 8);
            samples[count++] = (double)(now_ns() - sent);
        }
    }
    if (side == 1) print_samples("sleeper", 8, samples, count);
}

int main(int argc, char **argv)
{
    const char *names[] = {"futex", "pipe", "socket", "mq", "cma"};
    if (argc < 4) return 2;
    for (way = FUTEX; way <= CMA && strcmp(names[way], argv[1]) != 0;) ++way;
    if (way > CMA) return 2;
    const char *row = argv[2];
    int one_core = strcmp(row, "onecore") == 0, first[2], second[2];
    spins = one_core ? 0 : SPINS;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (way == SOCKET) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, first) != 0) return 1;
        in_fd[0] = out_fd[0] = first[0];
        in_fd[1] = out_fd[1] = first[1];
    } else if (way == PIPE) {
        if (pipe(first) != 0 || pipe(second) != 0) return 1;
        in_fd[0] = second[0], out_fd[0] = first[1];
        in_fd[1] = first[0], out_fd[1] = second[1];
    } else if (way == MQ) {
        for (int i = 0; i < 2; ++i) {
            char name[64];
            struct mq_attr attributes = {.mq_maxmsg = 8, .mq_msgsize = 64};
            snprintf(name, sizeof name, "/compare-ipc.%d.%d", (int)getpid(), i);
            queue[i] = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
            if (queue[i] == (mqd_t)-1) {
                fprintf(stderr, "mq_open: %s\n", strerror(errno));
                return 1;
            }
            mq_unlink(name);
        }
    }
    pid_t parent = getpid(), child = fork();
    side = child == 0;
    peer = child == 0 ? parent : child;
    bind_to(one_core ? 0 : side);
    if (strcmp(row, "sleeper") == 0) sleeper(atof(argv[3]));
    else if (strcmp(row, "stride") == 0) strides(atof(argv[3]));
    else pingpong(row, strcmp(row, "bulk") == 0 ? 1 << 20 : 8, atof(argv[3]));
    int status = 0;
    if (child) waitpid(child, &status, 0);
    return status != 0;
}
