// blocked.hpp: the word by which a blocked process says whom it waits for, and for which view; 0: it is not blocked.
//
// Each wait has a turn of its own, so that who follows a chain twice sees whether somebody in it went on meanwhile. A wait that says so
// again keeps its turn: all in a circle look at the same times, and would else seem to each other to have gone on.
//
// A word may be older than the wait: the notice that ends it is under way still, and whoever sent that may be in the queue again, behind
// this one. So a process counts as waited for only while its own words of that view say so (is_waited_for).
//
// Thread: any; pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "shmem/views/handover/word.hpp"

namespace portunus::views {

struct Blocked {
  uint64_t bits = 0;
  static constexpr Blocked by(int view, unsigned process, uint32_t turn) {
    return {static_cast<uint64_t>(turn) << 32 | static_cast<uint64_t>(view) << 16 | (process + 1)};
  }
  constexpr bool none() const { return (bits & 0xffff) == 0; }
  constexpr int view() const { return static_cast<int>(bits >> 16 & 0xffff); }
  constexpr int process() const { return static_cast<int>(bits & 0xffff) - 1; }
  constexpr uint32_t turn() const { return static_cast<uint32_t>(bits >> 32); }
  // The word that this process says next.
  constexpr Blocked again(int view, unsigned process, uint32_t next_turn) const {
    return by(view, process, 0).bits == (bits & 0xffffffff) ? *this : by(view, process, next_turn);
  }
};

// True if a process makes `waiter` wait for a view: it waits or writes there itself, and has the waiter behind it or among those who asked
// to read, whose bits the lower half of `readers` has.
constexpr bool is_waited_for(Word word, uint64_t readers, unsigned waiter) {
  if (!word.busy()) return false;
  return (word.has_next() && word.next() == waiter) || (readers >> (waiter % 32) & 1) != 0;
}

// The processes from `me` on, each waiting for the next, with what they said; empty if the chain does not lead back.
// Says: bool blocked(process, Blocked&); bool has_notice(process, view); bool word(process, view, waiter, Word&, uint64_t& readers); one
// that cannot be asked is false, or has a notice.
template <class Says>
std::vector<std::pair<int, uint64_t>> follow_waits(Says& says, int me, int processes) {
  std::vector<std::pair<int, uint64_t>> chain;
  int at = me;
  for (int i = 0; i <= processes; ++i) {
    Blocked said;
    if (!says.blocked(at, said) || said.none()) return {};
    // With the notice here it goes on as soon as it is given a processor.
    if (says.has_notice(at, said.view())) return {};
    Word word;
    uint64_t readers = 0;
    if (!says.word(said.process(), said.view(), at, word, readers)) return {};
    if (!is_waited_for(word, readers, static_cast<unsigned>(at))) return {};
    chain.push_back({at, said.bits});
    at = said.process();
    if (at == me) return chain;
  }
  return {};
}

}  // namespace portunus::views
