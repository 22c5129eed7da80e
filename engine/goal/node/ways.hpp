// How long contributions go to all others: through buffers, or read from where they lie.
//
// Through a room each byte is copied twice, and its lines go from one core to another twice; read from where it lies it is copied once,
// by the kernel, and its owner must wait until all have read it. Which is quicker depends on the bytes, on how far the cores are from
// each other, which may change while a job runs, and on who wrote the data last. So both are tried a few times, and again now and then,
// and the quicker is taken: the quickest try of a way counts, as the others have waited for somebody.
//
// Thread: one at a time per object; pure.
// Invariants: next() and took() are called by turns. Ranks that make the same calls try the same way at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace portunus::goal::node {

class Ways {
 public:
  static constexpr size_t kLeast = 8 * 1024;  // less is not worth a system call
  static constexpr uint32_t kTries = 4, kPeriod = 512;

  // Whether the next of so many bytes (for one rank) is read from where it lies.
  bool next(size_t bytes) {
    Case& now = case_of(bytes);
    if (now.turn == 0) now.quickest = {UINT64_MAX, UINT64_MAX};
    return now.turn < kTries ? false : now.turn < 2 * kTries ? true : now.in_place;
  }
  // Whether took() wants to know how long it takes.
  [[nodiscard]] bool is_try(size_t bytes) { return case_of(bytes).turn < 2 * kTries; }
  // It is over, and took so long.
  void took(size_t bytes, uint64_t ns) {
    Case& now = case_of(bytes);
    if (now.turn < 2 * kTries) {
      uint64_t& quickest = now.quickest[now.turn / kTries];
      quickest = std::min(quickest, ns);
    }
    if (++now.turn == 2 * kTries) now.in_place = now.quickest[1] < now.quickest[0];
    if (now.turn == kPeriod) now.turn = 0;
  }

 private:
  struct Case {
    std::array<uint64_t, 2> quickest;
    uint32_t turn = 0;
    bool in_place = false;
  };
  Case& case_of(size_t bytes) { return cases_[std::min<size_t>(std::bit_width(bytes / kLeast), cases_.size() - 1)]; }

  std::array<Case, 6> cases_;  // by the size: up to 256 KiB and above
};

}  // namespace portunus::goal::node
