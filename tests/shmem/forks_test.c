/* forks_test.c: children of PE 0 that call OpenSHMEM end with a sentence, and the job goes on as if there were none. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long word;

static void nothing(void) {}
static void barrier(void) { shmem_barrier_all(); }
static void put(void) { shmem_long_p(&word, 1, 1); }
static void allocate(void) { shmem_free(shmem_malloc(64)); }
static void again(void) { shmem_init(); }
static void finalize(void) { shmem_finalize(); }

int main(void) {
    static void (*const calls[])(void) = {nothing, barrier, put, allocate, again, finalize};
    int failures = 0;
    shmem_init();
    for (int i = 0; shmem_my_pe() == 0 && i < (int)(sizeof calls / sizeof *calls); ++i) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            calls[i]();
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) shmem_global_exit(2);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) == 0) != (i == 0)) {
            ++failures;
            fprintf(stderr, "forks: child %d ended with status %#x\n", i, (unsigned)status);
        }
    }
    shmem_barrier_all();
    failures += word != 0;
    shmem_finalize();
    return failures != 0;
}
