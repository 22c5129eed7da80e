// The binary form of GOAL that LogGOPSim and ATLAHS execute, as their txt2bin writes it. Little-endian, packed:
//
//     0   u64 4223 (2342: spoilt by a simulation that saved memory)
//     8   u32 ranks; from here offsets are counted
//     12  u8 highest cpu, u8 highest nic
//     14  {u64 begin, u64 end} of each rank, which holds
//           u32 nodes, u32 roots, u32 root[roots] (nodes that wait for nothing, in their order)
//           node[nodes], 39 bytes: u32 dependencies, u8 type (1 send, 2 recv, 3 calc), u32 peer, u64 size, u32 tag, u8 cpu,
//             u8 nic, u32 dependents, u32 first of them, u32 start dependents, u32 first of them (elements of the following)
//           u32 dependents of all nodes, those of the finish before those of the start
//
// Thread: any; pure.
// Source: LogGOPSim 76451de.
#pragma once

#include <string>
#include <string_view>

#include "engine/goal/schedules/parse.hpp"

namespace portunus::goal {

[[nodiscard]] bool is_binary_goal(std::string_view bytes);
// Throws ScheduleError, whose message names rank and operation.
[[nodiscard]] GoalFile read_binary_goal(std::string_view bytes);
// Either form.
[[nodiscard]] GoalFile read_goal(std::string_view bytes);
// Local work is written as a calc of no time.
[[nodiscard]] std::string write_binary_goal(std::span<const Schedule> ranks);

}  // namespace portunus::goal
