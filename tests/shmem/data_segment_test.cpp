// data_segment_test.cpp: which pages of this very executable count as its globals.
#include "shmem/memory/data_segment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

int initialized_global = 42;
int zero_global;
static int file_static = 1;
const char* relocated_pointer = "needs the dynamic linker, is still writable";

namespace {

using portunus::shmem::data_segment;

bool inside(const void* p) {
  const auto data = data_segment();
  const auto at = reinterpret_cast<uintptr_t>(p), start = reinterpret_cast<uintptr_t>(data.start);
  return at >= start && at - start < data.size;
}

TEST(DataSegment, HoldsInitializedAndZeroedGlobalsAndStatics) {
  static int in_function = 7;
  static int in_function_zero;
  EXPECT_TRUE(inside(&initialized_global));
  EXPECT_TRUE(inside(&zero_global));
  EXPECT_TRUE(inside(&file_static));
  EXPECT_TRUE(inside(&in_function));
  EXPECT_TRUE(inside(&in_function_zero));
  EXPECT_TRUE(inside(&relocated_pointer));
}

TEST(DataSegment, HoldsNeitherStackNorHeapNorConstantsNorCode) {
  int on_stack = 0;
  const auto on_heap = std::make_unique<int>();
  EXPECT_FALSE(inside(&on_stack));
  EXPECT_FALSE(inside(on_heap.get()));
  EXPECT_FALSE(inside("a constant"));
  EXPECT_FALSE(inside(reinterpret_cast<const void*>(&data_segment)));
}

// Read-only pages could not be replaced, and would show that RELRO was not left out.
TEST(DataSegment, IsWholePagesThatAreAllMappedReadWrite) {
  const auto data = data_segment();
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto at = reinterpret_cast<uintptr_t>(data.start);
  const uintptr_t end = at + data.size;
  ASSERT_NE(data.size, 0u);
  EXPECT_EQ(at % page, 0u);
  EXPECT_EQ(data.size % page, 0u);
  FILE* maps = fopen("/proc/self/maps", "r");
  ASSERT_NE(maps, nullptr);
  char line[1024], rights[8];
  unsigned long from, to;
  while (fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && from <= at && at < to) {
      EXPECT_EQ(std::string(rights, 2), "rw");
      at = to;
    }
  fclose(maps);
  EXPECT_GE(at, end);
}

}  // namespace
