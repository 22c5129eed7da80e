// UnexpectedList against the specification's sentences, and against a plain list on random programs.
#include "engine/core/target/unexpected_list.hpp"

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

const auto all_fit = [](const UnexpectedHeader&) { return true; };

struct Filled {
  std::deque<UnexpectedHeader> headers;
  UnexpectedList list;

  explicit Filled(size_t depth = 0) {
    for (size_t i = 0; i < depth; ++i) add(0xf000000 + i, 77);
  }
  UnexpectedHeader& add(uint64_t bits, uint64_t from) {
    UnexpectedHeader& h = headers.emplace_back(Incoming{bits, from});
    list.append(h);
    return h;
  }
};

// Sentences that must hold whether the list is scanned or searched by index.
class UnexpectedListAtDepth : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Depths, UnexpectedListAtDepth, testing::Values(0, 1, 30, 31, 32, 33, 1000));

TEST_P(UnexpectedListAtDepth, HeadersAreFoundInOrderOfArrival) {
  Filled f(GetParam());
  UnexpectedHeader* h[3];
  for (auto& p : h) p = &f.add(5, 1);
  for (auto* p : h) {
    EXPECT_EQ(f.list.find({5, 0, 1, kExact}, all_fit), p);
    f.list.unlink(*p);
    EXPECT_FALSE(p->linked());
  }
  EXPECT_EQ(f.list.find({5, 0, 1, kExact}, all_fit), nullptr);
  EXPECT_EQ(f.list.size(), GetParam());
}

TEST_P(UnexpectedListAtDepth, WildcardsOfTheAppendApply) {
  Filled f(GetParam());
  UnexpectedHeader& a = f.add(0x51, 1);
  UnexpectedHeader& b = f.add(0x52, 2);
  EXPECT_EQ(f.list.find({0x52, 0, 0, kAny}, all_fit), &b);
  EXPECT_EQ(f.list.find({0x50, 0xf, 0, kAny}, all_fit), &a);
  EXPECT_EQ(f.list.find({0x50, 0xf, 2, kExact}, all_fit), &b);
  EXPECT_EQ(f.list.find({0x60, 0xf, 2, kExact}, all_fit), nullptr);
  EXPECT_EQ(f.list.find({0, kExact, 0, kAny}, all_fit), f.list.first());
}

TEST_P(UnexpectedListAtDepth, HeaderThatDoesNotFitIsPassedOverAndStays) {
  Filled f(GetParam());
  UnexpectedHeader& large = f.add(5, 1);
  UnexpectedHeader& small = f.add(5, 1);
  const auto fits = [&](const UnexpectedHeader& h) { return &h != &large; };
  EXPECT_EQ(f.list.find({5, 0, 1, kExact}, fits), &small);
  EXPECT_EQ(f.list.find({5, 0, 1, kExact}, all_fit), &large);
}

TEST_P(UnexpectedListAtDepth, PersistentEntryMeetsEveryMatchOnce) {
  Filled f(GetParam());
  std::vector<UnexpectedHeader*> expected, seen;
  for (unsigned i = 0; i < 20; ++i) {
    UnexpectedHeader& h = f.add(i % 2 ? 5 : 6, i);
    if (i % 2) expected.push_back(&h);
  }
  const MatchPattern pattern{5, 0, 0, kAny};
  for (auto* h = f.list.find(pattern, all_fit); h; h = f.list.find_next(*h, pattern, all_fit)) seen.push_back(h);
  EXPECT_EQ(seen, expected);

  seen.clear();
  UnexpectedHeader* next = nullptr;
  for (auto* h = f.list.find(pattern, all_fit); h; h = next) {
    next = f.list.find_next(*h, pattern, all_fit);
    f.list.unlink(*h);
    seen.push_back(h);
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(f.list.find(pattern, all_fit), nullptr);
  EXPECT_EQ(f.list.size(), GetParam() + 10);
}

TEST(UnexpectedList, MoreMasksThanIndexesAreAllServed) {
  Filled f;
  for (unsigned i = 0; i < 200; ++i) f.add(i, i % 7);
  // Each mask for a while, so that every index is replaced, then all in turn.
  for (unsigned i = 0; i < 4000; ++i) {
    const unsigned mask = i < 2000 ? i / 200 : i % 10;
    const uint64_t ignore = (uint64_t{1} << mask % 5) - 1;
    const uint64_t bits = i % 200;
    UnexpectedHeader* h = f.list.find({bits, ignore, bits % 7, mask < 5 ? kAny : kExact}, all_fit);
    ASSERT_NE(h, nullptr);
    const uint64_t first = bits & ~ignore;
    if (mask < 5) ASSERT_EQ(h->match_bits, first);
    else ASSERT_EQ(h->source, bits % 7);
    ASSERT_EQ(h->match_bits & ~ignore, first);
  }
}

TEST(UnexpectedList, ConstantDepthWithEverNewBitsDoesNotAllocate) {
  for (const size_t depth : {10u, 100u, 1000u}) {
    Filled f(depth);
    const auto round = [&](uint64_t epoch) {
      for (UnexpectedHeader& h : f.headers) {
        ASSERT_EQ(f.list.find({h.match_bits, 0, h.source, kExact}, all_fit), &h);
        f.list.unlink(h);
        h.match_bits = (h.match_bits & 0xffffffff) | epoch << 32;
        f.list.append(h);
      }
    };
    for (uint64_t epoch = 1; epoch < 4; ++epoch) round(epoch);
    const size_t before = allocation_probe::count;
    for (uint64_t epoch = 4; epoch < 50; ++epoch) round(epoch);
    EXPECT_EQ(allocation_probe::count, before) << "depth " << depth;
  }
}

TEST(UnexpectedList, WithoutMemoryTheListIsScanned) {
  for (const size_t depth_before_refusal : {0u, 100u, 300u}) {
    Filled f;
    const auto find = [&](uint64_t bits) { return f.list.find({bits, 0, 1, kExact}, all_fit); };
    std::vector<UnexpectedHeader> headers;
    for (unsigned i = 0; i < 600; ++i) headers.emplace_back(Incoming{i / 2, 1});
    for (size_t i = 0; i < headers.size(); ++i) {
      allocation_probe::refuse = i >= depth_before_refusal;
      f.list.append(headers[i]);
      UnexpectedHeader* found = find(i / 2);
      allocation_probe::refuse = false;
      ASSERT_EQ(found, &headers[i / 2 * 2]);
    }
    for (unsigned i = 0; i < 600; ++i) {
      ASSERT_EQ(find(i / 2), &headers[i]);
      f.list.unlink(headers[i]);
    }
  }
}

// --- Against a plain list --------------------------------------------------------------------------------------

struct Sized : UnexpectedHeader {
  uint64_t length = 0;
  std::list<Sized*>::iterator at;
};

class Program {
 public:
  Program(uint64_t seed, size_t deepest) : random_(seed), pool_(deepest) {
    masks_.resize(pick(2) ? 1 + pick(3) : 1 + pick(8));
    for (auto& m : masks_) m = {random_ignore(), random_source_mask()};
    key_range_ = pick(2) ? 1 + pick(8) : 1 + pick(deepest);
    sources_ = 1 + pick(4);
    for (Sized& h : pool_) free_.push_back(&h);
  }

  void run(size_t operations) {
    const size_t phase = 32 + pool_.size() / 2;
    size_t target = 0;
    for (size_t i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
      if (i % phase == 0) target = pick(3) ? pick(pool_.size() + 1) : pick(UnexpectedList::kIndexFrom / 2);
      if (model_.size() > target ? pick(8) == 0 : pick(8) != 0) arrive();
      if (model_.size() > target && pick(4) == 0) unlink(**std::next(model_.begin(), pick(model_.size())));
      switch (pick(16)) {
        case 0: search_all(pick(2)); break;
        default: search(model_.size() > target || pick(2)); break;
      }
      if (i % 256 == 0) compare_order();
    }
    compare_order();
  }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }
  uint64_t random_bits() { return pick(key_range_) * (pick(4) ? 1 : 0x100000001u); }
  uint64_t random_source() { return pick(sources_) << 32 | pick(sources_); }
  uint64_t random_ignore() {
    const uint64_t choices[] = {0, 0, kExact, 0xf, 0xffffffff00000000u, uint64_t{1} << pick(64), random_()};
    return choices[pick(std::size(choices))];
  }
  uint64_t random_source_mask() {
    const uint64_t choices[] = {kExact, kExact, kAny, 0xffffffffu, 0xffffffff00000000u};
    return choices[pick(std::size(choices))];
  }
  MatchPattern random_pattern() {
    const auto& m = masks_[pick(masks_.size())];
    return {random_bits(), m.first, random_source(), m.second};
  }
  static bool model_matches(const MatchPattern& p, const Sized& h) {
    return ((p.match_bits ^ h.match_bits) & ~p.ignore_bits) == 0 && ((p.source ^ h.source) & p.source_mask) == 0;
  }

  void arrive() {
    if (free_.empty()) return;
    Sized& h = *free_.back();
    free_.pop_back();
    h.match_bits = random_bits();
    h.source = random_source();
    h.length = pick(100);
    list_.append(h);
    h.at = model_.insert(model_.end(), &h);
  }

  void unlink(Sized& h) {
    list_.unlink(h);
    model_.erase(h.at);
    free_.push_back(&h);
  }

  void search(bool consume) {
    const MatchPattern pattern = random_pattern();
    const uint64_t room = pick(4) ? 100 : pick(100);
    const auto fits = [&](const UnexpectedHeader& h) { return static_cast<const Sized&>(h).length <= room; };
    Sized* expected = nullptr;
    for (Sized* h : model_) {
      if (!model_matches(pattern, *h) || !fits(*h)) continue;
      expected = h;
      break;
    }
    ASSERT_EQ(list_.find(pattern, fits), expected);
    if (expected && consume) unlink(*expected);
  }

  void search_all(bool consume) {
    const MatchPattern pattern = random_pattern();
    const uint64_t room = pick(2) ? 100 : pick(100);
    const auto fits = [&](const UnexpectedHeader& h) { return static_cast<const Sized&>(h).length <= room; };
    std::vector<UnexpectedHeader*> expected, found;
    for (Sized* h : model_)
      if (model_matches(pattern, *h) && fits(*h)) expected.push_back(h);
    UnexpectedHeader* next = nullptr;
    for (auto* h = list_.find(pattern, fits); h && found.size() <= pool_.size(); h = next) {
      next = list_.find_next(*h, pattern, fits);
      found.push_back(h);
      if (consume) unlink(static_cast<Sized&>(*h));
    }
    ASSERT_EQ(found, expected);
  }

  void compare_order() {
    std::vector<UnexpectedHeader*> order;
    for (auto* h = list_.first(); h; h = list_.next(*h)) order.push_back(h);
    ASSERT_EQ(list_.size(), model_.size());
    ASSERT_EQ(order, std::vector<UnexpectedHeader*>(model_.begin(), model_.end()));
  }

  std::mt19937_64 random_;
  std::deque<Sized> pool_;
  std::vector<Sized*> free_;
  std::vector<std::pair<uint64_t, uint64_t>> masks_;
  uint64_t key_range_ = 1, sources_ = 1;
  UnexpectedList list_;
  std::list<Sized*> model_;
};

void run_programs(uint64_t first_seed, unsigned programs, size_t deepest, size_t operations) {
  for (uint64_t seed = first_seed; seed < first_seed + programs; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " deepest " << deepest);
    Program(seed, deepest).run(operations);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(UnexpectedListFuzz, ShortListsAgreeWithAPlainList) { run_programs(1000, 2000, 48, 300); }
TEST(UnexpectedListFuzz, MiddlingListsAgreeWithAPlainList) { run_programs(100000, 1000, 250, 800); }
TEST(UnexpectedListFuzz, DeepListsAgreeWithAPlainList) { run_programs(200000, 12, 3000, 12000); }

}  // namespace
}  // namespace portunus
