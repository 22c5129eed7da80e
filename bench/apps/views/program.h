/* program.h: what the programs of views share: three forms of one program, options, a clock, a verdict.
 *
 * FORM is DECLARED (declared views and streams), PAPER (the paper's calls) or MPI_FORM. Each program prints, at process 0, one line
 * "NAME FORM processes seconds verified|WRONG" and ends with status 0 only if the result is right.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define PAPER 1
#define DECLARED 2
#define MPI_FORM 3
#if FORM == MPI_FORM
#include <mpi.h>
#define FORM_NAME "mpi"
#else
#include <vdc.h>
#if FORM == PAPER
#define FORM_NAME "paper"
#else
#define FORM_NAME "declared"
#endif
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int me, n;

static void check_code(int code, const char *what) {
    if (code == 0) return;
#if FORM == MPI_FORM
    fprintf(stderr, "%s failed with %d\n", what, code);
    MPI_Abort(MPI_COMM_WORLD, 1);
#else
    fprintf(stderr, "%s: %s\n", what, Vdcx_explain());
    Vdc_exit(1);
#endif
}
#define TRY(call) check_code(call, #call)

static inline double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start(int argc, char **argv) {
#if FORM == MPI_FORM
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
#else
    Vdc_startup(argc, argv);
    me = Vdc_proc_id;
    n = Vdc_nprocs;
#endif
}

/* The number after argv[0] number i, or `otherwise`. */
static inline long argument(int argc, char **argv, int i, long otherwise) { return argc > i ? atol(argv[i]) : otherwise; }

static inline void everybody(void) {
#if FORM == MPI_FORM
    MPI_Barrier(MPI_COMM_WORLD);
#else
    Vdc_barrier(0);
#endif
}

#if FORM != MPI_FORM
/* Shared memory at the same address everywhere. Collective. */
static inline void *shared(size_t bytes) {
    static void *at;
    if (me == 0) {
        at = Vdc_malloc(bytes);
        memset(at, 0, bytes);
    }
    TRY(Vdcx_distribute(&at, sizeof at));
    return at;
}
static inline void declare(int view, void *at, size_t bytes) {
    const Vdcx_piece piece = {at, bytes, 1, 0};
    TRY(Vdcx_declare(view, &piece, 1, VDCX_WHOLE));
}
#endif
#if FORM == PAPER
#define WRITE_VIEW(v) Vdc_acquire_view(v)
#define WRITTEN(v) Vdc_release_view(v)
#define READ_VIEW(v) Vdc_acquire_Rview(v)
#define HAVE_READ(v) Vdc_release_Rview(v)
#elif FORM == DECLARED
#define WRITE_VIEW(v) TRY(Vdcx_acquire(v, VDCX_WRITE, -1))
#define WRITTEN(v) TRY(Vdcx_release(v))
#define READ_VIEW(v) TRY(Vdcx_acquire(v, VDCX_READ, -1))
#define HAVE_READ(v) TRY(Vdcx_release(v))
#endif

static int verdict(const char *name, double seconds, int right) {
#if FORM == MPI_FORM
    int all = 0;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (me == 0) printf("%s " FORM_NAME " %d %.6f %s\n", name, n, seconds, all ? "verified" : "WRONG");
    MPI_Finalize();
    return all ? 0 : 1;
#else
    if (!right) {
        printf("%s " FORM_NAME " %d %.6f WRONG at process %d\n", name, n, seconds, me);
        fflush(stdout);
        Vdc_exit(1);
    }
    if (me == 0) printf("%s " FORM_NAME " %d %.6f verified\n", name, n, seconds);
    fflush(stdout);
    Vdc_exit(0);
    return 0;
#endif
}

#endif
