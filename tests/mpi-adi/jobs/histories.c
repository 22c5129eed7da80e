/* A loop of one kind of call costs the same whatever the program did before: no thread is woken for it, round by round.
 *
 * usage: mpi_histories KIND, the name of one of kinds[]: directly after the start, then after each other thing.
 * Counted, without a clock: rings, and steps that the engine thread made, of a round, after each of several histories; of twenty parts of
 * the loop the middle one. On a busy machine a rank that is taken off its processor between two calls may be rung, which shows in some parts;
 * a state that is wrong rings in each round.
 */
#include <mpi.h>
#include <portals4_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRounds = 2000, kParts = 20, kBefore = 300, kTag = 3 };
static const double kMost = 0.5; /* rings and steps of the engine thread, all ranks together, a round and rank */

static int me, ranks;
static double sent[1024], received[8 * 1024];

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(sent, received, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void wait(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }
static void ibarrier(void) { MPI_Request r; MPI_Ibarrier(MPI_COMM_WORLD, &r); wait(&r); }
static void ibcast(void) { MPI_Request r; MPI_Ibcast(sent, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &r); wait(&r); }
static void iallreduce(void) { MPI_Request r; MPI_Iallreduce(sent, received, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r); wait(&r); }
static void iallreduce_test(void) {
    MPI_Request r;
    MPI_Iallreduce(sent, received, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
    for (int done = 0; !done;) MPI_Test(&r, &done, MPI_STATUS_IGNORE);
}
static void ialltoall(void) { MPI_Request r; MPI_Ialltoall(sent, 128, MPI_DOUBLE, received, 128, MPI_DOUBLE, MPI_COMM_WORLD, &r); wait(&r); }
static void exchange(void) {
    MPI_Request r[2];
    MPI_Irecv(received, 1, MPI_DOUBLE, (me + ranks - 1) % ranks, kTag, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(sent, 1, MPI_DOUBLE, (me + 1) % ranks, kTag, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
static void ssend(void) {
    if (me % 2 == 0) MPI_Ssend(sent, 1, MPI_DOUBLE, me ^ 1, kTag, MPI_COMM_WORLD);
    else MPI_Recv(received, 1, MPI_DOUBLE, me ^ 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
/* Leaves nothing for others to do, but calls that arm and disarm what others could set off. */
static void triggered(void) {
    static ptl_handle_ni_t ni;
    static ptl_handle_ct_t from, to;
    static int made;
    if (!made) {
        made = PtlInit() == PTL_OK &&
               PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK &&
               PtlCTAlloc(ni, &from) == PTL_OK && PtlCTAlloc(ni, &to) == PTL_OK;
        if (!made) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int i = 0; i < 4; ++i)
        if (PtlTriggeredCTInc(to, (ptl_ct_event_t){1, 0}, from, 1000) != PTL_OK) MPI_Abort(MPI_COMM_WORLD, 3);
    if (PtlCTCancelTriggered(from) != PTL_OK) MPI_Abort(MPI_COMM_WORLD, 3);
}

static const struct { const char *name; void (*round)(void); } kinds[] = {
    {"barrier", barrier}, {"allreduce", allreduce}, {"ibarrier", ibarrier}, {"ibcast", ibcast}, {"iallreduce", iallreduce},
    {"iallreduce-test", iallreduce_test}, {"ialltoall", ialltoall}, {"exchange", exchange}, {"ssend", ssend}, {"triggered", triggered},
};
enum { kKinds = sizeof kinds / sizeof kinds[0] };

static double counted(void) {
    ptlx_engine_info_t info;
    return PtlxEngineInfo(&info) == PTL_OK ? (double)(info.rings + info.steps_by_engine) : 0;
}

static int ascending(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static int measure(int kind, const char *after) {
    double use[kParts], all[kParts];
    for (int part = 0; part < kParts; ++part) {
        use[part] = -counted();
        for (int i = 0; i < kRounds / kParts; ++i) kinds[kind].round();
        use[part] += counted();
    }
    MPI_Allreduce(use, all, kParts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    qsort(all, kParts, sizeof all[0], ascending);
    const double each = all[kParts / 2] * kParts / kRounds / ranks;
    const int bad = each > kMost;
    if (me == 0 && bad) printf("%s after %s: %.2f rings and steps of the engine thread a round and rank\n", kinds[kind].name, after, each);
    return bad;
}

int main(int argc, char **argv) {
    int bad = 0;
    const struct timespec nap = {0, 20000000}; /* long enough for the engine thread to sleep without a time limit */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int kind = 0;
    while (kind < kKinds && (argc != 2 || strcmp(argv[1], kinds[kind].name) != 0)) ++kind;
    if (kind == kKinds) {
        if (me == 0) fprintf(stderr, "usage: mpi_histories KIND\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bad += measure(kind, "the start");
    nanosleep(&nap, NULL);
    bad += measure(kind, "a sleep");
    for (const double end = MPI_Wtime() + 0.02; MPI_Wtime() < end;) continue;
    bad += measure(kind, "a computation");
    for (int before = 0; before < kKinds; ++before) {
        for (int i = 0; i < kBefore; ++i) kinds[before].round();
        bad += measure(kind, kinds[before].name);
    }
    MPI_Finalize();
    return bad != 0;
}
