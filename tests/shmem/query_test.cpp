// query_test.cpp: OpenSHMEM 1.6, "Library Setup, Exit, and Query Routines".
#include <shmemx.h>

#include "pe.hpp"

namespace query_test {
namespace {

int global_word;

TEST(Query, PesAreNumberedFromZero) {
  EXPECT_GE(me(), 0);
  EXPECT_LT(me(), count());
  Symmetric<int> seen(static_cast<size_t>(count()));
  for (int pe = 0; pe < count(); ++pe) shmem_int_p(&seen[static_cast<size_t>(me())], 1, pe);
  shmem_barrier_all();
  for (int pe = 0; pe < count(); ++pe) EXPECT_EQ(seen[static_cast<size_t>(pe)], 1);
  shmem_barrier_all();
}

TEST(Query, ExactlyThePesOfTheJobAreAccessible) {
  for (int pe = 0; pe < count(); ++pe) EXPECT_EQ(shmem_pe_accessible(pe), 1);
  EXPECT_EQ(shmem_pe_accessible(-1), 0);
  EXPECT_EQ(shmem_pe_accessible(count()), 0);
}

TEST(Query, ExactlySymmetricAddressesAreAccessible) {
  Symmetric<int> heap_word(1);
  int on_stack = 0;
  for (int pe = 0; pe < count(); ++pe) {
    EXPECT_EQ(shmem_addr_accessible(heap_word, pe), 1);
    EXPECT_EQ(shmem_addr_accessible(&global_word, pe), 1);
    EXPECT_EQ(shmem_addr_accessible(&on_stack, pe), 0);
    EXPECT_EQ(shmem_addr_accessible("a constant", pe), 0);
    EXPECT_EQ(shmem_addr_accessible(nullptr, pe), 0);
  }
  EXPECT_EQ(shmem_addr_accessible(heap_word, count()), 0);
}

TEST(Query, APointerToAPeersObjectReadsAndWritesIt) {
  Symmetric<long> heap_word(1);
  static long in_data;
  heap_word[0] = 10 + me();
  in_data = 20 + me();
  shmem_barrier_all();
  EXPECT_EQ(shmem_ptr(heap_word, me()), heap_word.get());
  EXPECT_EQ(shmem_ptr(&in_data, me()), &in_data);
  const auto* const theirs = static_cast<long*>(shmem_ptr(heap_word, right()));
  const auto* const data = static_cast<long*>(shmem_ptr(&in_data, right()));
  EXPECT_EQ(theirs == nullptr, data == nullptr);
  if (theirs && data) {
    EXPECT_EQ(*theirs, 10 + right());
    EXPECT_EQ(*data, 20 + right());
  }
  int on_stack = 0;
  EXPECT_EQ(shmem_ptr(&on_stack, right()), nullptr);
  shmem_barrier_all();
}

TEST(Query, VersionAndNameAreThoseOfTheHeader) {
  int major = 0, minor = 0;
  shmem_info_get_version(&major, &minor);
  EXPECT_EQ(major, SHMEM_MAJOR_VERSION);
  EXPECT_EQ(minor, SHMEM_MINOR_VERSION);
  char name[SHMEM_MAX_NAME_LEN];
  shmem_info_get_name(name);
  EXPECT_STREQ(name, SHMEM_VENDOR_STRING);
}

TEST(Query, TheLibrarySaysThatItIsInitialised) {
  int initialized = 0, level = -1;
  shmem_query_initialized(&initialized);
  shmem_query_thread(&level);
  EXPECT_EQ(initialized, 1);
  EXPECT_EQ(level, SHMEM_THREAD_SINGLE);
  shmem_pcontrol(1);
}

}  // namespace
}  // namespace query_test
