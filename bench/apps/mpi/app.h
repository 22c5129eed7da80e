/* app.h: what the MPI programs share: options, and the verdict of all ranks.
 *
 * Every program takes --help and --NAME NUMBER, prints one line at rank 0 (what ran, how long it took, whether the result is
 * right), and ends with status 0 only if all ranks found theirs right. Plain MPI: any library's mpicc compiles it.
 */
#ifndef MPI_APP_H
#define MPI_APP_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *meaning;
    long value, least, most;
} Option;

/* The threads' calls that a program makes; it defines another level before it includes this. */
#ifndef APP_THREADS
#define APP_THREADS MPI_THREAD_SINGLE
#endif

static const char *app_name;
static int me, ranks;

static void app_leave(int status) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    exit(status);
}

/* Starts MPI and reads the command line. Ends the program after --help, and with status 2 after what it does not understand. */
static void app_start(int argc, char **argv, const char *what, Option *options, int count) {
    const char *const slash = strrchr(argv[0], '/');
    app_name = slash ? slash + 1 : argv[0];
    int threads = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, APP_THREADS, &threads);
    if (threads < APP_THREADS) {
        fprintf(stderr, "%s: this MPI lets threads not call it as this program does; use one with MPI_THREAD_MULTIPLE\n", app_name);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int a = 1; a < argc; a += 2) {
        Option *option = options;
        char *end = NULL;
        if (strcmp(argv[a], "--help") == 0) {
            if (me == 0) {
                printf("%s: %s\n\nusage: mpiexec -n RANKS %s [--NAME NUMBER ...]\n\n", app_name, what, app_name);
                for (int i = 0; i < count; ++i)
                    printf("  --%-10s %s (%ld)\n", options[i].name, options[i].meaning, options[i].value);
            }
            app_leave(0);
        }
        while (option < options + count && (strncmp(argv[a], "--", 2) != 0 || strcmp(argv[a] + 2, option->name) != 0)) ++option;
        const int known = option < options + count;
        if (known && a + 1 < argc) option->value = strtol(argv[a + 1], &end, 10);
        if (known && end && *end == '\0' && end != argv[a + 1] && option->value >= option->least && option->value <= option->most)
            continue;
        if (me == 0 && !known) fprintf(stderr, "%s: there is no option '%s'; see --help\n", app_name, argv[a]);
        if (me == 0 && known)
            fprintf(stderr, "%s: %s needs a number from %ld to %ld\n", app_name, argv[a], option->least, option->most);
        app_leave(2);
    }
}

/* Zeroed memory. */
static inline void *app_memory(size_t bytes) {
    void *const memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) {
        fprintf(stderr, "%s: there is no memory for %zu bytes\n", app_name, bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

/* A number that looks random, for each place of a sequence (the finaliser of SplitMix64). */
static inline uint64_t app_random(uint64_t place) {
    uint64_t z = (place + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* This rank's share of `all` things: how many it has, and where they begin. */
static inline long app_share(long all, long *first) {
    *first = all * me / ranks;
    return all * (me + 1) / ranks - *first;
}

/* Collects what all ranks found: how many found theirs wrong. */
static int app_wrong_ranks(int right) {
    int wrong = !right, all_wrong = 0;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all_wrong;
}

/* Prints the line at rank 0, and ends the program. */
__attribute__((format(printf, 3, 4))) static inline int app_verdict(int right, double seconds, const char *figures, ...) {
    const int all_wrong = app_wrong_ranks(right);
    if (me == 0) {
        va_list args;
        va_start(args, figures);
        printf("%s on %d ranks: ", app_name, ranks);
        vprintf(figures, args);
        va_end(args);
        if (all_wrong == 0) printf(", %.6f s, verified\n", seconds);
        else printf(", %.6f s, WRONG at %d ranks\n", seconds, all_wrong);
        fflush(stdout);
    }
    MPI_Finalize();
    return all_wrong == 0 ? 0 : 1;
}

#endif
