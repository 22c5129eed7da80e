// globals.c: a program whose globals lie in another order when it is compiled with SWAPPED; each PE stores in the next one's `from`.
#include <shmem.h>

#if defined(SWAPPED)
long other[8] = {2};
long from = -1;
#elif defined(FEWER)
long other[3] = {2};
long from = -1;
#else
long from = -1;
long other[8] = {2};
#endif

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_long_p(&from, me, (me + 1) % n);
  shmem_long_wait_until(&from, SHMEM_CMP_NE, -1);
  const int good = from == (me + n - 1) % n && other[0] == 2;
  shmem_finalize();
  return good ? 0 : 1;
}
