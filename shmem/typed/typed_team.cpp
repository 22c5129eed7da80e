// typed_team.cpp: names the templates of typed_team.hpp for every type, and for bytes.
#include "shmem/typed/typed_team.hpp"
#include "shmem/define.hpp"

namespace ops = portunus::shmem::ops;

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_TYPED(R, N, op, params, args)                                                          \
  SHMEMI_DEFINE(R, N##_##op, params) try { return ops::op("shmem_" #N "_" #op, SHMEMI_UNWRAP args); } \
  SHMEMI_BARRIER
#define SHMEMI_EACH(LIST) LIST
#include "shmem/include/shmem_typed_team.h"

#define SHMEMI_MEM(op, params, ...)                                                                                              \
  SHMEMI_DEFINE(int, op##mem, params) try { return ops::op("shmem_" #op "mem", team, bytes(dest), bytes(source), __VA_ARGS__); } \
  SHMEMI_BARRIER

namespace {
char* bytes(void* memory) { return static_cast<char*>(memory); }
const char* bytes(const void* memory) { return static_cast<const char*>(memory); }
}  // namespace

SHMEMI_MEM(broadcast, (shmem_team_t team, void* dest, const void* source, size_t nelems, int PE_root), nelems, PE_root)
SHMEMI_MEM(collect, (shmem_team_t team, void* dest, const void* source, size_t nelems), nelems)
SHMEMI_MEM(fcollect, (shmem_team_t team, void* dest, const void* source, size_t nelems), nelems)
SHMEMI_MEM(alltoall, (shmem_team_t team, void* dest, const void* source, size_t nelems), nelems)
SHMEMI_MEM(alltoalls, (shmem_team_t team, void* dest, const void* source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems), dst, sst, nelems)
