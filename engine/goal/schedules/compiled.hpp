// A plan together with the program that it compiles to. Made once and then only read.
//
// Thread: any.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/goal/schedules/compile.hpp"
#include "engine/goal/schedules/plan.hpp"

namespace portunus::goal {

struct Compiled {
  Plan plan;
  Program program;  // of context 0
};

// Compiles the part of one rank. `wildcards`: see CompileOptions. Throws ScheduleError as compile() of a schedule does.
[[nodiscard]] std::shared_ptr<const Compiled> compile(Plan plan, uint32_t rank, std::span<const Wildcards> wildcards = {});

// The memory of all vertices, and what is exposed, as addresses: those of this process as they are, the scratchpad and each argument far
// from them and from each other.
[[nodiscard]] std::vector<Touch> touches_of(const Plan& plan);

}  // namespace portunus::goal
