/* Collective writes that one rank begins by the hundred while the other, whose part of the file they go to, computes: what they occupy at
 * both has a bound that does not depend on how many there are, and the file is right at the end.
 *
 * usage: mpi_file_floods DIRECTORY, on 2 ranks that see one another's processes. Rank 1 makes no call until rank 0 has begun all.
 * Exit status 0 when all is well. Source: MPI-5.0, 14.4.5 (nonblocking collective file operations).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kWrites = 150, kRuns = 1024, kRun = 256, kBytes = kRuns * kRun };
static const long long kBound = 24 << 20; /* two windows of an aggregator, a request each, rings, buffers and stacks; 37 MiB are written */

static int me;
static volatile sig_atomic_t goes_on;
static void go_on(int signal) { (void)signal; goes_on = 1; }

static void wrong(const char *what) {
    fprintf(stderr, "rank %d: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static long long resident_bytes(void) {
    long long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lld %lld", &total, &resident) != 2) wrong("no /proc/self/statm");
    fclose(file);
    return resident * 4096;
}

/* A rank's byte number i of a write. */
static char byte_of(int rank, int number, int i) { return (char)(rank * 97 + number * 13 + i * 7); }

static char data[2][kBytes];

int main(int argc, char **argv) {
    static MPI_Request requests[kWrites];
    char path[4096];
    int pid = getpid(), pids[2], ranks;
    MPI_File file;
    MPI_Datatype turns;
    MPI_Info info;
    signal(SIGUSR1, go_on);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2 || ranks != 2) wrong("usage: mpi_file_floods DIRECTORY, on 2 ranks");
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/flooded.%d", argv[1], pids[0]);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1"); /* so that the one aggregator is asked for both ranks' data */
    MPI_Info_set(info, "cb_config_list", "*:1");
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file) != MPI_SUCCESS) wrong("no file");
    MPI_Info_free(&info);
    MPI_Type_vector(kRuns, kRun, 2 * kRun, MPI_BYTE, &turns); /* runs in turn, so that the data have to be exchanged */
    MPI_Type_commit(&turns);
    MPI_File_set_view(file, (MPI_Offset)me * kRun, MPI_BYTE, turns, "native", MPI_INFO_NULL);
    for (int i = 0; i < kBytes; ++i) data[0][i] = byte_of(me, 0, i);
    MPI_File_write_at_all(file, 0, data[0], kBytes, MPI_BYTE, MPI_STATUS_IGNORE); /* the first makes what the others use again */
    MPI_Barrier(MPI_COMM_WORLD);
    const long long before = resident_bytes();
    long long most = before;
    if (me == 1)
        while (!goes_on) sched_yield(), most = resident_bytes() > most ? resident_bytes() : most;
    for (int n = 0; n < kWrites; ++n) /* all write the same data to the same places */
        if (MPI_File_iwrite_at_all(file, 0, data[0], kBytes, MPI_BYTE, &requests[n]) != MPI_SUCCESS) wrong("a write does not begin");
    if (me == 0) {
        for (int looks = 0; looks < 2000; ++looks) sched_yield(), most = resident_bytes() > most ? resident_bytes() : most;
        kill(pids[1], SIGUSR1);
    }
    if (most - before > kBound) wrong("the memory grows with the writes that have begun");
    MPI_Waitall(kWrites, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(file, (MPI_Offset)(1 - me) * kRun, MPI_BYTE, turns, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, 0, data[1], kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    for (int i = 0; i < kBytes; ++i)
        if (data[1][i] != byte_of(1 - me, 0, i)) wrong("the file has other data");
    MPI_Type_free(&turns);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
