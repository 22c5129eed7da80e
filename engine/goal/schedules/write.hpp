// Writes schedules as GOAL text that the simulators' compiler (txt2bin) accepts unchanged: no indentation, a label for each
// operation, dependencies after the operations, at least one byte in each message.
//
// Facts that the language cannot express are written as annotations (annotate.hpp), comments to the simulators: where the bytes lie,
// local work, choices, and that a message has no bytes.
//
// Thread: any; pure.
// Source: the grammar of LogGOPSim's txt2bin, and what it refuses beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "engine/goal/schedules/plan.hpp"

namespace portunus::goal {

struct WriteOptions {
  // Numbers the messages of each pair of ranks through, so that no two have the same tag: simulators may confuse those.
  // Both ends agree if the schedules fit together; schedules with receives of any source or any tag keep their tags.
  bool distinct_tags = false;
  // Nanoseconds of local work, for the simulators; nothing: 0.
  std::function<uint64_t(const Plan& plan, VertexId v)> cost;
};

// One rank after the other. Throws ScheduleError for memory that is an address, which no file can name.
[[nodiscard]] std::string write_goal(std::span<const Plan> ranks, const WriteOptions& options = {});
// The part of one rank alone, as it stands behind the line with the number of ranks.
[[nodiscard]] std::string write_rank(size_t number, const Plan& plan);
// Schedules without memory.
[[nodiscard]] std::string write_goal(std::span<const Schedule> ranks, const WriteOptions& options = {});

// Does it have receives of any source or any tag?
[[nodiscard]] bool has_wildcards(const Schedule& schedule);

// For each message of a rank the number that it has among those of the same two ranks and direction.
[[nodiscard]] std::vector<uint32_t> message_numbers(const Schedule& schedule);

}  // namespace portunus::goal
