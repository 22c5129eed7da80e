// queue.hpp: threads that do what nonblocking operations have begun, while the program computes.
//
// Operations that are independent go to a few threads of the process. Collective ones of a file have a thread of the file's
// own, which does them in the order of the calls: another file's collectives may be called in another order on another rank.
// Threads are made when first needed and wait for the next operation.
//
// Thread: any. Invariants: a task never runs before post() has been called, nor after stop() has returned.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace portunus::mpi::io {

class Queue {
 public:
  explicit Queue(unsigned most_threads = 1) : most_(most_threads) {}
  ~Queue() { stop(); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // False: there is no thread to be had; the caller does it.
  bool post(std::function<void()> task);
  // No task waits or runs.
  bool is_idle() {
    std::lock_guard lock(mutex_);
    return tasks_.empty() && running_ == 0;
  }
  // Returns when no task waits or runs.
  void drain();
  // Does what was posted, and ends the threads.
  void stop();

 private:
  void work();

  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable changed_, drained_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  unsigned idle_ = 0, running_ = 0;
  bool ends_ = false;
};

// The threads of the process.
Queue& independent_operations();

}  // namespace portunus::mpi::io
