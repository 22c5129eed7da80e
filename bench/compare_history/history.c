/* One kind of call in a loop, directly after MPI_Init or after a prelude: what do the first rounds take, and what the later ones?
 *
 * usage: history KIND BYTES PRELUDE ROUNDS. KIND: see kinds[]; PRELUDE: see prelude() of loop.h. Rank 0 prints one line: microseconds a round of
 * the first 200 rounds and of the second half, and context switches a round of all threads of all ranks in the second half.
 * Written to what MPI-3 has, so that any library compiles it.
 */
#include <mpi.h>

#include "loop.h"

enum { kTag = 5 };

static int me, ranks, right, left, bytes;
static char *sent, *received;
static MPI_Win window;
static MPI_Request persistent;

static void finish(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }
static void poll_until_done(MPI_Request *request) {
    for (int done = 0; !done;) MPI_Test(request, &done, MPI_STATUS_IGNORE);
}
static void start_allreduce(MPI_Request *r) {
    MPI_Iallreduce(sent, received, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}

static void barrier(long i) { (void)i; MPI_Barrier(MPI_COMM_WORLD); }
static void allreduce(long i) { (void)i; MPI_Allreduce(sent, received, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void bcast(long i) { MPI_Bcast(sent, bytes, MPI_BYTE, i % 2 ? ranks - 1 : 0, MPI_COMM_WORLD); }
static void ibarrier(long i) { MPI_Request r; (void)i; MPI_Ibarrier(MPI_COMM_WORLD, &r); finish(&r); }
static void ibcast(long i) { MPI_Request r; MPI_Ibcast(sent, bytes, MPI_BYTE, i % 2 ? ranks - 1 : 0, MPI_COMM_WORLD, &r); finish(&r); }
static void iallreduce(long i) { MPI_Request r; (void)i; start_allreduce(&r); finish(&r); }
static void iallreduce_test(long i) { MPI_Request r; (void)i; start_allreduce(&r); poll_until_done(&r); }
static void ireduce(long i) {
    MPI_Request r;
    (void)i;
    MPI_Ireduce(sent, received, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, &r);
    finish(&r);
}
static void ialltoall(long i) { MPI_Request r; (void)i; MPI_Ialltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD, &r); finish(&r); }
static void iallgather(long i) { MPI_Request r; (void)i; MPI_Iallgather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD, &r); finish(&r); }
static void exchange(long i) {
    MPI_Request r[2];
    (void)i;
    MPI_Irecv(received, bytes, MPI_BYTE, left, kTag, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(sent, bytes, MPI_BYTE, right, kTag, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
/* Rank by rank in turn around a ring. */
static void in_turn(int synchronous) {
    if (me == 0) {
        (synchronous ? MPI_Ssend : MPI_Send)(sent, bytes, MPI_BYTE, right, kTag, MPI_COMM_WORLD);
        MPI_Recv(received, bytes, MPI_BYTE, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(received, bytes, MPI_BYTE, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        (synchronous ? MPI_Ssend : MPI_Send)(sent, bytes, MPI_BYTE, right, kTag, MPI_COMM_WORLD);
    }
}
static void pingpong(long i) { (void)i; in_turn(0); }
static void ssend(long i) { (void)i; in_turn(1); }
static void receive_any(long i) {
    MPI_Request r;
    (void)i;
    MPI_Isend(sent, bytes, MPI_BYTE, right, kTag, MPI_COMM_WORLD, &r);
    MPI_Recv(received, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    finish(&r);
}
static void probe(long i) {
    MPI_Status status;
    MPI_Request r;
    (void)i;
    MPI_Isend(sent, bytes, MPI_BYTE, right, kTag, MPI_COMM_WORLD, &r);
    MPI_Probe(left, kTag, MPI_COMM_WORLD, &status);
    MPI_Recv(received, bytes, MPI_BYTE, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    finish(&r);
}
static void allreduce_init(long i) {
#if MPI_VERSION >= 4
    (void)i;
    if (persistent == MPI_REQUEST_NULL)
        MPI_Allreduce_init(sent, received, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
#else
    iallreduce(i);
#endif
}
static void put_flush(long i) {
    (void)i;
    MPI_Put(sent, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(right, window);
}
static void fence(long i) {
    (void)i;
    MPI_Win_fence(0, window);
    MPI_Put(sent, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
}
static void lock(long i) {
    (void)i;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
    MPI_Put(sent, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, window);
    MPI_Win_unlock(right, window);
}

const struct Kind kinds[] = {
    {"barrier", barrier, 0}, {"allreduce", allreduce, 0}, {"bcast", bcast, 0}, {"ibarrier", ibarrier, 0}, {"ibcast", ibcast, 0},
    {"iallreduce", iallreduce, 0}, {"iallreduce-test", iallreduce_test, 0}, {"ireduce", ireduce, 0}, {"ialltoall", ialltoall, 0},
    {"iallgather", iallgather, 0}, {"exchange", exchange, 0}, {"pingpong", pingpong, 0}, {"ssend", ssend, 0},
    {"receive-any", receive_any, 0}, {"probe", probe, 0}, {"allreduce-init", allreduce_init, 0}, {"put-flush", put_flush, 1},
    {"fence", fence, 2}, {"lock", lock, 0}, {NULL, NULL, 0},
};

void rounds(int kind, long count) {
    if (kinds[kind].epoch == 1) MPI_Win_lock_all(0, window);
    for (long i = 0; i < count; ++i) kinds[kind].round(i);
    if (kinds[kind].epoch == 1) MPI_Win_unlock_all(window);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct Arguments given = arguments(argc, argv);
    const int kind = given.kind;
    bytes = given.bytes;
    if (kind < 0) {
        if (me == 0) usage();
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    right = (me + 1) % ranks;
    left = (me + ranks - 1) % ranks;
    sent = calloc((size_t)ranks, kMostBytes);
    received = calloc((size_t)ranks, kMostBytes);
    persistent = MPI_REQUEST_NULL;
    char *exposed;
    if (kinds[kind].epoch != 0 || kind == kind_of("lock")) MPI_Win_allocate(kMostBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
    struct History took = history_of(given);
    const double mine = took.switches;
    MPI_Reduce(&mine, &took.switches, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) print_history(took);
    if (persistent != MPI_REQUEST_NULL) MPI_Request_free(&persistent);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kinds[kind].epoch != 0 || kind == kind_of("lock")) MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
