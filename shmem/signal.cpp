// signal.cpp: put with signal, and signals alone.
#include "shmem/signal.hpp"

#include <atomic>
#include <cstring>

#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/typed/typed_atomics.hpp"
#include "shmem/typed/typed_wait.hpp"

namespace portunus::shmem {

void put_bytes_signal(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, uint64_t* sig_addr,
                      uint64_t signal, int sig_op, int pe, bool nbi) {
  if (is_captured()) [[unlikely]]
    return graph::put_signal(function, context, dest, source, size, sig_addr, signal, sig_op, pe, !nbi);
  const Target target = target_of(function, context, pe);
  check_signal_op(function, sig_op);
  const bool add = sig_op == SHMEM_SIGNAL_ADD;
  const Place word = ops::locate_word(function, sig_addr, pe);
  const Place place = size != 0 ? locate(function, dest, size, pe) : Place{};
  if (!target.peer.on_node()) {
    target.channel.put_signal(target.pe, place, source, size, word, signal, add, nbi);
    return;
  }
  if (size != 0) {
    memcpy(target.peer.at<void>(place), source, size);
    stored(target.peer, place, size);
  }
  // Release: who acquires the signal sees the payload.
  const std::atomic_ref<uint64_t> it(*target.peer.at<uint64_t>(word));
  if (add) it.fetch_add(signal, std::memory_order_release);
  else it.store(signal, std::memory_order_release);
  stored(target.peer, word, sizeof signal);
}

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE(void, signal_add, (uint64_t * sig_addr, uint64_t signal, int pe)) try {
  ops::atomic_add("shmem_signal_add", SHMEM_CTX_DEFAULT, sig_addr, signal, pe);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, ctx_signal_add, (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe)) try {
  ops::atomic_add("shmem_ctx_signal_add", ctx, sig_addr, signal, pe);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, signal_set, (uint64_t * sig_addr, uint64_t signal, int pe)) try {
  ops::atomic_set("shmem_signal_set", SHMEM_CTX_DEFAULT, sig_addr, signal, pe);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, ctx_signal_set, (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe)) try {
  ops::atomic_set("shmem_ctx_signal_set", ctx, sig_addr, signal, pe);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(uint64_t, signal_fetch, (const uint64_t* sig_addr)) try {
  return ops::atomic_fetch("shmem_signal_fetch", SHMEM_CTX_DEFAULT, sig_addr, runtime.my_pe);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(uint64_t, signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value)) try {
  return ops::wait_for_value("shmem_signal_wait_until", sig_addr, cmp, cmp_value);
}
SHMEMI_BARRIER
