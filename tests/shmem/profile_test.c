/* profile_test.c: a tool's shmem_putmem and shmem_int_p stand in front of the library's, and reach it as pshmem_.
 * Source: OpenSHMEM 1.6, "OpenSHMEM Profiling Interface".
 */
#include <mpp/pshmem.h>
#include <mpp/shmem.h>
#include <mpp/shmemx.h>

static int seen = 0;

void shmem_putmem(void *dest, const void *source, size_t nelems, int pe)
{
    ++seen;
    pshmem_putmem(dest, source, nelems, pe);
}

void shmem_int_p(int *dest, int value, int pe)
{
    ++seen;
    pshmem_int_p(dest, value, pe);
}

static int words[2];

int main(void)
{
    pshmem_init();
    const int right = (shmem_my_pe() + 1) % shmem_n_pes();
    const int five = 5;
    shmem_putmem(&words[0], &five, sizeof five, right);
    shmem_int_p(&words[1], 6, right);
    pshmem_barrier_all();
    const int good = seen == 2 && words[0] == 5 && words[1] == 6;
    shmem_finalize();
    return !good;
}
