// simulated_step.hpp: what is said of interleavings: each step in words, how they end, what a walk through all found.
//
// Thread: one.
#pragma once

#include "tests/support/simulated_threads.hpp"

namespace portunus::interleave {

inline constexpr uint32_t kEarly = 0x8000'0000;  // the result of a sleep that ended for no reason

struct Step {
  size_t thread;
  Op op;
  uint32_t result;
  bool old = false;
  bool flush = false;
};
inline std::string describe(const Program& program, const Step& step) {
  if (step.flush) return "(its oldest waiting store reaches memory)";
  const Op& op = step.op;
  const std::string name = program.names[op.where];
  auto show = [&](uint32_t value) { return program.shows[op.where](value); };
  const std::string change = "changes " + name + " from " + show(step.result) + " to " + show(op.updated(step.result));
  switch (op.kind) {
    case Kind::load:
    case Kind::await: return "reads " + name + " = " + show(step.result) + (step.old ? ", an old value" : "");
    case Kind::store: return "writes " + name + " = " + show(op.value);
    case Kind::compare: return op.changes(step.result) ? change : "leaves " + name + " alone, it is " + show(step.result);
    case Kind::fence: return "fence";
    case Kind::fence_all: return "makes everybody fence";
    case Kind::wake: return "wakes sleepers " + std::to_string(op.value) + " on " + name;
    case Kind::sleep:
      if (step.result == kEarly) return "sleeps on " + name + ", but for no long time";
      return step.result == op.expected ? "SLEEPS on " + name + " = " + show(op.expected) + " as " + std::to_string(op.value)
                                        : "does not sleep, " + name + " has become " + show(step.result);
    default: return change;
  }
}

struct Found {
  bool lost = false;         // some interleaving ends wrongly
  std::string interleaving;  // that one
  double interleavings = 0;  // how many there are at least, if none ends wrongly; turning in a circle is not counted
  size_t states = 0;
  bool complete = true;  // all were walked, or one was found that ends wrongly
};

// How an interleaving ended: nobody can go on.
template <class Model>
struct Ending {
  const Model& memory;
  std::vector<bool> ended{};  // by thread

  uint32_t value(const Cell& cell) const { return memory.newest(cell.where()); }
  bool finished(size_t thread) const { return ended[thread]; }
};

}  // namespace portunus::interleave
