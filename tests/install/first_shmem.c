/* Every PE stores its number in the next one's memory. */
#include <shmem.h>
#include <stdio.h>

int main(void) {
    static long from = -1; /* symmetric: it exists on every PE */
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_long_p(&from, me, (me + 1) % n);
    shmem_long_wait_until(&from, SHMEM_CMP_NE, -1);
    printf("PE %d of %d heard from PE %ld\n", me, n, from);
    int good = from == (me + n - 1) % n;
    shmem_finalize();
    return good ? 0 : 1;
}
