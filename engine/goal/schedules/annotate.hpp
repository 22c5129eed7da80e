// The annotations of GOAL texts: what operations work on, which the language itself cannot say.
//
//     //@ scratch BYTES                                  the rank's scratchpad
//     //@ LABEL buf PLACE [ len BYTES ]                  where the message of a send or receive lies
//     //@ LABEL op OP TYPE dst PLACE [ a PLACE [ b PLACE ] ] n COUNT     makes a calc local work of the engine
//     //@ LABEL op timestamp dst PLACE
//     //@ LABEL needs COUNT                              starts when so many of what it waits for have happened
//     //@ LABEL bytes BYTES                              the true size of a message: simulators want at least one byte
//
//     PLACE := ( "user" [ K ] | "scratch" ) [ "+" OFFSET ]  |  "[" PLACE ":" BYTES { "," PLACE ":" BYTES } "]"
//     OP := add sub mult div max min and or xor copy (sum, prod: add, mult)      TYPE := i8 .. i64, u8 .. u64, f32, f64
//
// "user" is argument 0 of the plan, "userK" argument K. They stand at the beginning of a line inside the rank's block,
// before or after the operation. Messages without one get memory of their own at the end of the scratchpad.
//
// Thread: any; pure.
#pragma once

#include <string>
#include <vector>

#include "engine/goal/schedules/parse.hpp"
#include "engine/goal/schedules/plan.hpp"

namespace portunus::goal {

// One plan per rank. Throws ParseError or ScheduleError with the place of what is wrong.
[[nodiscard]] std::vector<Plan> plans_of(GoalFile file);

// "buf ..." or "op ..." of an operation that is not calc. Throws ScheduleError if its memory is an address.
[[nodiscard]] std::string annotation_of(const Plan& plan, VertexId v);

// "f64", "max": as annotations write them.
[[nodiscard]] const char* name_of(ptl_datatype_t type);
[[nodiscard]] const char* name_of(ptlx_local_op_t op);

}  // namespace portunus::goal
