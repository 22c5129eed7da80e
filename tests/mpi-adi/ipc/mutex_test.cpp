// mutex_test.cpp: the mutex of libpeace: one at a time, and nobody sleeps on when it is free.
#include "mpi-adi/ipc/mutex.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace peace_mutex_test {
namespace {

TEST(Mutex, LetsInOneAtATimeAndForgetsNobody) {
  constexpr int kThreads = 4, kRounds = 20'000;
  portunus::peace::Mutex mutex;
  uint64_t inside = 0, count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(inside++, 0u);
        ++count;
        if (round % 64 == 0) std::this_thread::yield();  // others come, and sleep
        --inside;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(count, uint64_t{kThreads} * kRounds);
}

}  // namespace
}  // namespace peace_mutex_test
