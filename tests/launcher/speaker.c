/* Prints a line before the library begins and one after that, and ends as its argument says: abort, store (to where nothing
   is), kill, exit (without the C library's end), wait (for ever) or early (abort before the library begins). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined BY_MPI
#include <mpi.h>
static void begin(void) { MPI_Init(NULL, NULL); }
#elif defined BY_SHMEM
#include <shmem.h>
static void begin(void) { shmem_init(); }
#else
#include <portals4.h>
static void begin(void) { PtlInit(); }
#endif

int main(int argc, char **argv) {
    const char *end = argc > 1 ? argv[1] : "";
    volatile int *volatile nowhere = NULL;
    puts("before");
    if (strcmp(end, "early") == 0) abort();
    begin();
    puts("after");
    if (strcmp(end, "abort") == 0) abort();
    if (strcmp(end, "store") == 0) *nowhere = 1;
    if (strcmp(end, "kill") == 0) raise(SIGKILL);
    if (strcmp(end, "exit") == 0) _exit(3);
    for (;;) pause();
}
