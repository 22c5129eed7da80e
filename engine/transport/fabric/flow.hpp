// flow.hpp: what long data are under way in one direction, and when they should be there.
//
// A descriptor tells of long data packet by packet, and each time a thread is woken that takes the processor from whoever computes. Who
// knows about when the data will all be there, or how long a socket's buffer takes to fill, can leave the descriptor alone until then.
//
// Thread: the holder of the baton. Times are handed in.
#pragma once

#include <algorithm>
#include <cstdint>

namespace portunus::fabric {

class Flow {
 public:
  static constexpr uint64_t kLong = 32 << 10;  // bytes of what is worth it

  // So many bytes are to come. They are taken to be on their way once asked() is called: what a peer is to fetch may lie there long.
  void begin(uint64_t bytes) {
    under_way_ += bytes;
    asked_ = false;
  }
  [[nodiscard]] bool under_way() const { return under_way_ > 0; }
  [[nodiscard]] bool awaits_asking() const { return under_way_ > 0 && !asked_; }
  void asked(uint64_t now_ns) {
    asked_ = true;
    if (since_ns_ == 0) since_ns_ = now_ns;
  }
  // Somebody has looked for what has come.
  void looked(uint64_t now_ns) { looked_ns_ = now_ns; }
  // So many have arrived, or never will.
  void ended(uint64_t bytes, uint64_t now_ns) {
    under_way_ -= std::min(bytes, under_way_);
    passed_ += bytes;
    if (since_ns_ != 0 && now_ns > since_ns_) weigh(now_ns);
    if (under_way_ == 0) since_ns_ = passed_ = 0;
  }

  // Whether what is worth a rest would come too soon for one, as far as is known.
  [[nodiscard]] bool is_fast() const {
    return bytes_per_ns_ > 0 ? bytes_per_ns_ * static_cast<double>(kLeastNs) > static_cast<double>(kMostAtOnce) : soon_ >= kManySoon;
  }

 private:
  // The end came between the last look and now. Who rests for as long as it takes to see the end, and takes that for the end, would rest
  // ever longer.
  void weigh(uint64_t now_ns) {
    const auto passed = static_cast<double>(passed_);
    // Whoever computed, and came for the first of them late, found the rest there, too: that says nothing of the wire, either. One that is
    // so fast indeed needs no rests, and is believed in time.
    if (now_ns - since_ns_ < kLeastNs) {
      soon_ = std::min(soon_ + 1, kManySoon);
      bytes_per_ns_ = std::max(bytes_per_ns_, std::min(bytes_per_ns_ * kSoon, passed / static_cast<double>(now_ns - since_ns_)));
      return;
    }
    soon_ = 0;
    const double slowest = passed / static_cast<double>(now_ns - since_ns_);
    const double fastest = looked_ns_ > since_ns_ ? passed / static_cast<double>(looked_ns_ - since_ns_) : 2 * slowest;
    if (bytes_per_ns_ <= 0) bytes_per_ns_ = slowest;
    else if (bytes_per_ns_ < fastest) bytes_per_ns_ = std::min(std::max(bytes_per_ns_, slowest) * kUnseen, fastest);
    else bytes_per_ns_ = std::max(fastest * kEarly, bytes_per_ns_ * kLate);
  }

  // To look early costs a look more, to look late costs time.
  static constexpr double kEarly = 1 - 1.0 / 16, kUnseen = 1 + 1.0 / 64, kSoon = 1 + 1.0 / 16;
  static constexpr double kLate = 0.875;             // at least: who came late, or shared the wire, says little of its speed
  static constexpr uint64_t kAtOnce = 96 << 10;      // bytes that a socket's buffers take in, or have to give, while nobody looks
  static constexpr uint64_t kMostAtOnce = 64 << 10;  // bytes of the longest put that travels whole
  static constexpr uint32_t kManySoon = 8;
  static constexpr int64_t kLeastNs = 100'000, kMostNs = 2'000'000;  // to be woken costs some ten microseconds

  uint64_t under_way_ = 0, passed_ = 0;  // passed: since since_ns_, when data began to flow that have not ceased
  uint64_t since_ns_ = 0, looked_ns_ = 0;
  bool asked_ = false;
  uint32_t soon_ = 0;  // so many in a row came too soon for a rest
  double bytes_per_ns_ = 0;
};

}  // namespace portunus::fabric
