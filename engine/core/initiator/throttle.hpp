// throttle.hpp: how much a process that keeps unexpected messages for others lets them send. Plain values; flow_control.hpp
// has the protocol. Thread: the baton holder.
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "engine/shared/command.hpp"

namespace portunus {

struct Peer;

enum class Throttle : uint8_t { none, headers_only, nothing };  // what may be sent: everything, .., nothing

// The target's side: what one portal table entry holds, and whom it has told. Levels rise and fall at different fills, so
// that few messages about them travel.
class HeldMemory {
 public:
  HeldMemory(uint64_t headers_only_from, uint64_t most) : headers_only_from_(headers_only_from), most_(most) {}

  void add(uint64_t bytes) {
    used_ += bytes;
    if (used_ >= most_) level_ = Throttle::nothing;
    else if (used_ >= headers_only_from_ && level_ == Throttle::none) level_ = Throttle::headers_only;
  }
  // True: the level has fallen.
  bool subtract(uint64_t bytes) {
    assert(bytes <= used_);
    used_ -= bytes;
    const Throttle before = level_;
    if (level_ == Throttle::nothing && used_ < most_ - most_ / 4) level_ = Throttle::headers_only;
    if (level_ == Throttle::headers_only && used_ < headers_only_from_ / 2) level_ = Throttle::none;
    return level_ != before;
  }
  Throttle level() const { return level_; }
  uint64_t used() const { return used_; }

  std::unordered_map<Peer*, Throttle> told;  // senders that were asked for less

 private:
  uint64_t headers_only_from_;
  uint64_t most_;
  uint64_t used_ = 0;
  Throttle level_ = Throttle::none;
};

using PausedPuts = std::deque<std::unique_ptr<Command>>;

// The sender's side: what one portal table entry of a peer has asked for.
struct Throttled {
  uint8_t ni = 0;
  uint16_t pt_index = 0;
  Throttle level = Throttle::none;
  PausedPuts paused;  // in order of issue
};

}  // namespace portunus
