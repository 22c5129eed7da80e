// Collectives against what a single process would compute, at 1 to 17 ranks, with every algorithm, in place and not.
#include "tests/goal/collective_cases.hpp"

namespace portunus::goal::collectives {
namespace {

const Element& element_of(const Shape& shape) { return kElements[shape.number % std::size(kElements)]; }

// Large vectors of wide elements would go beyond a mebibyte.
uint64_t count_of(const Shape& shape) { return std::min<uint64_t>(shape.count, (1 << 20) / element_of(shape).width()); }

std::string name(const Shape& shape, Algorithm algorithm, bool in_place) {
  return std::to_string(shape.ranks) + " ranks, " + std::to_string(shape.count) + " elements, number " + std::to_string(shape.number) +
         ", algorithm " + std::to_string(algorithm) + (in_place ? ", in place" : "");
}

// Roots that a tree treats differently.
std::vector<uint32_t> roots(uint32_t ranks) {
  if (ranks == 1) return {0};
  if (ranks == 2) return {0, 1};
  return {0, ranks / 2, ranks - 1};
}

// ---- reductions: build(script, team, reduction, choices)

struct Vectors {
  Buffers from, to;
  Vectors(const Shape& shape, bool in_place) : from(shape.ranks), to(shape.ranks), in_place_(in_place) {
    for (uint32_t r = 0; r < shape.ranks; ++r) {
      const Bytes mine = input(element_of(shape), r, count_of(shape));
      from.set(r, mine);
      to.set(r, in_place ? mine : Bytes(mine.size(), Buffers::kUntouched));
    }
  }
  Reduction of(const Shape& shape, uint32_t r) { return {in_place_ ? to.at(r) : from.at(r), to.at(r), count_of(shape), element_of(shape)}; }

 private:
  bool in_place_;
};

void check_allreduce(const Shape& shape, Algorithm algorithm, bool in_place) {
  SCOPED_TRACE(name(shape, algorithm, in_place));
  Vectors v(shape, in_place);
  const Choices choices = only(Collective::allreduce, algorithm);
  execute(shape.ranks, [&](Script& script, uint32_t r) { allreduce(script, Team(r, shape.ranks), v.of(shape, r), choices); });
  const Bytes expected = combined(element_of(shape), 0, shape.ranks, count_of(shape));
  for (uint32_t r = 0; r < shape.ranks; ++r) {
    ASSERT_EQ(v.to.get(r), expected) << "rank " << r;
    ASSERT_EQ(v.from.get(r), input(element_of(shape), r, count_of(shape)));
  }
}

TEST(Collectives, AllreduceGivesAllRanksTheCombinationOfAll) {
  for (const Shape& shape : shapes()) {
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_DOUBLING, GOAL_HALVING, GOAL_RING, GOAL_PIPELINE, GOAL_DISSEMINATION}) {
      for (const bool in_place : {false, true}) check_allreduce(shape, algorithm, in_place);
    }
  }
}

void check_reduce(const Shape& shape, Algorithm algorithm, uint32_t root, bool in_place) {
  SCOPED_TRACE(name(shape, algorithm, in_place) + ", root " + std::to_string(root));
  Vectors v(shape, in_place);
  const Choices choices = only(Collective::reduce, algorithm);
  execute(shape.ranks, [&](Script& script, uint32_t r) {
    Reduction mine = v.of(shape, r);
    if (r != root) mine.from = v.from.at(r);
    reduce(script, Team(r, shape.ranks), root, mine, choices);
  });
  ASSERT_EQ(v.to.get(root), combined(element_of(shape), 0, shape.ranks, count_of(shape)));
  for (uint32_t r = 0; r < shape.ranks; ++r) ASSERT_EQ(v.from.get(r), input(element_of(shape), r, count_of(shape)));
}

TEST(Collectives, ReduceGivesTheRootTheCombinationOfAll) {
  for (const Shape& shape : shapes()) {
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_BINOMIAL, GOAL_HALVING}) {
      for (const uint32_t root : roots(shape.ranks)) check_reduce(shape, algorithm, root, shape.number % 2 == 0);
    }
  }
}

void check_scan(const Shape& shape, bool with_own, bool in_place) {
  SCOPED_TRACE(name(shape, GOAL_AUTO, in_place) + (with_own ? "" : ", exclusive"));
  Vectors v(shape, in_place);
  execute(shape.ranks, [&](Script& script, uint32_t r) { (with_own ? scan : exscan)(script, Team(r, shape.ranks), v.of(shape, r)); });
  for (uint32_t r = 0; r < shape.ranks; ++r) {
    const Bytes untouched =
        in_place ? input(element_of(shape), 0, count_of(shape)) : Bytes(count_of(shape) * element_of(shape).width(), Buffers::kUntouched);
    const uint32_t last = with_own ? r + 1 : r;
    ASSERT_EQ(v.to.get(r), last == 0 ? untouched : combined(element_of(shape), 0, last, count_of(shape))) << "rank " << r;
  }
}

TEST(Collectives, ScanAndExscanCombineTheRanksBefore) {
  for (const Shape& shape : shapes()) {
    for (const bool with_own : {false, true}) {
      for (const bool in_place : {false, true}) check_scan(shape, with_own, in_place);
    }
  }
}

// Rank i keeps a share of the elements; equal ones, or of all sizes, some of them none.
std::vector<uint64_t> shares(const Shape& shape, bool equal) {
  std::vector<uint64_t> counts;
  const uint64_t fair = count_of(shape) / shape.ranks;
  for (uint32_t r = 0; r < shape.ranks; ++r) counts.push_back(equal ? fair : (fair + 1) * (r * 5 % 3));
  return counts;
}

void check_reduce_scatter(const Shape& shape, Algorithm algorithm, bool equal, bool in_place) {
  SCOPED_TRACE(name(shape, algorithm, in_place) + (equal ? ", equal shares" : ""));
  const Element& e = element_of(shape);
  const Cuts cuts = Cuts::of(shares(shape, equal));
  Buffers from(shape.ranks), to(shape.ranks);
  for (uint32_t r = 0; r < shape.ranks; ++r) {
    from.set(r, input(e, r, cuts.total()));
    to.set(r, Bytes(cuts.count(r) * e.width(), Buffers::kUntouched));
  }
  Buffers& result = in_place ? from : to;
  const Choices choices = only(Collective::reduce_scatter, algorithm);
  execute(shape.ranks, [&](Script& script, uint32_t r) {
    reduce_scatter(script, Team(r, shape.ranks), {from.at(r), result.at(r), 0, e}, cuts, choices);
  });
  const Bytes all = combined(e, 0, shape.ranks, cuts.total());
  for (uint32_t r = 0; r < shape.ranks; ++r) {
    Bytes got = result.get(r);
    got.resize(cuts.count(r) * e.width());
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(cuts.begin(r) * e.width());
    ASSERT_EQ(got, Bytes(begin, begin + static_cast<std::ptrdiff_t>(got.size()))) << "rank " << r;
    if (!in_place) {
      ASSERT_EQ(from.get(r), input(e, r, cuts.total()));
    }
  }
}

TEST(Collectives, ReduceScatterLeavesEachRankItsPieceOfTheCombination) {
  for (const Shape& shape : shapes()) {
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_HALVING, GOAL_RING}) {
      for (const bool equal : {false, true}) check_reduce_scatter(shape, algorithm, equal, shape.number % 2 == 0);
      check_reduce_scatter(shape, algorithm, false, shape.number % 2 != 0);
    }
  }
}

// ---- data that moves

TEST(Collectives, BcastGivesAllRanksTheRootsBytes) {
  for (const Shape& shape : shapes()) {
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_LINEAR, GOAL_BINOMIAL, GOAL_PIPELINE, GOAL_SCATTER_ALLGATHER}) {
      for (const uint32_t root : roots(shape.ranks)) {
        SCOPED_TRACE(name(shape, algorithm, false) + ", root " + std::to_string(root));
        const uint64_t bytes = shape.count * 8;
        Buffers buffer(shape.ranks);
        buffer.set_all(bytes);
        buffer.set(root, letter(root, 0, bytes));
        const Choices choices = only(Collective::bcast, algorithm);
        execute(shape.ranks, [&](Script& script, uint32_t r) { bcast(script, Team(r, shape.ranks), root, buffer.at(r), bytes, choices); });
        for (uint32_t r = 0; r < shape.ranks; ++r) ASSERT_EQ(buffer.get(r), letter(root, 0, bytes)) << "rank " << r;
      }
    }
  }
}

Bytes letters_from_all(uint32_t ranks, uint32_t to, uint64_t bytes) {
  Bytes all;
  for (uint32_t r = 0; r < ranks; ++r) {
    const Bytes one = letter(r, to, bytes);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
Bytes letters_to_all(uint32_t ranks, uint32_t from, uint64_t bytes) {
  Bytes all;
  for (uint32_t r = 0; r < ranks; ++r) {
    const Bytes one = letter(from, r, bytes);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
// Pieces for and from one rank, so that all of them are a mebibyte at most.
uint64_t piece_of(const Shape& shape) { return std::min<uint64_t>(shape.count, (1 << 20) / shape.ranks); }

TEST(Collectives, GatherAndScatterMoveEachRanksPiece) {
  for (const Shape& shape : shapes()) {
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_LINEAR, GOAL_BINOMIAL}) {
      for (const uint32_t root : roots(shape.ranks)) {
        const bool in_place = (shape.number + root) % 2 == 0;
        SCOPED_TRACE(name(shape, algorithm, in_place) + ", root " + std::to_string(root));
        const uint64_t bytes = piece_of(shape);
        Buffers one(shape.ranks), all(shape.ranks), back(shape.ranks);
        all.set_all(bytes * shape.ranks);
        back.set_all(bytes);
        for (uint32_t r = 0; r < shape.ranks; ++r) one.set(r, letter(r, 0, bytes));
        const auto own = [&](Buffers& other, uint32_t r) { return in_place && r == root ? all.at(r) + root * bytes : other.at(r); };
        if (in_place) {
          Bytes content(bytes * shape.ranks, Buffers::kUntouched);
          std::ranges::copy(letter(root, 0, bytes), content.begin() + static_cast<std::ptrdiff_t>(root * bytes));
          all.set(root, content);
        }
        const Choices gathering = only(Collective::gather, algorithm), scattering = only(Collective::scatter, algorithm);
        execute(shape.ranks, [&](Script& script, uint32_t r) {
          gather(script, Team(r, shape.ranks), root, own(one, r), r == root ? all.at(r) : Memory{}, bytes, gathering);
        });
        ASSERT_EQ(all.get(root), letters_from_all(shape.ranks, 0, bytes));
        execute(shape.ranks, [&](Script& script, uint32_t r) {
          scatter(script, Team(r, shape.ranks), root, r == root ? all.at(r) : Memory{}, own(back, r), bytes, scattering);
        });
        for (uint32_t r = 0; r < shape.ranks; ++r) {
          if (in_place && r == root) ASSERT_EQ(all.get(root), letters_from_all(shape.ranks, 0, bytes));
          else ASSERT_EQ(back.get(r), letter(r, 0, bytes)) << "rank " << r;
        }
      }
    }
  }
}

TEST(Collectives, AllgatherGivesAllRanksAllPieces) {
  for (const Shape& shape : shapes()) {
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_DOUBLING, GOAL_BRUCK, GOAL_RING, GOAL_PIPELINE}) {
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(name(shape, algorithm, in_place));
        const uint64_t bytes = piece_of(shape);
        Buffers one(shape.ranks), all(shape.ranks);
        for (uint32_t r = 0; r < shape.ranks; ++r) {
          one.set(r, letter(r, 0, bytes));
          Bytes content(bytes * shape.ranks, Buffers::kUntouched);
          std::ranges::copy(letter(r, 0, bytes), content.begin() + static_cast<std::ptrdiff_t>(r * bytes));
          all.set(r, content);
        }
        const Choices choices = only(Collective::allgather, algorithm);
        execute(shape.ranks, [&](Script& script, uint32_t r) {
          const Memory from = in_place ? all.at(r) + r * bytes : one.at(r);
          allgather(script, Team(r, shape.ranks), from, all.at(r), bytes, choices);
        });
        for (uint32_t r = 0; r < shape.ranks; ++r) ASSERT_EQ(all.get(r), letters_from_all(shape.ranks, 0, bytes)) << "rank " << r;
      }
    }
  }
}

TEST(Collectives, TheRingOfAnAllgatherMayGoInSegments) {
  constexpr uint32_t kRanks = 3;
  for (const uint64_t bytes : {0u, 1u, 7u, 8u, 9u, 16u, 100u}) {
    SCOPED_TRACE(bytes);
    Buffers all(kRanks);
    for (uint32_t r = 0; r < kRanks; ++r) {
      Bytes content(bytes * kRanks, Buffers::kUntouched);
      std::ranges::copy(letter(r, 0, bytes), content.begin() + static_cast<std::ptrdiff_t>(r * bytes));
      all.set(r, content);
    }
    const Cuts cuts = Cuts::even(bytes * kRanks, kRanks);
    execute(kRanks, [&](Script& script, uint32_t r) { allgather_ring(script, Team(r, kRanks), cuts.in(all.at(r), 1), 8); });
    for (uint32_t r = 0; r < kRanks; ++r) ASSERT_EQ(all.get(r), letters_from_all(kRanks, 0, bytes)) << "rank " << r;
  }
}

TEST(Collectives, AlltoallGivesEachRankWhatEachHasForIt) {
  for (const Shape& shape : shapes()) {
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_BRUCK, GOAL_PAIRWISE}) {
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(name(shape, algorithm, in_place));
        const uint64_t bytes = piece_of(shape);
        Buffers from(shape.ranks), to(shape.ranks);
        to.set_all(bytes * shape.ranks);
        for (uint32_t r = 0; r < shape.ranks; ++r) (in_place ? to : from).set(r, letters_to_all(shape.ranks, r, bytes));
        const Choices choices = only(Collective::alltoall, algorithm);
        execute(shape.ranks, [&](Script& script, uint32_t r) {
          alltoall(script, Team(r, shape.ranks), (in_place ? to : from).at(r), to.at(r), bytes, choices);
        });
        for (uint32_t r = 0; r < shape.ranks; ++r) ASSERT_EQ(to.get(r), letters_from_all(shape.ranks, r, bytes)) << "rank " << r;
      }
    }
  }
}

}  // namespace
}  // namespace portunus::goal::collectives
