// A plan together with the program that it compiles to. Made once and then only read.
//
// **Thread:** any.
#pragma once

#include <memory>
#include <span>

#include "engine/goal/compile.hpp"
#include "engine/goal/plan.hpp"

namespace portunus::goal {

struct Compiled {
  Plan plan;
  Program program;  // of context 0
};

// Compiles the part of one rank. `wildcards`: see CompileOptions. Throws ScheduleError as compile() of a schedule does.
[[nodiscard]] std::shared_ptr<const Compiled> compile(Plan plan, std::uint32_t rank, std::span<const Wildcards> wildcards = {});

}  // namespace portunus::goal
