/* leaks.c WHAT: leaves one thing of a kind on some ranks, or nothing; see leaks_test.py. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, words[64];
static long long one = 1, sum;

static void adds_nothing(void *in, void *inout, int *length, MPI_Datatype *type) { (void)in, (void)inout, (void)length, (void)type; }
static void does_nothing(MPI_Comm *comm, int *error, ...) { (void)comm, (void)error; }

/* Objects that others hold are not left: a handler, a key and an operation that were freed before them. */
static void leave_nothing_held(void) {
    MPI_Comm copy;
    MPI_Errhandler handler, asked;
    MPI_Group all, some;
    MPI_Op op;
    MPI_Info info, told;
    MPI_Request request;
    int key, none = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_errhandler(does_nothing, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_get_errhandler(copy, &asked);
    MPI_Errhandler_free(&asked);
    MPI_Errhandler_free(&handler);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, words);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_group(copy, &all);
    MPI_Group_excl(all, 1, &none, &some);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    MPI_Op_create(adds_nothing, 1, &op);
    MPI_Iallreduce(&one, &sum, 1, MPI_LONG_LONG, op, copy, &request);
    MPI_Op_free(&op);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Info_create(&info);
    MPI_Comm_set_info(copy, info);
    MPI_Comm_get_info(copy, &told);
    MPI_Info_free(&info);
    MPI_Info_free(&told);
    MPI_Comm_free(&copy);
}

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
    MPI_Group group;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    int key;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leave_nothing();
    leave_nothing_held();
    if (!strcmp(what, "request") && rank == 1) MPI_Irecv(words, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
    if (!strcmp(what, "communicator")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_set_name(copy, "of leaks.c");
    }
    if (!strcmp(what, "datatype") && rank == 2) MPI_Type_contiguous(3, MPI_INT, &type);
    if (!strcmp(what, "window")) MPI_Win_create(words, sizeof words, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (!strcmp(what, "file") && rank == 0) MPI_File_open(MPI_COMM_SELF, argv[0], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (!strcmp(what, "group") && rank == 1) {
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Comm_group(MPI_COMM_WORLD, &group);
    }
    if (!strcmp(what, "operation") && rank == 0) MPI_Op_create(adds_nothing, 1, &op);
    if (!strcmp(what, "info") && rank == 2) MPI_Info_create(&info);
    if (!strcmp(what, "errhandler") && rank == 0) {
        MPI_Comm_create_errhandler(does_nothing, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    }
    if (!strcmp(what, "keyval") && rank == 0) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    if (!strcmp(what, "message") && rank == 0) {
        MPI_Send(words, 2, MPI_INT, 1, 6, MPI_COMM_WORLD);
        MPI_Send(words, 4, MPI_INT, 1, 6, MPI_COMM_WORLD);
    }
    if (!strcmp(what, "message")) MPI_Barrier(MPI_COMM_WORLD); /* they have come by now */
    MPI_Finalize();
    return 0;
}
