// moves.hpp: pulls and pushes on their way, and how much of them a link may ask for at once.
//
// A provider that carries everything to a peer in one stream of bytes sends a message, and a request to read, behind all data that the peer
// has asked for before. Two processes that exchange long messages would then send one after the other: the second's request waits until the
// first's data are out. So moves go in pieces, and no more are asked for at once than keep the wire busy.
//
// Thread: the holder of the baton.
// Source: Brakmo and Peterson, "TCP Vegas", 1995 (a window by the delay that it causes itself).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/transport/wire.hpp"

namespace portunus::fabric {

struct FabricLink;
struct Registration;

// Bytes that may be asked for at once; a piece is half of them. A piece that takes much longer than the fastest one waits for others of
// ours, and the window shrinks; where pieces hardly wait, the wire is fast or far, and the window grows.
class Window {
 public:
  // Limits the window, which is without limit before.
  void limit() { size_ = kFirst; }
  size_t size() const { return size_; }
  size_t piece() const { return size_ / 2; }
  // Notes how long a piece took.
  void took(uint64_t ns) {
    if (size_ > kMost) return;
    fastest_ = std::min(fastest_, ns);
    if (ns > fastest_ + kSlow) size_ = std::max(size_ / 2, std::min(size_, ns < kLong ? kLeast : kLeastOfSlow));
    else if (ns < fastest_ + kFast) size_ = std::min(size_ + size_ / 4, kMost);
  }

 private:
  static constexpr size_t kFirst = 512 << 10, kMost = 128 << 20;
  static constexpr size_t kLeast = 256 << 10, kLeastOfSlow = 128 << 10;                // a piece less keeps a fast wire from running dry
  static constexpr uint64_t kFast = 1'000'000, kSlow = 2'000'000, kLong = 10'000'000;  // ns
  size_t size_ = SIZE_MAX;
  uint64_t fastest_ = UINT64_MAX;
};

struct Move {
  FabricLink* link;  // null: lost
  wire::Region remote;
  std::byte* local;
  size_t left;  // not asked for yet
  bool out;
  void* context;
  Registration* registration = nullptr;
  uint32_t pieces = 0;  // that the provider has
  bool fine = true;
};

}  // namespace portunus::fabric
