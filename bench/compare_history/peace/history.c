/* Rendezvous of PEACE: BYTES go around the ring of processes, each of whom receives and sends. As history.c. */
#include <peace.h>

#include "../job.h"

enum { kPort = 7 };
static const peace_pattern_t any = {{0, 0, 0}, 0, ~0u};
static int me, size;
static size_t bytes;
static peace_port_t port;
static peace_address_t right;
static long *memory, turn;

static void check(int code) {
    if (code != PEACE_OK) PtlxJobAbort(1, peace_explain());
}

static void receive(void) {
    check(cs_receive(port, any, memory, bytes, NULL));
    if (memory[0] != turn) PtlxJobAbort(3, "history: the data of a rendezvous are wrong");
}
static void rendezvous(long i) {
    (void)i;
    ++turn;
    if (me != 0) receive();
    else memory[0] = turn;
    check(cs_send(right, 1, memory, bytes));
    if (me == 0) receive();
}
const struct Kind kinds[] = {{"rendezvous", rendezvous, 0}, {NULL, NULL, 0}};

void rounds(int kind, long count) {
    for (long i = 0; i < count; ++i) kinds[kind].round(i);
}

int main(int argc, char **argv) {
    check(peace_init());
    me = peace_rank();
    size = peace_size();
    const struct Arguments given = arguments(argc, argv);
    if (given.kind < 0) {
        usage();
        PtlxJobAbort(2, "history: wrong arguments");
    }
    bytes = (size_t)given.bytes;
    memory = calloc(1, kMostBytes);
    check(peace_open(kPort, 0, 0, &port));
    check(peace_find(peace_process((me + 1) % size), kPort, PEACE_FOREVER, &right));
    tell_history(history_of(given), me, size);
    check(peace_fini());
    return 0;
}
