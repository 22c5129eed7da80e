// Instances of a compiled plan: the executable copies of it, each with its own counters, scratchpad and context.
//
// Any number of instances share what was compiled, and run at the same time. The k-th instance of one process must have
// the same context as that of its peers, and no two that live at the same time and talk to the same port may share one.
//
// Thread: one at a time per object.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/goal/program.hpp"
#include "engine/goal/schedules/compiled.hpp"

namespace portunus::goal {

// The memory that an instance works on as one of the plan's arguments.
struct Argument {
  void* address = nullptr;
  uint64_t bytes = 0;
};

class Instance {
 public:
  // Throws ScheduleError if there are too few arguments or one is too small, and std::bad_alloc. The port must
  // outlive this object.
  Instance(const Port& port, std::shared_ptr<const Compiled> compiled, std::span<const Argument> arguments, uint16_t context,
           uint8_t epoch = 0, uint32_t tag = 0);
  // Claims what running takes: PTL_* codes.
  int load() { return program_->load(); }

  // start, wait, test ...: see program.hpp.
  [[nodiscard]] LoadedProgram& program() const { return *program_; }
  [[nodiscard]] const std::shared_ptr<const Compiled>& compiled() const { return compiled_; }
  [[nodiscard]] std::byte* scratch() const { return scratch_.get(); }

 private:
  [[nodiscard]] void* address(const Memory& m, std::span<const Argument> arguments) const;
  [[nodiscard]] std::vector<Binding> bind(std::span<const Argument> arguments);

  std::shared_ptr<const Compiled> compiled_;
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<ptl_iovec_t> pieces_;  // as Plan::pieces
  std::unique_ptr<LoadedProgram> program_;
};

}  // namespace portunus::goal
