// simulated_operation.hpp: what a simulated thread may do with shared memory, and in how many ways it may come out.
//
// A model of memory is a value with: apply(thread, op), every way in which an operation can come out (none: the thread
// has to wait); waiting and flush, for stores that reach memory later; private_to, is the operation no concern of
// others; forget, the thread has ended; compact, drop what no longer matters; describe, the whole state as bytes.
//
// Thread: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace portunus::interleave {

inline constexpr size_t kMaxLocations = 40;

enum class Kind : uint8_t { load, await, store, add, set, compare, fence, fence_all, sleep, wake };  // fence_all: by every thread at once

struct Op {
  Kind kind = Kind::fence;
  uint8_t where = 0;
  bool acquire = false;
  bool release = false;
  uint32_t value = 0;     // store, add, set, compare: operand; sleep, wake: bits that tell sleepers apart
  uint32_t expected = 0;  // compare, sleep, await; add: 1 = nobody looks at the result

  bool update() const { return kind == Kind::add || kind == Kind::set || kind == Kind::compare; }
  bool reads() const { return kind == Kind::load || kind == Kind::compare || kind == Kind::set || (kind == Kind::add && expected == 0); }
  bool changes(uint32_t old) const { return kind != Kind::compare || old == expected; }
  uint32_t updated(uint32_t old) const { return kind == Kind::add ? old + value : value; }
};

template <class Model>
struct Outcome {
  Model memory;
  uint32_t result = 0;  // the value read
  bool old = false;     // there is a newer one
};

// New names for the values of a word that only ever steps up and is compared for equality only: what counts is whether
// one is the same as another or the next after it. So states that differ in the number of steps so far are one state.
struct Numbering {
  uint32_t step = 0;  // 0: values keep their names
  std::vector<uint32_t> present{};

  void add(uint32_t value) {
    const auto at = std::lower_bound(present.begin(), present.end(), value / step);
    if (at == present.end() || *at != value / step) present.insert(at, value / step);
  }
  uint32_t of(uint32_t value) const {
    if (!step) return value;
    uint32_t name = 0;
    for (size_t i = 0; present[i] != value / step; ++i) name += std::min(present[i + 1] - present[i], 2u);
    return name * step + value % step;
  }
};

inline void put(std::string& key, uint32_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); }

}  // namespace portunus::interleave
