// symmetric_size_test.cpp: the value of SHMEM_SYMMETRIC_SIZE.
#include "shmem/memory/symmetric_size.hpp"

#include <gtest/gtest.h>

namespace {

using portunus::shmem::parse_symmetric_size;

TEST(SymmetricSize, AWholeNumberIsBytes) {
  EXPECT_EQ(parse_symmetric_size("0"), 0u);
  EXPECT_EQ(parse_symmetric_size("1048576"), 1048576u);
  EXPECT_EQ(parse_symmetric_size("140737488355327"), 140737488355327u);
}

TEST(SymmetricSize, SuffixesArePowersOf1024InEitherCase) {
  for (const char* text : {"3k", "3K"}) EXPECT_EQ(parse_symmetric_size(text), size_t{3} << 10);
  for (const char* text : {"3m", "3M"}) EXPECT_EQ(parse_symmetric_size(text), size_t{3} << 20);
  for (const char* text : {"3g", "3G"}) EXPECT_EQ(parse_symmetric_size(text), size_t{3} << 30);
  for (const char* text : {"3t", "3T"}) EXPECT_EQ(parse_symmetric_size(text), size_t{3} << 40);
}

TEST(SymmetricSize, FractionsAreAllowedAndRoundedUp) {
  EXPECT_EQ(parse_symmetric_size(".5m"), size_t{1} << 19);
  EXPECT_EQ(parse_symmetric_size("1.5k"), 1536u);
  EXPECT_EQ(parse_symmetric_size("1.0001k"), 1025u);
  EXPECT_EQ(parse_symmetric_size("0.1"), 1u);
  EXPECT_EQ(parse_symmetric_size("2."), 2u);
  EXPECT_EQ(parse_symmetric_size("1e3"), 1000u);
}

TEST(SymmetricSize, CharactersAfterTheSuffixAreIgnored) {
  EXPECT_EQ(parse_symmetric_size("64MiB"), size_t{64} << 20);
  EXPECT_EQ(parse_symmetric_size("1k of it"), 1024u);
}

TEST(SymmetricSize, WhatIsNoSizeIsRefused) {
  for (const char* text : {"", "-1", "+1", " 1", "m", ".", ".m", "12x", "1 k", "inf", "nan", "1e999", "-.5g", "all"})
    EXPECT_FALSE(parse_symmetric_size(text)) << text;
}

TEST(SymmetricSize, WhatNoProcessCanMapIsRefused) {
  EXPECT_EQ(parse_symmetric_size("256t"), size_t{1} << 48);
  EXPECT_FALSE(parse_symmetric_size("257t"));
  EXPECT_FALSE(parse_symmetric_size("99999999999999999999"));
}

}  // namespace
