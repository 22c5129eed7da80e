// watch.hpp: how a thread that sleeps until others store to memory is woken, at the price of one load for each store.
//
// One word per process, in memory its node peers map: a set of 32 bits, each of which stands for parts of the process's memory, as
// the layer on top divides it. Who is about to sleep sets the bits of what it waits for. Who has stored and finds a bit of its own set
// takes them all and rings whoever sleeps there; sleepers look, and set theirs again.
//
// The protocol (a Dekker handshake whose frequent side has no fence). Writer: store; keep the compiler's order; read the word; ring if
// a bit is set. Sleeper: read the word that it will sleep on, or arm the doorbell; set the bits; make all processors execute a fence
// (asymmetric_fence.hpp); look at the memory; sleep only if it is unchanged. Either the writer's store had come when everybody
// fenced, and the sleeper sees it; or the writer reads its word after that, and sees the bits. If another writer has taken the bits
// by then, it has yet to ring: the sleeper wakes, sets its bits and fences again before it sleeps on.
// tests/engine/doorbell_interleaving_test.cpp walks all interleavings, and what is lost without that fence.
//
// Thread: touched() by any process that maps the word; the rest by threads of the owner and by those who ring.
// Cost: a store pays a load of a line that is written only when somebody sleeps; a sleeper pays the heavy fence.
#pragma once

#include "engine/progress/doorbell.hpp"

namespace portunus {

// Memory as for BasicDoorbell.
template <class Memory>
class BasicWatch {
 public:
  // Sleeper: whoever stores there rings, or has stored already, once the caller has made all processors fence.
  void set(uint32_t bits) {
    uint32_t others = word_.load_relaxed();
    for (bool first = true;; first = false) {
      Memory::repeat(first);
      if (word_.compare_exchange(others, others | bits)) return;
    }
  }
  // Writer, after its store.
  bool touched(uint32_t bits) {
    Memory::light_fence();  // pairs with the heavy fence of set
    return (word_.load_relaxed() & bits) != 0;
  }
  // Does somebody sleep? Then it is the caller who rings. Acquire: sees what sleepers armed before they set their bits.
  bool take() { return word_.load_relaxed() != 0 && word_.exchange(0) != 0; }

  typename Memory::Atomic32& word() { return word_; }

 private:
  typename Memory::Atomic32 word_;
};
using Watch = BasicWatch<HardwareMemory>;
static_assert(sizeof(Watch) == 4);

}  // namespace portunus
