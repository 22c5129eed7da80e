// sync.cpp: fence, quiet and the barrier.
#include "shmem/sync.hpp"

#include <sched.h>

#include <atomic>
#include <cassert>

#include "shmem/collectives.hpp"
#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/memory/shared.hpp"

namespace portunus::shmem {

namespace {

// Signal `line` of a team, in the memory of each of its PEs.
class TeamSignal {
 public:
  TeamSignal(const Team& team, int line)
      : team_(team),
        place_{kHeap, runtime.segment[kHeap].size + kSharedHeader +
                          (team.id * signals_of(runtime.n_pes) + static_cast<size_t>(line)) * sizeof(Signal)} {}

  std::atomic_ref<uint64_t> at(int number) const { return std::atomic_ref<uint64_t>(*peer(number).at<uint64_t>(place_)); }
  // Release: what was stored before the barrier is seen by who passes it, through however many PEs.
  void give(int number) const {
    assert(number >= 0 && number < team_.size() && at(number).load(std::memory_order_relaxed) < team_.meetings);
    at(number).store(team_.meetings, std::memory_order_release);
    if (watched_after_store(peer(number)) & kLibraryBit) PtlxNodeRing(&peer(number).watch);
  }
  void await() const {
    const auto mine = at(team_.my_pe);
    wait(
        "a barrier or sync", kLibraryBit, [&] { return mine.load(std::memory_order_acquire) >= team_.meetings; }, &team_.members);
  }

 private:
  const Peer& peer(int number) const { return runtime.peers[team_.members[number]]; }

  const Team& team_;
  Place place_;
};

void disseminate(const Team& team) {
  const auto n = static_cast<unsigned>(team.size());
  const auto me = static_cast<unsigned>(team.my_pe);
  int round = 0;
  for (unsigned distance = 1; distance < n; distance *= 2, ++round) {
    const TeamSignal signal(team, round);
    signal.give(static_cast<int>((me + distance) % n));
    signal.await();
  }
}

// The count is zero again before anybody can come to the next meeting.
void count_and_release(const Team& team) {
  const TeamSignal release(team, 0);
  const auto arrived = TeamSignal(team, 1).at(0);
  assert(arrived.load(std::memory_order_relaxed) < static_cast<uint64_t>(team.size()));
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != static_cast<uint64_t>(team.size())) {
    release.await();
    return;
  }
  arrived.store(0, std::memory_order_relaxed);
  for (int number = 0; number < team.size(); ++number)
    if (number != team.my_pe) release.give(number);
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
  if (runtime.crowded) count_and_release(team);
  else disseminate(team);
}

void barrier_all() {
  quiet(default_channel);
  sync(*fixed_teams.world);
}

void ring(const Peer& peer, uint32_t watched, const Place& place, size_t size) {
  if (watched & watch_bits(place, size)) PtlxNodeRing(&peer.watch);
}

constinit thread_local int calls_of_thread = -kCallsBetweenLooks;

bool came_round() {
  if (graph::is_capturing()) {
    calls_of_thread = 0;
    return true;
  }
  calls_of_thread = -kCallsBetweenLooks;
  progress();
  if (runtime.any_remote) default_channel.check_failures();
  return false;
}

void progress() {
  PtlxProgress();
  if (runtime.oversubscribed) sched_yield();
}

}  // namespace portunus::shmem

using namespace portunus::shmem;

SHMEMI_DEFINE(void, fence, (void)) try {
  require_init("shmem_fence");
  if (captures()) [[unlikely]]
    return graph::fence(default_channel);
  fence(default_channel);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, ctx_fence, (shmem_ctx_t ctx)) try {
  require_init("shmem_ctx_fence");
  if (ctx == SHMEM_CTX_INVALID) return;
  Channel& channel = channel_of("shmem_ctx_fence", ctx);
  captures() ? graph::fence(channel) : fence(channel);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, quiet, (void)) try {
  require_init("shmem_quiet");
  if (captures()) [[unlikely]]
    return graph::quiet(default_channel);
  quiet(default_channel);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, ctx_quiet, (shmem_ctx_t ctx)) try {
  require_init("shmem_ctx_quiet");
  if (ctx == SHMEM_CTX_INVALID) return;
  Channel& channel = channel_of("shmem_ctx_quiet", ctx);
  captures() ? graph::quiet(channel) : quiet(channel);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, barrier_all, (void)) try {
  require_init("shmem_barrier_all");
  if (captures()) [[unlikely]] {
    graph::quiet(default_channel);
    graph::sync("shmem_barrier_all", *fixed_teams.world);
    return;
  }
  barrier_all();
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, sync_all, (void)) try {
  require_init("shmem_sync_all");
  if (captures()) [[unlikely]] {
    graph::sync("shmem_sync_all", *fixed_teams.world);
    return;
  }
  sync(*fixed_teams.world);
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, team_sync, (shmem_team_t team)) try {
  require_init("shmem_team_sync");
  Team* it = team_of(team);
  if (!it) return -1;
  if (captures()) [[unlikely]]
    return graph::sync("shmem_team_sync", *it);
  sync(*it);
  return 0;
}
SHMEMI_BARRIER

// All operations of the context are waited for: acknowledgements are not counted by PE.
SHMEMI_DEFINE(void, pe_quiet, (const int* target_pes, size_t npes)) try { pshmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, target_pes, npes); }
SHMEMI_BARRIER

SHMEMI_DEFINE(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int* target_pes, size_t npes)) try {
  require_init("shmem_ctx_pe_quiet");
  if (ctx == SHMEM_CTX_INVALID || npes == 0) return;
  for (size_t i = 0; i < npes; ++i) target_of("shmem_ctx_pe_quiet", ctx, target_pes[i]);
  Channel& channel = channel_of("shmem_ctx_pe_quiet", ctx);
  captures() ? graph::quiet(channel) : quiet(channel);
}
SHMEMI_BARRIER
