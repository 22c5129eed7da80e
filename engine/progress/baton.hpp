// baton.hpp: who steps the engine.
//
// One word. Whoever holds it owns everything that folder engine/ keeps (match lists, triggers, transports); taking it
// acquires what the last holder released.
//
// Thread: any. Invariants: at most one holder, and nobody holds it twice: a thread that asks again while it holds the baton is refused.
// A condition that is looked at under the baton may well call an entry point that steps. `release` is a full barrier for those who look at
// the baton by `held`, so what the leaving holder looks at next (commands pushed meanwhile, sleepers) is not older than the hand-over:
// together with a pusher that publishes, fences and then looks at the baton, no command is left behind.
#pragma once

#include <cstdint>

#include "engine/progress/memory.hpp"
#include "engine/progress/under_baton.hpp"

namespace portunus {

// Memory: memory.hpp.
template <class Memory>
class BasicBaton {
 public:
  // For the analysis the baton is neither taken nor left by this word, but by these two functions.
  bool try_take() TAKES_BATON_IF_TRUE BATON_NOT_FOLLOWED {
    return word_.load_relaxed() == 0 && word_.exchange(1) == 0;  // acquires what `release` released
  }
  void release() LEAVES_BATON BATON_NOT_FOLLOWED {
    uses_.store(uses_.load_relaxed() + 1);
    word_.store_release(0);
    Memory::fence(Guard::release_fence);  // an exchange would not order the reads that follow everywhere
  }
  // Does somebody hold it who will look, after releasing it, at what the caller published before its last fence? If not, the
  // caller tries to take it.
  bool held() const { return word_.load() != 0; }
  // Somebody needs the baton for a synchronous call: holders that spin give it up after the current step.
  void want() { wanted_.add(1); }
  void got() { wanted_.add(~0u); }
  bool wanted() const { return wanted_.load_relaxed() != 0; }
  // Changes whenever someone hands the baton back: lets the engine thread see that an application is busy here.
  uint32_t uses() const { return uses_.load_relaxed(); }

 private:
  alignas(64) typename Memory::Atomic32 word_;
  typename Memory::Hint uses_;  // written by the holder only
  alignas(64) typename Memory::Hint wanted_;
};

}  // namespace portunus
