// A small model of the machine that compiled programs run on: several ranks with counters, triggered operations and
// match lists, and a network that delivers in any order. What happens next is drawn from a seed.
//
// Invariants: one random choice decides each step, so that a seed names one execution.
// Source: Portals 4.3: triggered operations, match list entries, unexpected headers; nothing of the engine is used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/goal/schedules/compile.hpp"

namespace portunus::goal {

class Model {
 public:
  Model(const std::vector<Schedule>& schedules, const std::vector<Program>& programs, uint64_t seed) : random_(seed) {
    for (size_t r = 0; r < schedules.size(); ++r) {
      Rank rank;
      rank.program = &programs[r];
      rank.counters.assign(programs[r].increments.size(), 0);
      rank.history.resize(schedules[r].size());
      ranks_.push_back(std::move(rank));
    }
  }

  bool match_epochs = true;  // else messages of different epochs look the same

  // When things happened to one vertex in one epoch; 0: not yet.
  struct Moments {
    uint64_t began = 0;            // the put was issued, the entry appended, the work started
    uint64_t ended = 0;            // the put's data left, the message landed, the work was done
    uint32_t source = kAnySource;  // of a receive: whose send ..
    VertexId send = kNoVertex;     // .. landed here ..
    uint32_t of_epoch = 0;         // .. and in which epoch it was sent
  };

  // Runs until nothing can happen any more. True if every rank ended `epochs` epochs.
  bool run(uint32_t epochs) {
    epochs_ = epochs;
    while (step()) {
    }
    return std::ranges::all_of(ranks_, [&](const Rank& rank) { return rank.epoch == epochs && !rank.running; });
  }

  [[nodiscard]] const Moments& at(uint32_t rank, VertexId v, uint32_t epoch) const { return ranks_[rank].history[v][epoch]; }
  [[nodiscard]] uint64_t counter(uint32_t rank, CounterId counter) const { return ranks_[rank].counters[counter]; }
  // Entries, headers, operations and messages that are still somewhere.
  [[nodiscard]] size_t leftovers() const {
    size_t n = network_.size();
    for (const Rank& rank : ranks_)
      n += rank.entries.size() + rank.unexpected.size() + rank.parked.size() + rank.ready.size() + rank.pending.size();
    return n;
  }
  [[nodiscard]] uint64_t unexpected() const { return unexpected_; }

 private:
  struct Message {
    uint32_t source, target;
    uint64_t match_bits;
    VertexId send;
    uint32_t epoch;
  };
  struct Entry {
    Operation operation;
    uint64_t match_bits;
    uint32_t epoch;
  };
  struct Waiting {
    Operation operation;
    uint64_t threshold;
    uint32_t epoch;
    uint64_t call;
  };
  struct PendingOperation {  // a put whose data leaves, or local work
    VertexId vertex;
    CounterId counter;
    uint32_t epoch;
  };
  struct Rank {
    const Program* program = nullptr;
    std::vector<uint64_t> counters;
    std::vector<Waiting> parked, ready;
    std::vector<Entry> entries;
    std::vector<Message> unexpected;
    std::vector<PendingOperation> pending;
    std::vector<std::vector<Moments>> history;  // [vertex][epoch]
    uint32_t epoch = 0;
    bool running = false;
  };

  template <class T>
  static T take(std::vector<T>& from, size_t i) {
    T taken = std::move(from[i]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    return taken;
  }

  bool step() {
    // Everything that can happen now, one after the other; one of them does.
    size_t choices = network_.size();
    for (const Rank& rank : ranks_) choices += host_can_act(rank) + rank.ready.size() + rank.pending.size();
    if (choices == 0) return false;
    size_t chosen = random_() % choices;
    ++now_;
    if (chosen < network_.size()) {
      deliver(take(network_, chosen));
      return true;
    }
    chosen -= network_.size();
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      if (chosen < rank.ready.size()) {
        fire(r, take(rank.ready, first_of_counter(rank, chosen)));
        return true;
      }
      chosen -= rank.ready.size();
      if (chosen < rank.pending.size()) {
        const PendingOperation done = take(rank.pending, chosen);
        rank.history[done.vertex][done.epoch].ended = now_;
        increment(rank, done.counter);
        return true;
      }
      chosen -= rank.pending.size();
      if (host_can_act(rank)) {
        if (chosen == 0) {
          act(r);
          return true;
        }
        --chosen;
      }
    }
    return false;
  }

  // Operations on one counter start in the order of their thresholds, and of the calls among equal ones.
  static size_t first_of_counter(const Rank& rank, size_t chosen) {
    size_t first = chosen;
    const auto order = [&](size_t i) { return std::pair(rank.ready[i].threshold, rank.ready[i].call); };
    for (size_t i = 0; i < rank.ready.size(); ++i) {
      if (rank.ready[i].operation.when.counter == rank.ready[chosen].operation.when.counter && order(i) < order(first)) first = i;
    }
    return first;
  }

  [[nodiscard]] bool host_can_act(const Rank& rank) const {
    if (rank.running) return rank.counters[kFinish] >= uint64_t{rank.epoch + 1} * rank.program->increments[kFinish];
    return rank.epoch < epochs_;
  }

  // The application: starts the next epoch, or sees that one has ended.
  void act(uint32_t r) {
    Rank& rank = ranks_[r];
    if (rank.running) {
      rank.running = false;
      ++rank.epoch;
      return;
    }
    rank.running = true;
    for (auto& epochs : rank.history) epochs.emplace_back();
    for (const Operation& operation : rank.program->triggered) {
      const uint64_t k = rank.program->increments[operation.when.counter];
      park(rank, {operation, operation.when.threshold + rank.epoch * k, rank.epoch, ++calls_});
    }
    for (const Relay& relay : rank.program->relays) {
      const uint64_t k = rank.program->increments[relay.when.counter];
      park(rank, {{.when = relay.when, .counter = relay.counter}, relay.when.threshold + rank.epoch * k, rank.epoch, ++calls_});
    }
    for (const Operation& operation : rank.program->early) append(r, operation, rank.epoch);
    increment(rank, kStart);
  }

  static void park(Rank& rank, const Waiting& waiting) {
    const bool reached = rank.counters[waiting.operation.when.counter] >= waiting.threshold;
    (reached ? rank.ready : rank.parked).push_back(waiting);
  }

  void increment(Rank& rank, CounterId counter) {
    ++rank.counters[counter];
    for (size_t i = 0; i < rank.parked.size();) {
      const Waiting& waiting = rank.parked[i];
      if (waiting.operation.when.counter != counter || rank.counters[counter] < waiting.threshold) ++i;
      else rank.ready.push_back(take(rank.parked, i));
    }
  }

  [[nodiscard]] uint64_t epoch_bits(uint32_t epoch) const { return match_epochs ? uint64_t{epoch % 256} << kEpochShift : 0; }

  void fire(uint32_t r, const Waiting& waiting) {
    Rank& rank = ranks_[r];
    const Operation& operation = waiting.operation;
    if (operation.vertex == kNoVertex) return increment(rank, operation.counter);  // a relay
    switch (operation.action) {
      case Action::append: append(r, operation, waiting.epoch); break;
      case Action::put:
        network_.push_back({r, operation.peer, operation.match_bits | epoch_bits(waiting.epoch), operation.vertex, waiting.epoch});
        [[fallthrough]];
      case Action::parked:
      case Action::local:
        rank.history[operation.vertex][waiting.epoch].began = now_;
        rank.pending.push_back({operation.vertex, operation.counter, waiting.epoch});
        break;
    }
  }

  static bool matches(const Entry& entry, const Message& message) {
    const bool source = entry.operation.peer == kAnySource || entry.operation.peer == message.source;
    return source && ((entry.match_bits ^ message.match_bits) & ~entry.operation.ignore_bits()) == 0;
  }

  void append(uint32_t r, const Operation& operation, uint32_t epoch) {
    Rank& rank = ranks_[r];
    rank.history[operation.vertex][epoch].began = now_;
    const Entry entry{operation, operation.match_bits | epoch_bits(epoch), epoch};
    for (size_t i = 0; i < rank.unexpected.size(); ++i) {
      if (!matches(entry, rank.unexpected[i])) continue;
      land(rank, entry, take(rank.unexpected, i));
      return;
    }
    rank.entries.push_back(entry);
  }

  void deliver(const Message& message) {
    Rank& rank = ranks_[message.target];
    for (size_t i = 0; i < rank.entries.size(); ++i) {
      if (!matches(rank.entries[i], message)) continue;
      land(rank, take(rank.entries, i), message);
      return;
    }
    ++unexpected_;
    rank.unexpected.push_back(message);
  }

  void land(Rank& rank, const Entry& entry, const Message& message) {
    Moments& moments = rank.history[entry.operation.vertex][entry.epoch];
    moments.ended = now_;
    moments.source = message.source;
    moments.send = message.send;
    moments.of_epoch = message.epoch;
    increment(rank, entry.operation.counter);
  }

  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::vector<Message> network_;
  uint32_t epochs_ = 0;
  uint64_t now_ = 1, calls_ = 0, unexpected_ = 0;
};

}  // namespace portunus::goal
