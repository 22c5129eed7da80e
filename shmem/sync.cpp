// sync.cpp: fence, quiet and the barrier.
#include "shmem/sync.hpp"

#include <sched.h>

#include <atomic>

#include "shmem/collectives.hpp"
#include "shmem/define.hpp"
#include "shmem/shared.hpp"

namespace portunus::shmem {

namespace {

std::atomic_ref<uint64_t> signal_of(const Team& team, int number, int round) {
  const int rounds = rounds_of(runtime.n_pes);
  const size_t index = size_t{team.id} * static_cast<size_t>(rounds) + static_cast<size_t>(round);
  const Place place{kHeap, runtime.segment[kHeap].size + kSharedHeader + index * sizeof(Signal)};
  return std::atomic_ref<uint64_t>(*runtime.peers[team.members[number]].at<uint64_t>(place));
}

}  // namespace

void fence(Channel& channel) {
  std::atomic_thread_fence(std::memory_order_release);
  if (runtime.any_remote) channel.fence();
}

void quiet(Channel& channel) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (runtime.any_remote) channel.quiet();
}

void sync(Team& team) {
  if (!team.on_node) {
    team.collectives->barrier();
    return;
  }
  ++team.meetings;
  const auto n = static_cast<unsigned>(team.size());
  const auto me = static_cast<unsigned>(team.my_pe);
  int round = 0;
  for (unsigned distance = 1; distance < n; distance *= 2, ++round) {
    // Release: what was stored before the barrier is seen by who passes it, through however many PEs.
    signal_of(team, static_cast<int>((me + distance) % n), round).store(team.meetings, std::memory_order_release);
    const auto mine = signal_of(team, team.my_pe, round);
    wait([&] { return mine.load(std::memory_order_acquire) >= team.meetings; });
  }
}

void barrier_all() {
  quiet(default_channel);
  sync(*fixed_teams.world);
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
  sync(*fixed_teams.world);
}

SHMEMI_DEFINE(int, team_sync, (shmem_team_t team)) {
  require_init("shmem_team_sync");
  Team* it = team_of(team);
  if (!it) return -1;
  sync(*it);
  return 0;
}

// All operations of the context are waited for: acknowledgements are not counted by PE.
SHMEMI_DEFINE(void, pe_quiet, (const int* target_pes, size_t npes)) {
  pshmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, target_pes, npes);
}

SHMEMI_DEFINE(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int* target_pes, size_t npes)) {
  require_init("shmem_ctx_pe_quiet");
  if (ctx == SHMEM_CTX_INVALID || npes == 0) return;
  for (size_t i = 0; i < npes; ++i) aim("shmem_ctx_pe_quiet", ctx, target_pes[i]);
  quiet(channel_of("shmem_ctx_pe_quiet", ctx));
}
