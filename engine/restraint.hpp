// restraint.hpp: how a process that keeps unexpected messages for others asks their senders for less.
//
// What held messages (PTLX_ME_HOLD) of a portal table entry occupy is counted. From `headers_only_from` bytes on their senders
// are asked, each when its next message is kept, to send headers alone and to keep the data until it is asked for; from
// `most` on to send nothing more. When enough has been taken, all who were asked are told. Levels rise and fall at different
// fills, so that few such messages travel. What was under way when a sender was asked still comes.
//
// Thread: the baton holder.
// Invariants: of one sender's puts to a restrained portal table entry none overtakes another: while some are paused, the next
// ones queue behind them. Messages to other entries, answers and everything else go on.
// Source: the flow control that Portals 4.3 leaves to its users; Cray's MPI on the XT3 for what happens without it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "engine/shared/command.hpp"

namespace portunus {

struct Peer;

enum class Restraint : uint8_t { none, headers_only, nothing };

// The target's side, of one portal table entry.
class HeldMemory {
 public:
  HeldMemory(uint64_t headers_only_from, uint64_t most) : headers_only_from_(headers_only_from), most_(most) {}

  void add(uint64_t bytes) {
    used_ += bytes;
    if (used_ >= most_)
      level_ = Restraint::nothing;
    else if (used_ >= headers_only_from_ && level_ == Restraint::none)
      level_ = Restraint::headers_only;
  }
  // True: the level has fallen.
  bool subtract(uint64_t bytes) {
    used_ -= bytes;
    const Restraint before = level_;
    if (level_ == Restraint::nothing && used_ < most_ - most_ / 4) level_ = Restraint::headers_only;
    if (level_ == Restraint::headers_only && used_ < headers_only_from_ / 2) level_ = Restraint::none;
    return level_ != before;
  }
  Restraint level() const { return level_; }
  uint64_t used() const { return used_; }

  std::unordered_map<Peer*, Restraint> told;  // senders that were asked for less

 private:
  uint64_t headers_only_from_;
  uint64_t most_;
  uint64_t used_ = 0;
  Restraint level_ = Restraint::none;
};

// The sender's side: what one portal table entry of a peer has asked for.
struct Restrained {
  uint8_t ni = 0;
  uint16_t pt_index = 0;
  Restraint level = Restraint::none;
  std::deque<std::unique_ptr<Command>> paused;
};

constexpr uint64_t kAlwaysEager = 64;  // data that takes no more than what a header alone would

}  // namespace portunus
