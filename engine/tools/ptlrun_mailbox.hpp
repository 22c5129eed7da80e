// Carries work from any thread to ptlrun's main thread.
//
// **Thread:** post() by any thread; run_all() and fd() by the main thread.
// **Invariants:** work runs in the order in which it was posted; fd() is readable while some is left.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace portunus::launch {

class Mailbox {
 public:
  Mailbox() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Mailbox() { close(fd_); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  int fd() const { return fd_; }

  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    eventfd_write(fd_, 1);
  }

  void run_all() {
    std::vector<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      eventfd_t count;
      eventfd_read(fd_, &count);
      work.swap(work_);
    }
    for (const auto& item : work) item();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> work_;
  int fd_;
};

}  // namespace portunus::launch
