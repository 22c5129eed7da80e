/* redistribute.c: a matrix from a block-cyclic layout to rows, to columns and back, computing while it moves. Plain C99.
 *
 * usage: oshrun -n PES redistribute [ROWS COLUMNS BLOCK]
 */
#include <ccc.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void require(int code) {
    if (code == CCC_SUCCESS) return;
    fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), ccc_explain());
    shmem_global_exit(2);
}

static double element(int64_t row, int64_t column) { return (double)(row * 1000003 + column); }

/* Own elements: filled, or compared. */
static int64_t visit(const ccc_layout *layout, double *local, int fill) {
    int64_t differ = 0, index[2], offset;
    for (index[0] = 0; index[0] < layout->axis[0].n; ++index[0])
        for (index[1] = 0; index[1] < layout->axis[1].n; ++index[1]) {
            if (ccc_pe(layout, index, &offset) != shmem_my_pe()) continue;
            if (fill) local[offset] = element(index[0], index[1]);
            else differ += local[offset] != element(index[0], index[1]);
        }
    return differ;
}

static double *array_of(const ccc_layout *layout) {
    double *const memory = shmem_calloc((size_t)(ccc_room(&layout->axis[0]) * ccc_room(&layout->axis[1])) + 1, sizeof(double));
    if (!memory) shmem_global_exit(3);
    return memory;
}

int main(int argc, char **argv) {
    shmem_init();
    const int64_t rows = argc > 1 ? atoll(argv[1]) : 100, columns = argc > 2 ? atoll(argv[2]) : 60, block = argc > 3 ? atoll(argv[3]) : 8;
    const int pes = shmem_n_pes();
    int down = 1;
    for (int d = 1; d * d <= pes; ++d)
        if (pes % d == 0) down = d;
    ccc_layout layout[3] = {{0}};
    for (int i = 0; i < 3; ++i) layout[i].axes = 2;
    require(ccc_block_cyclic(&layout[0].axis[0], rows, block, down));
    require(ccc_block_cyclic(&layout[0].axis[1], columns, block, pes / down));
    require(ccc_block(&layout[1].axis[0], rows, pes));
    require(ccc_compress(&layout[1].axis[1], columns));
    require(ccc_compress(&layout[2].axis[0], rows));
    require(ccc_balanced(&layout[2].axis[1], columns, pes));
    double *local[3];
    for (int i = 0; i < 3; ++i) local[i] = array_of(&layout[i]);
    visit(&layout[0], local[0], 1);
    double computed = 0;
    for (int step = 0; step < 3; ++step) {
        const int from = step, to = (step + 1) % 3;
        ccc_plan plan;
        ccc_cost cost;
        int done = 0;
        require(ccc_plan_create(&layout[from], &layout[to], NULL, sizeof(double), &plan));
        require(ccc_plan_cost(plan, &cost));
        if (shmem_my_pe() == 0)
            printf("step %d: %lld messages, %lld bytes, %lld pieces\n", step, (long long)cost.messages, (long long)cost.bytes, (long long)cost.pieces);
        require(ccc_plan_start(plan, local[from], local[to]));
        while (!done) {
            for (int i = 1; i < 1000; ++i) computed += 1.0 / i;
            require(ccc_plan_test(plan, &done));
        }
        require(ccc_plan_free(&plan));
        if (visit(&layout[to], local[to], 0) != 0) wrong = 1;
    }
    for (int pe = 0; wrong && pe < pes; ++pe) shmem_int_p(&wrong, 1, pe);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) printf("redistribute on %d PEs: %lld x %lld doubles, %s%s\n", pes, (long long)rows, (long long)columns, wrong ? "WRONG" : "verified", computed > 0 ? "" : ".");
    const int status = wrong;
    shmem_finalize();
    return status;
}
