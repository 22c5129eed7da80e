// The functions that stand before OpenSHMEM's: each calls the one of the name pshmem_, and records what it did.
//
// The lists of shmem/include/ name them all.
#include "engine/tools/record/shmem_hooks.hpp"
#include "shmem/include/pshmem.h"
#include "shmem/include/shmem.h"

using namespace portunus::record;
using namespace portunus::record::shmem;

namespace {

// Elements of a width in place of memory without a type.
template <size_t bytes>
struct Element {
  char is[bytes];
};
template <size_t bytes>
Element<bytes>* typed(void* memory) {
  return static_cast<Element<bytes>*>(memory);
}
template <size_t bytes>
const Element<bytes>* typed(const void* memory) {
  return static_cast<const Element<bytes>*>(memory);
}
template <size_t bytes, class T>
requires(!std::is_same_v<T, void*> && !std::is_same_v<T, const void*>) T typed(T value) { return value; }
template <size_t bytes, class Hook, class... Arguments>
void with_elements(const Hook& hook, Call& call, Arguments... arguments) {
  hook(call, typed<bytes>(arguments)...);
}

}  // namespace

#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_EACH(LIST) LIST
#define AROUND(hook, name, args, ...) \
  around<is_brief(hook)>([&] { return pshmem_##name args; }, [&](Call& call, [[maybe_unused]] const auto& result) { __VA_ARGS__; })

extern "C" {
#pragma GCC visibility push(default)

#define SHMEMI_TYPED_CTX(R, N, op, params, args)                                                                                          \
  R shmem_##N##_##op params { return AROUND(hooks::op, N##_##op, args, hooks::op(call, result, SHMEM_CTX_DEFAULT, SHMEMI_UNWRAP args)); } \
  R shmem_ctx_##N##_##op(shmem_ctx_t ctx, SHMEMI_UNWRAP params) {                                                                         \
    return AROUND(hooks::op, ctx_##N##_##op, (ctx, SHMEMI_UNWRAP args), hooks::op(call, result, ctx, SHMEMI_UNWRAP args));                \
  }
#define SHMEMI_SIZED_CTX(op, WIDTH, SUFFIX, BYTES, params, args)                                          \
  void shmem_##op##WIDTH##SUFFIX params {                                                                 \
    AROUND(hooks::op##SUFFIX, op##WIDTH##SUFFIX, args,                                                    \
           with_elements<BYTES>(hooks::op##SUFFIX, call, result, SHMEM_CTX_DEFAULT, SHMEMI_UNWRAP args)); \
  }                                                                                                       \
  void shmem_ctx_##op##WIDTH##SUFFIX(shmem_ctx_t ctx, SHMEMI_UNWRAP params) {                             \
    AROUND(hooks::op##SUFFIX, ctx_##op##WIDTH##SUFFIX, (ctx, SHMEMI_UNWRAP args),                         \
           with_elements<BYTES>(hooks::op##SUFFIX, call, result, ctx, SHMEMI_UNWRAP args));               \
  }
#include "shmem/include/shmem_typed.h"

#define SHMEMI_TYPED(R, N, op, params, args) \
  R shmem_##N##_##op params { return AROUND(hooks::op, N##_##op, args, hooks::op(call, result, SHMEMI_UNWRAP args)); }
#include "shmem/include/shmem_typed_wait.h"

#define SHMEMI_TYPED(R, N, op, params, args)                                                                                    \
  R shmem_##N##_##op params { return AROUND(hooks::op, N##_##op, args, hooks::op(call, result, nullptr, SHMEMI_UNWRAP args)); } \
  R shmemx_##N##_##op##_nb(SHMEMI_UNWRAP params, shmemx_req_t* request) {                                                       \
    return around([&] { return pshmemx_##N##_##op##_nb(SHMEMI_UNWRAP args, request); },                                         \
                  [&](Call& call, int result) { hooks::op(call, result, request, SHMEMI_UNWRAP args); });                       \
  }
#include "shmem/include/shmem_typed_team.h"

#define SHMEMI_TYPED(R, N, op, params, args) \
  R shmem_##N##_##op params { return AROUND(hooks::old::op, N##_##op, args, hooks::old::op(call, result, SHMEMI_UNWRAP args)); }
#define SHMEMI_SIZED_SET(op, WIDTH, BYTES, params, args)                                                             \
  void shmem_##op##WIDTH params {                                                                                    \
    AROUND(hooks::old::op, op##WIDTH, args, with_elements<BYTES>(hooks::old::op, call, result, SHMEMI_UNWRAP args)); \
  }
#include "shmem/include/shmem_typed_old.h"

#pragma GCC visibility pop
}
