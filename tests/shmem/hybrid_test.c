/* hybrid_test.c: a program may use OpenSHMEM and MPI at once, set up in either order; PE and rank are the same number. */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>

static long counter;
static double halo[1000];

static int exchange(int me, int n)
{
    const int right = (me + 1) % n, left = (me + n - 1) % n;
    int wrong = 0;
    for (int i = 0; i < 20; ++i) {
        double mine[1000], theirs[1000];
        long one = 1, sum = 0;
        for (int k = 0; k < 1000; ++k) mine[k] = me + k + i;
        shmem_long_atomic_inc(&counter, right);
        shmem_double_put(halo, mine, 1000, right);
        MPI_Sendrecv(mine, 1000, MPI_DOUBLE, right, 1, theirs, 1000, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        shmem_barrier_all();
        for (int k = 0; k < 1000; ++k) wrong += halo[k] != theirs[k];
        wrong += sum != n || shmem_long_atomic_fetch(&counter, me) != i + 1;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const int mpi_first = argc > 1 && argv[1][0] == 'm';
    int me, n;
    if (mpi_first) MPI_Init(&argc, &argv);
    shmem_init();
    if (!mpi_first) MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int wrong = me != shmem_my_pe() || n != shmem_n_pes();
    if (!wrong) wrong = exchange(me, n);
    if (wrong) fprintf(stderr, "rank %d: %d values are wrong\n", me, wrong);
    if (!mpi_first) MPI_Finalize();
    shmem_finalize();
    if (mpi_first) MPI_Finalize();
    return wrong != 0;
}
