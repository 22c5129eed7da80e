// Output of goalc: compiled forms, resources, the critical path, graphs.
//
// Thread: any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/goal/schedules/compiled.hpp"
#include "engine/tools/goalc/path.hpp"
#include "engine/tools/goalc/simulate.hpp"

namespace portunus::goalc {

// The operations of one rank's program, one line each.
[[nodiscard]] std::string compiled_form(const goal::Compiled& compiled);
// One line per rank: what it takes of an interface, and its size.
[[nodiscard]] std::string resources(std::span<const std::shared_ptr<const goal::Compiled>> ranks, uint32_t first_rank);
[[nodiscard]] std::string path_text(std::span<const goal::Plan> ranks, std::span<const Step> path);
// Two lines, then one for the rank that ends last, or for `rank` alone.
[[nodiscard]] std::string simulated_text(const Simulated& simulated, std::optional<uint32_t> rank);
// The graph of all ranks in Graphviz's language: a cluster per rank, dashed lines for messages, dotted ones for "irequires".
[[nodiscard]] std::string dot(std::span<const goal::Plan> ranks, std::span<const Step> path);
// The program as a schedule for the simulators: each operation that a counter fires is a calc of the hop's cost on cpu 1, where
// the engine works, and then what it does. What starts when some of its prerequisites are there waits for all of them.
// With `distinct_tags` no two messages of a pair of ranks have the same tag, for simulators may confuse those.
[[nodiscard]] goal::Schedule exported(const goal::Compiled& compiled, Costs& costs, bool distinct_tags);

}  // namespace portunus::goalc
