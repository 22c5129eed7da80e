/* All processes add to one number, which moves to whoever acquires its view. */
#include <stdio.h>
#include <vdc.h>

int main(int argc, char **argv) {
    static long *sum; /* one address in all processes */
    Vdc_startup(argc, argv);
    if (Vdc_proc_id == 0) sum = (long *)Vdcx_malloc(sizeof *sum);
    Vdcx_distribute(&sum, sizeof sum); /* what process 0 knows all know then */

    Vdc_acquire_view(7);
    *sum += Vdc_proc_id; /* what is written while it is held belongs to view 7 */
    Vdc_release_view(7);
    Vdc_barrier(0); /* moves no data */

    Vdc_acquire_Rview(7);
    long found = *sum; /* a snapshot of the newest version */
    Vdc_release_Rview(7);
    printf("process %d of %d found the sum %ld\n", Vdc_proc_id, Vdc_nprocs, found);
    int good = found == (long)Vdc_nprocs * (Vdc_nprocs - 1) / 2;
    Vdc_barrier(1);
    if (!good) Vdc_exit(1);
    Vdc_exit(0);
}
