// calm.hpp: need the parked engine thread be woken by each message?
//
// Not while those that wake it only lie where the application will find them, and the application comes by itself: then the thread takes
// its processor, and a part of its cache, for nothing. Senders ring a calm door for what is urgent alone (wire::is_urgent, or where there
// is no room left); the thread looks every kDenseTick, and more rarely the longer it is so, for all else.
//
// Thread: weigh, the engine thread under the baton; now, whoever has the baton, and the engine thread anywhere. README.md has the figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace portunus {

class Calm {
 public:
  bool now() const { return calm_; }
  // Triggers were used since the thread looked last, so there is work that the application need not come for: wake the thread.
  bool disturbed(uint64_t triggers) const { return calm_ && triggers != triggers_; }
  // After each look of the engine thread. woken: it slept before; found: something had come that the application had not taken already;
  // answered: the thread sent something or moved data that others may wait for. triggers: another number whenever one was armed or fired,
  // by whomever; looks: how often the application came to look so far.
  void weigh(bool woken, bool found, bool answered, uint64_t triggers, uint32_t looks) {
    const bool came = looks != std::exchange(looks_, looks), fired = triggers != std::exchange(triggers_, triggers);
    unasked_ = came ? 0 : std::min(unasked_ + 1, kUnasked);
    if (answered || fired) vain_ = 0;
    else if ((woken || found) && came) vain_ = std::min(vain_ + 1, kVain);
    else if (found && unasked_ == kUnasked) vain_ /= 2;  // it may look at its memory, and call nothing
    calm_ = vain_ == kVain && unasked_ < kUnasked;
  }

  static constexpr uint32_t kVain = 8;     // wake-ups for nothing before it is calm
  static constexpr uint32_t kUnasked = 8;  // looks of the thread between two of the application before it is so no more

 private:
  bool calm_ = false;
  uint32_t vain_ = 0, unasked_ = 0, looks_ = 0;
  uint64_t triggers_ = 0;
};

}  // namespace portunus
