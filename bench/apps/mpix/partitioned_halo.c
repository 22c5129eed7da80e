/* A stencil on a grid whose rows are spread over the ranks, and whose columns over each rank's threads. Outer rows go to the neighbours as
 * partitioned messages, of which each thread's part leaves when the thread has computed it (new); or as messages that one thread sends when
 * all have computed everything (plain), or their outer rows, for which they wait for one another once more (outer). */
#define _GNU_SOURCE
#define APP_THREADS MPI_THREAD_MULTIPLE
#include "stencil.h"

#include <pthread.h>

enum { kPlain, kNew, kOuter, kWays, kReceives = 2, kHalo = 4, kMostThreads = 256 };

static long threads;
static int way;
static MPI_Request halos[kWays][2][kHalo]; /* for each of the two grids: receives, then sends */
static pthread_barrier_t all_threads;

static void make_halo(int which, int g) {
    const int whole = (int)columns, part = (int)(columns / threads), n = (int)threads, tag = 2 * g;
    uint32_t *const from[] = {grids[g] + columns, grids[g] + count * columns}, *const to[] = {grids[g], grids[g] + (count + 1) * columns};
    const int rank[] = {up, down};
    MPI_Request *const halo = halos[which][g];
    for (int i = 0; i < kReceives; ++i) {
        if (which == kNew) {
            MPI_Precv_init(to[i], n, part, MPI_UINT32_T, rank[i], tag + i, MPI_COMM_WORLD, MPI_INFO_NULL, &halo[i]);
            MPI_Psend_init(from[i], n, part, MPI_UINT32_T, rank[i], tag + !i, MPI_COMM_WORLD, MPI_INFO_NULL, &halo[kReceives + i]);
        } else {
            MPI_Recv_init(to[i], whole, MPI_UINT32_T, rank[i], tag + i, MPI_COMM_WORLD, &halo[i]);
            MPI_Send_init(from[i], whole, MPI_UINT32_T, rank[i], tag + !i, MPI_COMM_WORLD, &halo[kReceives + i]);
        }
    }
}

/* Called before the outer rows of a grid are computed: what is sent in parts has begun then. */
static void expect_halo(int g) { MPI_Startall(way == kNew ? kHalo : kReceives, halos[way][g]); }
static void send_rows(int g) { MPI_Startall(kHalo - kReceives, halos[way][g] + kReceives); }
static void send_part(int g, int part) {
    for (int i = kReceives; i < kHalo; ++i) MPI_Pready(part, halos[way][g][i]);
}
static void end_halo(int g) { MPI_Waitall(kHalo, halos[way][g], MPI_STATUSES_IGNORE); }

static void *work(void *number) {
    const int thread = *(const int *)number;
    const long part = columns / threads, from = thread * part, to = from + part;
    for (long step = 0; step < steps; ++step) {
        const int now = (int)(step % 2), next = !now;
        step_outer(now, from, to);
        if (way == kNew) send_part(next, thread);
        if (way == kOuter) {
            pthread_barrier_wait(&all_threads);
            if (thread == 0) send_rows(next);
        }
        step_inner(now, from, to);
        pthread_barrier_wait(&all_threads);
        if (thread == 0) {
            if (way == kPlain) send_rows(next);
            end_halo(next);
            if (step + 1 < steps) expect_halo(now);
        }
        pthread_barrier_wait(&all_threads);
    }
    return NULL;
}

/* Exchanges the rows of the first grid, and lets the threads go. */
static void run(int which) {
    pthread_t others[kMostThreads];
    int numbers[kMostThreads];
    way = which;
    fill_grid();
    expect_halo(0);
    if (way != kNew) send_rows(0);
    for (int part = 0; way == kNew && part < threads; ++part) send_part(0, part);
    end_halo(0);
    expect_halo(1);
    for (int i = 0; i < threads; ++i) {
        numbers[i] = i;
        if (i > 0 && pthread_create(&others[i], NULL, work, &numbers[i]) != 0) {
            fprintf(stderr, "partitioned_halo: no thread can be had; give fewer --threads\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    work(&numbers[0]);
    for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
    compare_with_serial();
}
static void plain(void) { run(kPlain); }
static void partitioned(void) { run(kNew); }
static void outer(void) { run(kOuter); }

int main(int argc, char **argv) {
    Option options[] = {{"rows", "of the grid", 16, 1, 100000},
                        {"cells", "of a thread in each row", 32768, 1, 1000000},
                        {"threads", "of each rank", 2, 1, kMostThreads},
                        {"steps", "of a run", 50, 1, 1000000000},
                        {"rounds", "runs of each form", 11, 1, 100000}};
    app_start(argc, argv, "a stencil whose outer rows go whole, and in parts from each thread.", options, 5);
    rows = options[0].value, threads = options[2].value, columns = options[1].value * threads, steps = options[3].value;
    deal_rows();
    pthread_barrier_init(&all_threads, NULL, (unsigned)threads);
    for (int g = 0; g < 2; ++g) grids[g] = app_memory((size_t)((count + 2) * columns) * 4);
    for (int which = kPlain; which < kWays; ++which)
        for (int g = 0; g < 2; ++g) make_halo(which, g);
    compute_serial();
    Form forms[] = {{"plain", plain, 0}, {"new", partitioned, 0}, {"outer", outer, 0}};
    in_turn(forms, kWays, options[4].value);
    for (int which = kPlain; which < kWays; ++which)
        for (int g = 0; g < 2; ++g)
            for (int i = 0; i < kHalo; ++i) MPI_Request_free(&halos[which][g][i]);
    free(grids[0]), free(grids[1]), free(serial);
    pthread_barrier_destroy(&all_threads);
    return in_turn_verdict(!is_wrong, columns * 4, forms, kWays, steps, "");
}
