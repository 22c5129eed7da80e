/* one_node.c: ranks of one host are one node, whatever launchers started them: they share memory. Rank 0 says how many there are. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Comm node;
    MPI_Win window;
    int rank, size, *mine, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, node, &mine, &window);
    MPI_Win_fence(0, window);
    *mine = 100 + rank;
    MPI_Win_fence(0, window);
    for (int i = 0; i < size; ++i) {
        MPI_Aint bytes;
        int unit, *theirs;
        MPI_Win_shared_query(window, i, &bytes, &unit, &theirs);
        bad += *theirs != 100 + i;
    }
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
    if (rank == 0) printf("a node of %d, %d wrong\n", size, bad);
    MPI_Finalize();
    return bad != 0;
}
