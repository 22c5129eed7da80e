// Combining what two ranks contribute.
//
// Thread: any; pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/goal/calls.hpp"
#include "engine/goal/goal_call.h"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

// to = what lies at from(0) op .. op from(ranks - 1), in that order, of `count` elements; `to` may be one of them.
template <class From>
void combine(const GOAL_Call& call, size_t ranks, std::byte* to, size_t count, From&& from) {
  constexpr size_t kBlock = 4096;  // stays in the nearest cache while all ranks' are combined; a multiple of no type's size
  const ptl_datatype_t type = type_of(call.type);
  const auto apply = [&](std::byte* result, const std::byte* a, const std::byte* b, size_t elements) {
    apply_local(static_cast<ptlx_local_op_t>(call.op), type, result, a, b, elements);
  };
  if (ranks == 2) return apply(to, from(0), from(1), count);
  const size_t width = local_size(type);
  if (ranks == 1 && to != from(0)) copy_run(to, from(0), count * width);
  if (ranks < 3) return;
  std::array<std::byte, kBlock> sum;
  const size_t most = kBlock / width;
  for (size_t done = 0, now; done < count; done += now) {
    now = std::min(most, count - done);
    const size_t at = done * width;
    apply(sum.data(), from(0) + at, from(1) + at, now);
    for (size_t i = 2; i + 1 < ranks; ++i) apply(sum.data(), sum.data(), from(i) + at, now);
    apply(to + at, sum.data(), from(ranks - 1) + at, now);
  }
}

}  // namespace portunus::goal::node
