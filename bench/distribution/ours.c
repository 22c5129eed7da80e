/* ours.c: the cases by plans that are kept. usage: ours SECONDS WAY BYTES.. ; WAY: run, or start (start and wait) */
#include <ccc.h>
#include <shmem.h>

#include "cases.h"

static double slowest, mine;
static long total, wrong_here;

static void require(int code) {
    if (code == CCC_SUCCESS) return;
    fprintf(stderr, "%s\n", ccc_explain());
    shmem_global_exit(2);
}

static ccc_layout layout_of(const Case *c, int to) {
    ccc_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.axes = 2;
    const Side *const side = to ? &c->to : &c->from;
    for (int d = 0; d < 2; ++d) {
        const int64_t n = c->n[to && c->transposed ? 1 - d : d];
        require(ccc_block_cyclic(&layout.axis[d], n, side->block[d] < n ? side->block[d] : n, side->grid[d]));
    }
    return layout;
}
static size_t bytes_of(const ccc_layout *layout) { return (size_t)(ccc_room(&layout->axis[0]) * ccc_room(&layout->axis[1])) * sizeof(double); }

static void once(ccc_plan plan, int starts, const void *from, void *to) {
    if (!starts) {
        require(ccc_plan_run(plan, from, to));
    } else {
        require(ccc_plan_start(plan, from, to));
        require(ccc_plan_wait(plan));
    }
}

static void measure(const char *who, const Case *c, const ccc_layout *from, const ccc_layout *to, double seconds, int starts, int checks) {
    static const int turned[2] = {1, 0};
    double samples[kMostSamples];
    ccc_plan plan;
    double *const source = shmem_malloc(bytes_of(from) + 8), *const target = shmem_calloc(bytes_of(to) + 8, 1);
    if (!source || !target) {
        if (shmem_my_pe() == 0) fprintf(stderr, "set SHMEM_SYMMETRIC_SIZE to more\n");
        shmem_global_exit(2);
    }
    memset(source, 0, bytes_of(from));
    if (checks) visit(c, 0, shmem_my_pe(), source, ccc_room(&from->axis[1]), 1);
    const double planned = now();
    require(ccc_plan_create(from, to, c->transposed ? turned : NULL, sizeof(double), &plan));
    const double plan_time = now() - planned;
    once(plan, starts, source, target);
    wrong_here = checks ? (long)visit(c, 1, shmem_my_pe(), target, ccc_room(&to->axis[1]), 0) : 0;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &wrong_here, 1);
    const long wrong = total;
    int count = 0;
    for (double spent = 0; goes_on(count, spent, seconds); ++count) {
        shmem_barrier_all();
        const double begin = now();
        once(plan, starts, source, target);
        mine = now() - begin;
        shmem_double_max_reduce(SHMEM_TEAM_WORLD, &slowest, &mine, 1);
        samples[count] = slowest;
        spent += slowest;
    }
    if (shmem_my_pe() == 0) {
        report(who, c, samples, count, wrong != 0);
        printf("plan case=%s bytes=%lld us=%.1f memory=%zu\n", c->name, (long long)(c->n[0] * c->n[1] * 8), plan_time, ccc_plan_memory(plan));
    }
    require(ccc_plan_free(&plan));
    shmem_free(target);
    shmem_free(source);
}

/* A whole array from PE 0 to the last PE, beside memcpy of as much by one. */
static void whole_move(int64_t bytes, double seconds, int starts) {
    Case c;
    memset(&c, 0, sizeof c);
    strcpy(c.name, "whole-move");
    c.n[0] = 1, c.n[1] = bytes / 8;
    ccc_layout from, to;
    memset(&from, 0, sizeof from);
    from.axes = 1;
    require(ccc_compress(&from.axis[0], bytes / 8));
    to = from;
    to.first_pe = shmem_n_pes() - 1;
    from.axes = to.axes = 2;
    require(ccc_compress(&from.axis[1], 1));
    to.axis[1] = from.axis[1];
    measure("ours", &c, &from, &to, seconds, starts, 0);
    char *const a = malloc((size_t)bytes), *const b = malloc((size_t)bytes);
    double samples[kMostSamples];
    int count = 0;
    memset(a, 1, (size_t)bytes), memset(b, 2, (size_t)bytes);
    for (double spent = 0; shmem_my_pe() == 0 && goes_on(count, spent, seconds); ++count) {
        const double begin = now();
        memcpy(a, b, (size_t)bytes);
        __asm__ volatile("" ::"r"(a) : "memory");
        samples[count] = now() - begin;
        spent += samples[count];
    }
    if (shmem_my_pe() == 0) report("memcpy", &c, samples, count, 0);
    free(a), free(b);
}

int main(int argc, char **argv) {
    shmem_init();
    if (argc < 4) return 2;
    const double seconds = atof(argv[1]);
    const int starts = strcmp(argv[2], "start") == 0;
    for (int a = 3; a < argc; ++a) {
        const int64_t bytes = atoll(argv[a]);
        for (int kind = 0; kind < kKinds; ++kind) {
            const Case c = make_case(kind, bytes, shmem_n_pes());
            const ccc_layout from = layout_of(&c, 0), to = layout_of(&c, 1);
            measure("ours", &c, &from, &to, seconds, starts, 1);
        }
        whole_move(bytes, seconds, starts);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) printf("compare done\n");
    shmem_finalize();
    return 0;
}
