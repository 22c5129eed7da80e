// client::SharedMemory: memory that one process makes is joined by its number; no name is left, however a process ends.
#include "engine/client/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

namespace portunus::client {
namespace {

constexpr char kKind[] = "test";
using Pages = SharedMemory::Pages;

// Names of this process's memory that exist now.
size_t names() {
  size_t found = 0;
  const std::string mine = std::string("portunus-") + kKind + "-" + std::to_string(getpid()) + "-";
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) found += entry.path().filename().string().starts_with(mine);
  return found;
}

// Returns what `act` returns in a process of its own.
template <class Act>
int in_child(Act&& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Shared : public testing::TestWithParam<Pages> {};
INSTANTIATE_TEST_SUITE_P(All, Shared, testing::Values(Pages::reserved, Pages::when_touched));

TEST_P(Shared, IsZeroedAlignedAndOne) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{100001}, size_t{3} << 20})
    for (const size_t alignment : {size_t{1}, size_t{64}, size_t{4096}, size_t{8192}, size_t{2} << 20}) {
      SharedMemory made(kKind, GetParam());
      ASSERT_TRUE(made.make(bytes, alignment));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(made.start()) % alignment, 0u);
      EXPECT_TRUE(std::all_of(made.start(), made.start() + bytes, [](std::byte one) { return one == std::byte{0}; }));
      made.start()[bytes - 1] = std::byte{7};
      const auto child = [&] {
        SharedMemory joined(kKind, GetParam());
        if (!joined.join(made.number(), bytes, alignment) || reinterpret_cast<uintptr_t>(joined.start()) % alignment != 0) return 1;
        if (joined.start()[bytes - 1] != std::byte{7}) return 2;
        joined.start()[0] = std::byte{9};
        return 0;
      };
      EXPECT_EQ(in_child(child), 0) << bytes << " " << alignment;
      EXPECT_EQ(made.start()[0], std::byte{9});
    }
  EXPECT_EQ(names(), 0u);
}

TEST_P(Shared, IsJoinedUntilItsNameIsForgotten) {
  SharedMemory made(kKind, GetParam()), early(kKind, GetParam()), late(kKind, GetParam());
  ASSERT_TRUE(made.make(5000));
  EXPECT_EQ(names(), 1u);
  EXPECT_TRUE(early.join(made.number(), 5000));
  early.forget_name();  // is the maker's to do
  EXPECT_EQ(names(), 1u);
  made.forget_name();
  EXPECT_EQ(names(), 0u);
  EXPECT_FALSE(late.join(made.number(), 5000));
  std::memset(made.start(), 3, 5000);
  EXPECT_EQ(early.start()[4999], std::byte{3});
}

// A name that a killed process with this number has left is no hindrance.
TEST_P(Shared, HasANameOfItsOwnEachTime) {
  SharedMemory one(kKind, GetParam()), other(kKind, GetParam());
  ASSERT_TRUE(one.make(100) && other.make(100));
  EXPECT_NE(one.number(), other.number());
  EXPECT_EQ(names(), 2u);
}

TEST_P(Shared, LeavesNoNameWhereThereIsNoRoom) {
  SharedMemory made(kKind, GetParam());
  EXPECT_FALSE(made.make(size_t{1} << 60));
  EXPECT_FALSE(made.is_mapped());
  EXPECT_EQ(names(), 0u);
  EXPECT_TRUE(made.make(100));  // once more, with less
}

TEST_P(Shared, LeavesNoNameWhenItsMakerGivesUp) {
  auto made = std::make_unique<SharedMemory>(kKind, GetParam());
  ASSERT_TRUE(made->make(100));
  EXPECT_EQ(names(), 1u);
  made.reset();
  EXPECT_EQ(names(), 0u);
}

}  // namespace
}  // namespace portunus::client
