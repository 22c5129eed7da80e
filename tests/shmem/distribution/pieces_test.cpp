// pieces_test.cpp: each side lists alone, and both lists are the same; moving what they say redistributes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include "random_layout.hpp"
#include "shmem/distribution/layout/overlaps.hpp"
#include "shmem/distribution/layout/pieces.hpp"

using namespace portunus::distribution;

namespace {

constexpr int64_t kGuard = -7;

bool same(const Pieces& a, const Pieces& b) {
  return a.families().size() == b.families().size() && a.elements() == b.elements() &&
         (a.families().empty() || memcmp(a.families().data(), b.families().data(), a.families().size() * sizeof(Family)) == 0);
}

// Arrays of all targets, each element its own number, guards and holes kGuard.
using Arrays = std::vector<std::vector<int64_t>>;
Arrays arrays_of(const ccc_layout& layout, const std::array<int, CCC_MOST_AXES>& order, bool filled) {
  Arrays arrays(static_cast<size_t>(targets_of(layout)), std::vector<int64_t>(static_cast<size_t>(elements_of_room(layout)) + 2, kGuard));
  if (filled)
    each_index(layout, [&](const Coordinates& index, int64_t) {
      int64_t offset = 0, id = 0;
      const int pe = ccc_pe(&layout, index.data(), &offset);
      const auto t = static_cast<size_t>(*target_on(layout, pe));
      // The number is that of the index in the order of the other layout's axes, where `order` says which.
      for (int d = 0; d < layout.axes; ++d) id = id * 1000 + index[static_cast<size_t>(order[static_cast<size_t>(d)])];
      arrays[t][static_cast<size_t>(offset) + 1] = id;
    });
  return arrays;
}
constexpr std::array<int, CCC_MOST_AXES> kSame{0, 1, 2, 3, 4, 5};

}  // namespace

TEST(Pieces, OfBothSidesAreTheSameListsAndMoveTheArray) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    const int64_t n = below(random, round % 10 == 0 ? 400 : 61);
    const ccc_axis a = random_axis(random, n, 5), b = random_axis(random, n, 5);
    std::vector<std::vector<Pieces>> out, in;
    for (int64_t t = 0; t < processors(a); ++t) out.push_back(list_pieces(a, b, Side::kFrom, t));
    for (int64_t t = 0; t < processors(b); ++t) in.push_back(list_pieces(a, b, Side::kTo, t));
    int64_t moved = 0;
    for (size_t i = 0; i < out.size(); ++i)
      for (size_t j = 0; j < in.size(); ++j) {
        ASSERT_TRUE(same(out[i][j], in[j][i])) << written(a) << " -> " << written(b) << " pair " << i << ", " << j;
        for (const Family& f : out[i][j].families())
          for (int64_t r = 0; r < f.rounds; ++r)
            for (int64_t c = 0; c < f.count; ++c)
              for (int64_t k = 0; k < f.length; ++k, ++moved) {
                const int64_t s = global(a, static_cast<int64_t>(i), f.from + r * f.from_round + c * f.from_step + k);
                ASSERT_GE(s, 0) << written(a) << " -> " << written(b);
                ASSERT_EQ(s, global(b, static_cast<int64_t>(j), f.to + r * f.to_round + c * f.to_step + k))
                    << written(a) << " -> " << written(b);
              }
      }
    ASSERT_EQ(moved, n) << written(a) << " -> " << written(b);
  }
}

TEST(Pieces, MoveArraysOfUpToThreeAxesDirectlyAndPackedInAnyStretches) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 400; ++round) {
    const auto [from, to, order] = random_pair(random, 8, round % 3 + 1, round % 3 == 0 ? 90 : 20, false);
    const Overlaps overlaps(from, to, order, sizeof(int64_t));
    std::array<int, CCC_MOST_AXES> inverse{};
    for (size_t d = 0; d < static_cast<size_t>(from.axes); ++d) inverse[static_cast<size_t>(order[d])] = static_cast<int>(d);
    const Arrays source = arrays_of(from, kSame, true), wanted = arrays_of(to, order, true);
    Arrays direct = arrays_of(to, order, false), packed = direct;
    for (int64_t i = 0; i < targets_of(from); ++i)
      for (int64_t j = 0; j < targets_of(to); ++j) {
        const Move move = overlaps.move(i, j);
        if (move.empty()) continue;
        const auto* const here = reinterpret_cast<const std::byte*>(source[static_cast<size_t>(i)].data() + 1);
        auto* const there = reinterpret_cast<std::byte*>(direct[static_cast<size_t>(j)].data() + 1);
        Program program;
        if (round % 2 == 0 || !move.compile(&program)) move.copy(there, here);
        else
          for (int part = 0; part < 5; ++part) program.copy_part(there, here, part, 5, Stores::kCached);
        // Through a message that is filled and emptied in stretches of odd lengths.
        std::vector<std::byte> message(static_cast<size_t>(move.bytes()));
        for (int way = 0; way < 2; ++way)
          for (int64_t at = 0; at < move.bytes();) {
            const int64_t length = std::min(move.bytes() - at, below(random, round % 2 ? 40 : 700) + 1);
            if (way == 0) move.pack(at, length, message.data() + at, here);
            else move.unpack(at, length, message.data() + at, reinterpret_cast<std::byte*>(packed[static_cast<size_t>(j)].data() + 1));
            at += length;
          }
        int64_t pieces = 0, bytes = 0;
        for (const Side side : {Side::kFrom, Side::kTo}) {
          pieces = bytes = 0;
          move.each_piece(side, [&](int64_t, int64_t length) { ++pieces, bytes += length; });
          ASSERT_EQ(bytes, move.bytes());
          ASSERT_LE(pieces, side == Side::kFrom ? move.from_pieces() : move.to_pieces());
        }
      }
    ASSERT_EQ(direct, wanted) << written(from) << " -> " << written(to);
    ASSERT_EQ(packed, wanted) << written(from) << " -> " << written(to);
  }
}

TEST(Pieces, AreThoseOfTheModelAndFewWhereTheyRepeat) {
  const auto count = [](int64_t b, int64_t p, int64_t c, int64_t q, int64_t n) {
    ccc_axis a, d;
    EXPECT_EQ(ccc_block_cyclic(&a, n, b, p) | ccc_block_cyclic(&d, n, c, q), CCC_SUCCESS);
    int64_t pieces = 0;
    size_t families = 0;
    for (int64_t t = 0; t < p; ++t)
      for (const Pieces& list : list_pieces(a, d, Side::kFrom, t))
        pieces += list.pieces(), families = std::max(families, list.families().size());
    EXPECT_LE(families, 8u);
    return pieces;
  };
  EXPECT_EQ(count(4, 4, 4, 4, 4096), 4) << "the same on both sides: one piece each";
  EXPECT_EQ(count(64, 4, 8, 4, 4096), 512);
  EXPECT_EQ(count(1024, 4, 1, 4, 4096), 4096);
  EXPECT_EQ(count(64, 4, 64, 2, 4096), 64);
}

TEST(Pieces, Of100MillionElementsTakeAHandfulOfFamilies) {
  constexpr int64_t kMany = 100'000'000;
  ccc_axis cyclic, block, blocks;
  ASSERT_EQ(ccc_cyclic(&cyclic, kMany, 4) | ccc_block(&block, kMany, 4) | ccc_block_cyclic(&blocks, kMany, 1000, 4), CCC_SUCCESS);
  for (const auto& [a, b] : {std::pair{cyclic, block}, std::pair{block, cyclic}, std::pair{cyclic, blocks}, std::pair{blocks, block}})
    for (const Side side : {Side::kFrom, Side::kTo}) {
      size_t memory = 0;
      int64_t elements = 0;
      for (const Pieces& list : list_pieces(a, b, side, 1)) memory += list.memory(), elements += list.elements();
      EXPECT_EQ(elements, kMany / 4);
      EXPECT_LE(memory, 4096u);
    }
}

TEST(Cost, CountsMessagesBytesAndPiecesOfTheModel) {
  const auto cost = [](int64_t b, int64_t p, int64_t c, int64_t q, int64_t n) {
    ccc_layout from{}, to{};
    from.axes = to.axes = 1;
    EXPECT_EQ(ccc_block_cyclic(&from.axis[0], n, b, p) | ccc_block_cyclic(&to.axis[0], n, c, q), CCC_SUCCESS);
    ccc_cost cost{};
    EXPECT_EQ(ccc_cost_of(&from, &to, nullptr, 1, &cost), CCC_SUCCESS) << ccc_explain();
    return std::array<int64_t, 2>{cost.messages, cost.bytes};
  };
  EXPECT_EQ(cost(4, 4, 4, 4, 4096), (std::array<int64_t, 2>{0, 0}));
  EXPECT_EQ(cost(64, 4, 8, 4, 4096), (std::array<int64_t, 2>{12, 3072}));
  EXPECT_EQ(cost(1024, 4, 1, 4, 4096), (std::array<int64_t, 2>{12, 3072}));
  EXPECT_EQ(cost(3, 4, 5, 4, 4096), (std::array<int64_t, 2>{12, 3004}));
  EXPECT_EQ(cost(64, 4, 64, 2, 4096), (std::array<int64_t, 2>{2, 2048}));
}

TEST(Relabel, MovesAsLittleAsTheBestOfAllPermutations) {
  std::mt19937_64 random(23);
  for (int round = 0; round < 60; ++round) {
    auto [from, to, order] = random_pair(random, 5, round % 2 + 1, 30, false);
    const auto moved = [&, &from = from, &to = to, &order = order](const int* pes) {
      ccc_layout there = to;
      there.pes = pes;
      ccc_cost cost{};
      EXPECT_EQ(ccc_cost_of(&from, &there, order.data(), 1, &cost), CCC_SUCCESS) << ccc_explain();
      return cost.bytes;
    };
    std::vector<int> pes(static_cast<size_t>(targets_of(to))), found(pes.size());
    std::iota(pes.begin(), pes.end(), to.first_pe);
    ASSERT_EQ(ccc_relabel(&from, &to, order.data(), found.data()), CCC_SUCCESS) << ccc_explain();
    int64_t best = INT64_MAX;
    do best = std::min(best, moved(pes.data()));
    while (std::next_permutation(pes.begin(), pes.end()));
    ASSERT_EQ(moved(found.data()), best) << written(from) << " -> " << written(to);
  }
}

TEST(Layout, RefusesWhatDoesNotFitTogetherWithASentence) {
  ccc_layout from{}, to{};
  ccc_cost cost{};
  const auto refused = [&](const char* part, const int* permutation = nullptr, size_t size = 8) {
    EXPECT_EQ(ccc_cost_of(&from, &to, permutation, size, &cost), CCC_ERR_ARG);
    EXPECT_NE(std::string(ccc_explain()).find(part), std::string::npos) << ccc_explain();
  };
  refused("0 axes");
  from.axes = to.axes = 2;
  refused("was not made");
  for (ccc_axis* axis : {&from.axis[0], &from.axis[1], &to.axis[0], &to.axis[1]}) ASSERT_EQ(ccc_block(axis, 12, 2), CCC_SUCCESS);
  EXPECT_EQ(ccc_cost_of(&from, &to, nullptr, 8, &cost), CCC_SUCCESS);
  const int twice[] = {1, 1}, beyond[] = {0, 2};
  refused("no permutation", twice);
  refused("no permutation", beyond);
  refused("0 bytes", nullptr, 0);
  refused("63 bits", nullptr, SIZE_MAX);
  const int same_pe[] = {0, 1, 2, 1}, negative[] = {0, 1, 2, -1};
  to.pes = same_pe;
  refused("PE 1 twice");
  to.pes = negative;
  refused("names PE -1");
  to.pes = nullptr;
  to.first_pe = -1;
  refused("wants PEs -1");
  to.first_pe = 0;
  from.axis[0].n = 13;
  refused("was not made");
  ASSERT_EQ(ccc_block(&from.axis[0], 13, 2), CCC_SUCCESS);
  refused("13 indices");
  to.axes = 1;
  refused("has 2 axes");
  to.axes = CCC_MOST_AXES + 1;
  refused("7 axes");
  to.axes = 2;
  ASSERT_EQ(ccc_block_cyclic(&to.axis[0], 13, int64_t{1} << 40, 2) | ccc_block_cyclic(&to.axis[1], 12, int64_t{1} << 40, 2), CCC_SUCCESS);
  refused("63 bits count");
  EXPECT_EQ(ccc_cost_of(nullptr, &to, nullptr, 8, &cost), CCC_ERR_ARG);
  int64_t index[] = {13, 0};
  EXPECT_EQ(ccc_pe(&from, index, nullptr), -1);
  EXPECT_EQ(ccc_pe(nullptr, index, nullptr), -1);
  index[0] = 12;
  EXPECT_EQ(ccc_pe(&from, index, nullptr), 2);
}
