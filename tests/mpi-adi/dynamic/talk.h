/* talk.h: what two groups do that have just come together, by an intercommunicator that this side calls first, or the other one. */
#ifndef TALK_H
#define TALK_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-adi/mpi.h"

static int failures, rank, size;
#define EXPECT(holds)                                                                               \
    do {                                                                                            \
        if (!(holds)) {                                                                             \
            ++failures;                                                                             \
            fprintf(stderr, "rank %d of %d: %s:%d: not so: %s\n", rank, size, __FILE__, __LINE__, #holds); \
        }                                                                                           \
    } while (0)

/* Messages, short and long, between equal ranks and from anybody; collectives on both sides' communicator; the union and its
 * collectives; communicators made of it; one-sided access. `first`: of one side alone. */
static void talk(MPI_Comm inter, int first) {
    enum { LONG = 300000 };
    int remote, local, me, answer = -1, is_inter = 0, sum = 0, one = 1;
    MPI_Comm both, copy, half;
    MPI_Status status;
    int *numbers = malloc(LONG * sizeof *numbers), *theirs = malloc(LONG * sizeof *theirs);
    MPI_Comm_test_inter(inter, &is_inter);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_size(inter, &local);
    MPI_Comm_rank(inter, &me);
    EXPECT(is_inter);
    for (int i = 0; i < LONG; ++i) numbers[i] = (first ? 1000000 : 0) + me * 1000 + i % 1000;

    /* Rank i of the smaller side and those of the larger one that are i modulo its size. */
    if (me < remote)
        for (int peer = me; peer < remote; peer += local) {
            if (peer >= local && local >= remote) break;
            MPI_Sendrecv(&me, 1, MPI_INT, peer, 1, &answer, 1, MPI_INT, peer, 1, inter, &status);
            EXPECT(answer == peer && status.MPI_SOURCE == peer);
            MPI_Sendrecv(numbers, LONG, MPI_INT, peer, 2, theirs, LONG, MPI_INT, MPI_ANY_SOURCE, 2, inter, &status);
            EXPECT(theirs[7] == (first ? 0 : 1000000) + status.MPI_SOURCE * 1000 + 7 && theirs[LONG - 1] == theirs[0] + (LONG - 1) % 1000);
        }
    else if (me >= remote)
        for (int peer = me % remote, once = 1; once; once = 0) {
            MPI_Sendrecv(&me, 1, MPI_INT, peer, 1, &answer, 1, MPI_INT, peer, 1, inter, &status);
            EXPECT(answer == peer);
            MPI_Sendrecv(numbers, LONG, MPI_INT, peer, 2, theirs, LONG, MPI_INT, MPI_ANY_SOURCE, 2, inter, &status);
            EXPECT(theirs[7] == (first ? 0 : 1000000) + status.MPI_SOURCE * 1000 + 7);
        }
    free(numbers);
    free(theirs);

    EXPECT(MPI_Barrier(inter) == MPI_SUCCESS);
    EXPECT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter) == MPI_SUCCESS && sum == remote);
    answer = first && me == 0 ? 4711 : -1;
    EXPECT(MPI_Bcast(&answer, 1, MPI_INT, !first ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, inter) == MPI_SUCCESS);
    EXPECT(answer == 4711 || (first && me != 0));

    EXPECT(MPI_Intercomm_merge(inter, !first, &both) == MPI_SUCCESS);
    int all, place;
    MPI_Comm_size(both, &all);
    MPI_Comm_rank(both, &place);
    EXPECT(all == local + remote && place == (first ? me : remote + me));
    for (int round = 0; round < 20; ++round) {
        sum = 0;
        EXPECT(MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, both) == MPI_SUCCESS && sum == all * (all - 1) / 2);
    }
    double* vector = malloc(50000 * sizeof *vector);
    for (int i = 0; i < 50000; ++i) vector[i] = i % 100 == place ? 1 : 0;
    EXPECT(MPI_Allreduce(MPI_IN_PLACE, vector, 50000, MPI_DOUBLE, MPI_SUM, both) == MPI_SUCCESS);
    for (int i = 0; i < 50000; ++i)
        if (vector[i] != (i % 100 < all)) {
            EXPECT(!"the sum of all");
            break;
        }
    free(vector);
    EXPECT(MPI_Sendrecv(&place, 1, MPI_INT, (place + 1) % all, 3, &answer, 1, MPI_INT, (place + all - 1) % all, 3, both, &status) ==
           MPI_SUCCESS);
    EXPECT(answer == (place + all - 1) % all);
    EXPECT(MPI_Comm_dup(both, &copy) == MPI_SUCCESS && MPI_Barrier(copy) == MPI_SUCCESS && MPI_Comm_free(&copy) == MPI_SUCCESS);
    EXPECT(MPI_Comm_split(both, place % 2, 0, &half) == MPI_SUCCESS && MPI_Barrier(half) == MPI_SUCCESS);
    EXPECT(MPI_Comm_free(&half) == MPI_SUCCESS);
    MPI_Win window;
    int *memory, none = 0;
    EXPECT(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, both, &memory, &window) == MPI_SUCCESS);
    *memory = -1;
    MPI_Win_fence(0, window);
    EXPECT(MPI_Put(&place, 1, MPI_INT, (place + 1) % all, 0, 1, MPI_INT, window) == MPI_SUCCESS);
    MPI_Win_fence(0, window);
    EXPECT(*memory == (place + all - 1) % all && none == 0);
    MPI_Win_free(&window);
    EXPECT(MPI_Comm_free(&both) == MPI_SUCCESS);
}

static inline int entries_of(const char* folder) {
    int count = 0;
    DIR* open = opendir(folder);
    for (const struct dirent* each; open != NULL && (each = readdir(open)) != NULL;) ++count;
    if (open != NULL) closedir(open);
    return count;
}

#endif
