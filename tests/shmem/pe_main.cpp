// pe_main.cpp: runs the tests on every PE. PE 0 reports as usual, the others only what failed.
#include <string>

#include "pe.hpp"

namespace {
class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override { name_ = std::string(test.test_suite_name()) + "." + test.name(); }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.failed())
      fprintf(stderr, "PE %d: %s: %s:%d: %s\n", shmem_my_pe(), name_.c_str(), part.file_name(), part.line_number(), part.summary());
  }
  std::string name_;
};
}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  shmem_init();
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (shmem_my_pe() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int status = RUN_ALL_TESTS();
  shmem_finalize();
  return status;
}
