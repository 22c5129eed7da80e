// peer.hpp: one PE that a plan sends to or receives from, and the words in which both tell each other how far they are.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/client/remote_memory.hpp"
#include "shmem/distribution/layout/move.hpp"
#include "shmem/distribution/plan/choice.hpp"

namespace portunus::distribution {

// In symmetric memory, one for each PE of the job: written by that PE alone, read by this one. Runs count from 1.
struct alignas(64) Slot {
  uint64_t ready;  // the run for which that PE's array may be read; stored (release) after the two below
  uint64_t block;  // where its array lies (NodePlace), or kByMessage
  uint64_t offset;
  uint64_t done;   // the run for which that PE has read our array, or what we posted (release, after its last read)
  uint64_t taken;  // the start whose messages from us that PE had taken when it last said so
  static constexpr uint64_t kByMessage = UINT64_MAX;
};

struct Peer {
  int pe = 0;
  Move move;
  Program program;  // of the move, or of packing or unpacking it; of no use unless `compiled`
  bool compiled = false;
  int64_t bytes = 0;
  Way way = Way::kLaidOut;
  Slot* theirs = nullptr;    // our slot there; NULL: not on this node
  std::byte* box = nullptr;  // where `run` posts this pair's message, twice `cell` bytes for runs in turn; NULL: it does not
  ptlx_watch_t watch{};
  bool pending = false;  // of the run that goes on

  bool on_node() const { return theirs != nullptr; }
  void copy(std::byte* to, const std::byte* from, Stores stores) const {
    if (compiled) program.copy(to, from, stores);
    else move.copy(to, from);
  }
};

inline uint64_t load(const uint64_t& word) { return std::atomic_ref<const uint64_t>(word).load(std::memory_order_acquire); }
inline void store(uint64_t& word, uint64_t value) { std::atomic_ref<uint64_t>(word).store(value, std::memory_order_release); }

// The bit of PtlxNodeWatch that stands for slots, as it does for what OpenSHMEM keeps for itself.
inline constexpr uint32_t kWatchBit = uint32_t{1} << 31;

// After a store to the peer's memory: wakes whoever sleeps there until it changes.
inline void ring(const Peer& peer) { client::ring(peer.watch, kWatchBit); }

}  // namespace portunus::distribution
