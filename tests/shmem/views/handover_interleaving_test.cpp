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
struct World {
  interleave::Program program;
  Cell tail{"tail"}, newest{"newest"}, wrong{"wrong"};
  std::deque<Process> of;

  explicit World(size_t processes) {
    for (size_t i = 0; i < processes; ++i) of.emplace_back();
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
struct BringsNoWait : Brings {
  static constexpr bool kWaitsForReaders = false;
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
  World& world;
  unsigned me_;

  Simulated(World& w, unsigned me) : world(w), me_(me) {}
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
  unsigned hint() const { return Rules::kHint ? (me_ + Rules::kHint) % static_cast<unsigned>(world.of.size()) + 1 : 0; }
  void wrong_hint() {}
  void expect() { my().told.store(0); }
  Told told(unsigned) {
    my().told.await(1);
    return Rules::kBrings ? Told::brought : Told::yes;
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
    if (!true_) world.wrong.store(1);
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

  static Part of(uint32_t number) {
    return {number >> 24 & 15,
            {static_cast<At>(number & 31), static_cast<uint16_t>(number >> 5 & 7), number >> 9 & 0x7fff},
            number >> 28 & 7,
            (number >> 8 & 1) == 0};
  }
  uint32_t number() const {
    return static_cast<uint32_t>(request.at) | request.other << 5 | (fresh ? 0u : 1u << 8) | static_cast<uint32_t>(request.epoch) << 9 |
           operation << 24 | newest << 28;
  }
};

template <class Rules>
uint32_t run(Simulated<Rules> site, const std::string& program, uint32_t number) {
  Part part = Part::of(number);
  if (part.operation == program.size()) return kFinished;
  const bool writes = program[part.operation] == 'W';
  if (part.fresh)
    return Part{part.operation, {writes ? At::write : At::read, 0, 0}, writes ? 0 : site.world.newest.load_relaxed(), false}.number();
  if (part.request.at == At::held) {
    site.use_held();
    release(site);
  } else if (part.request.at == At::reading) {
    site.use_read(part.newest);
  } else {
    part.request = step(site, part.request);
    return part.number();
  }
  return Part{part.operation + 1}.number();
}

template <class Rules>
bool wrong(const std::vector<std::string>& programs) {
  using Model = interleave::StoreBuffers;
  World world(programs.size());
  unsigned writes = 0;
  for (unsigned i = 0; i < programs.size(); ++i) {
    writes += static_cast<unsigned>(std::count(programs[i].begin(), programs[i].end(), 'W'));
    world.program.thread("process " + std::to_string(i),
                         [&world, i, program = programs[i]](uint32_t part) { return run(Simulated<Rules>(world, i), program, part); });
  }
  const auto right = [&](const interleave::Ending<Model>& ending) {
    for (size_t i = 0; i < programs.size(); ++i)
      if (!ending.finished(i)) return false;
    return ending.value(world.wrong) == 0 && ending.value(world.newest) == writes;
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
TEST(HandOver, DataMayBeBroughtByWhoReleases) {
  for (const auto& programs : {std::vector<std::string>{"WW", "WW"}, {"WW", "RR"}, {"WRW", "RW"}, {"W", "W", "R"}})
    EXPECT_FALSE(wrong<Brings>(programs));
}
TEST(HandOver, ReadersMayGuessWhoHasIt) {
  for (const auto& programs : {std::vector<std::string>{"WW", "RR"}, {"WRW", "RW"}, {"W", "W", "R"}, {"W", "RW", "R"}})
    EXPECT_FALSE(wrong<Hints>(programs));
  EXPECT_FALSE(wrong<OtherHints>({"W", "W", "R"}));
}
TEST(HandOver, AGuessThatSomebodyIsBehindIsAnOldOne) { EXPECT_TRUE(wrong<HintsThatPassed>({"W", "W", "R"})); }
TEST(HandOver, WithoutANewEpochAnOldCopyIsTakenForGood) { EXPECT_TRUE(wrong<NoEpoch>({"WWW", "RR"})); }
TEST(HandOver, WithoutASecondLookAReaderWaitsForEver) { EXPECT_TRUE(wrong<OneLook>({"WW", "RR"})); }
TEST(HandOver, WithTheBitsBeforeTheOwnerAReaderWaitsForEver) { EXPECT_TRUE(wrong<BitsFirst>({"WW", "RR"})); }
TEST(HandOver, WithoutWaitingForReadersTheirCopiesTear) { EXPECT_TRUE(wrong<NoWait>({"WW", "R", "W"})); }

}  // namespace
}  // namespace portunus::views
