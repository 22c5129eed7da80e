// typed_atomics.hpp: the bodies of the atomics, once for all types. typed.cpp names them.
//
// On the node an atomic is the processor's own, on the peer's mapped word; off it a Portals atomic, which the target's
// engine does with the same instructions: one atomicity domain. Atomics are acquire and release, which the
// specification does not ask for but programs expect of a lock word.
//
// Thread: any.
// Source: OpenSHMEM 1.6, chapter "Atomic Memory Operations".
#pragma once

#include <atomic>

#include "shmem/graph/capture.hpp"
#include "shmem/rma.hpp"

namespace portunus::shmem::ops {

template <class T>
Place locate_word(const char* function, const T* address, int pe) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
    misuse_alignment(function, address, sizeof(T), pe);
  return locate(function, address, sizeof(T), pe);
}

// Checks the arguments, then does near(word) or far(channel, pe, place).
template <bool kStores = true, class T, class Near, class Far>
void at_word(const char* function, shmem_ctx_t context, const T* address, int pe, Near&& near, Far&& far) {
  const Target target = target_of(function, context, pe);
  const Place place = locate_word(function, address, pe);
  at_memory<kStores>(
      target.peer, place, sizeof(T), [&](void* there) { near(std::atomic_ref<T>(*static_cast<T*>(there))); },
      [&] { far(target.channel, target.pe, place); });
}

// The operations go by the names that Portals has for them.
template <ptl_op_t kOp, class T>
void update(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  if (is_captured()) [[unlikely]]
    return graph::atomic(function, context, dest, pe, sizeof(T), {kOp, &value});
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { client::change(word, kOp, value); },
      [&](Channel& channel, int to, Place place) { channel.atomic(to, place, kOp, &value, sizeof(T)); });
}

// `kFar`: Channel::fetch, or fetch_nbi. `cond`: of PTL_CSWAP.
template <ptl_op_t kOp, auto kFar, class T>
void fetch_update(const char* function, shmem_ctx_t context, T* fetch, T* dest, T value, int pe, const T* cond = nullptr) {
  if (is_captured()) [[unlikely]]
    return graph::atomic(function, context, dest, pe, sizeof(T), {kOp, &value, fetch, cond, kFar == &Channel::fetch});
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { *fetch = client::change(word, kOp, value, cond); },
      [&](Channel& channel, int to, Place place) { (channel.*kFar)(to, place, kOp, &value, fetch, sizeof(T), cond); });
}
template <ptl_op_t kOp, class T>
T fetch_update(const char* function, shmem_ctx_t context, T* dest, T value, int pe, const T* cond = nullptr) {
  T old{};
  fetch_update<kOp, &Channel::fetch>(function, context, &old, dest, value, pe, cond);
  return old;
}

#define SHMEMI_UPDATES(name, kOp)                                                                                 \
  template <class T>                                                                                              \
  void atomic_##name(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {                       \
    update<kOp>(function, context, dest, value, pe);                                                              \
  }                                                                                                               \
  template <class T>                                                                                              \
  T atomic_fetch_##name(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {                    \
    return fetch_update<kOp>(function, context, dest, value, pe);                                                 \
  }                                                                                                               \
  template <class T>                                                                                              \
  void atomic_fetch_##name##_nbi(const char* function, shmem_ctx_t context, T* fetch, T* dest, T value, int pe) { \
    fetch_update<kOp, &Channel::fetch_nbi>(function, context, fetch, dest, value, pe);                            \
  }
SHMEMI_UPDATES(add, PTL_SUM)
SHMEMI_UPDATES(and, PTL_BAND)
SHMEMI_UPDATES(or, PTL_BOR)
SHMEMI_UPDATES(xor, PTL_BXOR)
#undef SHMEMI_UPDATES

template <class T>
void atomic_inc(const char* function, shmem_ctx_t context, T* dest, int pe) {
  update<PTL_SUM>(function, context, dest, T{1}, pe);
}
template <class T>
T atomic_fetch_inc(const char* function, shmem_ctx_t context, T* dest, int pe) {
  return fetch_update<PTL_SUM>(function, context, dest, T{1}, pe);
}
template <class T>
void atomic_fetch_inc_nbi(const char* function, shmem_ctx_t context, T* fetch, T* dest, int pe) {
  fetch_update<PTL_SUM, &Channel::fetch_nbi>(function, context, fetch, dest, T{1}, pe);
}

// Reading is the OR of nothing: raw bits, so it serves float and double as well.
template <auto kFar, class T>
void load_word(const char* function, shmem_ctx_t context, T* fetch, const T* source, int pe) {
  constexpr uint64_t kNothing = 0;
  if (is_captured()) [[unlikely]]
    return graph::atomic(function, context, source, pe, sizeof(T), {PTL_BOR, &kNothing, fetch, nullptr, kFar == &Channel::fetch});
  at_word<false>(
      function, context, source, pe, [&](std::atomic_ref<T> word) { *fetch = word.load(std::memory_order_acquire); },
      [&](Channel& channel, int from, Place place) { (channel.*kFar)(from, place, PTL_BOR, &kNothing, fetch, sizeof(T), nullptr); });
}
template <class T>
T atomic_fetch(const char* function, shmem_ctx_t context, const T* source, int pe) {
  T value{};
  load_word<&Channel::fetch>(function, context, &value, source, pe);
  return value;
}
template <class T>
void atomic_fetch_nbi(const char* function, shmem_ctx_t context, T* fetch, const T* source, int pe) {
  load_word<&Channel::fetch_nbi>(function, context, fetch, source, pe);
}

template <class T>
void atomic_set(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  if (is_captured()) [[unlikely]]
    return graph::atomic(function, context, dest, pe, sizeof(T), {PTL_SWAP, &value});
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { word.store(value, std::memory_order_release); },
      [&](Channel& channel, int to, Place place) { channel.set(to, place, &value, sizeof(T)); });
}

template <class T>
T atomic_swap(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  return fetch_update<PTL_SWAP>(function, context, dest, value, pe);
}
template <class T>
void atomic_swap_nbi(const char* function, shmem_ctx_t context, T* fetch, T* dest, T value, int pe) {
  fetch_update<PTL_SWAP, &Channel::fetch_nbi>(function, context, fetch, dest, value, pe);
}
template <class T>
T atomic_compare_swap(const char* function, shmem_ctx_t context, T* dest, T cond, T value, int pe) {
  return fetch_update<PTL_CSWAP>(function, context, dest, value, pe, &cond);
}
template <class T>
void atomic_compare_swap_nbi(const char* function, shmem_ctx_t context, T* fetch, T* dest, T cond, T value, int pe) {
  fetch_update<PTL_CSWAP, &Channel::fetch_nbi>(function, context, fetch, dest, value, pe, &cond);
}

}  // namespace portunus::shmem::ops
