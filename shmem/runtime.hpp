// runtime.hpp: what this PE knows while OpenSHMEM is up: who it is, where symmetric memory lies, here and at its peers.
//
// Symmetric memory is two segments: the heap and the globals of the executable. A symmetric address is this PE's own
// address; segment and offset are the same on all PEs, so `peer base + offset` is where an on-node peer's object lies in
// this process, and (portal index, offset) where an off-node peer's does.
//
//        heap block    | symmetric heap: segment[kHeap], size_ = SHMEM_SYMMETRIC_SIZE | Signals, one page |
//        data segment  | .data and .bss of the executable: segment[kData]                                 |
//
// Thread: written by init and finalize alone; read by every call, on any thread.
// Invariants: n_pes == 0 exactly while OpenSHMEM is not initialised, so the check of a PE number finds that too.
// Source: OpenSHMEM 1.6, chapter "Memory Model".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/client/remote_memory.hpp"
#include "shmem/deaths.hpp"
#include "shmem/misuse.hpp"

namespace portunus::shmem {

enum Segment : unsigned { kHeap, kData, kSegments };

struct Place {
  unsigned segment;
  size_t offset;
};

// One peer. Null bases: it is not on this node.
struct Peer {
  std::byte* base[kSegments];
  ptlx_watch_t watch;

  bool on_node() const { return base[kHeap] != nullptr; }
  template <class T>
  T* at(const Place& place) const {
    return reinterpret_cast<T*>(base[place.segment] + place.offset);
  }
};

struct Runtime {
  int my_pe = 0;
  int n_pes = 0;
  bool forked = false;  // in a child of the process that is the PE
  struct {
    uintptr_t start = 0;
    size_t size = 0;
  } segment[kSegments];
  const Peer* peers = nullptr;
  bool any_remote = false;      // some peer is not on this node
  bool oversubscribed = false;  // the node has more PEs than cores: waiting must not spin
  bool crowded = false;         // so it is for some PE of the job
  bool debug = false;           // SHMEM_DEBUG: what costs time or messages is checked, too
  int thread_level = 0;
};

extern Runtime runtime [[gnu::visibility("hidden")]];

// Which object `address` .. `address + size` is part of; a sentence and the end of the job if it is not symmetric.
inline Place locate(const char* function, const void* address, size_t size, int pe) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const size_t in_heap = at - runtime.segment[kHeap].start;
  if (in_heap < runtime.segment[kHeap].size && size <= runtime.segment[kHeap].size - in_heap) [[likely]]
    return {kHeap, in_heap};
  const size_t in_data = at - runtime.segment[kData].start;
  if (in_data < runtime.segment[kData].size && size <= runtime.segment[kData].size - in_data) [[likely]]
    return {kData, in_data};
  misuse_address(function, address, size, pe);
}

inline bool is_symmetric(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return at - runtime.segment[kHeap].start < runtime.segment[kHeap].size || at - runtime.segment[kData].start < runtime.segment[kData].size;
}

inline const Peer& peer(const char* function, int pe) {
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(runtime.n_pes)) [[unlikely]]
    misuse_pe(function, pe);
  if (deaths() != 0) [[unlikely]]
    must_live(function, pe);
  return runtime.peers[pe];
}

// The calls of a thread are counted up to 0, where it steps the engine: programs that do nothing but put, get and look would never learn of
// a death otherwise. A thread that captures a graph (graph/) stays there, so that each of its calls finds out without a look of its own.
constexpr int kCallsBetweenLooks = 1 << 14;
extern constinit thread_local int calls_of_thread [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];
[[gnu::cold, gnu::noinline]] bool came_round();
// Whether the thread captures, without counting a call, and with: then the call is to be recorded.
inline bool captures() { return calls_of_thread >= 0; }
inline bool is_captured() { return ++calls_of_thread >= 0 && came_round(); }

inline void require_init(const char* function) {
  if (runtime.n_pes == 0) [[unlikely]]
    misuse(runtime.forked ? "%s was called by a child that was forked; only the process that called shmem_init may"
                          : "%s was called while OpenSHMEM is not initialised",
           function);
}

// The bits of a PE's watch: one for what the library keeps behind the heap, so that PEs which sleep in a barrier slow no put down; the
// others in turn for the program's cache lines, mixed so that the first lines of pages differ.
constexpr uint32_t kLibraryBit = uint32_t{1} << 31, kProgramBits = kLibraryBit - 1;
inline uint32_t watch_bits(const Place& place, size_t size) {
  constexpr size_t kLine = 64, kLines = 31;
  const size_t first = place.offset / kLine, last = (place.offset + size - 1) / kLine;
  if (last - first >= kLines) return kProgramBits;
  uint32_t bits = 0;
  for (size_t line = first; line <= last; ++line)
    bits |= uint32_t{1} << ((line * kSegments + place.segment) * 0x9e3779b97f4a7c15u >> 32) % kLines;
  return bits;
}

// The word that threads of a PE sleep for, read after a store to its memory (portals4_ext.h, PtlxNodeRing).
inline uint32_t watched_after_store(const Peer& peer) { return client::watched_after_store(peer.watch); }

void ring(const Peer& peer, uint32_t watched, const Place& place, size_t size);

// After a store to the program's memory on a PE of this node: wakes its threads that sleep until that memory changes.
inline void stored(const Peer& peer, const Place& place, size_t size) {
  if (const uint32_t watched = watched_after_store(peer) & kProgramBits) [[unlikely]]
    ring(peer, watched, place, size);
}

// Waits until ready() is true, which depends on the watched memory of this PE alone. The engine is stepped meanwhile. Who waits long
// sleeps, until somebody stores there by a call; plain stores by shmem_ptr are seen a little later. `whom`: the PEs that may make it
// true, null for all: the death of one ends the job, with a sentence that begins with `what`.
template <class Ready>
void wait(const char* what, uint32_t watched, Ready&& ready, const Members* whom = nullptr) {
  if (ready()) return;
  await(
      watched, [](void* arg) -> int { return (*static_cast<std::remove_reference_t<Ready>*>(arg))(); }, &ready, what, whom);
}

// For calls that look once and are called in a loop: steps the engine, and gives a crowded core to somebody else.
void progress();

}  // namespace portunus::shmem
