// typed_wait.cpp: names the templates of typed_wait.hpp for every type.
#include "shmem/typed/typed_wait.hpp"
#include "shmem/define.hpp"

namespace ops = portunus::shmem::ops;

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_TYPED(R, N, op, params, args)                                                          \
  SHMEMI_DEFINE(R, N##_##op, params) try { return ops::op("shmem_" #N "_" #op, SHMEMI_UNWRAP args); } \
  SHMEMI_BARRIER
#define SHMEMI_EACH(LIST) LIST
#include "shmem/include/shmem_typed_wait.h"
