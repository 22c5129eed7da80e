// interleave.hpp: runs a few small threads in every possible interleaving, on memory as weak as the model given.
//
// A thread is an ordinary function that touches shared state only through Memory::Atomic32 and the functions below.
// It is run again and again from its beginning: each operation that has already happened returns what it returned,
// the first that has not stops the run. So a state of the whole program is a plain value (memory, and the
// results each thread has had), all successors of a state can be made from it, and states met before are not walked twice.
//
// A thread that passes a mark (Memory::mark) is run again from its beginning with the results of the first way that led there, so that a
// loop of ordinary code is one state however often it went round.
//
// Thread: one. Invariants: thread bodies depend on nothing but the results of their operations.
// Source: explicit-state model checking, as in Holzmann, The Model Checker SPIN (1997).
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "tests/support/simulated_step.hpp"

namespace portunus::interleave {

template <class Model>
class Explorer {
 public:
  using Right = std::function<bool(const Ending<Model>&)>;

  // `most`: states after which it gives up, having found nothing (Found::complete).
  Explorer(const Program& program, Right right, size_t most = SIZE_MAX) : program_(program), right_(std::move(right)), most_(most) {}

  Found run() {
    State start{Model(program_.initial, program_.threads.size()), {}};
    start.threads.resize(program_.threads.size());
    for (size_t i = 0; i < start.threads.size(); ++i) advance(start, i);
    found_.interleavings = walk(start, 0);
    found_.states = seen_.size();
    found_.complete = found_.lost || seen_.size() < most_;
    return found_;
  }

 private:
  enum class Phase : uint8_t { ready, asleep, finished };
  struct ThreadState {
    std::vector<uint32_t> results;  // of this part's operations so far
    std::string from;               // the locations they were read from
    Op next;
    Phase phase = Phase::ready;
    uint32_t part = 0;
    uint32_t early_returns = 0;
    uint32_t since = 0;  // the mark that it passed last, in prefixes_; its results are those after that
  };
  struct State {
    Model memory;
    std::vector<ThreadState> threads;
  };
  static constexpr char kNowhere = 0x7f;

  // Runs thread i up to its next operation. What it does next depends on its part and results alone.
  void advance(State& state, size_t i) {
    ThreadState& thread = state.threads[i];
    std::string key;
    for (uint32_t value : {static_cast<uint32_t>(i), thread.part, thread.since}) put(key, value);
    for (uint32_t result : thread.results) put(key, result);
    const auto [known, fresh] = next_.try_emplace(std::move(key));
    if (fresh) known->second = run_thread(thread, i);
    if (known->second.begun_anew) thread.results.clear(), thread.from.clear();
    if (known->second.repeats_from) {
      const auto at = static_cast<std::ptrdiff_t>(known->second.repeats_from - 1);
      thread.results.erase(thread.results.begin() + at);
      thread.from.erase(thread.from.begin() + at);
    }
    thread.part = known->second.part;
    thread.since = known->second.since;
    thread.next = known->second.op;
    if (thread.part != kFinished) return;
    thread.phase = Phase::finished;
    state.memory.forget(i);
  }
  struct Next {
    uint32_t part = kFinished;
    bool begun_anew = true;  // the results so far are used up
    uint32_t since = 0;
    Op op{};
    size_t repeats_from = 0;  // not 0: the result after so many - 1 is of no account any more
  };
  Next run_thread(const ThreadState& thread, size_t i) {
    if (thread.results.size() > 200)
      throw std::runtime_error("a part of thread " + program_.threads[i].name + " does not end, on " + program_.names[thread.next.where]);
    static const std::vector<uint32_t> none;
    const auto& simulated = program_.threads[i];
    const auto begin = [&](const std::vector<uint32_t>& results) {
      replay = {&results, simulated.fences, simulated.heavy, i, 0, 0, false, {}};
    };
    std::vector<uint32_t> results = prefixes_[thread.since];
    results.insert(results.end(), thread.results.begin(), thread.results.end());
    begin(results);
    uint32_t part = thread.part;
    uint32_t since = thread.since;
    try {
      while (part != kFinished) {
        part = simulated.body(part);
        begin(none);
        since = 0;
      }
    } catch (const Pending& pending) {
      const bool anew = replay.results == &none;
      const size_t repeats_from = replay.repeats ? replay.repeats_from - prefixes_[since].size() + 1 : 0;
      if (replay.mark.site == 0) return {part, anew, since, pending.op, repeats_from};
      // All ways to this mark go on as the first that was found.
      const auto [known, fresh] = marks_.try_emplace({i, part, replay.mark}, static_cast<uint32_t>(prefixes_.size()));
      if (fresh) prefixes_.push_back(anew ? none : results);
      return {part, true, known->second, pending.op, 0};
    }
    return {};
  }

  std::string key_of(const State& state) const {
    std::vector<Numbering> numbers(program_.initial.size());
    for (uint8_t where = 0; where < numbers.size(); ++where) {
      numbers[where].step = program_.steps[where];
      if (!program_.steps[where]) continue;
      state.memory.collect(where, numbers[where]);
      for (const ThreadState& thread : state.threads)
        for (size_t k = 0; k < thread.results.size(); ++k)
          if (static_cast<uint8_t>(thread.from[k]) == where) numbers[where].add(thread.results[k]);
    }
    std::string key;
    state.memory.describe(key, numbers);
    for (const ThreadState& thread : state.threads) {
      put(key, static_cast<uint32_t>(thread.phase) | thread.early_returns << 2);
      put(key, thread.part);
      put(key, thread.since);
      put(key, static_cast<uint32_t>(thread.results.size()));
      for (size_t k = 0; k < thread.results.size(); ++k)
        put(key, thread.from[k] == kNowhere ? 0 : numbers[static_cast<uint8_t>(thread.from[k])].of(thread.results[k]));
    }
    return key;
  }

  // Number of interleavings from here on. `last` ran last: tried first, so that what is found switches rarely.
  double walk(const State& state, size_t last) {
    const auto [entry, fresh] = seen_.try_emplace(key_of(state), 0.0);
    double& count = entry->second;  // stays where it is when the table grows
    if (!fresh || seen_.size() >= most_) return count;
    for (size_t i = 0; i < state.threads.size(); ++i) {  // what others can neither see nor disturb need not wait
      const Op& next = state.threads[i].next;
      if (state.threads[i].phase != Phase::ready || !state.memory.private_to(i, next, program_.alone[next.where])) continue;
      return count = take(state, i, state.memory.apply(i, state.threads[i].next).front());
    }
    bool stuck = true;
    for (size_t k = 0; k < state.threads.size() && !found_.lost; ++k) {
      const size_t i = (last + k) % state.threads.size();
      if (state.memory.waiting(i)) {
        State flushed = state;
        flushed.memory.flush(i);
        stuck = false;
        count += follow(flushed, {i, {}, 0, false, true});
      }
      if (state.threads[i].phase != Phase::ready) continue;
      for (const auto& outcome : state.memory.apply(i, state.threads[i].next)) stuck = false, count += take(state, i, outcome);
    }
    if (!stuck || found_.lost) return count;
    Ending<Model> ending{state.memory};
    for (const ThreadState& thread : state.threads) ending.ended.push_back(thread.phase == Phase::finished);
    if (!right_(ending)) report();
    return count = 1;
  }

  static void note(ThreadState& thread, uint32_t result, char from) {
    thread.results.push_back(result);
    thread.from.push_back(from);
  }
  double take(const State& state, size_t i, const Outcome<Model>& outcome) {
    const Op op = state.threads[i].next;
    double count = 0;
    State after{outcome.memory, state.threads};
    ThreadState& thread = after.threads[i];
    if (op.kind == Kind::wake)
      for (size_t other = 0; other < after.threads.size(); ++other) wake(after, other, op);
    const bool blocks = op.kind == Kind::sleep && outcome.result == op.expected;
    if (blocks && thread.early_returns < program_.threads[i].early_returns) {
      State early = after;
      ++early.threads[i].early_returns;
      count += go_on(early, i, outcome, kEarly);
    }
    if (!blocks) return count + go_on(after, i, outcome, outcome.result);
    thread.phase = Phase::asleep;
    return count + follow(after, {i, op, outcome.result, outcome.old});
  }
  void wake(State& state, size_t i, const Op& op) {
    ThreadState& thread = state.threads[i];
    if (thread.phase != Phase::asleep || thread.next.where != op.where || !(thread.next.value & op.value)) return;
    thread.phase = Phase::ready;
    note(thread, 0, kNowhere);
    advance(state, i);
  }
  double go_on(State& after, size_t i, const Outcome<Model>& outcome, uint32_t result) {
    const Op op = after.threads[i].next;
    note(after.threads[i], op.reads() ? result : 0, op.reads() ? static_cast<char>(op.where) : kNowhere);
    advance(after, i);
    after.memory.compact();
    return follow(after, {i, op, result, outcome.old});
  }

  double follow(const State& state, const Step& step) {
    path_.push_back(step);
    const double count = walk(state, step.thread);
    path_.pop_back();
    return count;
  }

  void report() {
    found_.lost = true;
    for (const Step& step : path_)
      found_.interleaving += "  " + program_.threads[step.thread].name + ": " + describe(program_, step) + "\n";
  }
  const Program& program_;
  Right right_;
  size_t most_;
  Found found_;
  std::unordered_map<std::string, double> seen_;
  std::unordered_map<std::string, Next> next_;
  std::map<std::tuple<size_t, uint32_t, Mark>, uint32_t> marks_;
  std::vector<std::vector<uint32_t>> prefixes_{{}};  // the results on the first way to each mark; 0: the beginning
  std::vector<Step> path_;
};

}  // namespace portunus::interleave
