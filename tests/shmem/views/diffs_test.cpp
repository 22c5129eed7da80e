// The possible contents of a diff. Processes hold two pages each, whose bytes belong to four views; sessions follow each other, found and
// moved by the library's own comparing and blending, against a reference that applies every session at once. 10 000 random programs, none
// wrong; with any one precaution taken out, some are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "shmem/views/diff/compare.hpp"
#include "tests/support/thorough.hpp"

namespace portunus::views {
namespace {

constexpr size_t kPageBytes = 4096, kPages = 2, kUsed = 16;  // of each page the first bytes are used
constexpr int kProcesses = 4, kViews = 4;

struct Rules {
  bool patches_twins = true, reads_while_writing = true, nests_writers = false, declared = false, stamps = true;
  size_t unit = 1;  // bytes that are compared together
};

using Map = std::array<uint64_t, kMapWords>;
struct Entry {
  Map map{};
  uint64_t version = 0;
};
struct Index {
  std::map<size_t, Entry> pages;            // detected: as the library keeps it
  std::map<size_t, uint64_t> byte_version;  // declared: blocks of one byte
};
using Page = std::array<char, kPageBytes>;
struct Process {
  std::array<Page, kPages> memory{};
  std::map<size_t, Page> twins;
  std::array<uint64_t, kViews> version{};
  std::array<Index, kViews> index;
};

// A byte of the small model lies at the beginning of a page.
size_t page_of(size_t byte) { return byte / kUsed; }
size_t at_of(size_t byte) { return byte % kUsed; }

class System {
 public:
  System(const Rules& rules, std::vector<int> view_of) : rules_(rules), view_of_(std::move(view_of)) { owner_.fill(-1); }

  char read(int q, size_t byte) const { return of_[at(q)].memory[page_of(byte)][at_of(byte)]; }
  void update(int q, int v) {
    const int o = owner_[at(v)];
    if (o < 0 || o == q) return;
    Process &mine = of_[at(q)], &theirs = of_[at(o)];
    const uint64_t have = rules_.stamps ? mine.version[at(v)] : 0;
    for (auto& [page, entry] : theirs.index[at(v)].pages) {
      if (entry.version <= have) continue;
      move(mine, theirs, page, entry.map);
      Entry& known = mine.index[at(v)].pages[page];
      for (size_t i = 0; i < kMapWords; ++i) known.map[i] |= entry.map[i];
      known.version = entry.version;
    }
    for (const auto& [byte, version] : theirs.index[at(v)].byte_version) {
      if (version <= have) continue;
      Map one{};
      one[0] = uint64_t{1} << at_of(byte);
      move(mine, theirs, page_of(byte), one);
      mine.index[at(v)].byte_version[byte] = version;
    }
    mine.version[at(v)] = theirs.version[at(v)];
  }
  void acquire(int q, int v) {
    update(q, v);
    owner_[at(v)] = q;
  }
  void write(int q, size_t byte, char value) {
    Process& mine = of_[at(q)];
    mine.twins.try_emplace(page_of(byte), mine.memory[page_of(byte)]);
    mine.memory[page_of(byte)][at_of(byte)] = value;
  }
  void release(int q, int v, bool others_go_on) {
    Process& mine = of_[at(q)];
    const uint64_t version = ++mine.version[at(v)];
    for (const auto& [page, twin] : mine.twins) {
      Map changed{};
      if (!compare_page(mine.memory[page].data(), twin.data(), changed.data())) continue;
      for (size_t at = 0; at < kUsed; at += rules_.unit) {
        const uint64_t unit = ((uint64_t{1} << rules_.unit) - 1) << at;
        if (changed[0] & unit) changed[0] |= unit;
      }
      if (rules_.declared) {
        for (size_t at = 0; at < kUsed; ++at)
          if (changed[0] >> at & 1 && view_of_[page * kUsed + at] == v) mine.index[this->at(v)].byte_version[page * kUsed + at] = version;
        continue;
      }
      Entry& entry = mine.index[at(v)].pages[page];
      for (size_t i = 0; i < kMapWords; ++i) entry.map[i] |= changed[i];
      entry.version = version;
    }
    if (!others_go_on) mine.twins.clear();
  }
  uint64_t moved() const { return moved_; }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }
  void move(Process& mine, const Process& theirs, size_t page, const Map& map) {
    blend_by_map(mine.memory[page].data(), theirs.memory[page].data(), map.data());
    const auto twin = mine.twins.find(page);
    if (rules_.patches_twins && twin != mine.twins.end()) copy_by_map(twin->second.data(), theirs.memory[page].data(), map.data());
    for (const uint64_t word : map) moved_ += static_cast<unsigned>(std::popcount(word));
  }
  Rules rules_;
  std::vector<int> view_of_;
  std::array<Process, kProcesses> of_{};
  std::array<int, kViews> owner_{};
  uint64_t moved_ = 0;
};

// The bytes that were moved; none: something read was wrong.
std::optional<uint64_t> program(unsigned seed, const Rules& rules) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return random() % n; };
  std::vector<int> view_of(kPages * kUsed);
  std::set<size_t> cuts;
  while (cuts.size() < kViews - 1) cuts.insert(1 + below(view_of.size() - 1));
  const bool interleaved = below(2);
  for (size_t byte = 0; byte < view_of.size(); ++byte)
    view_of[byte] =
        static_cast<int>(interleaved ? byte % kViews : static_cast<size_t>(std::distance(cuts.begin(), cuts.upper_bound(byte))));
  System system(rules, view_of);
  std::vector<char> reference(view_of.size());
  const auto right = [&](int q, int v) {
    for (size_t byte = 0; byte < view_of.size(); ++byte)
      if (view_of[byte] == v && system.read(q, byte) != reference[byte]) return false;
    return true;
  };
  const auto write = [&](int q, int v) {
    for (int i = 0; i < 2; ++i) {
      const size_t byte = below(view_of.size());
      if (view_of[byte] != v) continue;
      reference[byte] = static_cast<char>(below(3));
      system.write(q, byte, reference[byte]);
    }
  };
  for (int step = 0; step < 40; ++step) {
    int q = static_cast<int>(below(kProcesses)), v = static_cast<int>(below(kViews));
    system.acquire(q, v);
    write(q, v);
    if (rules.nests_writers && below(2)) {
      const int other = static_cast<int>((static_cast<size_t>(v) + 1 + below(kViews - 1)) % kViews);
      system.acquire(q, other);
      write(q, other);
      system.release(q, other, true);
    }
    if (rules.reads_while_writing && below(2)) {
      const int other = static_cast<int>((static_cast<size_t>(v) + 1 + below(kViews - 1)) % kViews);
      system.update(q, other);
      if (!right(q, other)) return {};
    }
    system.release(q, v, false);
    q = static_cast<int>(below(kProcesses)), v = static_cast<int>(below(kViews));
    system.update(q, v);
    if (!right(q, v)) return {};
  }
  return system.moved();
}

int wrong_of(unsigned programs, const Rules& rules) {
  int wrong = 0;
  for (unsigned seed = 0; seed < programs; ++seed) wrong += !program(seed, rules);
  return wrong;
}

TEST(Diffs, OfDetectedViewsAreRight) { EXPECT_EQ(wrong_of(test::runs(10000), {}), 0); }
TEST(Diffs, OfDeclaredViewsAreRightAlsoWhereWritersNest) {
  EXPECT_EQ(wrong_of(test::runs(10000), {.nests_writers = true, .declared = true}), 0);
}
TEST(Diffs, OfWordsNameBytesOfOthers) { EXPECT_GT(wrong_of(300, {.unit = 4}), 0); }
TEST(Diffs, WithoutPatchedTwinsWhatArrivesCountsAsWritten) { EXPECT_GT(wrong_of(300, {.patches_twins = false}), 0); }
TEST(Diffs, OfNestedDetectedWritersNameBytesOfOthers) { EXPECT_GT(wrong_of(300, {.nests_writers = true}), 0); }
TEST(Diffs, OfDeclaredViewsNeedPatchedTwinsToo) {
  EXPECT_GT(wrong_of(3000, {.patches_twins = false, .nests_writers = true, .declared = true}), 0);
}
TEST(Diffs, ThatAreIntegratedMoveLessThanAll) {
  uint64_t newer = 0, all = 0;
  for (unsigned seed = 0; seed < 200; ++seed) newer += *program(seed, {}), all += *program(seed, {.stamps = false});
  EXPECT_LT(newer, all);
}

TEST(Compare, BlendingAndCopyingDoTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    Page from, blended, copied;
    for (auto* page : {&from, &blended})
      for (char& byte : *page) byte = static_cast<char>(random());
    copied = blended;
    const Page before = blended;
    Map map;
    for (uint64_t& word : map) word = random() & (i % 2 ? random() : ~uint64_t{0}) & (i % 3 ? ~uint64_t{0} : -(random() & 1));
    blend_by_map(blended.data(), from.data(), map.data());
    copy_by_map(copied.data(), from.data(), map.data());
    EXPECT_EQ(blended, copied);
    Map differs{};
    compare_page(blended.data(), before.data(), differs.data());
    for (size_t at = 0; at < kPageBytes; ++at) {
      const bool named = map[at / 64] >> at % 64 & 1;
      ASSERT_EQ(blended[at], named ? from[at] : before[at]);
      ASSERT_EQ(differs[at / 64] >> at % 64 & 1, blended[at] != before[at]);
    }
  }
}

}  // namespace
}  // namespace portunus::views
