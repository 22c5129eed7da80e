// copy_test.cpp: nests of loops of all shapes copy what they describe and nothing else, into the caches and past them, whole and in
// parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "random_layout.hpp"
#include "shmem/distribution/copy/nest.hpp"
#include "shmem/distribution/copy/program.hpp"

using namespace portunus::distribution;

namespace {

// Loops whose iterations touch different bytes at both ends, in any order of strides, with gaps.
struct Shape {
  int64_t bytes;
  std::vector<Loop> loops;
  int64_t to_bytes, from_bytes;
};

Shape random_shape(std::mt19937_64& random) {
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 8, 8, 8, 12, 16, 24, 32, 40, 64, 64, 100, 128, 192, 512, 576, 1000, 4160};
  Shape shape{kSizes[random() % std::size(kSizes)], {}, 0, 0};
  int64_t left = std::max<int64_t>(1, 60000 / shape.bytes);
  for (uint64_t depth = random() % 5; depth > 0; --depth) {
    const int64_t count = 1 + below(random, std::min<int64_t>(left, random() % 3 ? 12 : 200));
    shape.loops.push_back({count, 0, 0});
    left = std::max<int64_t>(1, left / count);
  }
  for (int64_t Loop::*end : {&Loop::to, &Loop::from}) {
    std::vector<size_t> order(shape.loops.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    int64_t stride = shape.bytes;
    for (const size_t i : order) {
      if (random() % 3 == 0) stride += random() % 2 ? 64 : below(random, 20);
      shape.loops[i].*end = stride;
      stride *= shape.loops[i].count;
    }
    (end == &Loop::to ? shape.to_bytes : shape.from_bytes) = stride;
  }
  return shape;
}

void naive(const Shape& shape, size_t level, std::byte* to, const std::byte* from) {
  if (level == shape.loops.size()) {
    std::copy(from, from + shape.bytes, to);
    return;
  }
  const Loop& loop = shape.loops[level];
  for (int64_t i = 0; i < loop.count; ++i) naive(shape, level + 1, to + i * loop.to, from + i * loop.from);
}

}  // namespace

TEST(Copies, OfAllShapesAreThoseOfTheLoopsInAnyStoresAndParts) {
  std::mt19937_64 random(97);
  for (int round = 0; round < 600; ++round) {
    const Shape shape = random_shape(random);
    // Both ends begin anywhere in a line; elements of eight bytes mostly where they may be streamed.
    const int64_t edge = 64 + (random() % 2 ? 8 * below(random, 8) : random() % 2 ? 0 : below(random, 64));
    std::vector<std::byte> source(static_cast<size_t>(shape.from_bytes + edge)), wanted(static_cast<size_t>(shape.to_bytes + 256));
    for (std::byte& byte : source) byte = static_cast<std::byte>(random());
    auto target = wanted;
    const std::byte* const from = source.data() + edge / 2;
    naive(shape, 0, wanted.data() + edge, from);
    Nest nest(shape.bytes);
    for (const Loop& loop : shape.loops) nest.add(loop.count, loop.to, loop.from);
    const Stores stores = round % 2 ? Stores::kStreaming : Stores::kCached;
    Program program;
    program.add(edge - 64, 0, nest);
    const int64_t parts = round % 4 < 2 ? 1 : 1 + below(random, 40);
    if (round % 8 == 0) Nest(nest).copy(target.data() + edge, from, stores);
    else if (parts == 1) program.copy(target.data() + 64, from, stores);
    for (int64_t part = 0; parts > 1 && part < parts; ++part) program.copy_part(target.data() + 64, from, part, parts, stores);
    stores_done();
    ASSERT_EQ(target, wanted) << "round " << round << ": runs of " << shape.bytes << ", " << shape.loops.size() << " loops, " << parts
                              << " parts";
  }
}

TEST(Copies, OfNothingCopyNothing) {
  std::byte one{1}, two{2};
  Nest nest(1);
  nest.add(0, 1, 1);
  nest.copy(&one, &two);
  Program program;
  program.add(0, 0, nest);
  program.copy(&one, &two, Stores::kStreaming);
  program.copy_part(&one, &two, 0, 3, Stores::kCached);
  EXPECT_EQ(one, std::byte{1});
}

TEST(Copies, ThatAreTooManyAreNotKept) {
  Program program;
  Nest nest(8);
  nest.add(3, 8, 16);
  for (int i = 0; i < 64; ++i) program.add(i * 64, 0, nest);
  EXPECT_FALSE(program.full());
  EXPECT_GT(program.memory(), 0u);
  program.add(0, 0, nest);
  EXPECT_TRUE(program.full());
}

TEST(Copies, SayWhetherOthersWriteInTheirLines) {
  const auto shares = [](int64_t bytes, int64_t to, int64_t from) {
    Program program;
    Nest nest(bytes);
    nest.add(100, to, from);
    program.add(0, 0, nest);
    return program.shares_lines();
  };
  EXPECT_TRUE(shares(8, 16, 8));
  EXPECT_FALSE(shares(8, 8, 16));
  EXPECT_FALSE(shares(64, 128, 64));
}
