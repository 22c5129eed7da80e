// typed_wait.hpp: the bodies of wait_until and test, once for all types. typed.cpp names them.
//
// **Thread:** any.
// **Source:** OpenSHMEM 1.6, chapter "Point-To-Point Synchronization Routines".
#pragma once

#include <atomic>

#include "shmem/shmem_base.h"
#include "shmem/typed_atomics.hpp"

namespace portunus::shmem::ops {

template <class T>
bool compares(const char* function, T left, int cmp, T right) {
  switch (cmp) {
    case SHMEM_CMP_EQ: return left == right;
    case SHMEM_CMP_NE: return left != right;
    case SHMEM_CMP_GT: return left > right;
    case SHMEM_CMP_GE: return left >= right;
    case SHMEM_CMP_LT: return left < right;
    case SHMEM_CMP_LE: return left <= right;
    default: misuse("%s: %d is no comparison; use one of SHMEM_CMP_EQ, NE, GT, GE, LT, LE", function, cmp);
  }
}

// Acquire pairs with the release in a peer's fence or atomic: what was put before is seen after.
template <class T>
bool reached(const char* function, T* ivar, int cmp, T value) {
  return compares(function, std::atomic_ref<T>(*ivar).load(std::memory_order_acquire), cmp, value);
}

template <class T>
void wait_until(const char* function, T* ivar, int cmp, T value) {
  require_init(function);
  locate_word(function, ivar, runtime.my_pe);
  wait([&] { return reached(function, ivar, cmp, value); });
}

template <class T>
int test(const char* function, T* ivar, int cmp, T value) {
  require_init(function);
  locate_word(function, ivar, runtime.my_pe);
  if (reached(function, ivar, cmp, value)) return 1;
  progress();
  return reached(function, ivar, cmp, value) ? 1 : 0;
}

}  // namespace portunus::shmem::ops
