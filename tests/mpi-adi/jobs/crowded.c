/* crowded.c: two ranks beside many processes that compute, on the same processors: a message wakes the thread that sleeps for it, once.
 *
 * Counted, without a clock, of each round, in which a rank waits for one message: sleeps of the thread that waits, rings (which wake a
 * thread), and steps of the engine thread that found something. On a node a round needs none of the last; beside a network the engine
 * thread takes what comes, once. usage: mpi_crowded KIND, the name of one of kinds[] below
 */
#include <mpi.h>
#include <portals4_ext.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBusy = 4, kRounds = 100, kTag = 3 }; /* busy processes of each rank */
static const double kMost = 1.25;            /* of each: now and then a thread is woken for something else */

static int me, ranks;
static long word;
static MPI_Win window;

static void messages(void) {
    const int other = me ^ 1;
    if (me == 0) MPI_Send(&word, 1, MPI_LONG, other, kTag, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_LONG, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(&word, 1, MPI_LONG, other, kTag, MPI_COMM_WORLD);
}
static void sums(void) {
    long sum;
    MPI_Allreduce(&word, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static void locks(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me ^ 1, 0, window);
    MPI_Put(&word, 1, MPI_LONG, me ^ 1, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(me ^ 1, window);
}
static const struct { const char *name; void (*round)(void); } kinds[] = {{"messages", messages}, {"sums", sums}, {"locks", locks}};
enum { kKinds = sizeof kinds / sizeof kinds[0] };

static void count(double counted[3]) {
    struct rusage use;
    ptlx_engine_info_t info;
    getrusage(RUSAGE_THREAD, &use);
    PtlxEngineInfo(&info);
    counted[0] = (double)use.ru_nvcsw;
    counted[1] = (double)info.rings;
    counted[2] = (double)info.steps_by_engine;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"sleeps", "rings", "steps of the engine thread"};
    pid_t busy[kBusy];
    for (int i = 0; i < kBusy; ++i)
        if ((busy[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile long work = 0;;) ++work;
        }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int kind = 0, bad = 0;
    while (kind < kKinds && (argc != 2 || strcmp(argv[1], kinds[kind].name) != 0)) ++kind;
    if (kind == kKinds || ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    long *memory;
    MPI_Win_allocate(sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < 20; ++i) kinds[kind].round();
    double before[3], after[3];
    MPI_Barrier(MPI_COMM_WORLD);
    count(before);
    for (int i = 0; i < kRounds; ++i) kinds[kind].round();
    count(after);
    for (int i = 0; i < 3; ++i) {
        const double each = (after[i] - before[i]) / kRounds;
        if (each > kMost) ++bad;
        if (each > kMost || me == 0) printf("rank %d, %s: %.2f %s a round\n", me, kinds[kind].name, each, names[i]);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    for (int i = 0; i < kBusy; ++i) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    return bad != 0;
}
