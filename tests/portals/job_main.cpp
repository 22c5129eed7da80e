// job_main.cpp: runs the tests on every rank. Rank 0 reports as usual, the others only what failed.
#include <cstdio>

#include "tests/portals/job.hpp"

namespace {
class FailuresOnly : public testing::EmptyTestEventListener {
  // Kept: asking while a failure is told waits for ever.
  void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }
  void OnTestEnd(const testing::TestInfo&) override { test_ = nullptr; }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    std::fprintf(stderr, "rank %d: %s: %s:%d: %s\n", portals_test::rank(), test_ ? test_->name() : "", part.file_name(), part.line_number(),
                 part.summary());
  }
  const testing::TestInfo* test_ = nullptr;
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
