// The schedule of programs of Portals: what each operation, wait and triggered operation of a rank comes after.
//
// An operation is a message, and one back if something is fetched or acknowledged. To find what a wait has waited for, and when a triggered
// operation has left, the counting events of all ranks are followed in the order of time: an operation counts at its target when it is
// issued, or when the entry that takes it is appended; a wait comes after all that its counting event has counted by its end; a triggered
// operation after all that has been counted when the threshold is reached. A full event comes after the message that it tells of. Each of
// these is at least as late as what it waits for, so that nothing waits for itself.
//
// Thread: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/tools/goalc/rank_program.hpp"

namespace portunus::goalc {

class Portals {
 public:
  explicit Portals(std::vector<RankProgram>& programs) : programs_(programs) {}

  void name(uint64_t process, uint32_t rank) { names_[process] = rank; }
  // Records of each rank, in its order. False of an operation on a process that is none of the job's.
  bool take(uint32_t rank, const record::Record& record, std::span<const uint64_t> numbers);
  // When all ranks have been taken: adds what waits for what.
  void resolve();

  [[nodiscard]] static bool fits(const record::Record& record, size_t numbers);

 private:
  using Counter = std::pair<uint32_t, uint64_t>;  // of a rank
  struct Operation {
    uint32_t rank = 0, target = 0;
    record::OperationNumbers facts{};
    uint64_t bytes = 0;
    uint8_t detail = 0;
    goal::VertexId sent = 0, arrival = 0;
    std::optional<goal::VertexId> ended;  // at its target, as this rank learns
  };
  struct Entry {
    uint64_t handle = 0;
    record::EntryNumbers facts{};
  };
  struct Count {
    Counter counter;
    uint64_t value = 0;
    bool set = false;
    goal::VertexId vertex = 0;
  };
  struct State {  // of a counting event
    uint64_t value = 0;
    RankProgram::Vertices counted;
    std::multimap<uint64_t, std::function<void()>> triggered;  // by threshold
  };
  struct Step {
    uint64_t time_ns = 0;
    std::function<void()> what;
  };
  struct Place {
    std::vector<Entry> entries;
    std::vector<size_t> unexpected;  // operations
  };

  bool take_operation(uint32_t rank, const record::Record& record, const record::OperationNumbers& facts);
  void take_count(uint32_t rank, const record::Record& record, const record::CountNumbers& facts);
  void take_event(uint32_t rank, const record::Record& record, const record::EventNumbers& facts);
  void at(uint64_t time_ns, std::function<void()> what) { steps_.push_back({time_ns, std::move(what)}); }
  // Calls `what` when the counting event reaches the threshold, after `vertex` was told to wait for what has been counted.
  void when(const Counter& counter, uint64_t threshold, goal::VertexId vertex, std::function<void()> what);
  void wait_for_counted(uint32_t rank, State& state, goal::VertexId vertex);
  void leave(size_t operation);
  void arrive(size_t operation);
  void deliver(Place& place, size_t entry, size_t operation);
  void append(uint32_t rank, const Entry& entry);
  void unlink(uint32_t rank, uint64_t handle);
  void count(const Count& count);
  uint32_t next_tag() { return ++tags_; }
  uint32_t tag_of(uint32_t use, bool own);

  std::vector<RankProgram>& programs_;
  std::map<uint64_t, uint32_t> names_;
  std::vector<Operation> operations_;
  std::vector<Step> steps_;
  std::deque<std::function<void()>> ready_;
  std::map<Counter, State> counters_;
  std::map<std::pair<uint32_t, uint64_t>, Place> places_;                                  // by rank and portal table index
  std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint64_t>, std::deque<size_t>> came_;  // by target, origin, index, match bits
  std::map<std::pair<uint32_t, uint64_t>, std::deque<goal::VertexId>> ended_;              // by rank and user's pointer
  uint32_t tags_ = 1u << 20;                                                               // beyond those of communicators
};

}  // namespace portunus::goalc
