// Which waits are told of, and which of them end never.
//
// Thread: ptlrun's only thread.
#include "engine/tools/ptlrun/hangs.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <stdexcept>

#include "engine/host/clock.hpp"
#include "engine/tools/ptlrun/ranks.hpp"

namespace portunus::launch {
namespace {

// Reads the wait that a process has told of, whole. False: it has told of none, or is just telling.
bool read(const StatsPage& page, LongWait& wait) {
  const uint32_t before = page.wait_version.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0) return false;
  std::memcpy(&wait, &page.wait, sizeof wait);
  wait.call[sizeof wait.call - 1] = wait.what[sizeof wait.what - 1] = '\0';
  std::atomic_thread_fence(std::memory_order_acquire);
  return page.wait_version.load(std::memory_order_relaxed) == before;
}

bool has_network(const StatsPage& page) {
  return std::strcmp(page.transports, "self, node") != 0 && std::strcmp(page.transports, "self") != 0;
}

std::string seconds(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) * 1e-9);
  return text;
}

}  // namespace

struct HangFinder::Waiter {
  Rank rank;
  const StatsPage* page;
  LongWait wait;

  // Whether nobody else can end its wait.
  bool waits_among(const std::vector<Waiter>& all) const {
    if (wait.count > LongWait::kMostRanks) return all.size() == static_cast<size_t>(rank.of);
    return std::all_of(wait.ranks, wait.ranks + wait.count, [&](uint32_t wanted) {
      return std::any_of(all.begin(), all.end(), [wanted](const Waiter& other) { return other.rank.rank == static_cast<int>(wanted); });
    });
  }
  std::string sentence() const {
    return name_of_rank(rank.job, rank.rank) + " has been in " + wait.call + " for " + seconds(now_ns() - wait.began_ns) +
           " and waits for " + wait.what;
  }
};

// The page of a process that has one by now.
const StatsPage* HangFinder::page_of(pid_t pid) {
  std::unique_ptr<ForeignStats>& page = pages_[pid];
  if (!page) {
    try {
      page = std::make_unique<ForeignStats>(pid);
    } catch (const std::runtime_error&) {
    }
  }
  return page ? &page->page() : nullptr;
}

// Those of one job that have done nothing since they told what they wait for.
std::vector<HangFinder::Waiter> HangFinder::waiters_of(int job, const std::vector<Rank>& ranks) {
  std::vector<Waiter> waiters;
  for (const Rank& rank : ranks) {
    const StatsPage* const page = rank.job == job ? page_of(rank.pid) : nullptr;
    if (!page) continue;
    Waiter waiter{rank, page, {}};
    if (read(*page, waiter.wait) && waiter.wait.done == work_done(page->stats)) waiters.push_back(waiter);
  }
  return waiters;
}

// Whether nothing was on its way between them when all waited.
bool HangFinder::are_stuck(const std::vector<Waiter>& waiters) {
  uint64_t all_wait = 0, sent = 0, arrived = 0;
  bool network = false;
  for (const Waiter& waiter : waiters) {
    all_wait = std::max(all_wait, waiter.wait.quiet_ns);
    sent += waiter.page->stats.sends.read();
    arrived += waiter.page->stats.arrivals.read();
    network = network || has_network(*waiter.page);
  }
  if (network && (sent != arrived || waiters.size() != static_cast<size_t>(waiters.front().rank.of))) return false;
  return std::all_of(waiters.begin(), waiters.end(), [all_wait](const Waiter& waiter) { return waiter.wait.looked_ns > all_wait; });
}

std::vector<std::string> HangFinder::look(const std::vector<Rank>& ranks) {
  std::erase_if(pages_, [&](const auto& page) {
    return std::none_of(ranks.begin(), ranks.end(), [&](const Rank& rank) { return rank.pid == page.first; });
  });
  std::set<int> jobs;
  for (const Rank& rank : ranks) jobs.insert(rank.job);
  std::vector<std::string> lines;
  for (const int job : jobs) {
    std::vector<Waiter> waiters = waiters_of(job, ranks);
    while (std::erase_if(waiters, [all = waiters](const Waiter& waiter) { return !waiter.waits_among(all); }) > 0) {
    }
    if (!waiters.empty() && are_stuck(waiters))
      for (const Waiter& waiter : waiters) lines.push_back(waiter.sentence());
  }
  return lines;
}

}  // namespace portunus::launch
