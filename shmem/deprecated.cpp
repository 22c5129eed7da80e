// deprecated.cpp: what older versions of the specification had, by what replaced it.
//
// Source: OpenSHMEM 1.6, annex "History" (deprecated API).
#include <cstdlib>

#include "shmem/active_set.hpp"
#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/sync.hpp"
#include "shmem/typed/typed_atomics.hpp"
#include "shmem/typed/typed_team.hpp"
#include "shmem/typed/typed_wait.hpp"

namespace portunus::shmem::ops {

namespace {

template <class T>
T fetch(const char* function, const T* source, int pe) {
  return atomic_fetch(function, SHMEM_CTX_DEFAULT, source, pe);
}
template <class T>
void set(const char* function, T* dest, T value, int pe) {
  atomic_set(function, SHMEM_CTX_DEFAULT, dest, value, pe);
}
template <class T>
T swap(const char* function, T* dest, T value, int pe) {
  return atomic_swap(function, SHMEM_CTX_DEFAULT, dest, value, pe);
}
template <class T>
T cswap(const char* function, T* dest, T cond, T value, int pe) {
  return atomic_compare_swap(function, SHMEM_CTX_DEFAULT, dest, cond, value, pe);
}
template <class T>
T finc(const char* function, T* dest, int pe) {
  return atomic_fetch_inc(function, SHMEM_CTX_DEFAULT, dest, pe);
}
template <class T>
void inc(const char* function, T* dest, int pe) {
  atomic_inc(function, SHMEM_CTX_DEFAULT, dest, pe);
}
template <class T>
T fadd(const char* function, T* dest, T value, int pe) {
  return atomic_fetch_add(function, SHMEM_CTX_DEFAULT, dest, value, pe);
}
template <class T>
void add(const char* function, T* dest, T value, int pe) {
  atomic_add(function, SHMEM_CTX_DEFAULT, dest, value, pe);
}
template <class T>
void wait(const char* function, T* ivar, T value) {
  wait_for_value(function, ivar, SHMEM_CMP_NE, value);
}

#define SHMEMI_TO_ALL_BODY(name, op)                                                                                                     \
  template <class T>                                                                                                                     \
  void name##_to_all(const char* function, T* dest, const T* source, int nreduce, int start, int log_stride, int size, T*, long* sync) { \
    if (graph::is_refused(function, graph::kNoActiveSets)) return;                                                                       \
    Team& team = active_set(function, start, log_stride, size, sync);                                                                    \
    combine(function, team, dest, source, static_cast<size_t>(nreduce), op);                                                             \
  }
SHMEMI_TO_ALL_BODY(and, GOAL_AND)
SHMEMI_TO_ALL_BODY(or, GOAL_OR)
SHMEMI_TO_ALL_BODY(xor, GOAL_XOR)
SHMEMI_TO_ALL_BODY(max, GOAL_MAX)
SHMEMI_TO_ALL_BODY(min, GOAL_MIN)
SHMEMI_TO_ALL_BODY(sum, GOAL_ADD)
SHMEMI_TO_ALL_BODY(prod, GOAL_MULT)
#undef SHMEMI_TO_ALL_BODY

// Unlike on teams, the root's dest is left alone.
void set_broadcast(const char* function, size_t width, void* dest, const void* source, size_t nelems, int root, int start, int log_stride,
                   int size, long* sync) {
  if (graph::is_refused(function, graph::kNoActiveSets)) return;
  broadcast_bytes(function, active_set(function, start, log_stride, size, sync), dest, source, bytes_of(function, nelems, width), root,
                  false);
}
void set_collect(const char* function, size_t width, void* dest, const void* source, size_t nelems, int start, int log_stride, int size,
                 long* sync) {
  if (graph::is_refused(function, graph::kNoActiveSets)) return;
  collect_bytes(function, active_set(function, start, log_stride, size, sync), dest, source, bytes_of(function, nelems, width));
}
void set_fcollect(const char* function, size_t width, void* dest, const void* source, size_t nelems, int start, int log_stride, int size,
                  long* sync) {
  if (graph::is_refused(function, graph::kNoActiveSets)) return;
  fcollect_bytes(function, active_set(function, start, log_stride, size, sync), dest, source, bytes_of(function, nelems, width));
}
void set_alltoall(const char* function, size_t width, void* dest, const void* source, size_t nelems, int start, int log_stride, int size,
                  long* sync) {
  if (graph::is_refused(function, graph::kNoActiveSets)) return;
  alltoall_bytes(function, active_set(function, start, log_stride, size, sync), dest, source, bytes_of(function, nelems, width));
}
void set_alltoalls(const char* function, size_t width, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                   int start, int log_stride, int size, long* sync) {
  if (graph::is_refused(function, graph::kNoActiveSets)) return;
  alltoalls_elements(function, active_set(function, start, log_stride, size, sync), dest, source, dst, sst, nelems, width);
}

}  // namespace
}  // namespace portunus::shmem::ops

using namespace portunus::shmem;

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_TYPED(R, N, op, params, args)                                                          \
  SHMEMI_DEFINE(R, N##_##op, params) try { return ops::op("shmem_" #N "_" #op, SHMEMI_UNWRAP args); } \
  SHMEMI_BARRIER
#define SHMEMI_SIZED_SET(op, WIDTH, BYTES, params, args)                                                        \
  SHMEMI_DEFINE(void, op##WIDTH, params) try { ops::set_##op("shmem_" #op #WIDTH, BYTES, SHMEMI_UNWRAP args); } \
  SHMEMI_BARRIER
#define SHMEMI_EACH(LIST) LIST
#include "shmem/include/shmem_typed_old.h"

SHMEMI_DEFINE(void, wait, (long* ivar, long cmp_value)) try { ops::wait("shmem_wait", ivar, cmp_value); }
SHMEMI_BARRIER

SHMEMI_DEFINE(void, wait_until, (long* ivar, int cmp, long cmp_value)) try { ops::wait_until("shmem_wait_until", ivar, cmp, cmp_value); }
SHMEMI_BARRIER

SHMEMI_DEFINE(void, barrier, (int PE_start, int logPE_stride, int PE_size, long* pSync)) try {
  if (graph::is_refused("shmem_barrier", graph::kNoActiveSets)) return;
  Team& team = active_set("shmem_barrier", PE_start, logPE_stride, PE_size, pSync);
  quiet(default_channel);
  sync(team);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, sync, (int PE_start, int logPE_stride, int PE_size, long* pSync)) try {
  if (!graph::is_refused("shmem_sync", graph::kNoActiveSets)) sync(active_set("shmem_sync", PE_start, logPE_stride, PE_size, pSync));
}
SHMEMI_BARRIER

// A job that start_pes began ends with the program.
SHMEMI_DEFINE_BARE(void, start_pes, (int)) try {
  int initialized;
  pshmem_query_initialized(&initialized);
  if (initialized) return;
  pshmem_init();
  atexit([] {
    int still;
    pshmem_query_initialized(&still);
    if (still) pshmem_finalize();
  });
}
SHMEMI_BARRIER

SHMEMI_DEFINE_BARE(int, _my_pe, (void)) try { return pshmem_my_pe(); }
SHMEMI_BARRIER
SHMEMI_DEFINE_BARE(int, _num_pes, (void)) try { return pshmem_n_pes(); }
SHMEMI_BARRIER
SHMEMI_DEFINE_BARE(void*, shmalloc, (size_t size)) try { return pshmem_malloc(size); }
SHMEMI_BARRIER
SHMEMI_DEFINE_BARE(void, shfree, (void* ptr)) try { pshmem_free(ptr); }
SHMEMI_BARRIER
SHMEMI_DEFINE_BARE(void*, shrealloc, (void* ptr, size_t size)) try { return pshmem_realloc(ptr, size); }
SHMEMI_BARRIER
SHMEMI_DEFINE_BARE(void*, shmemalign, (size_t alignment, size_t size)) try { return pshmem_align(alignment, size); }
SHMEMI_BARRIER
