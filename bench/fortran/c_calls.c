/* c_calls.c: the calls of overhead.f90 in C, in the same process. */
#include <mpi.h>

/* `count` times call number `which`; the seconds. */
double c_calls(int which, int count, MPI_Fint comm_number) {
    MPI_Comm comm = MPI_Comm_f2c(comm_number);
    MPI_Request request;
    MPI_Status status;
    int result;
    char byte = 0;
    MPI_Recv(&byte, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, &status);
    const double begin = MPI_Wtime();
    for (int i = 0; i < count; ++i) {
        switch (which) {
            case 1: MPI_Comm_rank(MPI_COMM_WORLD, &result); break;
            case 2: MPI_Comm_rank(comm, &result); break;
            case 3: MPI_Get_count(&status, MPI_BYTE, &result); break;
            case 4: MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm); break;
            case 5: MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, &status); break;
            case 6:
                MPI_Isend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                break;
            default: MPI_Iprobe(MPI_PROC_NULL, 0, comm, &result, &status);
        }
    }
    return MPI_Wtime() - begin;
}
