// typed.cpp: names the starts of start.hpp for every type, and for bytes.
#include "shmem/define.hpp"
#include "shmem/nonblocking/start.hpp"
#include "shmem/typed/typed_team.hpp"

namespace portunus::shmem::starts {

namespace {

template <class T>
int broadcast(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems, int root, shmemx_req_t* request) {
  return start_broadcast(function, team, dest, source, nelems, sizeof(T), root, request);
}
template <class T>
int collect(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems, shmemx_req_t* request) {
  return start_collect(function, team, dest, source, nelems, sizeof(T), request);
}
template <class T>
int fcollect(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems, shmemx_req_t* request) {
  return start_fcollect(function, team, dest, source, nelems, sizeof(T), request);
}
template <class T>
int alltoall(const char* function, shmem_team_t team, T* dest, const T* source, size_t nelems, shmemx_req_t* request) {
  return start_alltoall(function, team, dest, source, nelems, sizeof(T), request);
}
template <class T>
int alltoalls(const char* function, shmem_team_t team, T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
              shmemx_req_t* request) {
  return start_alltoalls(function, team, dest, source, dst, sst, nelems, sizeof(T), request);
}

#define SHMEMI_COMBINATION(name, kind, op)                                                                             \
  template <class T>                                                                                                   \
  int name(const char* function, shmem_team_t team, T* dest, const T* source, size_t nreduce, shmemx_req_t* request) { \
    return start_combining(function, team, dest, source, nreduce, sizeof(T), kind, ops::goal_type<T>(), op, request);  \
  }
SHMEMI_COMBINATION(and_reduce, GOAL_CALL_ALLREDUCE, GOAL_AND)
SHMEMI_COMBINATION(or_reduce, GOAL_CALL_ALLREDUCE, GOAL_OR)
SHMEMI_COMBINATION(xor_reduce, GOAL_CALL_ALLREDUCE, GOAL_XOR)
SHMEMI_COMBINATION(max_reduce, GOAL_CALL_ALLREDUCE, GOAL_MAX)
SHMEMI_COMBINATION(min_reduce, GOAL_CALL_ALLREDUCE, GOAL_MIN)
SHMEMI_COMBINATION(sum_reduce, GOAL_CALL_ALLREDUCE, GOAL_ADD)
SHMEMI_COMBINATION(prod_reduce, GOAL_CALL_ALLREDUCE, GOAL_MULT)
SHMEMI_COMBINATION(sum_inscan, GOAL_CALL_SCAN, GOAL_ADD)
SHMEMI_COMBINATION(sum_exscan, GOAL_CALL_EXSCAN, GOAL_ADD)
#undef SHMEMI_COMBINATION

char* as_bytes(void* memory) { return static_cast<char*>(memory); }
const char* as_bytes(const void* memory) { return static_cast<const char*>(memory); }

}  // namespace
}  // namespace portunus::shmem::starts

namespace starts = portunus::shmem::starts;

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_TYPED(R, N, op, params, args)                                                          \
  SHMEMI_DEFINE_BARE(R, shmemx_##N##_##op##_nb, (SHMEMI_UNWRAP params, shmemx_req_t * request)) try { \
    return starts::op("shmemx_" #N "_" #op "_nb", SHMEMI_UNWRAP args, request);                       \
  }                                                                                                   \
  SHMEMI_BARRIER
#define SHMEMI_EACH(LIST) LIST
#include "shmem/include/shmem_typed_team.h"

#define SHMEMI_MEM_NB(op, params, ...)                                                                                       \
  SHMEMI_DEFINE_BARE(int, shmemx_##op##mem_nb, (SHMEMI_UNWRAP params, shmemx_req_t * request)) try {                         \
    return starts::op("shmemx_" #op "mem_nb", team, starts::as_bytes(dest), starts::as_bytes(source), __VA_ARGS__, request); \
  }                                                                                                                          \
  SHMEMI_BARRIER

SHMEMI_MEM_NB(broadcast, (shmem_team_t team, void* dest, const void* source, size_t nelems, int PE_root), nelems, PE_root)
SHMEMI_MEM_NB(collect, (shmem_team_t team, void* dest, const void* source, size_t nelems), nelems)
SHMEMI_MEM_NB(fcollect, (shmem_team_t team, void* dest, const void* source, size_t nelems), nelems)
SHMEMI_MEM_NB(alltoall, (shmem_team_t team, void* dest, const void* source, size_t nelems), nelems)
SHMEMI_MEM_NB(alltoalls, (shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems), dst, sst, nelems)
