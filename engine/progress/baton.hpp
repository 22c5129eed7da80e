// baton.hpp: who steps the engine.
//
// One word. Whoever holds it owns everything that folder engine/ keeps (match lists, triggers, transports); taking it
// acquires what the last holder released.
//
// One thread at a time may hold a *bias*: it takes and releases the baton by plain stores, and whoever else wants the baton first
// takes the bias back, at the price of a heavy fence (asymmetric_fence.hpp). So a program with one busy thread pays for no locked
// instruction, while the engine thread sleeps. The bias is given again to the same thread only: another that was given it before
// might not have noticed yet that it was taken back.
//
// Thread: any. Invariants: at most one holder, and nobody holds it twice: who asks again while it holds the baton is refused, with the
// bias as without, since the inner release would let others in. A condition that is looked at under the baton may well call an
// entry point that steps. `release` is a full barrier for those who look at the baton by `held`, so what
// the leaving holder looks at next (commands pushed meanwhile, sleepers) is not older than the hand-over: together with a pusher
// that publishes, fences and then looks at the baton, no command is left behind.
#pragma once

#include <cstdint>

#include "engine/progress/memory.hpp"
#include "engine/progress/under_baton.hpp"

namespace portunus {

// Memory: memory.hpp; its heavy fence need reach this process only. `biased` is the calling thread's own word: false at first.
template <class Memory>
class BasicBaton {
 public:
  bool try_take(bool& biased) TAKES_BATON_IF_TRUE {
    if (biased) {
      if (Memory::keeps(Guard::refuse_twice) && inside_.load_relaxed() != 0) return false;  // by this very thread: nobody else writes it
      inside_.store(1);
      Memory::light_fence();  // pairs with the heavy fence of take_back
      if (blocked_.load() == 0) return true;
      inside_.store_release(0);
      biased = false;
    }
    if (word_.load_relaxed() != 0 || word_.exchange(1) != 0) return false;  // acquires what `release` released
    if (granted_.load_relaxed() == 0 || take_back()) return true;
    word_.store_release(0);
    return false;
  }
  // For the analysis the baton is neither taken nor left by these words, but by these functions.
  void release(bool biased) LEAVES_BATON BATON_NOT_FOLLOWED {
    count_use();
    if (biased) {
      inside_.store_release(0);
      Memory::light_fence();  // pairs with the heavy fence of `held`
      return;
    }
    word_.store_release(0);
    Memory::fence(Guard::release_fence);  // an exchange would not order the reads that follow everywhere
  }
  // Released by a thread that took it without bias: from now on it has the bias.
  void release_biased(bool& biased) LEAVES_BATON BATON_NOT_FOLLOWED {
    count_use();
    granted_.store(1);
    blocked_.store_release(0);
    word_.store_release(0);
    Memory::fence(Guard::release_fence);
    biased = true;
  }
  // Does somebody hold it who will look, after releasing it, at what the caller published before its last fence? If not, the
  // caller tries to take it, and asks again when that fails: the owner of the bias may just find that it has lost it.
  bool held() {
    if (granted_.load() == 0) return word_.load() != 0;
    Memory::heavy_fence(Guard::held_fence);
    return word_.load() != 0 || inside_.load() != 0;
  }
  // Ends the bias without taking the baton: its owner finds out when it comes again. Without a fence: who must not meet the owner inside
  // takes the bias back.
  void block() {
    if (granted_.load() == 0) return;
    blocked_.store(1);
  }
  // Somebody needs the baton for a synchronous call: holders that spin give it up after the current step.
  void want() { wanted_.add(1); }
  void got() { wanted_.add(~0u); }
  bool wanted() const { return wanted_.load_relaxed() != 0; }
  // Changes whenever someone hands the baton back: lets the engine thread see that an application is busy here.
  uint32_t uses() const { return uses_.load_relaxed(); }

  bool granted() const { return granted_.load_relaxed() != 0; }
  // Is the thread with the bias inside? A hint.
  bool inside() const { return inside_.load_relaxed() != 0; }
  // Does somebody want the bias back? For its owner, who then leaves soon.
  bool blocked() const { return blocked_.load_relaxed() != 0; }

 private:
  // Under word_. False: the owner of the bias is inside; it finds `blocked_` when it comes again.
  bool take_back() {
    blocked_.store(1);
    Memory::heavy_fence(Guard::take_back_fence);
    if (Memory::keeps(Guard::take_back_look) && inside_.load() != 0) return false;  // acquires what the owner did inside
    granted_.store(0);
    return true;
  }

  void count_use() { uses_.store(uses_.load_relaxed() + 1); }

  alignas(64) typename Memory::Atomic32 word_;
  typename Memory::Atomic32 granted_;             // written under word_
  typename Memory::Atomic32 blocked_;             // the bias is not to be used
  alignas(64) typename Memory::Atomic32 inside_;  // the owner's of the bias
  typename Memory::Hint uses_;                    // written by the holder only
  alignas(64) typename Memory::Hint wanted_;
};

using Baton = BasicBaton<ProcessMemory>;

}  // namespace portunus
