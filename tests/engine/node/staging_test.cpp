// staging_test.cpp: data that the initiator copies together while the target takes them (engine/transport/node/staging.hpp,
// engine/core/initiator/packing.cpp).
#include <cstring>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/engine/node/node_process.hpp"
#include "tests/support/rig.hpp"

namespace portunus {
namespace {

using test::Node;
using Kinds = std::vector<int>;

// --- the memory alone ---

struct StagingMemory : testing::Test {
  Staging shared{};
  std::vector<std::byte> memory = std::vector<std::byte>(Staging::kBytes);
  StagingFiller filler;
  StagingTaker taker;
  uint64_t at_filler = 0, at_taker = 0;

  void begin() {
    at_filler = at_taker = 0;
    taker.begin(shared, memory.data(), filler.begin(shared, memory.data()));
  }
  // One piece of a message of `size` bytes; false: there is no room.
  bool fill(uint64_t size) {
    const iovec room = filler.room(size - at_filler);
    for (size_t i = 0; i < room.iov_len; ++i) static_cast<char*>(room.iov_base)[i] = static_cast<char>((at_filler + i) * 7 >> 3);
    at_filler += room.iov_len;
    if (room.iov_len) filler.add(room.iov_len);
    return room.iov_len > 0;
  }
  bool take(uint64_t size) {
    bool over = false, waited = false;
    const iovec piece = taker.piece(size - at_taker, over);
    EXPECT_FALSE(over);
    for (size_t i = 0; i < piece.iov_len; ++i)
      if (static_cast<char*>(piece.iov_base)[i] != static_cast<char>((at_taker + i) * 7 >> 3)) return ADD_FAILURE() << at_taker + i, false;
    at_taker += piece.iov_len;
    if (piece.iov_len) {
      EXPECT_TRUE(taker.took(piece.iov_len, waited));
    }
    return piece.iov_len > 0;
  }
};
TEST_F(StagingMemory, BytesGoThroughInOrderWhoeverComesFirst) {
  std::mt19937 random(1);
  for (const uint64_t size : {uint64_t{1}, uint64_t{Staging::kPiece} + 1, uint64_t{3} * Staging::kBytes + 5}) {
    for (const unsigned filling : {1u, 5u, 9u}) {  // of ten
      begin();
      while (at_taker < size) random() % 10 < filling ? fill(size) : take(size);
      EXPECT_FALSE(fill(size));
      filler.end();
    }
  }
}

TEST_F(StagingMemory, NeitherSideGoesBeyondTheOther) {
  begin();
  EXPECT_FALSE(take(1 << 22));
  while (fill(1 << 22)) {
  }
  EXPECT_EQ(at_filler, Staging::kBytes);
  EXPECT_TRUE(take(1 << 22));
  EXPECT_TRUE(fill(1 << 22));
  EXPECT_FALSE(fill(1 << 22));
}

TEST_F(StagingMemory, WhoFindsNothingIsRungForOnceAndNobodyElse) {
  begin();
  EXPECT_FALSE(filler.add(10)) << "nobody has looked";
  bool over, waited = true;
  EXPECT_EQ(taker.piece(100, over).iov_len, 10u);
  EXPECT_TRUE(taker.took(10, waited));
  EXPECT_FALSE(waited);
  EXPECT_EQ(taker.piece(100, over).iov_len, 0u);
  EXPECT_TRUE(filler.add(10));
  EXPECT_FALSE(filler.add(10));
  while (filler.room(1 << 22).iov_len > 0) filler.add(filler.room(1 << 22).iov_len);
  EXPECT_TRUE(taker.took(20, waited));
  EXPECT_TRUE(waited);
  EXPECT_TRUE(taker.took(20, waited));
  EXPECT_FALSE(waited);
}

TEST_F(StagingMemory, ATakerWhoseMessageIsOverIsToldAndHarmsNoOther) {
  begin();
  StagingTaker stale = taker;
  bool over = false, waited = false;
  filler.add(100);
  EXPECT_EQ(stale.piece(100, over).iov_len, 100u);
  filler.end();
  EXPECT_EQ(taker.piece(100, over).iov_len, 0u);
  EXPECT_TRUE(over);
  begin();
  filler.add(50);
  EXPECT_TRUE(taker.took(20, waited));
  EXPECT_FALSE(stale.took(100, waited)) << "what it read may have been the other message's";
  EXPECT_TRUE(taker.took(20, waited));
}

TEST_F(StagingMemory, WhatNoFillerWouldSayIsNotBelieved) {
  begin();
  bool over = false;
  shared.filled += 2 * Staging::kBytes;
  EXPECT_EQ(taker.piece(100, over).iov_len, 0u);
  EXPECT_TRUE(over);
  begin();
  while (fill(1 << 22)) {
  }
  shared.taken += uint64_t{1} << 30;
  EXPECT_LE(filler.room(1 << 22).iov_len, Staging::kPiece);
}

TEST_F(StagingMemory, TwoThreadsLoseNothing) {
  constexpr uint64_t kSize = 5 * Staging::kBytes + 3;
  for (int round = 0; round < 3; ++round) {
    begin();
    std::thread other([&] {
      while (at_filler < kSize)
        if (!fill(kSize)) std::this_thread::yield();
    });
    while (at_taker < kSize && !HasFailure())
      if (!take(kSize)) std::this_thread::yield();
    other.join();
    filler.end();
  }
}

// --- engines, stepped by hand ---

// Every second word of an array.
struct Spread {
  explicit Spread(size_t bytes, uint32_t first = 0) : words(bytes / 2, 0xffffffff) {
    if (first)
      for (size_t i = 0; i < words.size(); i += 2) words[i] = first + static_cast<uint32_t>(i / 2);
  }
  static void copy(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece) {
    auto& self = *static_cast<Spread*>(const_cast<void*>(context));
    ++self.calls;
    for (ptl_size_t i = 0; i < bytes; i += 4) {
      uint32_t& there = self.words[(offset + i) / 4 * 2];
      to_piece ? std::memcpy(static_cast<char*>(piece) + i, &there, 4) : std::memcpy(&there, static_cast<char*>(piece) + i, 4);
    }
  }
  // The first bytes from `from` on, and nothing else.
  bool holds(size_t bytes, uint32_t from) const {
    for (size_t i = 0; i < words.size(); ++i)
      if (words[i] != (i % 2 == 0 && i / 2 < bytes / 4 ? from + static_cast<uint32_t>(i / 2) : 0xffffffff)) return false;
    return true;
  }
  std::vector<uint32_t> words;
  ptlx_layout_t layout{copy, this};
  int calls = 0;
};

struct Process : Node {
  explicit Process(ProcessId id) : Node(id) {
    auto made = std::make_unique<NodeTransport>(engine, engine.stats(), id, geteuid(), kRing);
    transport = made.get();
    engine.peers().add_transport(std::move(made));
    std::vector<ptl_process_t> map(2);
    for (uint32_t rank = 0; rank < 2; ++rank) map[rank].phys = {address(rank).nid, address(rank).pid};
    open(PTL_NI_MATCHING | PTL_NI_LOGICAL, map);
    eq = queue();
    portal(eq);
  }
  bool step() { return engine.step(now += 1'000'000'000) > 0; }  // and looks after its peers each time
  Command put_layout(const Spread& from, uint64_t length, uint64_t bits = 0) {
    Command command = put(&from.layout, length, 1, bits);
    command.source.iov_count = Memory::kLayout;
    command.source.eq = eq;
    command.ack = PTL_ACK_REQ;
    return command;
  }
  void expect(Spread& to, uint64_t length, uint64_t bits = 0) {
    const uint32_t handle = claim({.start = &to.layout,
                                   .length = length,
                                   .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE |
                                              PTLX_ME_LAYOUT | PTLX_ME_COMPLETE_UNEXPECTED,
                                   .match_bits = bits});
    objects.entries.find(handle)->memory.iov_count = Memory::kLayout;
    Command command;
    command.verb = Verb::append;
    command.handle = handle;
    engine.execute(command);
  }
  bool sleeps() { return engine.idle() && !engine.busy(); }
  NodeTransport* transport;
  uint32_t eq = 0;
  uint64_t now = 0;
};

struct Staged : testing::Test {
  Process from{address(0)}, to{address(1)};
  void settle() {
    for (bool work = true; work;) {
      work = from.step();
      work = to.step() || work;
    }
  }
  std::vector<ptl_ni_fail_t> fates(Process& process, ptl_event_kind_t kind) {
    std::vector<ptl_ni_fail_t> all;
    for (const ptl_event_t& event : process.events(process.eq))
      if (event.type == kind) all.push_back(event.ni_fail_type);
    return all;
  }
};

constexpr size_t kLong = 3 * Staging::kBytes + 4;

TEST_F(Staged, ALongMessageArrivesWholeInWhateverOrderTheTwoStep) {
  std::mt19937 random(1);
  for (const unsigned first : {1u, 5u, 9u}) {
    Spread source(kLong, 5), sink(kLong);
    to.expect(sink, kLong);
    from.run(from.put_layout(source, kLong));
    for (int i = 0; i < 200; ++i) (random() % 10 < first ? from : to).step();
    settle();
    EXPECT_TRUE(sink.holds(kLong, 5));
    EXPECT_EQ(from.kinds(from.eq), (Kinds{PTL_EVENT_SEND, PTL_EVENT_ACK}));
    const auto events = to.events(to.eq);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].mlength, kLong);
    EXPECT_EQ(events[0].start, nullptr);
    EXPECT_TRUE(from.engine.flushed());
  }
}

TEST_F(Staged, TheSourceIsFreeWhenAllIsThereAlthoughNothingWasTaken) {
  Spread source(Staging::kBytes, 5), sink(Staging::kBytes);
  from.run(from.put_layout(source, Staging::kBytes));
  EXPECT_EQ(from.kinds(from.eq), Kinds{PTL_EVENT_SEND});
  source.words.assign(source.words.size(), 0);
  to.expect(sink, Staging::kBytes);
  settle();
  EXPECT_TRUE(sink.holds(Staging::kBytes, 5));
  EXPECT_EQ(from.kinds(from.eq), Kinds{PTL_EVENT_ACK});
}

TEST_F(Staged, WhoCannotGoOnSleepsUntilThereIsRoomOrData) {
  Spread source(kLong, 5), sink(kLong);
  to.expect(sink, kLong);
  from.run(from.put_layout(source, kLong));
  from.step();
  EXPECT_TRUE(from.sleeps()) << "it is full";
  EXPECT_FALSE(to.sleeps());
  to.step();
  EXPECT_FALSE(from.sleeps());
  while (to.step()) {
  }
  EXPECT_TRUE(to.sleeps()) << "it is empty";
  from.step();
  EXPECT_FALSE(to.sleeps());
  settle();
  EXPECT_TRUE(from.sleeps() && to.sleeps());
}

TEST_F(Staged, OfAMessageThatIsCutOffNoMoreIsCopiedThanFits) {
  Spread source(kLong, 5), sink(4096);
  to.expect(sink, 4096);
  from.run(from.put_layout(source, kLong));
  const int calls = source.calls;
  settle();
  EXPECT_TRUE(sink.holds(4096, 5));
  EXPECT_LE(source.calls, calls + 2);
  EXPECT_EQ(from.kinds(from.eq), (Kinds{PTL_EVENT_SEND, PTL_EVENT_ACK}));
  EXPECT_TRUE(from.engine.flushed());
}

TEST_F(Staged, AMessageThatNobodyWantsOrThatIsForbiddenGivesTheMemoryBack) {
  Spread source(kLong, 5);
  char small[8];
  const auto fate = [&] {
    from.run(from.put_layout(source, kLong));
    settle();
    const auto all = fates(from, PTL_EVENT_ACK);
    return all.size() == 1 ? all[0] : -1;
  };
  EXPECT_EQ(fate(), PTL_NI_DROPPED);
  to.append({.start = small, .length = 8, .options = PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE});
  for (unsigned i = 0; i < kStagings + 2; ++i) EXPECT_EQ(fate(), PTL_NI_OP_VIOLATION);
  EXPECT_TRUE(from.engine.flushed());
}

TEST_F(Staged, MoreMessagesThanThereIsMemoryForAreCopiedAsAWhole) {
  constexpr size_t kEach = 100'000;
  std::vector<Spread> sources, sinks;
  for (uint32_t i = 0; i < kStagings + 3; ++i) sources.emplace_back(kEach, 1 + 1000 * i), sinks.emplace_back(kEach);
  for (uint32_t i = 0; i < sources.size(); ++i) {
    sources[i].layout.context = &sources[i];
    sinks[i].layout.context = &sinks[i];
    from.run(from.put_layout(sources[i], kEach, i));
  }
  for (uint32_t i = 0; i < sources.size(); ++i) to.expect(sinks[i], kEach, i);
  settle();
  for (uint32_t i = 0; i < sources.size(); ++i) EXPECT_TRUE(sinks[i].holds(kEach, 1 + 1000 * i)) << i;
  EXPECT_EQ(from.events(from.eq).size(), 2 * sources.size());
}

// A long message of which the target has taken a part.
struct Midway : Staged {
  Spread source{kLong, 5}, sink{kLong};
  Midway() {
    to.expect(sink, kLong);
    from.run(from.put_layout(source, kLong));
    to.step();
  }
};

TEST_F(Midway, AnInterfaceThatClosesTouchesItsMemoryNoMoreAndTheTargetIsTold) {
  from.engine.close_interface(0);
  const int calls = source.calls;
  settle();
  EXPECT_EQ(source.calls, calls);
  EXPECT_EQ(fates(to, PTL_EVENT_PUT), std::vector<ptl_ni_fail_t>{PTL_NI_UNDELIVERABLE});
  EXPECT_TRUE(to.engine.flushed());
}

TEST_F(Midway, AnInterfaceOfTheTargetThatClosesTakesNoMore) {
  to.engine.close_interface(0);
  const int calls = sink.calls;
  settle();
  EXPECT_EQ(sink.calls, calls);
}

TEST_F(Staged, DataInOnePieceArePulledAndTheirSenderHearsWhenAllIsThere) {
  std::vector<char> source(Staging::kBytes), sink(source.size());
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<char>(i * 7 >> 3);
  to.append({.start = sink.data(), .length = sink.size()});
  for (const size_t size : {Staging::kBytes, size_t{100'000}}) {
    Command command = from.put(source.data(), size, 1);
    command.source.eq = from.eq;
    from.run(command);
    EXPECT_EQ(from.events(from.eq).size(), 0u) << size;
    settle();
    EXPECT_EQ(from.events(from.eq).size(), 1u) << size;
    EXPECT_TRUE(std::equal(sink.begin(), sink.begin() + static_cast<ptrdiff_t>(size), source.begin()));
    std::fill(sink.begin(), sink.end(), 0);
  }
}

TEST_F(Staged, ShortMessagesAreWrittenWhereTheyLeave) {
  for (const size_t size : {size_t{4}, size_t{8}, size_t{4096}, NodeTransport::kEager}) {
    Spread source(size, 5), sink(size);
    to.expect(sink, size);
    from.run(from.put_layout(source, size));
    EXPECT_EQ(from.events(from.eq).size(), 1u);
    settle();
    EXPECT_TRUE(sink.holds(size, 5)) << size;
    EXPECT_EQ(from.kinds(from.eq), Kinds{PTL_EVENT_ACK});
    EXPECT_EQ(source.calls, 1);
    EXPECT_EQ(sink.calls, 1);
  }
}

TEST(StagedDeath, AFillerThatDiesMidwayEndsTheTransfer) {
  Process to(address(1));
  Spread sink(kLong);
  to.expect(sink, kLong);
  Child child([&](Child& self) {
    Process dying(address(0));
    Spread source(kLong, 5);
    dying.run(dying.put_layout(source, kLong));
    self.tell();
    self.wait();
    kill(getpid(), SIGKILL);
  });
  to.step();
  EXPECT_TRUE(to.events(to.eq).empty());
  child.end();
  std::vector<ptl_event_t> events;
  for (int i = 0; i < 1000 && events.empty(); ++i) to.step(), events = to.events(to.eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_TRUE(to.sleeps());
  unlink(path_of(address(0)).c_str());
}

TEST(StagedDeath, ATakerThatDiesMidwayEndsTheOperation) {
  Process from(address(0));
  Spread source(kLong, 5);
  Child child([&](Child& self) {
    Process dying(address(1));
    Spread sink(kLong);
    dying.expect(sink, kLong);
    self.tell();
    while (sink.calls < 10) dying.step();
    kill(getpid(), SIGKILL);
  });
  from.run(from.put_layout(source, kLong));
  child.end();
  std::vector<int> kinds;
  for (int i = 0; i < 1000 && kinds.size() < 2; ++i) {
    from.step();
    for (const ptl_event_t& event : from.events(from.eq)) {
      kinds.push_back(event.type);
      if (event.type == PTL_EVENT_ACK) {
        EXPECT_EQ(event.ni_fail_type, PTL_NI_UNDELIVERABLE);
      }
    }
  }
  EXPECT_EQ(kinds, (Kinds{PTL_EVENT_SEND, PTL_EVENT_ACK}));
  EXPECT_TRUE(from.engine.flushed());
  unlink(path_of(address(1)).c_str());
}

}  // namespace
}  // namespace portunus
