// ranks_main.cpp: runs the tests on every rank. Rank 0 reports as usual, the others only what failed.
// With `multiple` as argument MPI is started with MPI_THREAD_MULTIPLE, else with MPI_THREAD_SINGLE and without Threads.*.
#include <cstdio>
#include <cstring>

#include "ranks.hpp"

namespace {
class FailuresOnly : public testing::EmptyTestEventListener {
  // Kept: asking while a failure is told waits for ever.
  void OnTestStart(const testing::TestInfo& test) override { test_ = &test; }
  void OnTestEnd(const testing::TestInfo&) override { test_ = nullptr; }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    std::fprintf(stderr, "rank %d: %s.%s: %s:%d: %s\n", rank(), test_ ? test_->test_suite_name() : "", test_ ? test_->name() : "",
                 part.file_name(), part.line_number(), part.summary());
  }
  const testing::TestInfo* test_ = nullptr;
};
}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool multiple = argc > 1 && std::strcmp(argv[1], "multiple") == 0;
  const int level = multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  if (!multiple && testing::GTEST_FLAG(filter) == "*") testing::GTEST_FLAG(filter) = "-Threads.*";
  int provided;
  MPI_Init_thread(&argc, &argv, level, &provided);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
