/* shmem_putmem_nbi to the next PE, ended by shmem_quiet: overlap and what it takes from the application (measured.h). Any OpenSHMEM.
 * "reduce_nb" and "alltoall_nb" are collectives of this project's shmemx.h, whose rows have the names of MPI's: allreduce, alltoall. */
#include "measured.h"

#include <shmem.h>
#if __has_include(<shmemx.h>)
#include <shmemx.h>
#endif

static int next;
static size_t bytes;
static char *in, *out;
static double *mine, *theirs;
static long *sync;
static double *work_area;

static void meet(void) { shmem_barrier_all(); }
static void reduce(int count) {
    shmem_double_max_to_all(theirs, mine, count, 0, 0, shmem_n_pes(), work_area, sync);
    shmem_barrier_all();
}
static double largest(double value) {
    mine[0] = value;
    reduce(1);
    return theirs[0];
}
static void largest_each(double *values) {
    memcpy(mine, values, sizeof *values * kMost);
    reduce(kMost);
    memcpy(values, theirs, sizeof *values * kMost);
}
static void start(void) { shmem_putmem_nbi(out, in, bytes, next); }
static void wait_for_it(void) { shmem_quiet(); }
#ifdef SHMEMX_REQ_INVALID
static shmemx_req_t request;
static void reduce_nb(void) { shmemx_float_sum_reduce_nb(SHMEM_TEAM_WORLD, (float *)out, (const float *)in, bytes / 4, &request); }
static void alltoall_nb(void) { shmemx_alltoallmem_nb(SHMEM_TEAM_WORLD, out, in, bytes, &request); }
static void wait_for_request(void) { shmemx_req_wait(&request); }
#endif

/* The operation at every size. */
static void measure_sizes(const struct operation *op, const struct wanted *wanted) {
    for (int s = 0; s < wanted->num_sizes; ++s) {
        bytes = wanted->sizes[s];
        in = shmem_calloc((size_t)shmem_n_pes(), bytes + 64);
        out = shmem_calloc((size_t)shmem_n_pes(), bytes + 64);
        if (!in || !out) shmem_global_exit(1);
        measure(op, bytes, wanted->ratio, wanted->seconds, shmem_my_pe() == 0);
        meet();
        shmem_free(out);
        shmem_free(in);
    }
}

int main(int argc, char **argv) {
    const struct operation op = {"put_nbi", start, wait_for_it};
    struct wanted wanted;
    if (!read_wanted(argc, argv, &wanted)) {
        fprintf(stderr, "usage: %s OPERATIONS SIZES RATIO SECONDS, as: %s put_nbi 8,64 2 0.3\n", argv[0], argv[0]);
        return 2;
    }
    shmem_init();
    const size_t area = kMost / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? kMost / 2 + 1 : SHMEM_REDUCE_MIN_WRKDATA_SIZE;
    mine = shmem_malloc(sizeof *mine * kMost);
    theirs = shmem_malloc(sizeof *theirs * kMost);
    work_area = shmem_malloc(sizeof *work_area * area);
    sync = shmem_malloc(sizeof *sync * SHMEM_REDUCE_SYNC_SIZE);
    if (!mine || !theirs || !work_area || !sync) shmem_global_exit(1);
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    next = (shmem_my_pe() + 1) % shmem_n_pes();
    calibrate();
    if (among(wanted.operations, op.name)) measure_sizes(&op, &wanted);
#ifdef SHMEMX_REQ_INVALID
    const struct operation sum = {"allreduce", reduce_nb, wait_for_request}, turn = {"alltoall", alltoall_nb, wait_for_request};
    if (among(wanted.operations, "reduce_nb")) measure_sizes(&sum, &wanted);
    if (among(wanted.operations, "alltoall_nb")) measure_sizes(&turn, &wanted);
#endif
    shmem_finalize();
    return 0;
}
