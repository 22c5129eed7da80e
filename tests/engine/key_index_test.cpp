// KeyIndex where its users' own tests cannot reach: two keys with one hash.
#include "engine/core/target/key_index.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "engine/core/target/match_list.hpp"

namespace portunus {
namespace {

struct Node : Incoming {
  explicit Node(const Incoming& in) : Incoming(in) {}
  Links<Node>& key_links(unsigned) { return links_; }
  Links<Node> links_;
};

constexpr uint64_t inverse(uint64_t odd) {
  uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

// Undoes KeyIndex's mixing of bits and source: the bits that give `source` the hash of `other`.
constexpr Incoming with_hash_of(const Incoming& other, uint64_t source) {
  constexpr uint64_t kBits = 0x9e3779b97f4a7c15u, kSource = 0xc2b2ae3d27d4eb4fu;
  const uint64_t mixed = other.match_bits * kBits ^ std::rotl(other.source * kSource, 32);
  return {(mixed ^ std::rotl(source * kSource, 32)) * inverse(kBits), source};
}

constexpr Incoming kOne{7, 1};
constexpr Incoming kTwin = with_hash_of(kOne, 2);

TEST(KeyIndex, KeyWhoseHashIsTakenIsRefusedAndNotFound) {
  KeyIndex<Node> index;
  Node one(kOne), again(kOne), twin(kTwin);
  ASSERT_TRUE(index.insert(one));
  EXPECT_FALSE(index.insert(twin));
  EXPECT_TRUE(index.insert(again));
  EXPECT_EQ(index.first(kOne.match_bits, kOne.source), &one);
  EXPECT_EQ(index.next(one), &again);
  EXPECT_EQ(index.first(kTwin.match_bits, kTwin.source), nullptr);
}

TEST(KeyIndex, HashIsFreeAgainWhenItsKeyRunsEmpty) {
  KeyIndex<Node> index;
  Node one(kOne), twin(kTwin);
  ASSERT_TRUE(index.insert(one));
  index.remove(one);
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(index.first(kOne.match_bits, kOne.source), nullptr);
  ASSERT_TRUE(index.insert(twin));
  EXPECT_EQ(index.first(kOne.match_bits, kOne.source), nullptr);
  EXPECT_EQ(index.first(kTwin.match_bits, kTwin.source), &twin);
}

TEST(KeyIndex, MatchListKeepsOrderAmongKeysOfOneHash) {
  MatchList list;
  MatchEntry filler[MatchList::kFront];
  for (auto& e : filler) list.append(e);
  MatchEntry entries[6];
  for (unsigned i = 0; i < 6; ++i) {
    const Incoming& key = i % 2 ? kTwin : kOne;
    entries[i] = MatchEntry({key.match_bits, 0, key.source, ~uint64_t{0}});
    list.append(entries[i]);
  }
  const auto all_fit = [](const MatchEntry&) { return true; };
  for (unsigned i = 0; i < 6; ++i) {
    ASSERT_EQ(list.find(i % 2 ? kTwin : kOne, all_fit), &entries[i]);
    list.unlink(entries[i]);
  }
}

}  // namespace
}  // namespace portunus
