/* schedules_beside.c: GOAL, MPI, OpenSHMEM and views in one program, at once: none takes a message of another's, whatever context the
 * program gives its schedules. */
#include <mpi-goal.h>
#include <mpi.h>
#include <shmem-goal.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <vdc.h>

enum { kLength = 300, kRounds = 40, kKinds = 6 };

static int failures;
static int me, n;

static void expect(int well, const char *what, int round)
{
    if (!well && ++failures < 20) fprintf(stderr, "rank %d, round %d: %s\n", me, round, what);
}
#define OK(call) expect((call) == 0, #call, -1)

/* A sum over a group, as a schedule of its own. */
typedef struct {
    GOAL_Schedule schedule;
    GOAL_Request request;
    int64_t in[kLength], out[kLength];
    int size;
} Sum;

static void make(Sum *sum, const GOAL_Group *group, const unsigned *context, uint32_t tag)
{
    GOAL_Group here = *group;
    here.tag = tag;
    sum->size = group->size;
    OK(GOAL_Create(&sum->schedule));
    if (context != NULL) OK(GOAL_Context(sum->schedule, *context));
    OK(GOAL_Allreduce(&sum->schedule, &here, GOAL_User(sum->in), GOAL_User(sum->out), kLength, GOAL_INT64, GOAL_ADD, NULL));
    OK(GOAL_Compile(sum->schedule));
}
static void start(Sum *sum, int64_t value)
{
    for (int i = 0; i < kLength; ++i) sum->in[i] = value + i;
    OK(GOAL_Run(sum->schedule, &sum->request));
}
static int ends_well(Sum *sum, int64_t value)
{
    int wrong = GOAL_Wait(&sum->request) != 0;
    for (int i = 0; i < kLength; ++i) wrong += sum->out[i] != sum->size * (value + i);
    return !wrong;
}

static void run(Sum *sums, int count, long *source, long *target, char *shared)
{
    static int64_t given[kLength], got[kLength], others[kLength];
    for (int round = 0; round < kRounds; ++round) {
        MPI_Request request;
        for (int k = 0; k < count; ++k) start(&sums[k], 1000 * k + round);
        for (int i = 0; i < kLength; ++i) given[i] = others[i] = -7 * round + i;
        MPI_Iallreduce(given, got, kLength, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
        *source = round;
        OK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, source, 1));
        expect(*target == (long)n * round, "OpenSHMEM's sum", round);
        Vdc_acquire_view(0);
        ++*(int *)(void *)shared;
        Vdc_release_view(0);
        MPI_Bcast(others, kLength, MPI_INT64_T, round % n, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        int wrong = 0;
        for (int i = 0; i < kLength; ++i) wrong += got[i] != n * given[i] || others[i] != given[i];
        expect(wrong == 0, "MPI's sum and broadcast", round);
        for (int k = count - 1; k >= 0; --k) expect(ends_well(&sums[k], 1000 * k + round), "a schedule of the program", round);
    }
}

int main(int argc, char **argv)
{
    Vdc_startup(argc, argv);
    MPI_Init(&argc, &argv);
    me = shmem_my_pe(), n = shmem_n_pes();
    OK(GOAL_Init(NULL, NULL));
    static char *shared;
    if (me == 0) shared = Vdc_malloc(sizeof(int));
    OK(Vdcx_distribute(&shared, sizeof shared));
    long *source = shmem_malloc(sizeof(long)), *target = shmem_malloc(sizeof(long));

    static Sum sums[kKinds];
    GOAL_Group world, of_comm, of_dup, of_team;
    MPI_Comm dup;
    unsigned in_comm, in_dup, in_team;
    const unsigned first = 0, last = 8191;
    OK(GOAL_World(&world));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPIX_Comm_goal_group(MPI_COMM_WORLD, &of_comm, &in_comm));
    OK(MPIX_Comm_goal_group(dup, &of_dup, &in_dup));
    OK(shmemx_team_goal_group(SHMEM_TEAM_WORLD, &of_team, &in_team));
    expect(of_comm.size == n && of_comm.rank == me && of_team.size == n && of_team.rank == me, "the groups", 0);
    expect(in_comm != in_dup && in_comm != in_team, "contexts of their own", 0);
    make(&sums[0], &world, NULL, 0);
    make(&sums[1], &world, &first, 0);
    make(&sums[2], &world, &last, 0);
    make(&sums[3], &of_comm, &in_comm, 0);
    make(&sums[4], &of_dup, &in_dup, 0);
    make(&sums[5], &of_team, &in_team, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    run(sums, kKinds, source, target, shared);

    Vdc_barrier(0);
    Vdc_acquire_Rview(0);
    expect(*(int *)(void *)shared == n * kRounds, "the view", 0);
    Vdc_release_Rview(0);

    /* No number of the libraries' own is the program's. */
    GOAL_Schedule refused;
    OK(GOAL_Create(&refused));
    for (unsigned context = 8192; context < 0x7000; context += 97) expect(GOAL_Context(refused, context) == GOAL_ERR_ARG, "a context that there is not", 0);
    expect(GOAL_Context(refused, 0x10000) == GOAL_ERR_ARG, "a context that there is not", 0);
    OK(GOAL_Free(&refused));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect(MPIX_Comm_goal_group(MPI_COMM_NULL, &of_comm, &in_comm) != MPI_SUCCESS, "no communicator", 0);
    expect(shmemx_team_goal_group(SHMEM_TEAM_INVALID, &of_team, &in_team) != 0, "no team", 0);

    for (int k = 0; k < kKinds; ++k) OK(GOAL_Free(&sums[k].schedule));
    OK(MPI_Comm_free(&dup));
    OK(GOAL_Finalize());
    MPI_Finalize();
    Vdc_exit(failures != 0);
}
