// segment_test.cpp: whose shared memory is attached, and what of it is mapped.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <atomic>
#include <system_error>
#include <thread>

#include "tests/engine/node/node_process.hpp"

namespace portunus {
namespace {

TEST(Segment, AnotherUsersProcessCanNeitherJoinNorRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  End owner(address(0));
  constexpr uid_t kNobody = 65534;
  const uid_t us = geteuid();
  Child child([&](Child& self) {
    int harm = setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0;
    harm += Segment::attach(address(0), us) != nullptr;
    harm += Segment::attach(address(0), kNobody) != nullptr;
    harm += open(path_of(address(0), us).c_str(), O_RDONLY) >= 0;
    harm += truncate(path_of(address(0), us).c_str(), 0) == 0;
    harm += unlink(path_of(address(0), us).c_str()) == 0;
    sweep_dead_segments();
    self.tell();
    _exit(harm);
  });
  EXPECT_EQ(child.end(), 0);
  EXPECT_NE(Segment::attach(address(0), us), nullptr);
}

TEST(Segment, AFileThatIsNotOursAloneIsNotAttached) {
  End owner(address(0));
  const std::string path = path_of(address(0));
  ASSERT_NE(Segment::attach(address(0), geteuid()), nullptr);
  for (const mode_t mode : {0644, 0620, 0606, 0660}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(Segment::attach(address(0), geteuid()), nullptr) << std::oct << mode;
  }
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_NE(Segment::attach(address(0), geteuid()), nullptr);
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(Segment::attach(address(0), geteuid()), nullptr) << "planted by another user";
}

// Names in a directory where all may write can be taken by anybody.
TEST(Segment, ANameThatAnotherUserHasTakenIsPassedOver) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file to another user";
  const std::string path = path_of(address(0));
  const int planted = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0666);
  ASSERT_GE(planted, 0);
  ASSERT_EQ(fchown(planted, 65534, 65534), 0);
  {
    End owner(address(0));
    EXPECT_EQ(access((path + ".1").c_str(), F_OK), 0);
    EXPECT_NE(Segment::attach(address(0), geteuid()), nullptr);
    ASSERT_EQ(unlink(path.c_str()), 0);  // then the first name is free, and the second one still holds
    EXPECT_NE(Segment::attach(address(0), geteuid()), nullptr);
    EXPECT_TRUE(Segment::may_live(address(0), geteuid(), {}));
  }
  EXPECT_NE(access((path + ".1").c_str(), F_OK), 0);
  close(planted);
}

// Killed before it could take its lock, a process leaves an empty file; one that is about to take it has one, too.
TEST(Segment, AnEmptyFileIsSweptWhenItIsOld) {
  const std::string path = path_of(address(1));
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(fd, 0);
  sweep_dead_segments();
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  const timespec long_ago[2] = {};
  ASSERT_EQ(futimens(fd, long_ago), 0);
  sweep_dead_segments();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  close(fd);
}

// A process was killed after it had made its file and before it took the lock; another has its address now.
TEST(Segment, AnEmptyFileOfOnesOwnAddressIsInNobodysWay) {
  const std::string path = path_of(address(0));
  close(open(path.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
  End owner(address(0));
  EXPECT_NE(Segment::attach(address(0), geteuid()), nullptr);
  EXPECT_THROW(Segment::create(address(0), geteuid(), kRing), std::system_error) << "this one lives";
  EXPECT_NE(Segment::attach(address(0), geteuid()), nullptr);
}

// A sweeper may have opened the file of an owner that ends meanwhile, and whose name is taken again.
TEST(Segment, SweepingHarmsNobodyWhoTakesANameAgain) {
  std::atomic<bool> over{false};
  std::thread sweeper([&] {
    while (!over) sweep_dead_segments();
  });
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    End owner(address(0));
    EXPECT_NE(Segment::attach(address(0), geteuid()), nullptr) << round;
  }
  over = true;
  sweeper.join();
}

TEST(Segment, ALinkIsNotFollowed) {
  End owner(address(0));
  ASSERT_EQ(symlink(path_of(address(0)).c_str(), path_of(address(1)).c_str()), 0);
  EXPECT_EQ(Segment::attach(address(1), geteuid()), nullptr);
  unlink(path_of(address(1)).c_str());
}

TEST(Segment, AHeaderThatMakesNoSenseIsNotAttached) {
  End owner(address(0));
  SegmentHeader& header = owner.transport.segment().header();
  const auto refused_with = [&](auto& field, auto value) {
    const auto good = field;
    field = value;
    const bool refused = Segment::attach(address(0), geteuid()) == nullptr;
    field = good;
    return refused && Segment::attach(address(0), geteuid()) != nullptr;
  };
  EXPECT_TRUE(refused_with(header.magic, SegmentHeader::kMagic + 1));
  EXPECT_TRUE(refused_with(header.ring_bytes, uint64_t{kRing * 2}));
  EXPECT_TRUE(refused_with(header.ring_bytes, uint64_t{kRing - 64}));
  EXPECT_TRUE(refused_with(header.ring_bytes, uint64_t{0}));
  EXPECT_TRUE(refused_with(header.ring_bytes, uint64_t{1} << 63));
  EXPECT_TRUE(refused_with(header.ring_offset, uint64_t{0}));
  for (const uint64_t count : {uint64_t{0}, uint64_t{kBoxes - 1}, uint64_t{kBoxes + 1}, uint64_t{1} << 60})
    EXPECT_TRUE(refused_with(header.boxes.count, count)) << count;
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{64}, header.boxes.bytes - 64, header.boxes.bytes * 2, uint64_t{1} << 63})
    EXPECT_TRUE(refused_with(header.boxes.bytes, bytes)) << bytes;
  EXPECT_TRUE(refused_with(header.uid, geteuid() + 1));
  EXPECT_TRUE(refused_with(header.process, address(3)));
}

TEST(Segment, BlocksOutsideTheFileAreNotMapped) {
  End owner(address(0)), other(address(1));
  void* base = nullptr;
  ASSERT_EQ(owner.transport.segment().add_block(8192, nullptr, base), 0);
  other.send(address(0), 1);
  SegmentHeader& header = owner.transport.segment().header();
  const uint64_t offset = header.block[0].offset;
  size_t size = 0;
  for (const auto& [bad_offset, bad_size] : {std::pair<uint64_t, uint64_t>{offset + 4096, 8192},
                                             {offset, 1 << 20},
                                             {~uint64_t{0} - 4095, 8192},
                                             {offset, ~uint64_t{0}},
                                             {0, 8192}}) {
    header.block[1].offset = bad_offset;
    header.block[1].size.store(bad_size);
    EXPECT_EQ(other.transport.segment_of(address(0))->map_block(1, size), nullptr) << bad_offset << " + " << bad_size;
  }
  EXPECT_NE(other.transport.segment_of(address(0))->map_block(0, size), nullptr);
  EXPECT_EQ(other.transport.segment_of(address(0))->map_block(kMaxBlocks, size), nullptr);
}

}  // namespace
}  // namespace portunus
