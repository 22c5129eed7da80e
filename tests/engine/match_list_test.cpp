// MatchList against the specification's sentences, and against a plain list on random programs.
#include "engine/core/target/match_list.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <random>
#include <vector>

#include "tests/allocation_probe.hpp"

namespace portunus {
namespace {

constexpr uint64_t kExact = ~uint64_t{0};
constexpr uint64_t kAny = 0;
constexpr uint64_t kAnyPid = 0xffffffff00000000u;
constexpr uint64_t kAnyNid = 0x00000000ffffffffu;

const auto all_fit = [](const MatchEntry&) { return true; };

uint64_t source(uint64_t nid, uint64_t pid) { return nid << 32 | pid; }

MatchPattern exact(uint64_t bits, uint64_t from = 0) { return {bits, 0, from, kExact}; }
MatchPattern any_source(uint64_t bits) { return {bits, 0, 0, kAny}; }

// A list with its entries, filled up to `depth` with entries nobody in a test asks for.
struct Filled {
  std::deque<MatchEntry> entries;
  MatchList list;

  explicit Filled(size_t depth = 0) {
    for (size_t i = 0; i < depth; ++i) add(exact(0xf000000 + i, 77));
  }
  MatchEntry& add(const MatchPattern& pattern) {
    MatchEntry& e = entries.emplace_back(pattern);
    list.append(e);
    return e;
  }
  MatchEntry* find(uint64_t bits, uint64_t from = 0) { return list.find({bits, from}, all_fit); }
};

// Sentences that must hold whether entries lie in front (few), behind (many) or on the seam between.
class MatchListAtDepth : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Depths, MatchListAtDepth, testing::Values(0, 1, 5, 6, 7, 8, 9, 40, 1000));

TEST_P(MatchListAtDepth, FindsNothingForBitsThatNoEntryHas) {
  Filled f(GetParam());
  f.add(exact(5));
  EXPECT_EQ(f.find(6), nullptr);
  EXPECT_EQ(f.find(5, 1), nullptr);
  EXPECT_EQ(f.list.size(), GetParam() + 1);
}

TEST_P(MatchListAtDepth, EqualEntriesMatchInOrderOfAppending) {
  Filled f(GetParam());
  MatchEntry* e[4];
  for (auto& p : e) p = &f.add(exact(5));
  for (auto* p : e) {
    EXPECT_EQ(f.find(5), p);
    f.list.unlink(*p);
    EXPECT_FALSE(p->linked());
  }
  EXPECT_EQ(f.find(5), nullptr);
}

TEST_P(MatchListAtDepth, FoundEntryStaysLinked) {
  Filled f(GetParam());
  MatchEntry& persistent = f.add(exact(5));
  f.add(exact(5));
  EXPECT_EQ(f.find(5), &persistent);
  EXPECT_EQ(f.find(5), &persistent);
  EXPECT_TRUE(persistent.linked());
}

TEST_P(MatchListAtDepth, WildcardAppendedEarlierGoesBeforeExact) {
  Filled f(GetParam());
  MatchEntry& any = f.add(any_source(5));
  MatchEntry& one = f.add(exact(5, 3));
  EXPECT_EQ(f.find(5, 3), &any);
  f.list.unlink(any);
  EXPECT_EQ(f.find(5, 3), &one);
}

TEST_P(MatchListAtDepth, ExactAppendedEarlierGoesBeforeWildcard) {
  Filled f(GetParam());
  MatchEntry& one = f.add(exact(5, 3));
  MatchEntry& any = f.add(any_source(5));
  EXPECT_EQ(f.find(5, 3), &one);
  EXPECT_EQ(f.find(5, 4), &any);
}

TEST_P(MatchListAtDepth, IgnoreBitsAreNotCompared) {
  Filled f(GetParam());
  MatchEntry& e = f.add({0x1234, 0x00ff, 9, kExact});
  EXPECT_EQ(f.find(0x12ab, 9), &e);
  EXPECT_EQ(f.find(0x13ab, 9), nullptr);
}

TEST_P(MatchListAtDepth, NidAndPidAreAnyableSeparately) {
  Filled f(GetParam());
  MatchEntry& nid = f.add({5, 0, source(7, 99), kAnyPid});
  MatchEntry& pid = f.add({5, 0, source(99, 8), kAnyNid});
  EXPECT_EQ(f.find(5, source(7, 8)), &nid);
  EXPECT_EQ(f.find(5, source(6, 8)), &pid);
  EXPECT_EQ(f.find(5, source(6, 7)), nullptr);
}

TEST_P(MatchListAtDepth, EntryThatDoesNotFitIsPassedOver) {
  Filled f(GetParam());
  MatchEntry& small = f.add(exact(5));
  MatchEntry& any = f.add(any_source(5));
  MatchEntry& large = f.add(exact(5));
  MatchEntry& generic = f.add({0, kExact, 0, kAny});
  std::vector<const MatchEntry*> refused;
  const auto fits = [&](const MatchEntry& e) {
    for (const auto* r : refused)
      if (r == &e) return false;
    return true;
  };
  for (MatchEntry* expected : {&small, &any, &large, &generic}) {
    EXPECT_EQ(f.list.find({5, 0}, fits), expected);
    refused.push_back(expected);
  }
  EXPECT_EQ(f.list.find({5, 0}, fits), nullptr);
  EXPECT_EQ(f.find(5), &small) << "an entry passed over is untouched";
}

TEST_P(MatchListAtDepth, AnyEntryMayBeUnlinkedAndAppendedAgain) {
  Filled f(GetParam());
  for (const size_t victim : {size_t{0}, size_t{1}, size_t{2}}) {
    MatchEntry* e[3];
    for (auto& p : e) p = &f.add(exact(5));
    f.list.unlink(*e[victim]);
    f.list.append(*e[victim]);
    const MatchEntry* expected[3] = {e[victim == 0 ? 1 : 0], e[victim == 2 ? 1 : 2], e[victim]};
    for (const MatchEntry* p : expected) {
      MatchEntry* found = f.find(5);
      ASSERT_EQ(found, p);
      f.list.unlink(*found);
    }
  }
  EXPECT_EQ(f.list.size(), GetParam());
}

TEST_P(MatchListAtDepth, InOrderListsEveryEntryAsAppended) {
  Filled f(GetParam());
  f.add(any_source(1));
  f.add({0, kExact, 0, kAny});
  f.add(exact(1));
  std::vector<MatchEntry*> expected;
  for (auto& e : f.entries) expected.push_back(&e);
  EXPECT_EQ(f.list.in_order(), expected);
  for (MatchEntry* e : f.list.in_order()) f.list.unlink(*e);
  EXPECT_TRUE(f.list.empty());
}

TEST(MatchList, OrderHoldsAcrossMoreMasksThanThereAreClasses) {
  Filled f(MatchList::kFront);
  constexpr unsigned kMasks = 2 * MatchList::kMaskClasses;
  std::vector<MatchEntry*> appended;
  for (unsigned i = 0; i < kMasks; ++i) {
    const unsigned bit = (i * 29) % kMasks;
    appended.push_back(&f.add({0, uint64_t{1} << bit, 3, kExact}));
    appended.push_back(&f.add({0, uint64_t{1} << bit, 0, kAny}));
  }
  for (MatchEntry* e : appended) {
    ASSERT_EQ(f.find(0, 3), e);
    f.list.unlink(*e);
  }
}

TEST(MatchList, ClassesRunEmptyTakeNewMasks) {
  Filled f(MatchList::kFront);
  for (unsigned round = 0; round < 10; ++round) {
    std::vector<MatchEntry*> appended;
    for (unsigned i = 0; i < MatchList::kMaskClasses; ++i)
      appended.push_back(&f.add({0, uint64_t{1} << i | uint64_t{round} << 40, 3, kExact}));
    for (MatchEntry* e : appended) {
      ASSERT_EQ(f.find(0, 3), e);
      f.list.unlink(*e);
    }
  }
}

TEST(MatchList, EntriesLeftBehindMoveToTheFrontInOrder) {
  Filled f(MatchList::kFront);
  std::vector<MatchEntry*> kept;
  for (unsigned i = 0; i < 3; ++i) {
    kept.push_back(&f.add(exact(5)));
    kept.push_back(&f.add(any_source(5)));
  }
  for (MatchEntry* e : f.list.in_order())
    if (e->match_bits != 5) f.list.unlink(*e);
  MatchEntry& last = f.add(exact(5));
  kept.push_back(&last);
  EXPECT_EQ(f.list.in_order(), kept);
  for (MatchEntry* e : kept) {
    ASSERT_EQ(f.find(5), e);
    f.list.unlink(*e);
  }
}

TEST(MatchList, ConstantDepthWithEverNewBitsDoesNotAllocate) {
  for (const size_t depth : {1u, 4u, 8u, 9u, 16u, 300u}) {
    Filled f(depth);
    const auto round = [&](uint64_t epoch) {
      for (MatchEntry& e : f.entries) {
        f.list.unlink(e);
        e.match_bits = (e.match_bits & 0xffffffff) | epoch << 32;
        f.list.append(e);
      }
    };
    for (uint64_t epoch = 1; epoch < 4; ++epoch) round(epoch);
    const size_t before = allocation_probe::count;
    for (uint64_t epoch = 4; epoch < 100; ++epoch) round(epoch);
    EXPECT_EQ(allocation_probe::count, before) << "depth " << depth;
  }
}

TEST(MatchList, ShortListNeverAllocatesAndEmptyListIsSmall) {
  const size_t before = allocation_probe::count;
  MatchList list;
  MatchEntry e[MatchList::kFront];
  for (auto& entry : e) list.append(entry);
  EXPECT_EQ(list.find({0, 0}, all_fit), &e[0]);
  EXPECT_EQ(allocation_probe::count, before);
  EXPECT_LE(sizeof(MatchList), 512u);
}

TEST(MatchList, WithoutMemoryEntriesStillMatchInOrder) {
  for (const size_t depth_before_refusal : {0u, 8u, 20u, 100u}) {
    Filled f;
    std::vector<MatchEntry> entries;
    for (unsigned i = 0; i < 600; ++i) entries.emplace_back(i % 3 == 0 ? any_source(i / 2) : exact(i / 2, 1));
    for (size_t i = 0; i < entries.size(); ++i) {
      allocation_probe::refuse = i >= depth_before_refusal;
      f.list.append(entries[i]);
    }
    allocation_probe::refuse = false;
    for (unsigned i = 0; i < 600; ++i) {
      ASSERT_EQ(f.find(i / 2, 1), &entries[i]) << i;
      f.list.unlink(entries[i]);
    }
  }
}

// --- Against a plain list --------------------------------------------------------------------------------------

struct Sized : MatchEntry {
  uint64_t length = 0;
  std::list<Sized*>::iterator at;
};

class Program {
 public:
  Program(uint64_t seed, size_t deepest) : random_(seed), pool_(deepest) {
    // Few keys make long FIFOs, many keys wide tables; both must be met.
    masks_.resize(pick(2) ? 1 + pick(4) : 1 + pick(80));
    for (auto& m : masks_) m = {random_ignore(), random_source_mask()};
    key_range_ = pick(2) ? 1 + pick(4) : 1 + pick(2 * deepest);
    sources_ = 1 + pick(4);
    for (Sized& e : pool_) free_.push_back(&e);
  }

  void run(size_t operations) {
    const size_t phase = 32 + pool_.size() / 2;
    size_t target = 0;
    for (size_t i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
      if (i % phase == 0) target = pick(3) ? pick(pool_.size() + 1) : pick(2 * MatchList::kFront);
      if (model_.size() > target ? pick(8) == 0 : pick(8) != 0) append();
      if (model_.size() > target && pick(4) == 0) unlink(**std::next(model_.begin(), pick(model_.size())));
      search(model_.size() > target || pick(2));
      if (i % 256 == 0) compare_order();
    }
    compare_order();
  }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }
  uint64_t random_bits() { return pick(key_range_) * (pick(4) ? 1 : 0x100000001u); }
  uint64_t random_source() { return source(pick(sources_), pick(sources_)); }
  uint64_t random_ignore() {
    const uint64_t choices[] = {0, 0, kExact, 0xf, 0xffffffff00000000u, uint64_t{1} << pick(64), random_()};
    return choices[pick(std::size(choices))];
  }
  uint64_t random_source_mask() {
    const uint64_t choices[] = {kExact, kExact, kAny, kAnyNid, kAnyPid};
    return choices[pick(std::size(choices))];
  }

  void append() {
    if (free_.empty()) return;
    Sized& e = *free_.back();
    free_.pop_back();
    const auto& m = masks_[pick(masks_.size())];
    e.match_bits = random_bits();
    e.ignore_bits = m.first;
    e.source = random_source();
    e.source_mask = m.second;
    e.length = pick(4) ? 100 : pick(100);
    list_.append(e);
    e.at = model_.insert(model_.end(), &e);
  }

  void unlink(Sized& e) {
    list_.unlink(e);
    model_.erase(e.at);
    free_.push_back(&e);
  }

  void search(bool consume) {
    const Incoming in{random_bits(), random_source()};
    const uint64_t length = pick(4) ? 0 : pick(120);
    const auto fits = [&](const MatchEntry& e) { return static_cast<const Sized&>(e).length >= length; };
    Sized* expected = nullptr;
    for (Sized* e : model_) {
      if (!(((in.match_bits ^ e->match_bits) & ~e->ignore_bits) == 0 && ((in.source ^ e->source) & e->source_mask) == 0 && fits(*e)))
        continue;
      expected = e;
      break;
    }
    ASSERT_EQ(list_.find(in, fits), expected);
    if (expected && consume) unlink(*expected);
  }

  void compare_order() {
    ASSERT_EQ(list_.size(), model_.size());
    ASSERT_EQ(list_.empty(), model_.empty());
    ASSERT_EQ(list_.in_order(), std::vector<MatchEntry*>(model_.begin(), model_.end()));
  }

  std::mt19937_64 random_;
  std::deque<Sized> pool_;
  std::vector<Sized*> free_;
  std::vector<std::pair<uint64_t, uint64_t>> masks_;
  uint64_t key_range_ = 1, sources_ = 1;
  MatchList list_;
  std::list<Sized*> model_;
};

void run_programs(uint64_t first_seed, unsigned programs, size_t deepest, size_t operations) {
  for (uint64_t seed = first_seed; seed < first_seed + programs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " deepest " << deepest);
    Program(seed, deepest).run(operations);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(MatchListFuzz, ShortListsAgreeWithAPlainList) { run_programs(1000, 4000, 24, 300); }
TEST(MatchListFuzz, MiddlingListsAgreeWithAPlainList) { run_programs(100000, 600, 200, 600); }
TEST(MatchListFuzz, DeepListsAgreeWithAPlainList) { run_programs(200000, 12, 3000, 12000); }

}  // namespace
}  // namespace portunus
