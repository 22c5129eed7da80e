// by_layout.hpp: messages that a function packs and unpacks while they move: no packed copy at either end.
//
// Owned by a plan; called by its thread. Each start appends one entry for each message to come and puts each message to go;
// one counter counts both, and lost peers as failures. Invariant: between start and done, arrays, moves and this object stay
// where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/client/remote_memory.hpp"
#include "shmem/distribution/plan/peer.hpp"

namespace portunus::distribution {

class LaidOut {
 public:
  enum class Kind : uint64_t { kStart = 0, kRun = 1 };

  ~LaidOut() { close(); }

  // Room for so many messages out and in at a time. PTL_* codes.
  int open(uint32_t plan, size_t out, size_t in);
  // Counts a failure when that PE is lost.
  int watch(int pe) const;
  void close();

  // Receives the message of epoch `epoch`; epochs of a kind differ. PTL_* codes.
  int receive(const Peer& peer, Kind kind, uint64_t epoch, std::byte* to);
  int send(const Peer& peer, Kind kind, uint64_t epoch, const std::byte* from);
  // All of what was begun has ended, well or not; `lost` then says that something failed.
  bool done(bool* lost);
  bool lost() const { return messages_.failures() > 0; }
  // Nothing was begun since all was done.
  bool idle() const { return next_out_ == 0 && next_in_ == 0; }

 private:
  struct Context {
    const Move* move;
    std::byte* array;
  };
  static void pack(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece);
  ptl_match_bits_t bits(Kind kind, uint64_t epoch) const {
    return uint64_t{plan_} << 40 | static_cast<uint64_t>(kind) << 39 | (epoch & 0x7fffffffff);
  }

  uint32_t plan_ = 0;
  client::Operations messages_;  // out and in
  client::Descriptor descriptor_;
  std::vector<Context> contexts_;       // out, then in
  std::vector<ptlx_layout_t> layouts_;  // the same
  std::vector<ptl_handle_me_t> entries_;
  size_t out_ = 0, next_out_ = 0, next_in_ = 0;
};

}  // namespace portunus::distribution
