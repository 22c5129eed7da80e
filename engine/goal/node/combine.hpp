// Combining what two ranks contribute.
//
// Thread: any; pure.
#pragma once

#include <cstddef>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/goal/calls.hpp"
#include "engine/goal/goal_call.h"

namespace portunus::goal::node {

// to = to op from.
inline void combine_block(const GOAL_Call& call, std::byte* to, const std::byte* from, size_t bytes) {
  const ptl_datatype_t type = type_of(call.type);
  apply_local(static_cast<ptlx_local_op_t>(call.op), type, to, to, from, bytes / local_size(type));
}

}  // namespace portunus::goal::node
