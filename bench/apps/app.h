/* app.h: what the programs share: options, a clock, and the verdict of all PEs.
 *
 * Every program takes --help and --NAME NUMBER, prints one line at PE 0 (what ran, how long it took, whether the result is
 * right), and ends with status 0 only if all PEs found theirs right. Plain OpenSHMEM: any library's oshcc compiles it.
 */
#ifndef APP_H
#define APP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <shmem.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    const char *name, *meaning;
    long value, least, most;
} Option;

static const char *app_name;
static long app_wrong; /* at PE 0: PEs that are not content */

static void app_leave(int status) {
    shmem_barrier_all();
    shmem_finalize();
    exit(status);
}

static void app_help(const char *what, const Option *options, int count) {
    printf("%s: %s\n\nusage: oshrun -n PES %s [--NAME NUMBER ...]\n\n", app_name, what, app_name);
    for (int i = 0; i < count; ++i)
        printf("  --%-10s %s (%ld)\n", options[i].name, options[i].meaning, options[i].value);
}

/* Starts OpenSHMEM and reads the command line, which is the same at all PEs. Ends the program after --help, and with status
 * 2 after what it does not understand. */
static void app_start(int argc, char **argv, const char *what, Option *options, int count) {
    const char *const slash = strrchr(argv[0], '/');
    app_name = slash ? slash + 1 : argv[0];
    shmem_init();
    const int speaks = shmem_my_pe() == 0;
    for (int a = 1; a < argc; a += 2) {
        Option *option = options;
        char *end = NULL;
        if (strcmp(argv[a], "--help") == 0) {
            if (speaks) app_help(what, options, count);
            app_leave(0);
        }
        while (option < options + count && (strncmp(argv[a], "--", 2) != 0 || strcmp(argv[a] + 2, option->name) != 0)) ++option;
        const int known = option < options + count;
        if (known && a + 1 < argc) option->value = strtol(argv[a + 1], &end, 10);
        if (known && end && *end == '\0' && end != argv[a + 1] && option->value >= option->least && option->value <= option->most)
            continue;
        if (speaks && !known) fprintf(stderr, "%s: there is no option '%s'; see --help\n", app_name, argv[a]);
        if (speaks && known)
            fprintf(stderr, "%s: %s needs a number from %ld to %ld\n", app_name, argv[a], option->least, option->most);
        app_leave(2);
    }
}

static double app_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Symmetric memory, zeroed; without it the program ends on all PEs with a sentence. */
static inline void *app_memory(size_t bytes) {
    void *const memory = shmem_calloc(bytes, 1);
    if (!memory) {
        if (shmem_my_pe() == 0)
            fprintf(stderr, "%s: the symmetric heap has no %zu bytes; set SHMEM_SYMMETRIC_SIZE\n", app_name, bytes);
        app_leave(2);
    }
    return memory;
}

/* Local memory. */
static inline void *app_local(size_t bytes) {
    void *const memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "%s: there is no memory for %zu bytes\n", app_name, bytes);
        shmem_global_exit(2);
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

/* Collects what all PEs found, prints the line at PE 0, and ends the program. */
__attribute__((format(printf, 3, 4))) static inline int app_verdict(int right, double seconds, const char *figures, ...) {
    if (!right) shmem_long_atomic_inc(&app_wrong, 0);
    shmem_barrier_all();
    const long wrong = shmem_long_atomic_fetch(&app_wrong, 0);
    if (shmem_my_pe() == 0) {
        va_list args;
        va_start(args, figures);
        printf("%s on %d PEs: ", app_name, shmem_n_pes());
        vprintf(figures, args);
        va_end(args);
        if (wrong == 0) printf(", %.6f s, verified\n", seconds);
        else printf(", %.6f s, WRONG at %ld PEs\n", seconds, wrong);
        fflush(stdout);
    }
    shmem_barrier_all();
    shmem_finalize();
    return wrong == 0 ? 0 : 1;
}

#endif
