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

#include "shmem/rma.hpp"

namespace portunus::shmem::ops {

template <class T>
Place locate_word(const char* function, const T* address, int pe) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(T) != 0) [[unlikely]]
    misuse_alignment(function, address, sizeof(T), pe);
  return locate(function, address, sizeof(T), pe);
}

// Checks the arguments, then does here(word) on an on-node peer's word or there(target, place) otherwise.
template <bool stores = true, class T, class Here, class There>
auto at_word(const char* function, shmem_ctx_t context, const T* address, int pe, Here&& here, There&& there) {
  const Target target = target_of(function, context, pe);
  const Place place = locate_word(function, address, pe);
  if (target.peer.on_node()) [[likely]] {
    const Storing storing{target.peer, place, stores ? sizeof(T) : 0};
    return here(std::atomic_ref<T>(*target.peer.at<T>(place)));
  }
  return there(target, place);
}

// Operations that change a word by one operand, by what Portals calls them.
template <ptl_op_t kOp, class T>
void update(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { client::change(word, kOp, value); },
      [&](const Target& target, Place place) { target.channel.atomic(target.pe, place, kOp, &value, sizeof(T)); });
}

template <ptl_op_t kOp, class T>
T fetch_update(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  return at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { return client::change(word, kOp, value); },
      [&](const Target& target, Place place) {
        T old;
        target.channel.fetch(target.pe, place, kOp, &value, &old, sizeof(T));
        return old;
      });
}

template <ptl_op_t kOp, class T>
void fetch_update_nbi(const char* function, shmem_ctx_t context, T* fetch, T* dest, T value, int pe) {
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { *fetch = client::change(word, kOp, value); },
      [&](const Target& target, Place place) { target.channel.fetch_nbi(target.pe, place, kOp, &value, fetch, sizeof(T)); });
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
    fetch_update_nbi<kOp>(function, context, fetch, dest, value, pe);                                             \
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
  fetch_update_nbi<PTL_SUM>(function, context, fetch, dest, T{1}, pe);
}

// Reading is the OR of nothing: raw bits, so it serves float and double as well.
template <class T>
T atomic_fetch(const char* function, shmem_ctx_t context, const T* source, int pe) {
  return at_word<false>(
      function, context, const_cast<T*>(source), pe, [](std::atomic_ref<T> word) { return word.load(std::memory_order_acquire); },
      [&](const Target& target, Place place) {
        const uint64_t nothing = 0;
        T value;
        target.channel.fetch(target.pe, place, PTL_BOR, &nothing, &value, sizeof(T));
        return value;
      });
}

template <class T>
void atomic_fetch_nbi(const char* function, shmem_ctx_t context, T* fetch, const T* source, int pe) {
  at_word<false>(
      function, context, const_cast<T*>(source), pe, [&](std::atomic_ref<T> word) { *fetch = word.load(std::memory_order_acquire); },
      [&](const Target& target, Place place) {
        const uint64_t nothing = 0;
        target.channel.fetch_nbi(target.pe, place, PTL_BOR, &nothing, fetch, sizeof(T));
      });
}

template <class T>
void atomic_set(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { word.store(value, std::memory_order_release); },
      [&](const Target& target, Place place) { target.channel.set(target.pe, place, &value, sizeof(T)); });
}

template <class T>
T atomic_swap(const char* function, shmem_ctx_t context, T* dest, T value, int pe) {
  return at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { return word.exchange(value, std::memory_order_acq_rel); },
      [&](const Target& target, Place place) {
        T old;
        target.channel.swap(target.pe, place, &value, nullptr, &old, sizeof(T));
        return old;
      });
}

template <class T>
void atomic_swap_nbi(const char* function, shmem_ctx_t context, T* fetch, T* dest, T value, int pe) {
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { *fetch = word.exchange(value, std::memory_order_acq_rel); },
      [&](const Target& target, Place place) { target.channel.swap_nbi(target.pe, place, &value, nullptr, fetch, sizeof(T)); });
}

template <class T>
T compare_exchange(std::atomic_ref<T> word, T cond, T value) {
  word.compare_exchange_strong(cond, value, std::memory_order_acq_rel, std::memory_order_acquire);
  return cond;  // now the old value, either way
}

template <class T>
T atomic_compare_swap(const char* function, shmem_ctx_t context, T* dest, T cond, T value, int pe) {
  return at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { return compare_exchange(word, cond, value); },
      [&](const Target& target, Place place) {
        T old;
        target.channel.swap(target.pe, place, &value, &cond, &old, sizeof(T));
        return old;
      });
}

template <class T>
void atomic_compare_swap_nbi(const char* function, shmem_ctx_t context, T* fetch, T* dest, T cond, T value, int pe) {
  at_word(
      function, context, dest, pe, [&](std::atomic_ref<T> word) { *fetch = compare_exchange(word, cond, value); },
      [&](const Target& target, Place place) { target.channel.swap_nbi(target.pe, place, &value, &cond, fetch, sizeof(T)); });
}

}  // namespace portunus::shmem::ops
