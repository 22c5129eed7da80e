// The hand-over of one view between two and three processes, in all interleavings, by the code that the library runs: at
// most one writer, who has the newest version; a reader's snapshot is whole and at least as new as what was released before
// it asked; nobody waits for ever. With any one of the protocol's precautions taken out, the walk finds an interleaving that
// goes wrong.
#include <gtest/gtest.h>

#include <deque>
#include <iostream>

#include "shmem/views/handover/protocol.hpp"
#include "tests/support/interleave.hpp"
#include "tests/support/store_buffers.hpp"

namespace portunus::views {
namespace {

using interleave::Cell;
using interleave::kFinished;

// Two words are a copy, written and copied one after the other, so that a torn copy shows.
struct Process {
  Cell word{"word"}, bits{"bits"}, told{"told"}, version{"version"}, left{"left"}, right{"right"};
};
struct WorldOfView {
  Cell tail{"tail"}, newest{"newest"};
  std::deque<Process> of;

  explicit WorldOfView(size_t processes) {
    for (size_t i = 0; i < processes; ++i) of.emplace_back();
  }
};
struct World {
  interleave::Program program;
  Cell wrong{"wrong"};
  std::deque<WorldOfView> views;

  World(size_t processes, size_t count) {
    for (size_t i = 0; i < count; ++i) views.emplace_back(processes);
  }
};

struct Careful {
  static constexpr bool kWaitsForReaders = true, kNewEpochs = true, kLooksTwice = true, kOwnerFirst = true, kNobodyBehind = true;
  static constexpr bool kBrings = false;  // the releaser copies, not the one who waits
  static constexpr unsigned kHint = 0;    // readers look first at who is so many behind them, whether that is wise or not
};
struct NoWait : Careful {
  static constexpr bool kWaitsForReaders = false;
};
struct NoEpoch : Careful {
  static constexpr bool kNewEpochs = false;
};
struct OneLook : Careful {
  static constexpr bool kLooksTwice = false;
};
struct BitsFirst : Careful {
  static constexpr bool kOwnerFirst = false;
};
struct Brings : Careful {
  static constexpr bool kBrings = true;
};

struct Hints : Careful {
  static constexpr unsigned kHint = 1;
};
struct HintsThatPassed : Hints {
  static constexpr bool kNobodyBehind = false;
};
struct OtherHints : Careful {
  static constexpr unsigned kHint = 2;
};

constexpr unsigned kServed = 4;  // bit of process p: asked; bit p + 4: is being served

template <class Rules>
struct Simulated : Rules {
  using Word = BasicWord<uint32_t, 3>;
  WorldOfView& world;
  Cell& wrong;
  unsigned me_;

  Simulated(World& w, size_t view, unsigned me) : world(w.views[view]), wrong(w.wrong), me_(me) {}
  Process& my() { return world.of[me_]; }
  unsigned me() const { return me_; }
  bool gone() const { return false; }
  Word mine() { return {my().word.load()}; }
  Word look(unsigned q) { return {world.of[q].word.load()}; }
  void store_mine(Word word) { my().word.exchange(word.bits); }
  bool exchange_mine(Word& expected, Word word) { return my().word.compare_exchange(expected.bits, word.bits); }
  Word add_mine(uint32_t change) { return {my().word.fetch_add(change)}; }
  Word announce(unsigned q) { return {world.of[q].word.fetch_add(Word::announcement(me_, false))}; }
  unsigned swap_tail() { return world.tail.exchange(me_ + 1); }
  unsigned tail() { return world.tail.load(); }
  uint16_t manager() const { return 0; }
  unsigned hint() const { return Rules::kHint ? (me_ + Rules::kHint) % static_cast<unsigned>(world.of.size()) + 1 : 0; }
  void wrong_hint() {}
  void expect() { my().told.store(0); }
  Notice notice(unsigned) {
    my().told.await(1);
    return Rules::kBrings ? Notice::brought : Notice::yes;
  }
  void give(unsigned p) {
    if (Rules::kBrings) move(me_, p);
    world.of[p].told.exchange(1);
  }
  void tell(unsigned p, bool) { give(p); }
  void ask(unsigned q) { world.of[q].bits.fetch_add(1u << me_); }
  bool take_back(unsigned q) {
    uint32_t bits = world.of[q].bits.load();
    while (bits >> me_ & 1)
      if (world.of[q].bits.compare_exchange(bits, bits & ~(1u << me_))) return true;
    return false;
  }
  bool any_reader() { return my().bits.load() != 0; }
  void tell_readers() {
    constexpr uint32_t kAsked = (1u << kServed) - 1;
    uint32_t bits = my().bits.load();
    do {
      if (!(bits & kAsked)) return;
    } while (!my().bits.compare_exchange(bits, bits >> kServed << kServed | (bits & kAsked) << kServed));
    for (unsigned p = 0; p < world.of.size(); ++p) {
      if (!(bits >> p & 1)) continue;
      give(p);
      if (Rules::kBrings) my().bits.fetch_add(-(1u << (p + kServed)));
    }
  }
  bool served() {
    if (my().bits.load_relaxed() >> kServed == 0) return true;
    return false;
  }
  void thank(unsigned q) { world.of[q].bits.fetch_add(-(1u << (me_ + kServed))); }
  void move(unsigned from, unsigned to) {
    world.of[to].left.store(world.of[from].left.load_relaxed());
    world.of[to].right.store(world.of[from].right.load_relaxed());
    world.of[to].version.store(world.of[from].version.load_relaxed());
  }
  Copied copy(unsigned q) {
    move(q, me_);
    return Copied::yes;
  }

  void expect_that(bool true_) {
    if (!true_) wrong.store(1);
  }
  void use_held() {
    const uint32_t version = my().version.load_relaxed();
    expect_that(version == world.newest.load_relaxed() && my().left.load_relaxed() == version && my().right.load_relaxed() == version);
    my().left.store(version + 1);
    my().right.store(version + 1);
    my().version.store(version + 1);
    world.newest.store(version + 1);
  }
  void use_read(uint32_t at_least) {
    const uint32_t version = my().version.load_relaxed();
    expect_that(version >= at_least && my().left.load_relaxed() == version && my().right.load_relaxed() == version);
  }
};

// A place in a process's program, as the number of a part.
struct Part {
  unsigned operation = 0;
  Request request{};
  unsigned newest = 0;  // had been released when a read began
  bool fresh = true;    // the operation has not begun
  bool inner = false;   // the first view is held, the second is being acquired

  static Part of(uint32_t number) {
    return {number >> 24 & 15,
            {static_cast<At>(number & 31), static_cast<uint16_t>(number >> 5 & 7), number >> 9 & 0x7fff},
            number >> 28 & 7,
            (number >> 8 & 1) == 0,
            number >> 31 != 0};
  }
  uint32_t number() const {
    return static_cast<uint32_t>(request.at) | request.other << 5 | (fresh ? 0u : 1u << 8) | static_cast<uint32_t>(request.epoch) << 9 |
           operation << 24 | newest << 28 | (inner ? 1u << 31 : 0u);
  }
};

// W and R write and read the first view, w and r the second. N writes the second inside of writing the first, M reads it
// there; m writes the second and reads the first inside.
template <class Rules>
uint32_t run(World& world, unsigned me, const std::string& program, uint32_t number) {
  Part part = Part::of(number);
  if (part.operation == program.size()) return kFinished;
  const char operation = program[part.operation];
  const bool nests = operation == 'N' || operation == 'M' || operation == 'm';
  const bool outer_is_second = operation == 'm' || operation == 'w' || operation == 'r', second = outer_is_second != part.inner;
  const bool writes = part.inner ? operation == 'N' : operation != 'R' && operation != 'r';
  Simulated<Rules> site(world, second ? 1 : 0, me);
  const auto begun = [&](Simulated<Rules> on, bool write, bool inner) {
    return Part{part.operation, {write ? At::write : At::read, 0, 0}, write ? 0 : on.world.newest.load_relaxed(), false, inner}.number();
  };
  if (part.fresh) return begun(site, writes, false);
  if (part.request.at == At::held && nests && !part.inner)
    return begun(Simulated<Rules>(world, outer_is_second ? 0 : 1, me), operation == 'N', true);
  if (part.request.at == At::held) {
    site.use_held();
    release(site);
  } else if (part.request.at == At::reading) {
    site.use_read(part.newest);
  } else {
    part.request = step(site, part.request);
    return part.number();
  }
  if (part.inner) {
    Simulated<Rules> outer(world, outer_is_second ? 1 : 0, me);
    outer.use_held();
    release(outer);
  }
  return Part{part.operation + 1}.number();
}

template <class Rules>
bool wrong(const std::vector<std::string>& programs) {
  using Model = interleave::StoreBuffers;
  const auto count = [&](const char* operations) {
    unsigned found = 0;
    for (const std::string& program : programs)
      found += static_cast<unsigned>(
          std::count_if(program.begin(), program.end(), [&](char c) { return std::string(operations).find(c) != std::string::npos; }));
    return found;
  };
  World world(programs.size(), count("wrNMm") ? 2 : 1);
  const unsigned writes[] = {count("WNM"), count("wNm")};
  for (unsigned i = 0; i < programs.size(); ++i)
    world.program.thread("process " + std::to_string(i),
                         [&world, i, program = programs[i]](uint32_t part) { return run<Rules>(world, i, program, part); });
  const auto right = [&](const interleave::Ending<Model>& ending) {
    for (size_t i = 0; i < programs.size(); ++i)
      if (!ending.finished(i)) return false;
    for (size_t view = 0; view < world.views.size(); ++view)
      if (ending.value(world.views[view].newest) != writes[view]) return false;
    return ending.value(world.wrong) == 0;
  };
  const interleave::Found found = interleave::Explorer<Model>(world.program, right).run();
  std::cout << found.states << " states\n" << found.interleaving;
  return found.lost;
}

TEST(HandOver, TwoProcessesPassItRight) {
  for (const auto& programs : {std::vector<std::string>{"WW", "WW"}, {"WW", "RR"}, {"WRW", "RW"}}) EXPECT_FALSE(wrong<Careful>(programs));
}
TEST(HandOver, ThreeProcessesPassItRight) {
  for (const auto& programs : {std::vector<std::string>{"W", "W", "R"}, {"W", "R", "R"}, {"W", "W", "W"}, {"W", "RW", "R"}})
    EXPECT_FALSE(wrong<Careful>(programs));
}
TEST(HandOver, TwoViewsDoNotDisturbEachOther) {
  for (const auto& programs : {std::vector<std::string>{"N", "N"}, {"M", "w"}, {"M", "wR"}, {"N", "r"}, {"Ww", "wW"}})
    EXPECT_FALSE(wrong<Careful>(programs));
}
// P writes the first view and reads the second inside; Q the other way round: that is for the probe of circles to find.
TEST(HandOver, AReadInsideAWriteCanWaitInACircle) { EXPECT_TRUE(wrong<Careful>({"M", "m"})); }
TEST(HandOver, DataMayBeBroughtByWhoReleases) {
  for (const auto& programs : {std::vector<std::string>{"WW", "WW"}, {"WW", "RR"}, {"WRW", "RW"}, {"W", "W", "R"}})
    EXPECT_FALSE(wrong<Brings>(programs));
}
TEST(HandOver, ReadersMayGuessWhoHasIt) {
  for (const auto& programs : {std::vector<std::string>{"WW", "RR"}, {"WRW", "RW"}, {"W", "W", "R"}}) EXPECT_FALSE(wrong<Hints>(programs));
  EXPECT_FALSE(wrong<OtherHints>({"W", "W", "R"}));
}
TEST(HandOver, AGuessThatSomebodyIsBehindIsAnOldOne) { EXPECT_TRUE(wrong<HintsThatPassed>({"W", "W", "R"})); }
TEST(HandOver, WithoutANewEpochAnOldCopyIsTakenForGood) { EXPECT_TRUE(wrong<NoEpoch>({"WWW", "RR"})); }
TEST(HandOver, WithoutASecondLookAReaderWaitsForEver) { EXPECT_TRUE(wrong<OneLook>({"WW", "RR"})); }
TEST(HandOver, WithTheBitsBeforeTheOwnerAReaderWaitsForEver) { EXPECT_TRUE(wrong<BitsFirst>({"WW", "RR"})); }
TEST(HandOver, WithoutWaitingForReadersTheirCopiesTear) { EXPECT_TRUE(wrong<NoWait>({"WW", "R", "W"})); }

}  // namespace
}  // namespace portunus::views
