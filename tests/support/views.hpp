// views.hpp: the memory of C++. Every location keeps the history of what was written; a thread may read any entry not
// older than what it knows, and knowledge passes from release to acquire and through fences.
//
// Updates (read-modify-write) are no fences, and seq_cst accesses count as acquire and release only: less than the
// standard promises. System calls order what goes through the kernel's lock for the same address, no more. Left out: a
// load that takes its value from a store that is later in the order of the program.
//
// Thread: one. Invariants: a model is a value.
// Source: Kang et al., A promising semantics for relaxed-memory concurrency (2017), without the promises.
#pragma once

#include <array>
#include <span>

#include "tests/support/simulated_operation.hpp"

namespace portunus::interleave {

class Views {
 public:
  static constexpr size_t kLocations = kMaxLocations;

  Views(const std::vector<uint32_t>& initial, size_t threads) : threads_(threads) {
    for (uint32_t value : initial) entries_.push_back({value, false, {}});
    for (size_t i = 0; i <= kLocations; ++i) begin_[i] = static_cast<uint8_t>(std::min(i, initial.size()));
  }

  std::vector<Outcome<Views>> apply(size_t thread, const Op& op) const {
    std::vector<Outcome<Views>> all;
    const auto history = history_of(op.where);
    if (op.kind == Kind::store) {
      for (size_t at = threads_[thread].now[op.where] + 1u; at <= history.size(); ++at)
        if (free(op.where, at)) all.push_back({*this}), all.back().memory.insert(thread, op, at, op.value, false, {});
      return all;
    }
    if (op.kind == Kind::fence_all) {
      all.push_back({*this});
      all[0].memory.fence_all();
      return all;
    }
    if (op.kind == Kind::fence || op.kind == Kind::wake) {
      all.push_back({*this});
      if (op.kind == Kind::fence) all[0].memory.fence(thread);
      else all[0].memory.lock(thread, op.where);
      return all;
    }
    Views ready = *this;
    if (op.kind == Kind::sleep) ready.lock(thread, op.where);
    for (size_t at = ready.threads_[thread].now[op.where]; at < history.size(); ++at) {
      const Written& entry = history[at];
      const bool changed = op.update() && op.changes(entry.value);
      if ((op.kind == Kind::await && entry.value != op.expected) || (changed && !free(op.where, at + 1))) continue;
      all.push_back({ready, entry.value, at + 1 < history.size()});
      Views& memory = all.back().memory;
      memory.look(thread, op, at, changed);
      if (changed) memory.insert(thread, op, at + 1, op.updated(entry.value), true, entry.view);
      if (op.kind == Kind::sleep) memory.lock(thread, op.where);
    }
    return all;
  }
  bool waiting(size_t) const { return false; }
  void flush(size_t) {}
  // The thread has ended.
  void forget(size_t thread) { threads_[thread] = {View{}, View{}, View{}, true}; }
  bool private_to(size_t thread, const Op& op, bool alone) const {
    return alone && (op.kind == Kind::load || op.kind == Kind::store) && threads_[thread].now[op.where] + 1u == history_of(op.where).size();
  }
  // Drops what nobody can read any more.
  void compact() {
    for (size_t where = 0; where < kLocations; ++where) {
      size_t first = history_of(where).size();
      if (first-- < 2) continue;
      for (const Known& known : threads_)
        if (!known.ended) first = std::min<size_t>(first, known.now[where]);
      if (first == 0) continue;
      const auto begin = entries_.begin() + begin_[where];
      entries_.erase(begin, begin + static_cast<std::ptrdiff_t>(first));
      entries_[begin_[where]].update = false;
      for (size_t i = where + 1; i <= kLocations; ++i) begin_[i] = static_cast<uint8_t>(begin_[i] - first);
      each_view([&](View& view) { view[where] = static_cast<uint8_t>(view[where] - std::min<size_t>(first, view[where])); });
    }
  }
  uint32_t newest(uint8_t where) const { return history_of(where).back().value; }
  void collect(uint8_t where, Numbering& numbers) const {
    for (const Written& entry : history_of(where)) numbers.add(entry.value);
  }
  void describe(std::string& key, const std::vector<Numbering>& numbers) const {
    auto add = [&](const View& view) { key.append(reinterpret_cast<const char*>(view.data()), numbers.size()); };
    for (size_t i = 0; i < numbers.size(); ++i) {
      key.push_back(static_cast<char>(history_of(i).size()));
      for (const Written& entry : history_of(i)) put(key, numbers[i].of(entry.value)), key.push_back(entry.update), add(entry.view);
      add(locks_[i]);
    }
    for (const Known& known : threads_) add(known.now), add(known.read), add(known.released);
    add(fences_);
  }

 private:
  using View = std::array<uint8_t, kLocations>;  // per location, the oldest entry that may still be read
  struct Written {
    uint32_t value;
    bool update;  // by a read-modify-write: nothing can come between it and the entry before
    View view;    // what an acquiring reader learns
  };
  struct Known {
    View now{}, read{}, released{};  // in force; after the next fence; at the last fence
    bool ended = false;
  };

  std::span<const Written> history_of(size_t where) const { return {entries_.data() + begin_[where], entries_.data() + begin_[where + 1]}; }
  static void join(View& into, const View& from) {
    for (size_t i = 0; i < kLocations; ++i) into[i] = std::max(into[i], from[i]);
  }
  void each_view(auto&& change) {
    for (Written& entry : entries_) change(entry.view);
    for (Known& known : threads_) change(known.now), change(known.read), change(known.released);
    for (View& lock : locks_) change(lock);
    change(fences_);
  }
  bool free(uint8_t where, size_t at) const {
    const auto history = history_of(where);
    return at == history.size() || !history[at].update;
  }
  void fence(size_t thread) {
    Known& known = threads_[thread];
    join(known.now, known.read);
    join(fences_, known.now);
    known.now = known.read = known.released = fences_;
  }
  // A thread that wrote something knows it, so all know everything; also what threads wrote that have ended.
  void fence_all() {
    for (size_t where = 0; where < kLocations; ++where)
      fences_[where] = static_cast<uint8_t>(std::max<size_t>(history_of(where).size(), 1) - 1);
    for (Known& known : threads_)
      if (!known.ended) known.now = known.read = known.released = fences_;
  }
  void lock(size_t thread, uint8_t where) {  // the kernel's, for this address
    Known& known = threads_[thread];
    join(known.now, locks_[where]);
    join(known.read, known.now);
    locks_[where] = known.now;
  }
  void look(size_t thread, const Op& op, size_t at, bool changed) {
    Known& known = threads_[thread];
    const View view = history_of(op.where)[at].view;
    known.now[op.where] = static_cast<uint8_t>(at);
    join(known.read, known.now);
    join(known.read, view);
    if (op.acquire && (changed || op.kind != Kind::compare)) join(known.now, view);  // a failed compare is relaxed
  }
  void insert(size_t thread, const Op& op, size_t at, uint32_t value, bool update, View view) {
    auto move = [&](View& other) { other[op.where] = static_cast<uint8_t>(other[op.where] + (other[op.where] >= at)); };
    each_view(move);
    move(view);
    Known& known = threads_[thread];
    known.now[op.where] = static_cast<uint8_t>(at);
    join(known.read, known.now);
    join(view, op.release ? known.now : known.released);
    view[op.where] = static_cast<uint8_t>(at);
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(begin_[op.where] + at), {value, update, view});
    for (size_t i = op.where + 1u; i <= kLocations; ++i) ++begin_[i];
  }

  std::vector<Known> threads_;
  std::vector<Written> entries_;  // location after location, each in the order of modification
  std::array<uint8_t, kLocations + 1> begin_{};
  std::array<View, kLocations> locks_{};
  View fences_{};  // what the last sequentially consistent fence knew
};

}  // namespace portunus::interleave
