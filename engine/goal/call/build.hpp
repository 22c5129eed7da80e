// build.hpp: what a GOAL_Call means: its shape, how much memory it works on here, and the schedule that does it.
//
// Thread: any; build() as goal.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

// Whether ranks have parts of sizes of their own, which are no part of the shape.
[[nodiscard]] bool has_own_sizes(const GOAL_Call& call);
// Whether it ends on no rank before all have begun by itself.
[[nodiscard]] bool waits_for_all(const GOAL_Call& call);

// Bytes of the data at `in` and `out` on this rank.
struct Extents {
  size_t in = 0, out = 0;
};
[[nodiscard]] Extents extents_of(const GOAL_Call& call, const GOAL_Group& group);

// The most bytes that a rank has at either end; alike on all ranks. 0 where ranks have sizes of their own.
[[nodiscard]] size_t most_bytes(const GOAL_Call& call, const GOAL_Group& group);

// The parts of one end of a call on this rank, where they are one for each rank of the group; nullptr: it is one piece.
struct Parts {
  const size_t* sizes = nullptr;
  const ptrdiff_t* places = nullptr;
};
struct Ends {
  Parts in, out;
};
[[nodiscard]] Ends parts_of(const GOAL_Call& call, const GOAL_Group& group);

// The numbers that this rank alone knows of a call with sizes of its own: these, and `places` too.
using Details = std::vector<uint64_t>;
void write_details(const GOAL_Call& call, const GOAL_Group& group, bool places, Details& details);

// A sentence about what is wrong with a call; nullptr: nothing that can be seen before it is made.
[[nodiscard]] const char* refusal_of(const GOAL_Call& call, const GOAL_Group& group);

// Whether this rank's contribution lies where its result comes, or is to stay there.
[[nodiscard]] bool is_in_place(const GOAL_Call& call, const GOAL_Group& group);

// Adds the collective to a schedule, on memory at `in` and `out`: GOAL_* codes. GOAL_InPlace() stands where is_in_place().
int build(GOAL_Schedule& schedule, const GOAL_Group& group, const GOAL_Call& call, GOAL_Buffer in, GOAL_Buffer out,
          GOAL_Span* span = nullptr);

}  // namespace portunus::goal
