// typed.cpp: names the templates of the typed_*.hpp headers for every type, with and without context, shmem_ and pshmem_.
#include "shmem/define.hpp"
#include "shmem/typed_atomics.hpp"
#include "shmem/typed_rma.hpp"
#include "shmem/typed_wait.hpp"

namespace ops = portunus::shmem::ops;

#define SHMEMI_UNWRAP(...) __VA_ARGS__

#define SHMEMI_TYPED(R, N, op, params, args) \
  SHMEMI_DEFINE(R, N##_##op, params) { return ops::op("shmem_" #N "_" #op, SHMEMI_UNWRAP args); }

#define SHMEMI_TYPED_CTX(R, N, op, params, args)                                              \
  SHMEMI_DEFINE(R, N##_##op, params) {                                                        \
    return ops::op("shmem_" #N "_" #op, SHMEM_CTX_DEFAULT, SHMEMI_UNWRAP args);               \
  }                                                                                           \
  SHMEMI_DEFINE(R, ctx_##N##_##op, (shmem_ctx_t ctx, SHMEMI_UNWRAP params)) {                 \
    return ops::op("shmem_ctx_" #N "_" #op, ctx, SHMEMI_UNWRAP args);                         \
  }

#define SHMEMI_SIZED_CTX(op, WIDTH, NBI, BYTES)                                                              \
  SHMEMI_DEFINE(void, op##WIDTH##NBI, (void* dest, const void* source, size_t nelems, int pe)) {             \
    constexpr const char* kName = "shmem_" #op #WIDTH #NBI;                                                  \
    portunus::shmem::op##_bytes##NBI(kName, SHMEM_CTX_DEFAULT, dest, source,                                 \
                                     portunus::shmem::bytes_of(kName, nelems, BYTES), pe);                   \
  }                                                                                                          \
  SHMEMI_DEFINE(void, ctx_##op##WIDTH##NBI,                                                                  \
                (shmem_ctx_t ctx, void* dest, const void* source, size_t nelems, int pe)) {                  \
    constexpr const char* kName = "shmem_ctx_" #op #WIDTH #NBI;                                              \
    portunus::shmem::op##_bytes##NBI(kName, ctx, dest, source,                                               \
                                     portunus::shmem::bytes_of(kName, nelems, BYTES), pe);                   \
  }

#include "shmem/shmem_typed.h"
