// node_bulk_test.cpp: moves at which both processes work (engine/transport/node/shared_copy.hpp).
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/engine/node/node_process.hpp"

namespace portunus {
namespace {

// --- the job alone ---

constexpr uint64_t kOwners = 0x1000'0000, kHelpers = 0x9000'0000;

struct Job : testing::Test {
  void open(size_t size, bool to_owner = true) {
    bytes.assign(size, 0);
    owner.open(shared, kOwners, kHelpers, size, to_owner);
  }
  void copy(const SharedCopy::Chunk& chunk) {
    ASSERT_EQ(chunk.owners - kOwners, chunk.helpers - kHelpers);
    ASSERT_LE(chunk.owners - kOwners + chunk.size, bytes.size());
    for (size_t i = 0; i < chunk.size; ++i) ++bytes[chunk.owners - kOwners + i];
  }
  bool own() {
    SharedCopy::Chunk chunk;
    if (!owner.claim(chunk)) return false;
    copy(chunk);
    return true;
  }
  bool help() {
    return shared.help([&](const SharedCopy::Chunk& chunk) {
      copy(chunk);
      return true;
    });
  }
  bool each_once() const {
    return std::all_of(bytes.begin(), bytes.end(), [](char count) { return count == 1; });
  }
  SharedCopy shared{};
  CopyOwner owner;
  std::vector<char> bytes;
};

TEST_F(Job, EachByteIsCopiedOnceWhoeverComesFirst) {
  std::mt19937 random(1);
  for (size_t size : {size_t{1}, SharedCopy::kLeast, size_t{65536}, size_t{100'001}, size_t{1} << 20, (size_t{1} << 20) + 17}) {
    for (unsigned helper : {0u, 1u, 5u, 10u}) {  // of ten claims
      open(size);
      EXPECT_TRUE(shared.wanted());
      while (random() % 10 < helper ? help() : own()) {
      }
      while (help() || own()) {
      }
      EXPECT_FALSE(shared.wanted());
      ASSERT_TRUE(owner.finished());
      EXPECT_TRUE(owner.close());
      EXPECT_TRUE(each_once()) << size << ' ' << helper;
    }
  }
}

TEST_F(Job, TheOwnerIsDoneOnlyWhenTheHelperHasFinishedItsChunks) {
  open(1 << 20);
  ASSERT_TRUE(shared.help([&](const SharedCopy::Chunk& chunk) {
    copy(chunk);
    while (own()) {
    }
    EXPECT_FALSE(owner.finished());
    return true;
  }));
  EXPECT_TRUE(owner.finished());
  EXPECT_TRUE(owner.close());
  EXPECT_TRUE(each_once());
}

TEST_F(Job, TheOwnerIsToldOfWhatTheHelperCouldNotCopy) {
  open(1 << 20);
  EXPECT_TRUE(shared.help([](const SharedCopy::Chunk&) { return false; }));
  while (own()) {
  }
  EXPECT_TRUE(owner.finished());
  EXPECT_FALSE(owner.close());
  open(1 << 20);
  while (own()) {
  }
  EXPECT_TRUE(owner.close()) << "a new job knows nothing of the last one";
}

TEST_F(Job, AnIdleWordWantsNoHelp) {
  EXPECT_FALSE(shared.wanted());
  EXPECT_FALSE(help());
}

TEST_F(Job, AHelperThatNeverStopsLookingCopiesEachJobOnce) {
  std::vector<std::atomic<char>> copied(1 << 19);
  const auto mark = [&](const SharedCopy::Chunk& chunk) {
    for (size_t i = 0; i < chunk.size; i += 4096) ++copied[chunk.owners - kOwners + i];
    return true;
  };
  std::atomic<bool> over{false};
  std::thread helper([&] {
    while (!over.load())
      if (!shared.help(mark)) std::this_thread::yield();
  });
  for (char job = 1; job <= 30; ++job) {
    owner.open(shared, kOwners, kHelpers, copied.size(), true);
    for (SharedCopy::Chunk chunk; owner.claim(chunk);) mark(chunk);
    while (!owner.finished()) std::this_thread::yield();
    ASSERT_TRUE(owner.close());
    for (size_t i = 0; i < copied.size(); i += 4096) ASSERT_EQ(copied[i].load(), job);
  }
  over = true;
  helper.join();
}

// --- between two ends ---

// The word of a job is mapped twice here, and ThreadSanitizer takes it for two.
#if defined(__SANITIZE_THREAD__)
constexpr bool kSeesSharing = false;
#else
constexpr bool kSeesSharing = true;
#endif
constexpr const char* kMappedTwice = "ThreadSanitizer does not know that two mappings are one memory";

std::vector<std::byte> pattern(size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::mt19937 random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// `mover` was asked to move memory of `other`.
struct Two {
  Two() {
    for (auto [from, to] : {std::pair{&mover, 1u}, std::pair{&other, 0u}}) from->send(address(to), 1);
    mover.transport.poll(1);
    other.transport.poll(1);
    to_other = mover.transport.connect(address(1));
    to_mover = other.transport.connect(address(0));
  }
  SharedCopy& job() { return mover.transport.segment().header().copy[0][0]; }
  Exposed open(std::vector<std::byte>& memory, bool peer_writes) {
    Exposed exposed;
    EXPECT_TRUE(other.transport.expose(*to_mover, memory.data(), memory.size(), peer_writes, exposed));
    return exposed;
  }
  End mover{address(0)}, other{address(1)};
  Link* to_other;
  Link* to_mover;
};

TEST(NodeBulk, WhatAPeerCopiesItsShareOfArrivesWhole) {
  if (!kSeesSharing) GTEST_SKIP() << kMappedTwice;
  Two two;
  for (bool push : {false, true}) {
    std::vector<std::byte> theirs = pattern(3 << 20, 1), ours(theirs.size());
    if (push) theirs.swap(ours);
    Exposed exposed = two.open(theirs, push);
    std::atomic<bool> over{false};
    std::thread helper([&] {
      while (!over.load())
        if (two.other.transport.poll(1) == 0) std::this_thread::yield();
    });
    for (int round = 0; round < 20; ++round) {
      std::vector<std::byte>& to = push ? theirs : ours;
      std::fill(to.begin(), to.end(), std::byte{0});
      const Moved moved = push ? two.mover.transport.push(*two.to_other, exposed.region, ours.data(), ours.size(), &two)
                               : two.mover.transport.pull(*two.to_other, exposed.region, ours.data(), ours.size(), &two);
      if (moved == Moved::started) {
        while (two.mover.sink.moves.empty()) two.mover.transport.poll(1);
        EXPECT_EQ(two.mover.sink.moves.at(&two), std::vector<bool>{true});
        two.mover.sink.moves.clear();
      } else {
        ASSERT_EQ(moved, Moved::done);
      }
      ASSERT_EQ(std::memcmp(ours.data(), theirs.data(), ours.size()), 0);
    }
    over = true;
    helper.join();
    two.other.transport.withdraw(exposed);
  }
}

TEST(NodeBulk, DataArriveWholeHoweverTheTwoMemoriesLieInTheirPages) {
  Two two;
  constexpr size_t kBytes = 200'001, kRoom = kBytes + 8192;  // more than one detour, and not a whole number of them
  std::vector<std::byte> theirs(kRoom), ours(kRoom);
  for (const bool push : {false, true}) {
    Exposed exposed = two.open(theirs, push);
    for (const size_t further : {0, 1, 8, 16, 31, 62, 64, 4095}) {
      const std::vector<std::byte> data = pattern(kRoom, static_cast<unsigned>(further));
      (push ? ours : theirs) = data;
      std::vector<std::byte>& to = push ? theirs : ours;
      std::fill(to.begin(), to.end(), std::byte{0xee});
      const size_t source = 100, target = source + further;
      const wire::Region region{exposed.region.address + (push ? target : source), 0};
      std::byte* const here = ours.data() + (push ? source : target);
      const Moved moved = push ? two.mover.transport.push(*two.to_other, region, here, kBytes, &two)
                               : two.mover.transport.pull(*two.to_other, region, here, kBytes, &two);
      while (moved == Moved::started && two.mover.sink.moves.empty()) two.mover.transport.poll(1);
      two.mover.sink.moves.clear();
      ASSERT_NE(moved, Moved::failed);
      ASSERT_EQ(std::memcmp(to.data() + target, data.data() + source, kBytes), 0) << push << ' ' << further;
      ASSERT_EQ(to[target - 1], std::byte{0xee});
      ASSERT_EQ(to[target + kBytes], std::byte{0xee});
    }
    two.other.transport.withdraw(exposed);
  }
}

// Each word of a job tells how many there have been.
TEST(NodeBulk, APeerThatHasOurMemoryToMoveIsAskedForHelpWithLongMovesAlone) {
  if (!kSeesSharing) GTEST_SKIP() << kMappedTwice;
  Two two;
  std::vector<std::byte> theirs = pattern(SharedCopy::kLeastBothWays, 1), ours(theirs.size());
  Exposed exposed = two.open(theirs, false), back{};
  const auto asks = [&](size_t size) {
    const uint64_t before = two.job().turn.load();
    EXPECT_EQ(two.mover.transport.pull(*two.to_other, exposed.region, ours.data(), size, &two), Moved::done);
    EXPECT_EQ(std::memcmp(ours.data(), theirs.data(), size), 0);
    return two.job().turn.load() != before;
  };
  EXPECT_TRUE(asks(SharedCopy::kLeast));
  EXPECT_FALSE(asks(SharedCopy::kLeast - 1));
  ASSERT_TRUE(two.mover.transport.expose(*two.to_other, ours.data(), SharedCopy::kLeast, false, back));
  EXPECT_FALSE(asks(SharedCopy::kLeast));
  EXPECT_FALSE(asks(SharedCopy::kLeastBothWays - 1));
  EXPECT_TRUE(asks(SharedCopy::kLeastBothWays));
  two.mover.transport.withdraw(back);
  EXPECT_TRUE(asks(SharedCopy::kLeast));
  two.other.transport.withdraw(exposed);
}

TEST(NodeBulk, WhoHasOpenedNothingDoesNotLook) {
  Two two;
  std::vector<std::byte> theirs = pattern(1 << 20, 1);
  Exposed exposed = two.open(theirs, false);
  CopyOwner owner;
  std::vector<std::byte> ours(theirs.size());
  two.other.transport.withdraw(exposed);
  owner.open(two.job(), reinterpret_cast<uint64_t>(ours.data()), reinterpret_cast<uint64_t>(theirs.data()), ours.size(), true);
  EXPECT_EQ(two.other.transport.poll(16), 0);
  EXPECT_TRUE(two.other.transport.idle());
}

TEST(NodeBulk, APeerHelpsOnlyWithMemoryThatItHasOpenedAndInItsDirection) {
  Two two;
  std::vector<std::byte> opened = pattern(1 << 20, 1), secret = pattern(1 << 20, 2), ours(opened.size());
  const std::vector<std::byte> before = opened;
  Exposed exposed = two.open(opened, false);
  const auto ask = [&](const std::byte* helpers, bool to_owner) {
    CopyOwner owner;
    std::fill(ours.begin(), ours.end(), std::byte{0});
    owner.open(two.job(), reinterpret_cast<uint64_t>(ours.data()), reinterpret_cast<uint64_t>(helpers), ours.size(), to_owner);
    EXPECT_FALSE(two.other.transport.idle());
    while (two.other.transport.poll(1) > 0) {
    }
    EXPECT_TRUE(owner.finished());
    return owner.close();
  };
  EXPECT_TRUE(ask(opened.data(), true));
  EXPECT_EQ(ours, opened);
  EXPECT_FALSE(ask(secret.data(), true));
  EXPECT_EQ(ours, std::vector<std::byte>(ours.size()));
  EXPECT_FALSE(ask(opened.data() + 4096, true)) << "the last chunk reaches beyond";
  EXPECT_FALSE(ask(opened.data(), false)) << "opened for reading";
  EXPECT_EQ(opened, before);
  two.other.transport.withdraw(exposed);
}

TEST(NodeBulk, WhatAPeerCouldNotCopyIsCopiedWithoutIt) {
  if (!kSeesSharing) GTEST_SKIP() << kMappedTwice;
  Two two;
  std::vector<std::byte> theirs = pattern(1 << 20, 1), ours(theirs.size());
  Exposed exposed = two.open(theirs, false);
  // The peer claims chunks and gives up on them.
  std::atomic<bool> over{false};
  std::atomic<int> claimed{0};
  std::thread hasty([&] {
    while (!over.load()) claimed += two.job().help([](const SharedCopy::Chunk&) { return false; });
  });
  for (int round = 0; round < 10'000 && (round < 10 || claimed.load() == 0); ++round) {
    std::fill(ours.begin(), ours.end(), std::byte{0});
    const Moved moved = two.mover.transport.pull(*two.to_other, exposed.region, ours.data(), ours.size(), &two);
    while (moved == Moved::started && two.mover.sink.moves.empty()) two.mover.transport.poll(1);
    two.mover.sink.moves.clear();
    ASSERT_EQ(std::memcmp(ours.data(), theirs.data(), ours.size()), 0);
  }
  over = true;
  hasty.join();
  two.other.transport.withdraw(exposed);
}

TEST(NodeBulk, AMoveWhosePeerDiesOverItsShareHasFailed) {
  End mover(address(0));
  std::vector<std::byte> memory = pattern(2 << 20, 1), ours(memory.size());
  // The child claims chunks, says so, and dies without having copied them.
  Child child([&](Child& self) {
    End dying(address(1));
    dying.send(address(0), 1);
    self.tell();
    SharedCopy& job = dying.transport.segment_of(address(0))->header().copy[0][0];
    while (!job.help([](const SharedCopy::Chunk&) {
      kill(getpid(), SIGKILL);
      return true;
    })) {
    }
  });
  mover.transport.poll(1);
  Link* link = mover.transport.connect(address(1));
  Moved moved = Moved::done;
  for (int i = 0; i < 1000 && moved == Moved::done; ++i)
    moved = mover.transport.pull(*link, {reinterpret_cast<uint64_t>(memory.data()), 0}, ours.data(), ours.size(), &ours);
  child.end();
  if (moved == Moved::started) {
    while (mover.sink.moves.empty()) mover.transport.housekeeping(true), mover.transport.poll(1);
    EXPECT_EQ(mover.sink.moves.at(&ours), std::vector<bool>{false});
  }
  while (mover.sink.losses.empty()) mover.transport.housekeeping(true), mover.transport.poll(1);
  EXPECT_EQ(mover.transport.pull(*link, {reinterpret_cast<uint64_t>(memory.data()), 0}, ours.data(), ours.size(), &ours), Moved::failed);
  unlink(path_of(address(1)).c_str());
}

}  // namespace
}  // namespace portunus
