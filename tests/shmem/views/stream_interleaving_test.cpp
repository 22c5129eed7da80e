// The newest version of a stream, which a reader of the writer's node copies from the view it was written in, in all interleavings by the
// code that the library runs: the reader sees each version, whole, in its turn, and nobody waits for ever.
#include <gtest/gtest.h>

#include <iostream>

#include "shmem/views/stream/place.hpp"
#include "tests/support/interleave.hpp"
#include "tests/support/store_buffers.hpp"

namespace portunus::views {
namespace {

using interleave::Cell;
using interleave::kFinished;

constexpr uint32_t kDepth = 2, kVersions = 3;

// Two words are a version, written and copied one after the other, so that a torn copy shows.
struct Copy {
  Cell left{"left"}, right{"right"};
};
struct World {
  interleave::Program program;
  Copy view, ring[kDepth];
  Cell place{"place"}, wrong{"wrong"};
  Cell released[kVersions + 1], read[kVersions + 1];  // that a version is
};

struct Careful {
  static constexpr bool kPacksFirst = true, kWaitsForCopies = true, kCompares = true;
};
struct WithdrawsFirst : Careful {
  static constexpr bool kPacksFirst = false;
};
struct DoesNotWait : Careful {
  static constexpr bool kWaitsForCopies = false;
};
struct DoesNotCompare : Careful {
  static constexpr bool kCompares = false;
};

template <class Rules>
struct Simulated {
  Cell& word;
  BasicPlace<uint32_t> look() { return {word.load()}; }
  bool change(BasicPlace<uint32_t>& expected, BasicPlace<uint32_t> to) {
    if (Rules::kCompares) return word.compare_exchange(expected.bits, to.bits);
    word.exchange(to.bits);
    return true;
  }
};

void copy(Copy& to, Copy& from) {
  to.left.store(from.left.load_relaxed());
  to.right.store(from.right.load_relaxed());
}

// Part k - 1 writes version k.
template <class Rules>
uint32_t write(World& world, uint32_t part) {
  const uint32_t k = part + 1;
  Simulated<Rules> site{world.place};
  if (k > kDepth) world.read[k - kDepth].await(1);
  if (k > 1) {
    Copy& slot = world.ring[(k - 1) % kDepth];
    if (Rules::kPacksFirst) copy(slot, world.view);
    if (!withdraw(site) && Rules::kWaitsForCopies) world.place.await(BasicPlace<uint32_t>::of(k - 1, Where::copied).bits);
    if (!Rules::kPacksFirst) copy(slot, world.view);
  }
  world.view.left.store(k);
  world.view.right.store(k);
  world.place.exchange(BasicPlace<uint32_t>::of(k, Where::view).bits);
  world.released[k].exchange(1);
  return k == kVersions ? kFinished : part + 1;
}

template <class Rules>
uint32_t read(World& world, uint32_t part) {
  const uint32_t k = part + 1;
  Simulated<Rules> site{world.place};
  world.released[k].await(1);
  const Lies lies = find_version(site, k);
  Copy& from = lies == Lies::in_view ? world.view : world.ring[k % kDepth];
  const uint32_t left = from.left.load_relaxed(), right = from.right.load_relaxed();
  if (lies == Lies::nowhere || left != k || right != k) world.wrong.store(1);
  if (lies == Lies::in_view) copied(site, k);
  world.read[k].exchange(1);
  return k == kVersions ? kFinished : part + 1;
}

template <class Rules>
bool wrong() {
  using Model = interleave::StoreBuffers;
  World world;
  world.program.thread("writer", [&](uint32_t part) { return write<Rules>(world, part); });
  world.program.thread("reader", [&](uint32_t part) { return read<Rules>(world, part); });
  const auto right = [&](const interleave::Ending<Model>& ending) {
    return ending.finished(0) && ending.finished(1) && ending.value(world.wrong) == 0;
  };
  const interleave::Found found = interleave::Explorer<Model>(world.program, right).run();
  std::cout << found.states << " states\n" << found.interleaving;
  return found.lost;
}

TEST(StreamsPlace, EachVersionIsReadWhole) { EXPECT_FALSE(wrong<Careful>()); }
TEST(StreamsPlace, WithdrawnBeforeItIsPackedItIsReadFromAnEmptySlot) { EXPECT_TRUE(wrong<WithdrawsFirst>()); }
TEST(StreamsPlace, WithoutWaitingForWhoCopiesTheVersionTears) { EXPECT_TRUE(wrong<DoesNotWait>()); }
TEST(StreamsPlace, WithoutComparingBothTakeTheView) { EXPECT_TRUE(wrong<DoesNotCompare>()); }

}  // namespace
}  // namespace portunus::views
