// attention.hpp: when an application thread was last inside the engine of its process.
//
// A process is attended while one of its threads waits, and for a moment after it has left: it is likely to come again. Who sends to an
// attended process wakes nobody, and its engine thread sleeps. One word per process, in memory its node peers map.
//
// Thread: inside and outside, threads of the owner; the rest any. Two threads of the owner may overwrite each other's word: the last one
// to leave writes last, so the word does not stay `inside` for ever. It is a hint otherwise: a wrong answer costs a wake-up in vain, or a
// tick of the engine thread (progress_thread.hpp).
// Cost: a read of the processor's clock, and a store to a line that others read for urgent messages alone: some 10 ns, and more where one
// has just read it. So calls that do not wait say it now and then (BasicProgress::note_leaving), and senders look now and then.
#pragma once

#include <cstdint>

#include "engine/progress/memory.hpp"

namespace portunus {

// Memory: memory.hpp; its stamp() counts up in units of about half a microsecond, and is never kInside.
template <class Memory>
class BasicAttention {
 public:
  static constexpr uint32_t kInside = 0;

  void inside() { word_.store(kInside); }
  void outside() { word_.store(Memory::stamp()); }
  uint32_t read() const { return word_.load_relaxed(); }
  // Nobody is inside, and nobody was for so many units.
  bool is_away(uint32_t units) const { return is_away(units, Memory::stamp()); }
  bool is_away(uint32_t units, uint32_t now) const {
    const uint32_t last = word_.load_relaxed();
    return last != kInside && now - last >= units;
  }

 private:
  typename Memory::Atomic32 word_;
};

using Attention = BasicAttention<HardwareMemory>;
static_assert(sizeof(Attention) == 4);

}  // namespace portunus
