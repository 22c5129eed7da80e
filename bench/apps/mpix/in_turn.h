/* in_turn.h: what the programs of this folder share. Each does the same work by the standard's calls and by those of mpi-ext.h, in turn,
 * and prints one line: NAME ranks=N size=N plain_us=T new_us=T ratio=NEW/PLAIN OK. The times are medians of rank 0's, of one step.
 */
#ifndef IN_TURN_H
#define IN_TURN_H

#include "../mpi/app.h"

#include <mpi-ext.h>

enum { kMostForms = 3 };

typedef struct {
    const char *name;  /* plain, new, or a third one's */
    void (*run)(void); /* all steps of a run, on all ranks */
    double seconds;    /* the median of a run */
} Form;

static int by_size(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts the numbers. */
static double median_of(double *numbers, long count) {
    qsort(numbers, (size_t)count, sizeof *numbers, by_size);
    return numbers[count / 2];
}

static double seconds_of(const Form *form) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    form->run();
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

/* Runs the forms in turn, `rounds` times after one that does not count. */
static void in_turn(Form *forms, int count, long rounds) {
    double *times[kMostForms];
    for (int f = 0; f < count; ++f) {
        times[f] = app_memory((size_t)rounds * sizeof(double));
        seconds_of(&forms[f]);
    }
    for (long round = 0; round < rounds; ++round)
        for (int f = 0; f < count; ++f) times[f][round] = seconds_of(&forms[f]);
    for (int f = 0; f < count; ++f) {
        forms[f].seconds = median_of(times[f], rounds);
        free(times[f]);
    }
}

/* Prints the line at rank 0 with the time of each of `steps`, and ends the program. `more`: other figures. */
static int in_turn_verdict(int right, long size, const Form *forms, int count, long steps, const char *more) {
    const int all_wrong = app_wrong_ranks(right);
    if (me == 0) {
        printf("%s ranks=%d size=%ld", app_name, ranks, size);
        for (int f = 0; f < count; ++f) printf(" %s_us=%.2f", forms[f].name, forms[f].seconds / (double)steps * 1e6);
        printf(" ratio=%.3f%s ", forms[1].seconds / forms[0].seconds, more);
        if (all_wrong == 0) printf(" OK\n");
        else printf(" WRONG at %d ranks\n", all_wrong);
        fflush(stdout);
    }
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}

#endif
