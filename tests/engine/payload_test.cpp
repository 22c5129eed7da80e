// When a command gets a copy of its source that it owns, and what is in it.
#include "engine/core/initiator/payload.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "portals/portals4.h"

namespace portunus {
namespace {

struct Payload : ::testing::Test {
  char data[8] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
  Command command;

  Payload() {
    command.verb = Verb::put;
    command.source.base = data;
    command.source.options = PTL_MD_VOLATILE;
    command.length = sizeof data;
  }
  ~Payload() override { free_payload(command); }
};

TEST_F(Payload, WhatIsVolatileMayBeChangedAfterTheCall) {
  command.source.offset = 2;
  command.length = 3;
  own_volatile(command);
  std::memset(data, 'x', sizeof data);
  ASSERT_TRUE(command.owns_payload);
  EXPECT_EQ(command.source.offset, 0u);
  EXPECT_EQ(std::memcmp(command.source.base, "cde", 3), 0);
}

TEST_F(Payload, PiecesBecomeOne) {
  const ptl_iovec_t pieces[] = {{data + 6, 2}, {data, 3}};
  command.source.base = const_cast<ptl_iovec_t*>(pieces);
  command.source.iov_count = 2;
  command.source.offset = 1;
  command.length = 4;
  own_volatile(command);
  EXPECT_EQ(command.source.iov_count, 0u);
  EXPECT_EQ(std::memcmp(command.source.base, "habc", 4), 0);
}

TEST_F(Payload, NothingIsCopiedWithoutNeed) {
  command.source.options = 0;
  own_volatile(command);
  EXPECT_FALSE(command.owns_payload);  // the user said that the data stay as they are
  command.source.options = PTL_MD_VOLATILE;
  command.verb = Verb::get;
  own_volatile(command);
  EXPECT_FALSE(command.owns_payload);  // they are written, not read
  command.verb = Verb::put;
  command.length = 0;
  own_volatile(command);
  EXPECT_FALSE(command.owns_payload);
  EXPECT_EQ(command.source.base, data);
}

TEST_F(Payload, ACopyIsMadeAndFreedOnce) {
  own_volatile(command);
  const void* const copy = command.source.base;
  own_volatile(command);
  EXPECT_EQ(command.source.base, copy);
  free_payload(command);
  EXPECT_FALSE(command.owns_payload);
  free_payload(command);
}

}  // namespace
}  // namespace portunus
