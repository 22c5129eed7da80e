/* An array that is dealt out in blocks becomes one that is dealt out in turn. */
#include <ccc.h>
#include <shmem.h>
#include <stdio.h>

#define TRY(call) ((call) == CCC_SUCCESS ? (void)0 : (fprintf(stderr, "%s\n", ccc_explain()), shmem_global_exit(1)))

enum { N = 1000 };

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes(), wrong = 0;
    ccc_layout blocks = {.axes = 1}, turns = {.axes = 1};
    ccc_plan plan;
    TRY(ccc_block(&blocks.axis[0], N, pes));
    TRY(ccc_cyclic(&turns.axis[0], N, pes));
    TRY(ccc_plan_create(&blocks, &turns, NULL, sizeof(double), &plan));

    double *from = shmem_calloc(N, sizeof *from), *to = shmem_calloc(N, sizeof *to);
    for (int64_t o = 0; o < ccc_count(&blocks.axis[0], me); ++o) from[o] = (double)ccc_global(&blocks.axis[0], me, o);
    TRY(ccc_plan_run(plan, from, to));
    for (int64_t o = 0; o < ccc_count(&turns.axis[0], me); ++o) wrong += to[o] != (double)ccc_global(&turns.axis[0], me, o);

    printf("PE %d of %d has elements %d, %d, %d ..\n", me, pes, (int)to[0], (int)to[1], (int)to[2]);
    TRY(ccc_plan_free(&plan));
    shmem_finalize();
    return wrong != 0;
}
