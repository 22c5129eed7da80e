/* fatal.c: an error that nothing handles: "fatal send" by the last rank, "fatal before" without MPI_Init, "fatal abort" by MPI_Abort. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size, value = 0;
    if (argc != 2) return 2;
    if (strcmp(argv[1], "before") == 0) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1 && strcmp(argv[1], "send") == 0) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    if (rank == size - 1 && strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
