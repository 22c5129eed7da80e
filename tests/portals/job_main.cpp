// job_main.cpp: runs the tests on every rank. Rank 0 reports as usual, the others only what failed.
#include <cstdio>

#include "tests/portals/job.hpp"

namespace {
class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "rank %d: %s: %s:%d: %s\n", portals_test::rank(), test ? test->name() : "", part.file_name(), part.line_number(),
                 part.summary());
  }
};
}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (PtlInit() != PTL_OK || PtlxJobInit(&portals_test::job()) != PTL_OK) return 1;
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (portals_test::rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int status = RUN_ALL_TESTS();
  PtlxJobFini();
  PtlFini();
  return status;
}
