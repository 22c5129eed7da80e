/* leaks.c WHAT: leaves one thing of a kind on some ranks, or nothing; see leaks_test.py. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, words[64];
static long long one = 1, sum;

/* Whatever there is, begun, ended and given back. */
static void leave_nothing(void) {
    MPI_Request requests[4], gone;
    MPI_Comm copy, half, ring;
    MPI_Datatype inner, outer, kind;
    MPI_Group group;
    MPI_Win win;
    MPI_File file;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, period = 1;
    char name[] = "/tmp/portunus-leaks-XXXXXX";
    MPI_Isend(words, 4, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(words + 8, 4, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(&one, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Recv_init(words, 4, MPI_INT, previous, 2, copy, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Ssend(words + 8, 4, MPI_INT, next, 2, copy);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Irecv(words + 16, 4, MPI_INT, previous, 3, copy, &gone);
    MPI_Request_free(&gone);
    MPI_Send(words, 4, MPI_INT, next, 3, copy);
    MPI_Barrier(copy);
    MPI_Comm_split(copy, rank % 2, rank, &half);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_contiguous(2, inner, &outer);
    MPI_Type_commit(&outer);
    MPI_Type_free(&inner);
    MPI_Type_create_f90_real(6, 30, &kind);
    MPI_Send(words, 1, outer, rank, 4, MPI_COMM_WORLD);
    MPI_Recv(words + 32, 1, outer, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&outer);
    MPI_Comm_group(half, &group);
    MPI_Group_free(&group);
    MPI_Win_create(words, sizeof words, 1, MPI_INFO_NULL, half, &win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    if (rank == 0) (void)!mkstemp(name);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_iwrite_at(file, rank * 64, words, 16, MPI_INT, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Comm_free(&half);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "nothing";
    MPI_Request request;
    MPI_Comm copy;
    MPI_Datatype type;
    MPI_Win win;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leave_nothing();
    if (!strcmp(what, "request") && rank == 1) MPI_Irecv(words, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    if (!strcmp(what, "communicator")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_set_name(copy, "of leaks.c");
    }
    if (!strcmp(what, "datatype") && rank == 2) MPI_Type_contiguous(3, MPI_INT, &type);
    if (!strcmp(what, "window")) MPI_Win_create(words, sizeof words, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (!strcmp(what, "file") && rank == 0) MPI_File_open(MPI_COMM_SELF, argv[0], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (!strcmp(what, "message") && rank == 0) {
        MPI_Send(words, 2, MPI_INT, 1, 6, MPI_COMM_WORLD);
        MPI_Send(words, 4, MPI_INT, 1, 6, MPI_COMM_WORLD);
    }
    if (!strcmp(what, "message")) MPI_Barrier(MPI_COMM_WORLD); /* they have come by now */
    MPI_Finalize();
    return 0;
}
