// Ranks that wait for one another for ever, found by what they tell of their waits (PtlxTellWait).
//
// A rank that has waited for a second tells, each second, which ranks could end its wait. Ranks of which each waits for ranks among them
// alone go on never, if there was a moment at which all of them waited and nothing was on its way between them: each has looked for an end
// of its wait after the last of them had begun to wait, and none has done anything since. What the node's memory carries is seen by such a
// look; where a network carries messages, all ranks of the job must wait, and as many messages must have arrived as were sent.
//
// Thread: ptlrun's only thread. Cost: reads some memory of each rank each second.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/host/stats_page.hpp"

namespace portunus::launch {

class HangFinder {
 public:
  struct Rank {
    int job;
    int rank;
    pid_t pid;
    int of;  // ranks of its job, those that have ended, too
  };
  static constexpr std::chrono::seconds kInterval{1};

  // Those of `ranks`, all that run, that wait for one another for ever: a line for each. Empty: nobody does, as far as is known.
  std::vector<std::string> look(const std::vector<Rank>& ranks);

 private:
  struct Waiter;
  const StatsPage* page_of(pid_t pid);
  std::vector<Waiter> waiters_of(int job, const std::vector<Rank>& ranks);
  static bool are_stuck(const std::vector<Waiter>& waiters);

  std::map<pid_t, std::unique_ptr<ForeignStats>> pages_;  // null: there is none yet
};

}  // namespace portunus::launch
