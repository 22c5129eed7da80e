/* rows ROW SECONDS: the rows of bench/compare-ipc that are libpeace's own: a peer process is started from this program again. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-adi/ipc/peace.h"
#include "samples.h"

enum { PORTS = 8, STOP = 99 };
static const peace_pattern_t any = {{0, 0, 0}, 0, ~0u};
static peace_port_t port;
static peace_address_t here, there;
static double seconds;

static void check(int code)
{
    if (code == PEACE_OK) return;
    fprintf(stderr, "rows: %s\n", peace_explain());
    exit(1);
}

/* The peer: sends back what comes, and answers calls, as the row asks. */
static void echo(size_t bytes, int64_t limit)
{
    char *memory = malloc(bytes + 64);
    peace_message_t message;
    do {
        check(peace_receive(port, any, memory, bytes, limit, &message));
        if (message.type != STOP) check(cs_send(there, 0, memory, message.moved));
    } while (message.type != STOP);
}
static void echo_stride(void)
{
    char *memory = malloc((size_t)BLOCKS * STRIDE);
    peace_piece_t stride = peace_stride(memory, BLOCKS, BLOCK, STRIDE);
    peace_message_t message;
    do {
        check(peace_receive_pieces(port, any, &stride, 1, PEACE_FOREVER, &message));
        if (message.type != STOP) check(peace_send_pieces(there, 0, &stride, 1, 0, PEACE_FOREVER, NULL));
    } while (message.type != STOP);
}
static void serve(void)
{
    volatile char touched;
    peace_message_t message;
    do {
        peace_task_t task;
        check(peace_accept(port, any, PEACE_FOREVER, &task, &message));
        const char *data = peace_look(task);
        if (!data) fprintf(stderr, "rows: the client's memory cannot be looked at\n");
        else if (message.sent) touched = data[message.sent - 1];
        check(peace_reply(&task, 0, "answered", 8));
    } while (message.type != STOP);
    (void)touched;
}
static void sleep_and_measure(size_t rounds)
{
    double samples[1000];
    for (size_t i = 0; i < rounds; ++i) {
        uint64_t sent;
        check(cs_receive(port, any, &sent, 8, NULL));
        samples[i] = (double)(now_ns() - sent);
    }
    print_samples("sleeper", 8, samples, rounds);
}
static void select_and_echo(void)
{
    peace_port_t ports[PORTS];
    peace_alternative_t from[PORTS];
    uint64_t word;
    for (int i = 0; i < PORTS; ++i) {
        ports[i] = port;
        if (i < PORTS - 1) check(peace_open(0, 0, 0, &ports[i]));
        from[i] = (peace_alternative_t){ports[i], any, &word, 8, 1};
    }
    for (peace_message_t message = {0}; message.type != STOP;) {
        int chosen;
        check(peace_select(from, PORTS, NULL, 0, PEACE_FOREVER, &chosen, &message));
        if (message.type != STOP) check(cs_send(there, 0, &word, 8));
    }
}

static double *samples;
static size_t count;
static uint64_t end;
static void begin_samples(void)
{
    if (!samples) samples = malloc(MOST_SAMPLES * sizeof *samples);
    count = 0;
    end = now_ns() + (uint64_t)(seconds * 1e9);
}

static void pingpong(const char *row, size_t bytes, int64_t limit)
{
    char *memory = calloc(1, bytes + 64);
    begin_samples();
    for (uint64_t start = 0; start < end && count < MOST_SAMPLES;) {
        start = now_ns();
        check(cs_send(there, 1, memory, bytes));
        check(peace_receive(port, any, memory, bytes, limit, NULL));
        samples[count++] = (double)(now_ns() - start) / 2;
    }
    print_samples(row, bytes, samples, count);
    free(memory);
}

static void strides(const char *row)
{
    char *memory = calloc(BLOCKS, STRIDE);
    peace_piece_t stride = peace_stride(memory, BLOCKS, BLOCK, STRIDE);
    begin_samples();
    for (uint64_t start = 0; start < end && count < MOST_SAMPLES;) {
        start = now_ns();
        check(peace_send_pieces(there, 1, &stride, 1, 0, PEACE_FOREVER, NULL));
        check(peace_receive_pieces(port, any, &stride, 1, PEACE_FOREVER, NULL));
        samples[count++] = (double)(now_ns() - start) / 2;
    }
    print_samples(row, (size_t)BLOCKS * BLOCK, samples, count);
    free(memory);
}

static void calls(const char *row, size_t bytes)
{
    char answer[8], *memory = bytes > 8 ? peace_alloc(bytes) : calloc(1, 8);
    if (bytes > 8) memset(memory, 1, bytes);
    check(peace_call(there, 1, memory, bytes, answer, sizeof answer, PEACE_FOREVER, NULL)); /* the server maps it once */
    begin_samples();
    for (uint64_t start = 0; start < end && count < MOST_SAMPLES;) {
        start = now_ns();
        check(peace_call(there, 1, memory, bytes, answer, sizeof answer, PEACE_FOREVER, NULL));
        samples[count++] = (double)(now_ns() - start);
    }
    print_samples(row, bytes, samples, count);
}

static void posts(void)
{
    begin_samples();
    uint64_t word = 1;
    for (uint64_t start = 0; start < end && count < MOST_SAMPLES;) {
        enum { BURST = 100 };
        start = now_ns();
        for (int i = 0; i < BURST; ++i) check(peace_post(there, 1, &word, 8, NULL));
        samples[count++] = (double)(now_ns() - start) / BURST;
        for (int i = 0; i < BURST; ++i) check(cs_receive(port, any, &word, 8, NULL));
    }
    print_samples("post", 8, samples, count);
}

/* Instructions of a send and its receive where nobody waits: one thread has both sides. User space, and the kernel where that may be seen. */
static void instructions(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_HARDWARE, .size = sizeof attributes, .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_hv = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    if (fd < 0) {
        attributes.exclude_kernel = 1;
        fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    }
    if (fd < 0) {
        printf("note instructions: %s\n", strerror(errno));
        return;
    }
    enum { ROUNDS = 2000 };
    uint64_t out = 1, in = 0, before, after;
    for (int warm = 0; warm < 2; ++warm) {
        if (read(fd, &before, 8) != 8) return;
        for (int i = 0; i < ROUNDS; ++i) {
            check(peace_post(here, 1, &out, 8, NULL));
            check(cs_receive(port, any, &in, 8, NULL));
        }
        if (read(fd, &after, 8) != 8) return;
    }
    printf("ipc instructions 8 %.1f 0\n", (double)(after - before) / ROUNDS);
}

/* The same, to be counted by callgrind where the processor's counters may not be used: as many rounds as asked for. */
static void rounds_alone(int rounds)
{
    uint64_t out = 1, in = 0;
    for (int i = 0; i < rounds; ++i) {
        check(peace_post(here, 1, &out, 8, NULL));
        check(cs_receive(port, any, &in, 8, NULL));
    }
}

/* The same between two processes, one after the other, by signs through pipes, so that nobody waits inside: a send (isend and wait), and a
 * receive that comes after it (`late`) or before it (ireceive and wait). */
static int signs_in, signs_out;
static void sign(void)
{
    char one = 1;
    if (write(signs_out, &one, 1) != 1) exit(1);
}
static void await_sign(void)
{
    char one;
    if (read(signs_in, &one, 1) != 1) exit(1);
}
static void rounds_in_turns(int rounds, int child, int late)
{
    uint64_t word = 1;
    peace_request_t request;
    for (int i = 0; i < rounds; ++i) {
        if (child) {
            if (!late) {
                check(peace_ireceive(port, any, &word, 8, &request));
                sign();
            }
            await_sign();
            if (late) check(cs_receive(port, any, &word, 8, NULL));
            else check(peace_wait(&request, PEACE_FOREVER, NULL));
            sign();
        } else {
            if (!late) await_sign();
            check(peace_isend(there, 1, &word, 8, 0, &request));
            sign();
            await_sign();
            check(peace_wait(&request, PEACE_FOREVER, NULL));
        }
    }
}

/* Two threads of this process. */
static peace_port_t other_port;
static void *thread_echo(void *unused)
{
    uint64_t word;
    bind_to(1);
    for (;;) {
        peace_message_t message;
        check(cs_receive(other_port, any, &word, 8, &message));
        if (message.type == STOP) return unused;
        check(cs_send(here, 0, &word, 8));
    }
}

static const size_t sizes[] = {8, 512, 8192, 65536, 262144, 1048576, 4194304};

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    const char *row = argv[1];
    seconds = atof(argv[2]);
    int turns = strcmp(row, "early") == 0 || strcmp(row, "late") == 0;
    int child = argc > 3 && strcmp(row, "alone") != 0 && (!turns || argc > 4);
    int one_core = strcmp(row, "onecore") == 0;
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    if (child) sscanf(argv[3], "%lx:%x:%x", (unsigned long *)&there.process, &there.port, &there.generation);
    if (one_core) bind_to(0); /* as by taskset: the library knows it from the start */
    int rounds = turns && argc > 3 && !child ? atoi(argv[3]) : 0;
    size_t sleeps = (size_t)(seconds * 90) + 3;
    if (sleeps > 1000) sleeps = 1000;
    check(peace_init());
    if (!one_core) bind_to(child);
    check(peace_open(0, 0, 0, &port));
    check(peace_address(port, &here));
    if (strcmp(row, "instructions") == 0) {
        instructions();
        return peace_fini();
    }
    if (strcmp(row, "alone") == 0) {
        rounds_alone(argc > 3 ? atoi(argv[3]) : 1000);
        return peace_fini();
    }
    if (strcmp(row, "threads") == 0) {
        pthread_t thread;
        sched_setaffinity(0, sizeof all, &all);
        check(peace_open(0, 0, 0, &other_port));
        check(peace_address(other_port, &there));
        pthread_create(&thread, NULL, thread_echo, NULL);
        bind_to(0);
        pingpong(row, 8, PEACE_FOREVER);
        check(cs_send(there, STOP, NULL, 0));
        pthread_join(thread, NULL);
        return peace_fini();
    }
    if (child) {
        check(cs_send(there, 0, &here, sizeof here));
        if (turns) {
            sscanf(argv[4], "%d:%d:%d", &signs_in, &signs_out, &rounds);
            rounds_in_turns(rounds, 1, strcmp(row, "late") == 0);
            return peace_fini();
        }
        if (strcmp(row, "call") == 0 || strcmp(row, "look") == 0) serve();
        else if (strcmp(row, "sleeper") == 0) sleep_and_measure(sleeps);
        else if (strcmp(row, "select") == 0) select_and_echo();
        else if (strcmp(row, "stride") == 0) echo_stride();
        else if (strcmp(row, "post") == 0) echo(8, PEACE_FOREVER);
        else echo(strcmp(row, "bulk") == 0 || strcmp(row, "startup") == 0 ? 8 << 20 : 8, strcmp(row, "limit") == 0 ? 10000000000 : PEACE_FOREVER);
        return peace_fini();
    }
    char text[64], places[64];
    int to_child[2], to_parent[2];
    if (pipe(to_child) != 0 || pipe(to_parent) != 0) return 1;
    snprintf(places, sizeof places, "%d:%d:%d", to_child[0], to_parent[1], rounds);
    signs_in = to_parent[0];
    signs_out = to_child[1];
    snprintf(text, sizeof text, "%lx:%x:%x", (unsigned long)here.process, here.port, here.generation);
    pid_t pid = fork();
    if (pid == 0) {
        sched_setaffinity(0, sizeof all, &all);
        execl(argv[0], argv[0], row, argv[2], text, turns ? places : (char *)NULL, (char *)NULL);
        _exit(127);
    }
    check(cs_receive(port, any, &there, sizeof there, NULL));
    if (turns) rounds_in_turns(rounds, 0, strcmp(row, "late") == 0);
    else if (strcmp(row, "call") == 0) calls(row, 8);
    else if (strcmp(row, "look") == 0) calls(row, (size_t)strtoull(getenv("LOOK_BYTES"), NULL, 10));
    else if (strcmp(row, "bulk") == 0) pingpong(row, 1 << 20, PEACE_FOREVER);
    else if (strcmp(row, "stride") == 0) strides(row);
    else if (strcmp(row, "limit") == 0) pingpong(row, 8, 10000000000);
    else if (strcmp(row, "post") == 0) posts();
    else if (strcmp(row, "startup") == 0) {
        double whole = seconds;
        seconds = whole / (sizeof sizes / sizeof *sizes);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) pingpong(row, sizes[i], PEACE_FOREVER);
    } else if (strcmp(row, "sleeper") == 0) {
        for (size_t i = 0; i < sleeps; ++i) {
            usleep(10000);
            uint64_t sent = now_ns();
            check(cs_send(there, 1, &sent, 8));
        }
    } else pingpong(row, 8, PEACE_FOREVER);
    if (strcmp(row, "call") == 0 || strcmp(row, "look") == 0) {
        char answer[8];
        check(peace_call(there, STOP, NULL, 0, answer, sizeof answer, PEACE_FOREVER, NULL));
    } else if (strcmp(row, "sleeper") != 0 && !turns) {
        check(cs_send(there, STOP, NULL, 0));
    }
    int status = 1;
    waitpid(pid, &status, 0);
    return peace_fini() != PEACE_OK || status != 0;
}
