// headers_test.cpp: the headers are C++ too.
#include <mpp/pshmem.h>
#include <pshmem.h>
#include <shmem.h>
#include <shmemx.h>

static_assert(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED && SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
              SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);

long* typed_call(long* dest) {
  shmem_long_atomic_add(dest, 1, 0);
  return static_cast<long*>(shmem_ptr(dest, 0));
}
