/* recorded.c KIND: a program to be recorded: calls of one kind; or a rank that ends early, many calls, or calls under the lock of threads. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static int me, n, out[4096], in[4096];

static void messages(MPI_Comm comm) {
    int rank, size, flag;
    MPI_Request r[4];
    MPI_Status status;
    MPI_Message message;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Sendrecv(out, 3, MPI_INT, next, 1, in, 3, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(in, 5, MPI_INT, next, 2, last, 2, comm, &status);
    MPI_Irecv(in, 100, MPI_INT, MPI_ANY_SOURCE, 3, comm, &r[0]);
    MPI_Irecv(in + 100, 100, MPI_INT, last, 3, comm, &r[1]);
    MPI_Isend(out, 7, MPI_INT, next, 3, comm, &r[2]);
    MPI_Issend(out, 9, MPI_INT, next, 3, comm, &r[3]);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE); /* the second first */
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    MPI_Isend(out, 11, MPI_INT, next, 4, comm, &r[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
    MPI_Mrecv(in, 100, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Isend(out, 0, MPI_INT, next, 5, comm, &r[0]);
    do MPI_Iprobe(last, 5, comm, &flag, &status);
    while (!flag);
    MPI_Recv(in, 100, MPI_INT, last, 5, comm, MPI_STATUS_IGNORE);
    do MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Irecv(in, 100, MPI_INT, MPI_ANY_SOURCE, 6, comm, &r[0]);
    MPI_Cancel(&r[0]);
    MPI_Wait(&r[0], &status);
    MPI_Irecv(in, 100, MPI_INT, last, 7, comm, &r[0]); /* nobody waits for it */
    MPI_Request_free(&r[0]);
    MPI_Send(out, 13, MPI_INT, next, 7, comm);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status);
}

static void persistent(void) {
    MPI_Request r[2];
    const int next = (me + 1) % n, last = (me + n - 1) % n;
    MPI_Send_init(out, 4, MPI_INT, next, 8, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(in, 4, MPI_INT, last, 8, MPI_COMM_WORLD, &r[1]);
    for (int i = 0; i < 3; ++i) {
        MPI_Startall(2, r);
        for (int which, done = 0; done < 2; ++done) MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Psend_init(out, 2, 3, MPI_INT, next, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 2, 3, MPI_INT, last, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    MPI_Startall(2, r);
    MPI_Pready(0, r[0]);
    MPI_Pready(1, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Allreduce_init(out, in, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Start(&r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&r[0]);
}

static void collectives(MPI_Comm comm) {
    int size, rank, counts[64], at[64];
    MPI_Datatype types[64];
    MPI_Request r[2];
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < size; ++i) counts[i] = 2 + i, at[i] = 16 * i, types[i] = MPI_INT;
    MPI_Barrier(comm);
    MPI_Bcast(in, 6, MPI_INT, size - 1, comm);
    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, 0, comm);
    MPI_Scatter(out, 2, MPI_INT, in, 2, MPI_INT, 0, comm);
    MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, at, MPI_INT, 0, comm);
    MPI_Scatterv(out, counts, at, MPI_INT, in, counts[rank], MPI_INT, 0, comm);
    MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, comm);
    MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, at, MPI_INT, comm);
    MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm);
    for (int i = 0; i < size; ++i) counts[i] = 1 + i + rank;
    MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, comm);
    for (int i = 0; i < size; ++i) at[i] *= 4;
    MPI_Alltoallw(out, counts, at, types, in, counts, at, types, comm);
    for (int i = 0; i < size; ++i) counts[i] = 2 + i;
    MPI_Reduce(out, in, 5, MPI_INT, MPI_SUM, 0, comm);
    MPI_Allreduce(out, in, 500, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, comm);
    MPI_Scan(out, in, 3, MPI_INT, MPI_SUM, comm);
    MPI_Exscan(out, in, 3, MPI_INT, MPI_SUM, comm);
    MPI_Iallreduce(out, in, 5, MPI_INT, MPI_SUM, comm, &r[0]);
    MPI_Ibcast(in + 64, 2, MPI_INT, 0, comm, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void communicators(void) {
    MPI_Comm dup, half, ring;
    MPI_Request r;
    const int periodic = 1;
    MPI_Comm_idup(MPI_COMM_WORLD, &dup, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    messages(dup);
    MPI_Comm_free(&dup);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    messages(half);
    collectives(half);
    MPI_Comm_free(&half);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &ring);
    MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, ring);
    MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, ring);
    MPI_Comm_free(&ring);
}

static void one_sided(void) {
    MPI_Win win;
    MPI_Group all, others;
    MPI_Request r;
    int *memory, old, one = 1;
    const int next = (me + 1) % n, last = (me + n - 1) % n, both[2] = {next, last};
    MPI_Win_allocate(256 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(out, 6, MPI_INT, next, 0, 6, MPI_INT, win);
    MPI_Get(in, 5, MPI_INT, last, 64, 5, MPI_INT, win);
    MPI_Accumulate(out, 4, MPI_INT, next, 32, 4, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, next == last ? 1 : 2, both, &others);
    MPI_Win_post(others, 0, win);
    MPI_Win_start(others, 0, win);
    MPI_Put(out, 7, MPI_INT, next, 0, 7, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    MPI_Win_lock_all(0, win);
    MPI_Rput(out, 3, MPI_INT, next, 128, 3, MPI_INT, win, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Win_flush(next, win);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 200, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* More processes than there are ranks, which are not recorded. */
static void spawn(char *program, MPI_Comm parent) {
    MPI_Comm others = parent;
    int x = 0;
    if (parent == MPI_COMM_NULL) MPI_Comm_spawn(program, MPI_ARGV_NULL, n + 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    if (parent == MPI_COMM_NULL && me == 0) MPI_Send(&x, 1, MPI_INT, n, 0, others);
    if (parent != MPI_COMM_NULL && me == n - 1) MPI_Recv(&x, 1, MPI_INT, 0, 0, others, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&others);
}

int main(int argc, char **argv) {
    const char *const what = argc > 1 ? argv[1] : "messages";
    const int threads = strcmp(what, "threads") == 0;
    int level;
    MPI_Comm parent;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL || strcmp(what, "spawn") == 0) spawn(argv[0], parent);
    else if (strcmp(what, "messages") == 0 || strcmp(what, "die") == 0 || threads) messages(MPI_COMM_WORLD);
    if (strcmp(what, "die") == 0 && me == n - 1) _exit(3);
    for (int i = 0; strcmp(what, "many") == 0 && i < 100000; ++i) MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "persistent") == 0) persistent();
    if (strcmp(what, "collectives") == 0) collectives(MPI_COMM_WORLD);
    if (strcmp(what, "communicators") == 0) communicators();
    if (strcmp(what, "one-sided") == 0) one_sided();
    MPI_Finalize();
    return 0;
}
