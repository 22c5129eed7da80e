// typed_wait.hpp: the bodies of wait_until, test and those on several variables, once for all types. typed_wait.cpp names them.
//
// Thread: any.
// Source: OpenSHMEM 1.6, chapter "Point-To-Point Synchronization Routines".
#pragma once

#include <atomic>

#include "shmem/graph/capture.hpp"
#include "shmem/include/shmem_base.h"
#include "shmem/typed/typed_atomics.hpp"

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
T value_of(T* ivar) {
  return std::atomic_ref<T>(*ivar).load(std::memory_order_acquire);
}

template <class T>
bool reached(const char* function, T* ivar, int cmp, T value) {
  return compares(function, value_of(ivar), cmp, value);
}

// Checks them, and returns the bits of their memory.
template <class T>
uint32_t check_words(const char* function, const T* ivars, size_t nelems) {
  require_init(function);
  if (nelems == 0) return 0;
  if (reinterpret_cast<uintptr_t>(ivars) % sizeof(T) != 0) [[unlikely]]
    misuse_alignment(function, ivars, sizeof(T), runtime.my_pe);
  const size_t bytes = bytes_of(function, nelems, sizeof(T));
  return watch_bits(locate(function, ivars, bytes, runtime.my_pe), bytes);
}

template <class T>
[[gnu::cold, gnu::noinline]] T record_wait(const char* function, T* ivar, int cmp, T value) {
  check_words(function, ivar, 1);
  graph::await(function, graph::word_of(ivar), cmp, static_cast<uint64_t>(value));
  return value;
}

// Returns the value that ended the wait; in a capture the one that is waited for.
template <class T>
T wait_for_value(const char* function, T* ivar, int cmp, T value) {
  if (captures()) [[unlikely]]
    return record_wait(function, ivar, cmp, value);
  const uint32_t watched = check_words(function, ivar, 1);
  T seen;
  wait(function, watched, [&] {
    seen = value_of(ivar);
    return compares(function, seen, cmp, value);
  });
  return seen;
}

template <class T>
void wait_until(const char* function, T* ivar, int cmp, T value) {
  wait_for_value(function, ivar, cmp, value);
}

template <class T>
int test(const char* function, T* ivar, int cmp, T value) {
  check_words(function, ivar, 1);
  if (captures()) [[unlikely]]
    return graph::refuse(function), 0;
  if (reached(function, ivar, cmp, value)) return 1;
  progress();
  return reached(function, ivar, cmp, value) ? 1 : 0;
}

// Several variables: those with status[i] != 0 are left out, null leaves none out; `values` gives the comparison value of each.
template <class T>
struct Same {
  T value;
  T operator[](size_t) const { return value; }
};

template <class T, class Values>
struct Variables {
  const char* function;
  T* ivars;
  size_t nelems;
  const int* status;
  int cmp;
  Values values;

  bool counts(size_t i) const { return !status || status[i] == 0; }
  bool holds(size_t i) const { return reached(function, ivars + i, cmp, values[i]); }
  bool empty() const {
    for (size_t i = 0; i < nelems; ++i)
      if (counts(i)) return false;
    return true;
  }
  bool all() const {
    size_t begin = 0;
    return all_from(begin);
  }
  // `begin` goes on to the first that does not hold: those before it have, and may have changed again.
  bool all_from(size_t& begin) const {
    while (begin < nelems && (!counts(begin) || holds(begin))) ++begin;
    return begin == nelems;
  }
  // The first that holds from `begin` on, round about; SIZE_MAX if none does.
  size_t any(size_t begin) const {
    for (size_t n = 0, i = begin % (nelems ? nelems : 1); n < nelems; ++n, i = i + 1 < nelems ? i + 1 : 0)
      if (counts(i) && holds(i)) return i;
    return SIZE_MAX;
  }
  size_t some(size_t* indices) const {
    size_t found = 0;
    for (size_t i = 0; i < nelems; ++i)
      if (counts(i) && holds(i)) indices[found++] = i;
    return found;
  }
};

// In a capture: one wait behind the other.
template <class T, class Values>
[[gnu::cold]] void record_waits(const Variables<T, Values>& variables) {
  check_words(variables.function, variables.ivars, variables.nelems);
  for (size_t i = 0; i < variables.nelems; ++i)
    if (variables.counts(i))
      graph::await(variables.function, graph::word_of(variables.ivars + i), variables.cmp, static_cast<uint64_t>(variables.values[i]));
}

// Calls look(): whatever it returns ends the call unless it is `nothing`. Else once more after progress, or until it is.
template <class T, class Values, class Look>
auto look_or_wait(const Variables<T, Values>& variables, bool waits, Look&& look, decltype(look()) nothing) {
  const uint32_t watched = check_words(variables.function, variables.ivars, variables.nelems);
  if (captures()) [[unlikely]]
    return graph::refuse(variables.function), nothing;
  auto result = look();
  if (result != nothing || variables.empty()) return result;
  if (waits) {
    wait(variables.function, watched, [&] { return (result = look()) != nothing; });
    return result;
  }
  progress();
  return look();
}

// Each call goes on behind the variable that the last one found, so that none is passed over for ever.
inline thread_local size_t found_last = 0;

template <class T, class Values>
size_t find_any(const Variables<T, Values>& variables, bool waits) {
  const size_t found = look_or_wait(
      variables, waits, [&] { return variables.any(found_last + 1); }, SIZE_MAX);
  if (found != SIZE_MAX) found_last = found;
  return found;
}

#define SHMEMI_SEVERAL(suffix, Argument, Values)                                                                                           \
  template <class T>                                                                                                                       \
  void wait_until_all##suffix(const char* function, T* ivars, size_t nelems, const int* status, int cmp, Argument v) {                     \
    const Variables<T, Values> all{function, ivars, nelems, status, cmp, {v}};                                                             \
    if (captures()) return record_waits(all);                                                                                              \
    size_t begin = 0;                                                                                                                      \
    look_or_wait(                                                                                                                          \
        all, true, [&] { return all.all_from(begin); }, false);                                                                            \
  }                                                                                                                                        \
  template <class T>                                                                                                                       \
  size_t wait_until_any##suffix(const char* function, T* ivars, size_t nelems, const int* status, int cmp, Argument v) {                   \
    return find_any(Variables<T, Values>{function, ivars, nelems, status, cmp, {v}}, true);                                                \
  }                                                                                                                                        \
  template <class T>                                                                                                                       \
  size_t wait_until_some##suffix(const char* function, T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, Argument v) { \
    const Variables<T, Values> all{function, ivars, nelems, status, cmp, {v}};                                                             \
    return look_or_wait(                                                                                                                   \
        all, true, [&] { return all.some(indices); }, size_t{0});                                                                          \
  }                                                                                                                                        \
  template <class T>                                                                                                                       \
  int test_all##suffix(const char* function, T* ivars, size_t nelems, const int* status, int cmp, Argument v) {                            \
    const Variables<T, Values> all{function, ivars, nelems, status, cmp, {v}};                                                             \
    return look_or_wait(                                                                                                                   \
               all, false, [&] { return all.all(); }, false)                                                                               \
               ? 1                                                                                                                         \
               : 0;                                                                                                                        \
  }                                                                                                                                        \
  template <class T>                                                                                                                       \
  size_t test_any##suffix(const char* function, T* ivars, size_t nelems, const int* status, int cmp, Argument v) {                         \
    return find_any(Variables<T, Values>{function, ivars, nelems, status, cmp, {v}}, false);                                               \
  }                                                                                                                                        \
  template <class T>                                                                                                                       \
  size_t test_some##suffix(const char* function, T* ivars, size_t nelems, size_t* indices, const int* status, int cmp, Argument v) {       \
    const Variables<T, Values> all{function, ivars, nelems, status, cmp, {v}};                                                             \
    return look_or_wait(                                                                                                                   \
        all, false, [&] { return all.some(indices); }, size_t{0});                                                                         \
  }
SHMEMI_SEVERAL(, T, Same<T>)
SHMEMI_SEVERAL(_vector, const T*, const T*)
#undef SHMEMI_SEVERAL

}  // namespace portunus::shmem::ops
