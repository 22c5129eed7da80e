// Runs of bytes arrive whole, wherever in their pages both ends lie, and nothing beside them is touched.
#include "engine/host/copy_run.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "engine/transport/copy.hpp"

namespace portunus {
namespace copy_run_test {

TEST(CopyRun, ArrivesWholeAndAloneFromAnywhereToAnywhere) {
  constexpr size_t kMost = 3 * kMemoryPage;
  alignas(kMemoryPage) static unsigned char from[kMost + 2 * kMemoryPage], to[kMost + 2 * kMemoryPage];
  for (size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<unsigned char>(i * 7 >> 2);
  bool hard = false;
  for (const size_t size : {size_t{1}, kLongRun - 1, kLongRun, kLongRun + 63, kMemoryPage + 17, kMost}) {
    for (const size_t source : {size_t{0}, size_t{1}, size_t{48}, size_t{100}, size_t{kMemoryPage} - 5}) {
      for (const size_t further : {0, 1, 16, 31, 32, 62, 63, 64, 65, 200}) {
        const size_t target = source + further;
        std::memset(to, 0xee, sizeof to);
        hard = hard || is_hard_to_move(reinterpret_cast<uintptr_t>(to + target), reinterpret_cast<uintptr_t>(from + source));
        if (size % 2) copy_run(to + target, from + source, size);
        else copy_data(to + target, from + source, size);
        ASSERT_EQ(std::memcmp(to + target, from + source, size), 0) << size << " from " << source << " to " << target;
        ASSERT_EQ(to[target + size], 0xee);
        if (target > 0) {
          ASSERT_EQ(to[target - 1], 0xee);
        }
      }
    }
  }
  EXPECT_TRUE(hard);
}

TEST(CopyRun, IsHardOnlyALittleFurtherInItsPage) {
  EXPECT_FALSE(is_hard_to_move(4096, 0));
  EXPECT_TRUE(is_hard_to_move(4096 + 1, 0));
  EXPECT_TRUE(is_hard_to_move(16, 8192));
  EXPECT_TRUE(is_hard_to_move(63, 0));
  EXPECT_FALSE(is_hard_to_move(64, 0));
  EXPECT_FALSE(is_hard_to_move(0, 16));
}

}  // namespace copy_run_test
}  // namespace portunus
