/* endings.c: one program, many ways to end. What each should print and return is in endings_test.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "well";
    int rank, size, value = 1, room[2] = {0, 0};

    if (!strcmp(how, "before")) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        if (!strcmp(how, "rank")) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
        if (!strcmp(how, "tag")) MPI_Send(&value, 1, MPI_INT, 0, -1, MPI_COMM_WORLD);
        if (!strcmp(how, "truncate")) {
            MPI_Request request;
            MPI_Irecv(room, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
            MPI_Send(room, 2, MPI_INT, rank, 5, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (!strcmp(how, "type")) MPI_Recv(room, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 42);
        if (!strcmp(how, "abort256")) MPI_Abort(MPI_COMM_WORLD, 256);
        if (!strcmp(how, "twice")) MPI_Init(NULL, NULL);
        if (!strcmp(how, "requests")) {
            MPI_Request request;
            for (;;) MPI_Irecv(room, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        }
    }
    if (strcmp(how, "well") && strcmp(how, "after") && strcmp(how, "freed"))
        MPI_Recv(room, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* never sent: the job is ended */
    if (!strcmp(how, "freed")) { /* MPI_Finalize delivers what nobody waits for */
        static int large[100000], got[100000];
        MPI_Request request;
        large[99999] = rank + 1;
        MPI_Isend(large, 100000, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Recv(got, 100000, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got[99999] != (rank + size - 1) % size + 1) return 3;
    }
    MPI_Finalize();
    if (!strcmp(how, "after")) MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
