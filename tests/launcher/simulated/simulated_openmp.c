/* A sum by a parallel loop on each rank, and over the ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int provided, rank;
    long sum = 0, all = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#pragma omp parallel num_threads(4)
    {
#pragma omp for reduction(+ : sum)
        for (long i = 0; i < 1000; ++i) sum += i + rank;
#pragma omp master
        MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); /* other ranks run meanwhile, inside of their own loops */
    }
    printf("%ld\n", all);
    MPI_Finalize();
    return 0;
}
