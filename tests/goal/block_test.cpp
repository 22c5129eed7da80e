// Plans and the blocks they are saved in: what is refused when it is built, and that only what was saved is loaded.
#include "engine/goal/schedules/block.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace portunus::goal {
namespace {

std::string refusal_of(auto&& f) {
  try {
    f();
  } catch (const ScheduleError& error) {
    return error.message;
  }
  return "accepted";
}

// One of everything.
Plan everything() {
  Builder b;
  const Memory box = b.scratch(64), other = b.scratch(100);
  const std::array<Piece, 3> parts{{{argument(1), 16}, {box + 8, 8}, {argument(0, 4), 8}}};
  const VertexId in = b.recv(box, 64, 1, 7), again = b.recv(b.pieces(parts), 32, 2, 7), out = b.send(other, 100, 1);
  const VertexId sum = b.local(PTLX_MAX, PTL_FLOAT, argument(0), argument(0), box, 16);
  const VertexId wait = b.delay(1000), both = b.join(), stamp = b.timestamp(other + 8);
  b.after(again, in);
  b.after(sum, in);
  b.after(both, {sum, again, out});
  b.needs(both, 2);
  b.after(wait, both);
  b.after_start(stamp, wait);
  b.after(stamp, out);
  return b.finish();
}

TEST(Plan, OperationsStayWithinTheScratchpad) {
  Builder b;
  b.scratch_bytes(16);
  b.recv(scratchpad(9), 8, 0);
  EXPECT_NE(refusal_of([&] { (void)b.finish(); }).find("bytes 9 to 17 of the scratchpad, which has 16"), std::string::npos);
}

TEST(Plan, PiecesHoldWhatTheOperationMoves) {
  Builder b;
  const std::array<Piece, 2> parts{{{argument(0), 3}, {argument(1), 4}}};
  b.send(b.pieces(parts), 8, 0);
  EXPECT_NE(refusal_of([&] { (void)b.finish(); }).find("its pieces have 7 together"), std::string::npos);
}

TEST(Plan, BitsAreThoseOfIntegers) {
  Builder b;
  b.local(PTLX_XOR, PTL_DOUBLE, argument(0), argument(0), argument(1), 1);
  EXPECT_NE(refusal_of([&] { (void)b.finish(); }).find("its type does not have"), std::string::npos);
}

TEST(Plan, NothingNeedsMoreThanItWaitsFor) {
  Builder b;
  const VertexId first = b.delay(1), second = b.delay(1);
  b.after(second, first);
  b.needs(second, 2);
  EXPECT_NE(refusal_of([&] { (void)b.finish(); }).find("needs 2 of what it waits for, which is only 1"), std::string::npos);
}

TEST(Plan, KnowsHowMuchOfEachArgumentIsUsed) {
  const Plan plan = everything();
  EXPECT_EQ(plan.argument_bytes, (std::vector<uint64_t>{64, 16}));
}

TEST(Block, IsLoadedAsItWasSaved) {
  const auto compiled = compile(everything(), 0);
  const std::vector<std::byte> block = save(*compiled);
  const auto loaded = load(block, 3);
  EXPECT_EQ(save(*loaded), block);
  EXPECT_EQ(loaded->plan.graph.size(), compiled->plan.graph.size());
  EXPECT_EQ(loaded->plan.scratch_bytes, compiled->plan.scratch_bytes);
  EXPECT_EQ(loaded->program.increments, compiled->program.increments);
}

TEST(Block, MayLieAnywhere) {
  const std::vector<std::byte> block = save(*compile(everything(), 0));
  std::vector<std::byte> moved(block.size() + 3);
  std::memcpy(moved.data() + 3, block.data(), block.size());
  EXPECT_EQ(save(*load(std::span(moved).subspan(3), 3)), block);
}

TEST(Block, IsRefusedIfAnyByteDiffers) {
  const std::vector<std::byte> block = save(*compile(everything(), 0));
  for (size_t i = 0; i < block.size(); ++i) {
    std::vector<std::byte> bad = block;
    bad[i] ^= std::byte{1} << (i % 8);
    EXPECT_NE(refusal_of([&] { (void)load(bad, 3); }), "accepted") << i;
  }
}

// Also where the checksum was made to fit: either it is refused, or it is another schedule's block, in its only form.
TEST(Block, WithAForgedChecksumIsWhatItsGraphCompilesToOrRefused) {
  const std::vector<std::byte> block = save(*compile(everything(), 0));
  int refused = 0;
  for (size_t i = 0; i < 8 * block.size(); ++i) {
    std::vector<std::byte> bad = block;
    bad[i / 8] ^= std::byte{1} << (i % 8);
    seal(bad);
    try {
      EXPECT_EQ(save(*load(bad, 3)), bad);
    } catch (const ScheduleError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int>(4 * block.size()));
}

TEST(Block, IsRefusedIfItWasCut) {
  const std::vector<std::byte> block = save(*compile(everything(), 0));
  for (size_t n = 0; n < block.size(); ++n) {
    EXPECT_NE(refusal_of([&] { (void)load(std::span(block).first(n), 3); }), "accepted") << n;
  }
}

TEST(Block, IsRefusedIfARankOfItsMessagesIsNotInTheJob) {
  const std::vector<std::byte> block = save(*compile(everything(), 0));
  EXPECT_NE(refusal_of([&] { (void)load(block, 2); }).find("rank 2, but the job has only 2 ranks"), std::string::npos);
}

TEST(Block, WithAddressesIsForThisProcessAlone) {
  Builder b;
  int word = 0;
  b.send(user(&word), sizeof word, 0);
  std::vector<std::byte> block = save(*compile(b.finish(), 0));
  EXPECT_EQ(load(block, 1)->plan.works[0].memory.place, reinterpret_cast<uintptr_t>(&word));
}

}  // namespace
}  // namespace portunus::goal
