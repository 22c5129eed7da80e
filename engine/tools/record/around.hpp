// A call that is recorded, for wrappers that are written as templates.
//
// Thread: any.
#pragma once

#include <type_traits>

#include "engine/tools/record/writer.hpp"

namespace portunus::record {

// The result of a call that returns nothing.
struct None {};

// Calls `original`, then record(call, what it returned).
template <bool brief = false, class Original, class Hook>
[[gnu::always_inline]] inline auto around(const Original& original, const Hook& record) {
  Call call(brief);
  if constexpr (std::is_void_v<decltype(original())>) {
    original();
    record(call, None{});
  } else {
    const auto result = original();
    record(call, result);
    return result;
  }
}

}  // namespace portunus::record
