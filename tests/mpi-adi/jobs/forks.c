/* forks.c: children of rank 0 that call MPI get an error, and the job goes on as if there were none. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static MPI_Comm copy;

static void nothing(void) {}
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void on_a_copy(void) { MPI_Barrier(copy); }
static void send(void) {
    int word = 1;
    MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}
static void again(void) { MPI_Init(NULL, NULL); }
static void finalize(void) { MPI_Finalize(); }
static void give_up(void) { MPI_Abort(MPI_COMM_WORLD, 3); }

int main(int argc, char **argv) {
    static void (*const calls[])(void) = {nothing, barrier, on_a_copy, send, again, finalize, give_up};
    int rank, failures = 0, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (i = 0; rank == 0 && i < (int)(sizeof calls / sizeof *calls); ++i) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            calls[i]();
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) MPI_Abort(MPI_COMM_WORLD, 2);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) == 0) != (i == 0)) {
            ++failures;
            fprintf(stderr, "forks: child %d ended with status %#x\n", i, (unsigned)status);
        }
    }
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return failures != 0;
}
