/* Puts, gets or adds eight bytes in a shared window, so many times, for rma_instructions_test.py: rma_instructions put 1000. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const long rounds = atol(argv[2]);
    const int puts = !strcmp(argv[1], "put"), gets = !strcmp(argv[1], "get");
    MPI_Init(&argc, &argv);
    int64_t *memory, value = 3;
    MPI_Win window;
    MPI_Win_allocate_shared(64 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    memory[5] = 0;
    for (long i = 0; i < rounds; ++i) {
        if (puts) MPI_Put(&value, 1, MPI_INT64_T, 0, 5, 1, MPI_INT64_T, window);
        else if (gets) MPI_Get(&value, 1, MPI_INT64_T, 0, 5, 1, MPI_INT64_T, window);
        else MPI_Accumulate(&value, 1, MPI_INT64_T, 0, 5, 1, MPI_INT64_T, MPI_SUM, window);
    }
    MPI_Win_flush_all(window);
    if (memory[5] != (puts ? 3 : gets ? 0 : 3 * rounds)) return 1;
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
