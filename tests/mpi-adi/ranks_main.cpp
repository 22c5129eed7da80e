// ranks_main.cpp: runs the tests on every rank. Rank 0 reports as usual, the others only what failed.
// With `multiple` as argument MPI is started with MPI_THREAD_MULTIPLE, else with MPI_THREAD_SINGLE and without Threads.*.
#include <cstdio>
#include <cstring>

#include "ranks.hpp"

namespace {
class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (!part.failed()) return;
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "rank %d: %s.%s: %s:%d: %s\n", rank(), test ? test->test_suite_name() : "", test ? test->name() : "",
                 part.file_name(), part.line_number(), part.summary());
  }
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
