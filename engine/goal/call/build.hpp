// build.hpp: what a GOAL_Call means: its shape, how much memory it works on here, and the schedule that does it.
//
// Thread: any; build() as goal.h says.
#pragma once

#include <cstddef>

#include "engine/goal/goal_call.h"

namespace portunus::goal {

// The part of a call that all ranks know alike. `starts`: nobody waits for it in the call; `meets`: no rank ends it before all have begun.
struct Shape {
  GOAL_Call_kind kind{};
  GOAL_Type type{};
  GOAL_Local_op op{};
  int root = 0;
  size_t size = 0;  // elements of reductions, else bytes of one rank's part
  bool starts = false, meets = false;
  bool operator==(const Shape&) const = default;
};
[[nodiscard]] Shape shape_of(const GOAL_Call& call, bool starts, bool meets);

// Whether all ranks know the shape of the call alike, so that its schedule can stay.
[[nodiscard]] bool has_shape(const GOAL_Call& call);
// Whether it ends on no rank before all have begun by itself.
[[nodiscard]] bool waits_for_all(const GOAL_Call& call);

// Bytes at `in` and `out` on this rank. For calls with a shape.
struct Extents {
  size_t in = 0, out = 0;
};
[[nodiscard]] Extents extents_of(const GOAL_Call& call, const GOAL_Group& group);

// The most bytes that a rank has at either end; alike on all ranks. For calls with a shape.
[[nodiscard]] size_t most_bytes(const GOAL_Call& call, const GOAL_Group& group);

// A sentence about what is wrong with a call; nullptr: nothing that can be seen before it is made.
[[nodiscard]] const char* refusal_of(const GOAL_Call& call, const GOAL_Group& group);

// Whether this rank's contribution lies where its result comes, or is to stay there.
[[nodiscard]] bool is_in_place(const GOAL_Call& call, const GOAL_Group& group);

// Adds the collective to a schedule, on memory at `in` and `out`: GOAL_* codes. GOAL_InPlace() stands where is_in_place().
int build(GOAL_Schedule& schedule, const GOAL_Group& group, const GOAL_Call& call, GOAL_Buffer in, GOAL_Buffer out);

}  // namespace portunus::goal
