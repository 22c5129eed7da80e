// patience.hpp: does it pay to look on for a moment before the core is given up?
//
// Who waits beside more ranks than cores gives its core to the others. That takes two switches, 3 us and more; where what it waits for
// is made on another core just now, it comes within a part of that. Where it is to be made on this very core, each look on is lost.
// Only what happened before can tell, so a thread looks on where that helped lately, and tries it now and then where it did not.
//
// Thread: its own.
#pragma once

#include <algorithm>

namespace portunus {

class Patience {
 public:
  // Steps without work that follow the first one before the core is given up.
  int looks() { return trust_ > 0 || ++left_out_ % kTries == 0 ? kLooks : 0; }
  // How looking on ended.
  void tried(bool came) { trust_ = came ? std::min(trust_ + kGain, kMost) : std::max(trust_ - 1, 0); }

  static constexpr int kLooks = 64;           // about two microseconds
  static constexpr unsigned kTries = 16;      // the thread that does not trust it tries it every so often
  static constexpr int kMost = 8, kGain = 1;  // it has to help more often than not

 private:
  int trust_ = 0;
  unsigned left_out_ = 0;
};

}  // namespace portunus
