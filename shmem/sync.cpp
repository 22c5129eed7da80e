// sync.cpp: fence, quiet and the barrier.
#include "shmem/sync.hpp"

#include <sched.h>

#include <atomic>

#include "shmem/define.hpp"

namespace portunus::shmem {

namespace {
size_t signals_offset = 0;
uint64_t meetings = 0;  // barriers this PE has entered: what its signals count up to

std::atomic_ref<uint64_t> signal_of(const Peer& pe, int round) {
  const size_t offset = signals_offset + offsetof(Signals, round) + static_cast<size_t>(round) * sizeof(Signals::Signal);
  return std::atomic_ref<uint64_t>(*pe.at<uint64_t>({kHeap, offset}));
}

void signal(int pe, int round) {
  if (const Peer& target = runtime.peers[pe]; target.on_node()) {
    signal_of(target, round).store(meetings, std::memory_order_release);
    return;
  }
  const size_t offset = signals_offset + offsetof(Signals, round) + static_cast<size_t>(round) * sizeof(Signals::Signal);
  const uint64_t one = 1;
  default_channel.atomic(pe, {kHeap, offset}, PTL_SUM, &one, sizeof one);
}

}  // namespace

void sync_open(size_t offset) {
  signals_offset = offset;
  meetings = 0;
}

void fence(Channel& channel) {
  std::atomic_thread_fence(std::memory_order_release);
  if (runtime.any_remote) channel.fence();
}

void quiet(Channel& channel) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (runtime.any_remote) channel.quiet();
}

void sync_all() {
  ++meetings;
  const auto n = static_cast<unsigned>(runtime.n_pes);
  const auto me = static_cast<unsigned>(runtime.my_pe);
  int round = 0;
  for (unsigned distance = 1; distance < n; distance *= 2, ++round) {
    signal(static_cast<int>((me + distance) % n), round);
    const auto mine = signal_of(runtime.peers[me], round);
    wait([&] { return mine.load(std::memory_order_acquire) >= meetings; });
  }
}

void barrier_all() {
  quiet(default_channel);
  sync_all();
}

void progress() {
  PtlxProgress();
  if (runtime.oversubscribed) sched_yield();
}

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE(void, fence, (void)) {
  require_init("shmem_fence");
  fence(default_channel);
}

SHMEMI_DEFINE(void, ctx_fence, (shmem_ctx_t ctx)) {
  require_init("shmem_ctx_fence");
  if (ctx != SHMEM_CTX_INVALID) fence(channel_of("shmem_ctx_fence", ctx));
}

SHMEMI_DEFINE(void, quiet, (void)) {
  require_init("shmem_quiet");
  quiet(default_channel);
}

SHMEMI_DEFINE(void, ctx_quiet, (shmem_ctx_t ctx)) {
  require_init("shmem_ctx_quiet");
  if (ctx != SHMEM_CTX_INVALID) quiet(channel_of("shmem_ctx_quiet", ctx));
}

SHMEMI_DEFINE(void, barrier_all, (void)) {
  require_init("shmem_barrier_all");
  barrier_all();
}

SHMEMI_DEFINE(void, sync_all, (void)) {
  require_init("shmem_sync_all");
  sync_all();
}
