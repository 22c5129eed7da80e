// queue.cpp: see queue.hpp.
#include "mpi-adi/io/queue.hpp"

#include <pthread.h>
#include <signal.h>

#include <system_error>

namespace portunus::mpi::io {

bool Queue::post(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size() && threads_.size() < most_) {
      // The program's signals are for the program's threads.
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
      }
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      if (threads_.empty()) return false;
    }
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void Queue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    ++running_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    if (--running_ == 0 && tasks_.empty()) drained_.notify_all();
  }
}

void Queue::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return running_ == 0 && tasks_.empty(); });
}

void Queue::stop() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
  std::lock_guard lock(mutex_);
  ends_ = false;
}

Queue& independent_operations() {
  static Queue& queue = *new Queue(2);  // one may wait for a disk while another copies; outlives whoever ends last
  return queue;
}

}  // namespace portunus::mpi::io
