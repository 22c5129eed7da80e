/* beside_flood.c: what MPI has to say itself gets through, however many messages of the program nobody has received yet.
 *
 * All ranks but 0 send rank 0 far more than it keeps (MPIADI_UNEXPECTED_LIMIT), by nonblocking sends, in the communicator of the operation
 * and in another; then all carry out an operation that rank 0 takes part in without having received anything; then it receives all.
 * Run on 3 ranks or more. Every operation that is collective or synchronizes has its turn.
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMessages = 1500, kBytes = 1000, kTag = 7 };

static int me, ranks;
static MPI_Comm comm; /* of the operation */
static MPI_Win window;
static char exposed[64];

static void fail(const char *what) {
    fprintf(stderr, "rank %d: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void wait_for(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void do_barrier(void) { MPI_Barrier(comm); }
static void do_ibarrier(void) { MPI_Request r; MPI_Ibarrier(comm, &r); wait_for(r); }
static void do_allreduce(void) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != ranks) fail("a wrong sum");
}
static void do_bcast(void) {
    static char long_data[300000];
    MPI_Bcast(long_data, sizeof long_data, MPI_BYTE, ranks - 1, comm);
}
static void do_dup(void) { MPI_Comm made; MPI_Comm_dup(comm, &made); MPI_Comm_free(&made); }
static void do_idup(void) { MPI_Comm made; MPI_Request r; MPI_Comm_idup(comm, &made, &r); wait_for(r); MPI_Comm_free(&made); }
static void do_split(void) { MPI_Comm made; MPI_Comm_split(comm, me % 2, 0, &made); MPI_Comm_free(&made); }
static void do_create(void) {
    MPI_Group group;
    MPI_Comm made;
    MPI_Comm_group(comm, &group);
    MPI_Comm_create(comm, group, &made);
    MPI_Comm_free(&made);
    MPI_Group_free(&group);
}
static void do_create_group(void) {
    MPI_Group group;
    MPI_Comm made;
    MPI_Comm_group(comm, &group);
    MPI_Comm_create_group(comm, group, 3, &made);
    MPI_Comm_free(&made);
    MPI_Group_free(&group);
}
static void do_from_group(void) {
    MPI_Group group;
    MPI_Comm made;
    MPI_Comm_group(comm, &group);
    MPI_Comm_create_from_group(group, "beside_flood", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    MPI_Comm_free(&made);
    MPI_Group_free(&group);
}
static void do_inter(void) { /* and all that is collective over two groups */
    MPI_Comm part, both, merged, copy;
    MPI_Comm_split(comm, me != 0, 0, &part);
    MPI_Intercomm_create(part, 0, comm, me == 0, 5, &both);
    MPI_Barrier(both);
    MPI_Comm_dup(both, &copy);
    MPI_Intercomm_merge(both, me == 0, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&both);
    MPI_Comm_free(&part);
}
static void do_disconnect(void) { MPI_Comm made; MPI_Comm_dup(comm, &made); MPI_Comm_disconnect(&made); }
static void do_cartesian(void) {
    int dims[1] = {ranks}, periods[1] = {1}, mine = me, theirs[2];
    MPI_Comm grid;
    MPI_Cart_create(comm, 1, dims, periods, 0, &grid);
    MPI_Neighbor_allgather(&mine, 1, MPI_INT, theirs, 1, MPI_INT, grid);
    MPI_Comm_free(&grid);
}
static void do_windows(void) {
    char memory[64];
    MPI_Win made;
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &made);
    MPI_Win_free(&made);
}
static void do_fence(void) { MPI_Win_fence(0, window); MPI_Win_fence(0, window); }
static void do_posts(void) {
    MPI_Group group;
    char byte = 1;
    MPI_Comm_group(comm, &group);
    MPI_Win_post(group, 0, window);
    MPI_Win_start(group, 0, window);
    MPI_Put(&byte, 1, MPI_BYTE, (me + 1) % ranks, 0, 1, MPI_BYTE, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    MPI_Group_free(&group);
}
static void do_locks(void) {
    const int one = 1;
    int before;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(comm);
}
static void do_file(void) {
    MPI_File made;
    char name[64] = "";
    if (me == 0) {
        strcpy(name, "/tmp/beside_flood.XXXXXX");
        const int fd = mkstemp(name);
        if (fd < 0) fail("no temporary file");
        close(fd);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
    if (MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &made) != MPI_SUCCESS)
        fail("no file");
    MPI_File_write_at_all(made, me, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&made);
}
static void do_agree(void) {
    int flag = 3;
    MPIX_Comm_agree(comm, &flag);
    if (flag != 3) fail("agreed on something else");
}
static void do_iagree(void) { int flag = 3; MPI_Request r; MPIX_Comm_iagree(comm, &flag, &r); wait_for(r); }
static void do_shrink(void) { MPI_Comm made; MPIX_Comm_shrink(comm, &made); MPI_Comm_free(&made); }
static void do_revoke(void) {
    MPI_Comm made;
    int flag = 0;
    MPI_Comm_dup(comm, &made);
    if (me == ranks - 1) MPIX_Comm_revoke(made);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    while (MPI_Barrier(made) == MPI_SUCCESS) continue;
    MPIX_Comm_agree(made, &flag);
    MPI_Comm_free(&made);
}

static const struct { const char *name; void (*run)(void); } kOperations[] = {
    {"barrier", do_barrier}, {"ibarrier", do_ibarrier}, {"allreduce", do_allreduce}, {"bcast", do_bcast}, {"dup", do_dup}, {"idup", do_idup}, {"split", do_split},
    {"create", do_create}, {"create_group", do_create_group}, {"from_group", do_from_group}, {"inter", do_inter}, {"disconnect", do_disconnect},
    {"cartesian", do_cartesian}, {"windows", do_windows}, {"fence", do_fence}, {"posts", do_posts}, {"locks", do_locks}, {"file", do_file}, {"agree", do_agree},
    {"iagree", do_iagree}, {"shrink", do_shrink}, {"revoke", do_revoke},
};

static void beside_flood(void (*run)(void), MPI_Comm flooded) {
    static char data[kBytes];
    static MPI_Request sends[kMessages];
    if (me != 0)
        for (int i = 0; i < kMessages; ++i) MPI_Isend(data, kBytes, MPI_BYTE, 0, kTag, flooded, &sends[i]);
    run();
    if (me != 0) MPI_Waitall(kMessages, sends, MPI_STATUSES_IGNORE);
    else
        for (int i = 0; i < kMessages * (ranks - 1); ++i)
            MPI_Recv(data, kBytes, MPI_BYTE, MPI_ANY_SOURCE, kTag, flooded, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Win_create(exposed, sizeof exposed, 1, MPI_INFO_NULL, comm, &window);
    for (size_t i = 0; i < sizeof kOperations / sizeof kOperations[0]; ++i) {
        if (argc > 1 && strcmp(argv[1], kOperations[i].name) != 0) continue;
        if (me == 0) fprintf(stderr, "%s\n", kOperations[i].name);
        beside_flood(kOperations[i].run, comm);
        beside_flood(kOperations[i].run, MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
