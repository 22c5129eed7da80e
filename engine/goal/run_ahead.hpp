// run_ahead.hpp: how far the runs of a schedule may be ahead of the ranks that their messages go to.
//
// A receiver tells each rank that it receives from when it has ended so many runs, by a message of no bytes: a triggered put, which its
// engine sends by itself. How many follows from the number of messages alone, which both ends know. The sender counts these messages, and
// when it begins a run that would be too far ahead, the increment that starts it waits for that count, too: in the engine, so that
// GOAL_Run returns at once. Copies of a schedule under one context share the count.
//
//     match bits  | 6 : 4 | context : 16 | 0 : 44 |     runs have ended
//
// Schedules that run a few times only count nothing: the first notice comes after kMessages messages, or kMostRuns runs.
//
// Thread: of one RunAhead one at a time; SharedCounts any. Invariants: every notice that a sender waits for comes when the receiver's runs
// end, and these wait for no later run: so nobody waits in a circle.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/client/objects.hpp"
#include "engine/goal/schedules/compile.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::goal {

inline constexpr uint64_t kRunsEnded = uint64_t{6} << 60;

// Messages from or to another rank in each run, without those that a receive of any source or any tag may take; what those that are sent
// may occupy where they come early.
struct Traffic {
  uint32_t peer = 0;
  uint64_t messages = 0, bytes = 0;
};
[[nodiscard]] std::vector<Traffic> traffic_of(const Program& program, Action action, uint32_t self);

// Runs between two notices: a power of two, so that it divides the 256 epochs that are told apart.
constexpr uint64_t kMessages = 64, kMostRuns = 64;
[[nodiscard]] constexpr uint64_t runs_a_notice(uint64_t messages) {
  uint64_t runs = kMostRuns;
  while (runs > 1 && runs * messages > kMessages) runs /= 2;
  return runs;
}
// Notices that may be missing when a run begins behind which the next one comes, if the runs ahead are to occupy no more than `most`. At
// least two, as ranks may send to each other; and fewer than 256 runs.
[[nodiscard]] constexpr uint64_t most_missing(uint64_t bytes, uint64_t runs, uint64_t most) {
  const uint64_t fit = most / (bytes * runs), told_apart = 256 / runs - 2;
  return fit < 2 ? 2 : fit > told_apart ? told_apart : fit;
}

// The notices of one receiver for one context, as its sender counts them.
class NoticeCount {
 public:
  int open(ptl_handle_ni_t ni, ptl_pt_index_t index, uint16_t context, uint32_t peer);  // PTL_* codes
  // Another notice will come. The count that there has to be first, so that no more than `missing` are missing.
  uint64_t expect(uint64_t missing);
  [[nodiscard]] uint64_t seen() const { return notices_.peek().success; }
  [[nodiscard]] ptl_handle_ct_t counter() const { return notices_; }

 private:
  client::Counter notices_;
  client::MatchEntry entry_;
  uint64_t expected_ = 0;
};

// Those of one port that programs use.
class SharedCounts {
 public:
  // The count for this context and peer, made if there is none: PTL_* codes. With the guard.
  int find(ptl_handle_ni_t ni, ptl_pt_index_t index, uint16_t context, uint32_t peer, std::shared_ptr<NoticeCount>& count);
  std::mutex guard;  // of the counts, too

 private:
  using Key = std::pair<uint16_t, uint32_t>;
  std::map<Key, std::weak_ptr<NoticeCount>> counts_;
};

// One program's part.
class RunAhead {
 public:
  // The objects that it works on, which outlive it.
  struct Place {
    SharedCounts& counts;
    ptl_handle_ni_t ni;
    ptl_pt_index_t index;
    const Program& program;
    ptl_handle_ct_t finish;   // counts what ends
    ptl_handle_md_t nothing;  // no memory
  };
  // `most`: bytes that messages of its runs may occupy at a receiver. `first`: the epoch of its first run, which `counts_on` if others of
  // the context may have had those before.
  RunAhead(uint64_t most, uint8_t first, bool counts_on) : most_(most), first_(first), counts_on_(counts_on) {}
  // Lets the engine tell senders of runs that end: PTL_* codes.
  int load(const Place& place);

  // The next run that begin() is to be called for.
  [[nodiscard]] uint64_t next() const { return next_; }
  // Run number `run` is about to begin, all before it have ended. It has to wait until `behind`, if that is a counter, has `threshold`.
  // PTL_* codes: nothing was done.
  int begin(const Place& place, uint64_t run, ptl_handle_ct_t& behind, ptl_size_t& threshold);
  // Nothing waits any more.
  void cancel();

 private:
  struct Receiver {
    uint32_t peer;
    uint64_t runs, missing;
    std::shared_ptr<NoticeCount> count;
  };
  // The first run from this one on with which so many begin, or after which so many have ended.
  [[nodiscard]] uint64_t begin_of(uint64_t run, uint64_t runs) const { return run + (runs - (first_ + run) % runs) % runs; }
  [[nodiscard]] uint64_t end_of(uint64_t run, uint64_t runs) const { return run + (runs - 1 - (first_ + run) % runs); }
  // Gets the counts of those of which `which` is true.
  template <class Which>
  int find_counts(const Place& place, Which&& which);
  int tell(const Place& place, uint32_t peer, uint64_t runs) const;

  const uint64_t most_;
  const uint64_t first_;
  const bool counts_on_;
  uint64_t next_ = UINT64_MAX;
  std::vector<Receiver> receivers_;
  client::Counter met_;  // conditions of runs, each counted once
  uint64_t conditions_ = 0;
};

}  // namespace portunus::goal
