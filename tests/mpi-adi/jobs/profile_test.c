/* profile_test.c: a program may define MPI functions itself and reach the library's by their PMPI names (MPI-5.0, 15.2). */
#include <mpi.h>

static int sends;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    ++sends;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int abi_handles_are_right(void);

int main(int argc, char **argv) {
    int rank, size, in = -1;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return sends == 1 && in == (rank + size - 1) % size && abi_handles_are_right() ? 0 : 1;
}
