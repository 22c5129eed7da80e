// The memory of the other ranks of a group on one node, read where it lies (process_vm_readv).
//
// Thread: one at a time until it is open; then any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/goal/node/shared_memory.hpp"

namespace portunus::goal::node {

class PeerMemory {
 public:
  // The words by which a rank is recognized that tells where it has one.
  explicit PeerMemory(size_t rank) : word_(kProbed ^ rank) {}
  [[nodiscard]] int64_t word() const { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(&word_)); }
  // Whether every rank can read the memory of every other one: each has told its process and word(), and all look. Collective;
  // GOAL_SUCCESS, or as Agreement::tell.
  int open(Agreement& agreement);
  // Instead: as that of a group whose ranks members[0], [1] .. these are.
  void open_as(const PeerMemory& whole, const std::vector<size_t>& members);
  [[nodiscard]] bool may_read() const { return !processes_.empty(); }

  // The word that says where data lie: how far into what is shared; or, above kHighest, in their process: an address with all bits turned.
  static uint64_t in_process(const void* data) { return ~reinterpret_cast<uint64_t>(data); }
  static bool lies_in_process(uint64_t at) { return at > kHighest; }
  enum class Read : uint8_t { all, gone, refused };  // `gone`: the rank has ended
  // Bytes of another rank's memory, from `from` behind such a place on, if this one may_read().
  Read read(size_t rank, uint64_t at, size_t from, size_t bytes, std::byte* to) const;

 private:
  static constexpr uint64_t kProbed = 0x706f7274756e7573;
  static constexpr uint64_t kHighest = ~uint64_t{} >> 1;  // addresses of processes are below

  uint64_t word_;
  std::vector<int> processes_;  // by rank, if all can read each other's memory
};

}  // namespace portunus::goal::node
