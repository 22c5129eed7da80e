// local_operations.hpp: what the engine computes itself when a command says so: vectors (E3), delays, time stamps, and the
// word that tells an application (E4); words that are awaited (E12) have a class of
// their own, and a function of a layer above (E13) is called.
//
// Thread: the baton holder. Callers: Engine alone.
// Invariants: one step writes at most kBytesPerStep bytes; long vectors take turns, a segment each, so that messages and
// other chains are served in between. Each operation is reported once, on its counter. Source: extensions E3 and E4
// (portals4_ext.h).
#pragma once

#include <deque>
#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/reports.hpp"
#include "engine/core/triggered/awaited_words.hpp"
#include "engine/core/triggered/local_work.hpp"

namespace portunus {

class LocalOperations {
 public:
  static constexpr uint64_t kBytesPerStep = 128 * 1024;

  LocalOperations(Core& core, Reports& reports, AwaitedWords& awaited) : core_(core), reports_(reports), awaited_(awaited) {}

  void begin_step() { budget_ = kBytesPerStep; }
  // Delays that fired since the last step begin.
  void begin_delays(uint64_t now_ns);
  // Short vectors are done at once while the step's budget lasts, long ones begun.
  void run(const Command& command);
  // Goes on with long vectors, and reports delays that are over. Return how many made progress.
  int advance();
  int run_delays(uint64_t now_ns);

  bool working() const { return !works_.empty(); }
  bool delaying() const { return !delays_.empty(); }
  bool has_delays() const { return !delays_.empty() || !new_delays_.empty(); }
  // Whether a vector under way reports there.
  bool will_count(uint32_t ct) const;
  // The interface closes: its vectors end where they are, unreported.
  void close(uint32_t ni);

 private:
  struct Delay {
    uint64_t due_ns;
    uint32_t ct;
  };
  bool run_segment(LocalWork& work);

  Core& core_;
  Reports& reports_;
  AwaitedWords& awaited_;
  std::deque<LocalWork> works_;      // those that take several steps
  uint64_t budget_ = kBytesPerStep;  // bytes that may still be written in this step
  std::vector<Delay> delays_;        // heap by due time
  std::vector<Delay> new_delays_;    // fired since the last step; due_ns is their length
};

}  // namespace portunus
