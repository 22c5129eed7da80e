// process_main.cpp: runs the tests in every process of a job. Process 0 reports as usual, the others only what failed.
#include <gtest/gtest.h>
#include <vdc.h>

#include <string>

namespace {
class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override { name_ = std::string(test.test_suite_name()) + "." + test.name(); }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.failed())
      fprintf(stderr, "process %d: %s: %s:%d: %s\n", Vdc_proc_id, name_.c_str(), part.file_name(), part.line_number(), part.summary());
  }
  std::string name_;
};
}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Vdc_startup(argc, argv);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (Vdc_proc_id != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int status = RUN_ALL_TESTS();
  if (status) return status;
  Vdc_exit(0);
}
