// nearby_test.cpp: which device each process of a node takes, on machines that are written down here.
#include "engine/host/nearby.hpp"

#include <gtest/gtest.h>

namespace portunus {
namespace {

// Two sockets of eight processors; numbers as some firmware deals them out.
const std::vector<int> kFirst = processors_in("0-3,8-11"), kSecond = processors_in("4-7,12-15");

TEST(Nearby, ListsOfProcessorsAreReadAsTheKernelWritesThem) {
  EXPECT_EQ(processors_in("0-2,8"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(processors_in("5\n"), std::vector<int>{5});
  EXPECT_TRUE(processors_in("").empty());
  EXPECT_TRUE(processors_near("/sys/no/such/device").empty());
  EXPECT_FALSE(own_processors().empty());
}

TEST(Nearby, AProcessTakesTheDeviceOfItsSocket) {
  const std::vector<std::vector<int>> near = {kFirst, kSecond};
  for (size_t turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(nearest(near, {4, 5}, turn), 1u);
    EXPECT_EQ(nearest(near, {8}, turn), 0u);
    EXPECT_EQ(nearest(near, {3, 4, 5}, turn), 1u) << "most of its processors are there";
  }
}

TEST(Nearby, ProcessesOfASocketAreSpreadOverItsDevices) {
  const std::vector<std::vector<int>> near = {kFirst, kSecond, kFirst, kSecond};
  const std::vector<int> bound[] = {{0, 1}, {2, 3}, {8, 9}, {10, 11}, {4, 5}, {6, 7}, {12, 13}, {14, 15}};
  std::vector<size_t> taken(near.size());
  for (const std::vector<int>& own : bound) ++taken[nearest(near, own, 0)];
  EXPECT_EQ(taken, std::vector<size_t>(near.size(), 2));
}

TEST(Nearby, ProcessesThatMayRunAnywhereTakeTurns) {
  const std::vector<int> all = processors_in("0-15");
  for (const std::vector<std::vector<int>>& near : {std::vector<std::vector<int>>{kFirst, kSecond}, {{}, {}}, {all, {}}})
    for (size_t turn = 0; turn < 6; ++turn) EXPECT_EQ(nearest(near, all, turn), turn % 2);
}

TEST(Nearby, OfOneDeviceOrNoneTheFirstIsTaken) {
  EXPECT_EQ(nearest({}, {0}, 3), 0u);
  const std::vector<std::vector<int>> one = {kSecond};
  EXPECT_EQ(nearest(one, {0}, 3), 0u);
}

}  // namespace
}  // namespace portunus
