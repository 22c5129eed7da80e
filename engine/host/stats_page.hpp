// stats_page.hpp: the engine's counters where ptlstat finds them: a page of shared memory without a name, reached by its owner's
// user through /proc/PID/fd, read-only, whatever transports are in use.
//
// The engine writes; readers map the page themselves and never stop or slow it. The page cannot shrink (sealed), so a reader
// gets no SIGBUS, and vanishes with the process, so nothing is left behind.
//
// Thread: made by one thread; `stats` as stats.hpp says; the rest is written before `ready`.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/shared/stats.hpp"

namespace portunus {

// Counted by a library above, in its own way.
struct AddedCount {
  char name[24];
  char text[72];
  std::atomic<uint64_t> value;
};

// The wait of the process that a library above told of last.
struct LongWait {
  static constexpr uint32_t kMostRanks = 64;
  uint32_t count;  // ranks that can end the wait; above kMostRanks: any of the job
  uint32_t ranks[kMostRanks];
  uint64_t began_ns;   // when this wait was first told of
  uint64_t quiet_ns;   // since then its threads have waited, and its engine has found nothing to do
  uint64_t looked_ns;  // when they last looked
  uint64_t done;       // what the engine had done by then: work_done()
  char call[32], what[224];
};

struct StatsPage {
  static constexpr uint32_t kMostAdded = 32;
  static constexpr uint64_t kMagic = 0x3154415453545450;  // "PTTSTAT1", little endian
  uint64_t magic;
  uint64_t layout;      // kStatsLayout of the library that made it
  uint32_t nid, pid;    // the process as Portals names it
  int32_t os_pid;       // as the system names it, in its own namespace
  int32_t engine_core;  // -1: none
  uint64_t started_ns;  // CLOCK_MONOTONIC
  char progress[16];
  char transports[96];  // as in ptlx_engine_info_t
  std::atomic<uint32_t> realtime;
  std::atomic<uint32_t> ready;  // release by the owner when all of the above is valid
  alignas(64) Stats stats;
  alignas(64) std::atomic<uint32_t> wait_version;  // 0: nothing was ever told; odd while `wait` is written
  LongWait wait;
  alignas(64) std::atomic<uint32_t> added_count;  // release by who adds one, when it is whole
  AddedCount added[kMostAdded];
};

// Grows with all that the engine does.
inline uint64_t work_done(const Stats& stats) {
  return stats.steps.read() + stats.sends.read() + stats.arrivals.read() + stats.triggers.read();
}

// Tells pages of different versions apart: a hash of the counters' names.
constexpr uint64_t stats_layout() {
  uint64_t hash = 0xcbf29ce484222325;
#define X(name, text) \
  for (char c : #name ",") hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  PORTUNUS_STATS(X)
#undef X
  return hash ^ sizeof(StatsPage);
}
inline constexpr uint64_t kStatsLayout = stats_layout();

// A page of this process. Where the system gives no shared memory it is private: all works, but nobody sees it.
class PublishedStats {
 public:
  PublishedStats();
  ~PublishedStats();
  PublishedStats(const PublishedStats&) = delete;
  PublishedStats& operator=(const PublishedStats&) = delete;
  StatsPage& page() { return *page_; }
  // A count of that name, which may be there already; nullptr: there are kMostAdded. One thread at a time.
  std::atomic<uint64_t>* add(const char* name, const char* text);

 private:
  int fd_ = -1;
  StatsPage* page_ = nullptr;
};

// Another process's page, for reading.
class ForeignStats {
 public:
  // Throws std::runtime_error with a sentence: no such process, another user's, no engine in it, another version's page.
  explicit ForeignStats(pid_t process);
  ~ForeignStats();
  ForeignStats(const ForeignStats&) = delete;
  ForeignStats& operator=(const ForeignStats&) = delete;
  const StatsPage& page() const { return *page_; }
  // Processor time of the engine's thread so far; 0 without such a thread.
  uint64_t engine_cpu_ns() const;
  // False once the process is gone: the page then stays as it was last.
  bool alive() const;

 private:
  pid_t process_;
  const StatsPage* page_ = nullptr;
};

}  // namespace portunus
