// rma.cpp: one copy on the node, one operation off it.
#include "shmem/rma.hpp"

#include "engine/goal/copy.hpp"
#include "shmem/graph/capture.hpp"

namespace portunus::shmem {

namespace {

template <auto kFar>
[[gnu::always_inline]] inline void put_by(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  if (is_captured()) [[unlikely]]
    return graph::put(function, context, dest, source, size, pe, kFar == &Channel::put);
  const Target target = target_of(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, dest, size, pe);
  at_memory<true>(
      target.peer, place, size, [&](void* there) { copy_run(there, source, size); },
      [&] { (target.channel.*kFar)(target.pe, place, source, size); });
}

template <auto kFar>
[[gnu::always_inline]] inline void get_by(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  if (is_captured()) [[unlikely]]
    return graph::get(function, context, dest, source, size, pe, kFar == &Channel::get);
  const Target target = target_of(function, context, pe);
  if (size == 0) return;
  const Place place = locate(function, source, size, pe);
  at_memory<false>(
      target.peer, place, size, [&](const void* there) { copy_run(dest, there, size); },
      [&] { (target.channel.*kFar)(target.pe, place, dest, size); });
}

}  // namespace

void put_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  put_by<&Channel::put>(function, context, dest, source, size, pe);
}

void put_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  put_by<&Channel::put_nbi>(function, context, dest, source, size, pe);
}

void get_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  get_by<&Channel::get>(function, context, dest, source, size, pe);
}

void get_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe) {
  get_by<&Channel::get_nbi>(function, context, dest, source, size, pe);
}

}  // namespace portunus::shmem
