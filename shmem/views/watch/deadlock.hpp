// deadlock.hpp: a blocked process says whom it waits for; after a while it follows that chain (blocked.hpp). A circle, seen alike at
// two probes in turn with nobody in it told meanwhile, is a deadlock, and the highest process in it is told.
//
// Thread: the one that calls. Cost: nothing for waits below 10 ms; then four words from each process of the chain,
// at intervals that double up to a second.
// Source: VODCA, section 3.3 (doubling intervals).
#pragma once

#include <string>
#include <vector>

#include "shmem/views/library.hpp"

namespace portunus::views {

bool ready(View& view);
void view_blocks(View& view);
void nobody_blocks();

class DeadlockProbe {
 public:
  DeadlockProbe();
  bool due() const;
  // True: there is a circle, and this process is the highest in it.
  bool finds_circle(View& view);
  std::string circle() const;

 private:
  std::vector<std::pair<int, uint64_t>> follow() const;
  double next_, interval_;
  std::vector<std::pair<int, uint64_t>> found_;
};

}  // namespace portunus::views
