// Layouts: shapes, and packing any range of their data. Source: MPI-5.0, 5.1.
#include "mpi-adi/types/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

using namespace portunus::mpi;

namespace {

using Shape = Layout::Shape;

TEST(Layout, TakesTheSimplestShapeThatFits) {
  const Layout eight = Layout::run(0, 8);
  EXPECT_EQ(eight.repeated(100, 8).shape, Shape::run);
  const Layout column = eight.repeated(100, 24);
  EXPECT_EQ(column.shape, Shape::strided);
  EXPECT_EQ(column.repeated(3, 2400).shape, Shape::strided);  // goes on where the first one ends
  EXPECT_EQ(column.repeated(3, 2400).count, 300);
  EXPECT_EQ(column.repeated(3, 2408).shape, Shape::repeat);
  EXPECT_EQ(Layout::joined({Layout::run(0, 8), Layout::run(8, 4), Layout::run(12, 4)}).shape, Shape::run);
  EXPECT_EQ(Layout::joined({Layout::run(0, 8), Layout::run(16, 8), Layout::run(32, 8)}).shape, Shape::strided);
  EXPECT_EQ(Layout::joined({Layout::run(0, 8), Layout::run(16, 8), Layout::run(40, 8)}).shape, Shape::blocks);
  EXPECT_EQ(Layout::joined({Layout::run(0, 8), Layout::run(16, 4)}).shape, Shape::runs);
  EXPECT_EQ(Layout::joined({column, Layout::run(4000, 4)}).shape, Shape::list);
  EXPECT_EQ(Layout::joined({Layout::run(4, 0), Layout::run(9, 0)}).shape, Shape::empty);
}

// A random layout, and beside it where each of its bytes lies.
struct Model {
  Layout layout;
  std::vector<int64_t> bytes;
};

Model build(std::mt19937& random, int depth) {
  const auto draw = [&](int below) { return static_cast<int64_t>(random() % static_cast<unsigned>(below)); };
  if (depth == 0) {
    const int64_t sizes[] = {0, 1, 3, 4, 8, 16, 17, 32}, size = sizes[draw(8)], offset = draw(20);
    Model made{Layout::run(offset, size), {}};
    for (int64_t i = 0; i < size; ++i) made.bytes.push_back(offset + i);
    return made;
  }
  Model made;
  if (draw(2) == 0) {
    const Model part = build(random, depth - 1);
    const int64_t count = draw(4), stride = draw(80), shift = draw(10);
    made.layout = part.layout.repeated(count, stride);
    made.layout.offset += shift;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t each : part.bytes) made.bytes.push_back(each + i * stride + shift);
    return made;
  }
  std::vector<Layout> parts;
  const bool alike = draw(2) == 0;
  const Model one = build(random, depth - 1);
  for (int64_t i = 0, n = draw(4); i < n; ++i) {
    const Model part = alike ? one : build(random, depth - 1);
    const int64_t shift = draw(100);
    parts.emplace_back(part.layout).offset += shift;
    for (int64_t each : part.bytes) made.bytes.push_back(each + shift);
  }
  made.layout = Layout::joined(std::move(parts));
  return made;
}

TEST(Layout, AnyRangeOfTheDataIsPackedAndUnpackedAlone) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const Model model = build(random, static_cast<int>(random() % 5));
    const auto size = static_cast<int64_t>(model.bytes.size());
    ASSERT_EQ(model.layout.size, size);
    const int64_t last = size > 0 ? *std::max_element(model.bytes.begin(), model.bytes.end()) : -1;
    std::vector<unsigned char> memory(static_cast<size_t>(last + 1)), back(memory.size()), wanted(memory.size());
    for (unsigned char& byte : memory) byte = static_cast<unsigned char>(random());
    const int64_t from = size > 0 ? static_cast<int64_t>(random() % static_cast<unsigned>(size)) : 0;
    const int64_t bytes = size > 0 ? static_cast<int64_t>(random() % static_cast<unsigned>(size - from + 1)) : 0;
    std::vector<unsigned char> packed(static_cast<size_t>(bytes));
    pack(model.layout, memory.data(), from, bytes, packed.data());
    unpack(model.layout, back.data(), from, bytes, packed.data());
    for (int64_t i = 0; i < bytes; ++i) {
      const auto place = static_cast<size_t>(model.bytes[static_cast<size_t>(from + i)]);
      ASSERT_EQ(packed[static_cast<size_t>(i)], memory[place]) << "round " << round;
      wanted[place] = memory[place];
    }
    ASSERT_EQ(back, wanted) << "round " << round;
  }
}

}  // namespace
