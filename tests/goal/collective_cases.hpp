// Shared by the tests of collectives: memory of all ranks between guards, elements, and running a plan on each rank.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/goal/collectives/collectives.hpp"
#include "tests/goal/plan_executor.hpp"
#include "tests/support/thorough.hpp"

namespace portunus::goal::collectives {

using Bytes = std::vector<std::byte>;

constexpr Element kElements[] = {
    {PTLX_ADD, PTL_INT32_T},   {PTLX_MAX, PTL_DOUBLE},   {PTLX_XOR, PTL_UINT8_T}, {PTLX_ADD, PTL_FLOAT},
    {PTLX_MULT, PTL_UINT64_T}, {PTLX_MIN, PTL_INT16_T},  {PTLX_ADD, PTL_DOUBLE},  {PTLX_AND, PTL_UINT32_T},
    {PTLX_OR, PTL_INT8_T},     {PTLX_MAX, PTL_UINT16_T}, {PTLX_ADD, PTL_INT64_T},
};

// Small whole numbers, so that sums and products of floating-point numbers are exact in any order.
template <class T>
void put(Bytes& bytes, const Element& e, uint32_t rank) {
  for (size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
    const size_t n = rank * 7 + i * 3 + i / 11;
    const T value = static_cast<T>(e.op == PTLX_MULT ? 1 + n % 2 : n % 100);
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
}
inline Bytes input(const Element& e, uint32_t rank, uint64_t count) {
  Bytes bytes(count * e.width());
  switch (e.type) {
    case PTL_FLOAT: put<float>(bytes, e, rank); break;
    case PTL_DOUBLE: put<double>(bytes, e, rank); break;
    default:
      switch (e.width()) {
        case 1: put<uint8_t>(bytes, e, rank); break;
        case 2: put<uint16_t>(bytes, e, rank); break;
        case 4: put<uint32_t>(bytes, e, rank); break;
        default: put<uint64_t>(bytes, e, rank); break;
      }
  }
  return bytes;
}

// The elements of ranks first .. last-1, combined one after the other.
inline Bytes combined(const Element& e, uint32_t first, uint32_t last, uint64_t count) {
  Bytes sum = input(e, first, count);
  for (uint32_t r = first + 1; r < last; ++r) {
    const Bytes next = input(e, r, count);
    combine(e, sum.data(), sum.data(), next.data(), count);
  }
  return sum;
}

// Bytes that tell from whom, for whom and where they are.
inline Bytes letter(uint32_t from, uint32_t to, uint64_t bytes) {
  Bytes text(bytes);
  for (uint64_t i = 0; i < bytes; ++i) text[i] = static_cast<std::byte>(from * 31 + to * 17 + i * 5 + i / 251);
  return text;
}

// One buffer of each rank, between guards.
class Buffers {
 public:
  explicit Buffers(uint32_t ranks) : ranks_(ranks) {}
  void set(uint32_t rank, const Bytes& content) {
    Bytes& bytes = ranks_[rank];
    bytes.assign(content.size() + 2 * kGuard, kUntouched);
    std::ranges::copy(content, bytes.begin() + kGuard);
  }
  void set_all(uint64_t bytes) {
    for (uint32_t r = 0; r < ranks_.size(); ++r) set(r, Bytes(bytes, kUntouched));
  }
  [[nodiscard]] Memory at(uint32_t rank) { return user(ranks_[rank].data() + kGuard); }
  [[nodiscard]] Bytes get(uint32_t rank) const {
    const Bytes& bytes = ranks_[rank];
    for (std::ptrdiff_t i = 0; i < kGuard; ++i) {
      EXPECT_EQ(bytes[static_cast<size_t>(i)], kUntouched);
      EXPECT_EQ(bytes[bytes.size() - 1 - static_cast<size_t>(i)], kUntouched);
    }
    return Bytes(bytes.begin() + kGuard, bytes.end() - kGuard);
  }
  static constexpr std::byte kUntouched{0xee};

 private:
  static constexpr std::ptrdiff_t kGuard = 64;
  std::vector<Bytes> ranks_;
};

// Every rank's plan by build(script, rank).
template <class Build>
std::vector<Plan> plans_of(uint32_t ranks, Build&& build) {
  std::vector<Plan> plans;
  for (uint32_t r = 0; r < ranks; ++r) {
    Builder builder;
    Script script(builder);
    build(script, r);
    plans.push_back(builder.finish());
  }
  return plans;
}

// The same, judged and executed.
template <class Build>
void execute(uint32_t ranks, Build&& build, uint64_t* messages = nullptr) {
  static uint64_t seed = 0;
  ASSERT_EQ(trouble(plans_of(ranks, build), ++seed, messages), "");
}

inline Choices only(Collective collective, Algorithm algorithm) {
  Choices choices;
  EXPECT_TRUE(choices.force(collective, algorithm));
  return choices;
}

// Numbers of ranks and elements to try: all small ones, a few large ones.
struct Shape {
  uint32_t ranks;
  uint64_t count;
  size_t number;
};
inline std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (uint32_t ranks = 1; ranks <= 17; ++ranks) {
    for (const uint64_t count : {0, 1, 5, 64, 1000}) all.push_back({ranks, count, all.size()});
  }
  for (const uint32_t ranks : {3, 8}) all.push_back({ranks, 20000, all.size()});
  for (const uint32_t ranks : {2, 5, 17}) all.push_back({ranks, 131072, all.size()});
  if (test::kSanitized) std::erase_if(all, [](const Shape& shape) { return shape.number % 8 != shape.ranks % 8; });
  return all;
}

}  // namespace portunus::goal::collectives
