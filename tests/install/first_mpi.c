/* Every rank sends its number to the next one. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int me, n, from = -1;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Irecv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
    MPI_Send(&me, 1, MPI_INT, (me + 1) % n, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("rank %d of %d heard from rank %d\n", me, n, from);
    MPI_Finalize();
    return from == (me + n - 1) % n ? 0 : 1;
}
