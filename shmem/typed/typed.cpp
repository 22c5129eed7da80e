// typed.cpp: names the templates of typed_rma.hpp and typed_atomics.hpp for every type, with and without context, shmem_ and pshmem_.
#include "shmem/define.hpp"
#include "shmem/typed/typed_atomics.hpp"
#include "shmem/typed/typed_rma.hpp"

namespace ops = portunus::shmem::ops;

#define SHMEMI_UNWRAP(...) __VA_ARGS__

#define SHMEMI_TYPED_CTX(R, N, op, params, args)                                                                         \
  SHMEMI_DEFINE(R, N##_##op, params) try { return ops::op("shmem_" #N "_" #op, SHMEM_CTX_DEFAULT, SHMEMI_UNWRAP args); } \
  SHMEMI_BARRIER                                                                                                         \
  SHMEMI_DEFINE(R, ctx_##N##_##op, (shmem_ctx_t ctx, SHMEMI_UNWRAP params)) try {                                        \
    return ops::op("shmem_ctx_" #N "_" #op, ctx, SHMEMI_UNWRAP args);                                                    \
  }                                                                                                                      \
  SHMEMI_BARRIER

#define SHMEMI_SIZED_CTX(op, WIDTH, SUFFIX, BYTES, params, args)                                        \
  SHMEMI_DEFINE(void, op##WIDTH##SUFFIX, params) try {                                                  \
    ops::sized_##op##SUFFIX("shmem_" #op #WIDTH #SUFFIX, SHMEM_CTX_DEFAULT, BYTES, SHMEMI_UNWRAP args); \
  }                                                                                                     \
  SHMEMI_BARRIER                                                                                        \
  SHMEMI_DEFINE(void, ctx_##op##WIDTH##SUFFIX, (shmem_ctx_t ctx, SHMEMI_UNWRAP params)) try {           \
    ops::sized_##op##SUFFIX("shmem_ctx_" #op #WIDTH #SUFFIX, ctx, BYTES, SHMEMI_UNWRAP args);           \
  }                                                                                                     \
  SHMEMI_BARRIER

#define SHMEMI_EACH(LIST) LIST
#include "shmem/include/shmem_typed.h"
