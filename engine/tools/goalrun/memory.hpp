// The operands of an annotated GOAL file's operations when goalrun executes it: the arguments of the rank's plan ("user",
// "user1" ..), read from files before each execution and written to files after the last.
//
// A file's name may hold %r, the rank, and %k, the number of the argument. Without one arguments are zero at the beginning of each
// execution. A file that is shorter than its argument leaves the rest zero.
//
// Thread: one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/goal/instance.hpp"
#include "engine/goal/schedules/plan.hpp"

namespace portunus::goalrun {

class ArgumentMemory {
 public:
  // Throws Failure if an input file cannot be read.
  ArgumentMemory(const goal::Plan& plan, int rank, const std::string& input);

  [[nodiscard]] std::vector<goal::Argument> arguments();
  // Fills the memory as executions begin with it.
  void fill();
  // Throws Failure.
  void write(const std::string& output) const;

 private:
  int rank_;
  std::vector<std::vector<std::byte>> given_, memory_;
};

}  // namespace portunus::goalrun
