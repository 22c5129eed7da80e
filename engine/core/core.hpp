// core.hpp: what all parts of one engine share: the objects behind handles, the interfaces, who we are, and two signals.
//
// Whatever has a state and verbs of its own is a class beside this (README.md has the order); here is only what several of
// them must read or write. Thread: the baton holder, except where a member's own header says otherwise.
// Invariants: `posted` and `maybe_busy` are only ever set here; whoever steps the engine clears the first, Engine::busy()
// the second.
#pragma once

#include <array>
#include <atomic>
#include <cassert>

#include "engine/core/interface.hpp"
#include "engine/core/objects.hpp"
#include "engine/shared/stats.hpp"

namespace portunus {

// How much of one kind is unfinished here because peers are slow. Calls that would add to a full one wait.
class Backlog {
 public:
  static constexpr uint64_t kMost = 16384;  // from which on it is full, until half of it has gone
  [[nodiscard]] uint64_t size() const { return size_; }

 private:
  friend struct Core;
  uint64_t size_ = 0;
  bool full_ = false;
};

// The end of this process: messages that are under way belong to no call that could tell its caller.
[[noreturn, gnu::cold]] void out_of_memory();

struct Core {
  Core(Objects& all, Stats& counts, uint32_t user) : objects(all), stats(counts), uid(user) {
    for (uint32_t i = 0; i < kInterfaces; ++i) interfaces[i].index = i;
  }

  Interface& interface_of(const ListEntry& entry) { return interfaces[entry.ni]; }
  // nullptr: it was freed, or its interface is closed.
  PortalEntry* portal_of(const ListEntry& entry) { return interface_of(entry).portals[entry.pt_index].get(); }
  PortalEntry* portal(uint32_t ni, uint32_t index) { return interfaces[ni].portals[index].get(); }

  void grow(Backlog& backlog) {
    if (++backlog.size_ < Backlog::kMost || backlog.full_) return;
    backlog.full_ = true;
    full_backlogs.fetch_add(1, std::memory_order_relaxed);
  }
  void shrink(Backlog& backlog, uint64_t by) {
    assert(by <= backlog.size_ && full_backlogs.load(std::memory_order_relaxed) >= backlog.full_);
    backlog.size_ -= by;
    if (!backlog.full_ || backlog.size_ > Backlog::kMost / 2) return;
    backlog.full_ = false;
    full_backlogs.fetch_sub(1, std::memory_order_relaxed);
    posted = true;
  }

  // The end of an entry's slot, which must be on no list; its handle may have been retired before.
  void release(ListEntry& entry) {
    assert(!entry.linked() && entry.moving == 0 && entry.headers == 0);
    const uint32_t index = handle_index(entry.handle);
    objects.entries.retire_held(index);
    Interface& ni = interface_of(entry);
    if (ni.counts_lists()) ni.list_sizes[entry.pt_index][entry.list].give_held();
    ni.entries.give_held();
    objects.entries.give_back_held(index);
  }
  // A claimed entry whose append will not run (again): it goes, unless it was appended before and still serves.
  void discard(uint32_t handle) {
    ListEntry& entry = objects.entries.at(handle_index(handle));
    entry.recurs = false;
    if (entry.parked) release(entry);
  }

  Objects& objects;
  Stats& stats;
  uint32_t uid;
  bool posted = false;      // something happened that an application thread may wait for
  bool maybe_busy = false;  // something was put in a list that Engine::busy() looks at
  bool scheduled = false;   // the command that runs now was fired by a trigger
  bool is_news = false;     // what others do sets something more going here: the engine thread may not have heard of it
  // [any] Reasons to send less: peers that have asked for it, and, as one more, that too much is held back here.
  std::atomic<uint32_t> restraints{0};
  std::atomic<uint32_t> full_backlogs{0};  // [any] calls that would add to one wait until it is 0
  ProcessId self;
  std::array<Interface, kInterfaces> interfaces;
};

}  // namespace portunus
