/* launch.h: how these client programs find one another, knowing nothing of this project: by files in a folder, or over PMI-1.
 *
 * PROGRAM files FOLDER RANK SIZE      PROGRAM pmi (started by MPICH's mpiexec.hydra)
 * Thread: one. */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <portals4.h>

struct launch {
    int rank, size;
    const char *folder; /* NULL: PMI-1 */
    int fd;             /* of PMI-1 */
    char space[256];
    int rounds;
};

/* Ends the program with the place and the sentence. */
#define MUST(holds) ((holds) ? (void)0 : launch_fail(__FILE__, __LINE__, #holds))
void launch_fail(const char *file, int line, const char *what);

void launch_open(struct launch *job, int argc, char **argv);
void launch_close(struct launch *job);
/* Nobody returns before all have called. */
void launch_meet(struct launch *job);
/* The addresses of all ranks, in `all`. Collective. */
void launch_addresses(struct launch *job, ptl_handle_ni_t ni, ptl_process_t *all);

#endif
