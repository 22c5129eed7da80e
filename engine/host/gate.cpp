// gate.cpp: see gate.hpp.
#include "engine/host/gate.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/host/clock.hpp"

namespace portunus {
namespace {

bool change(int epoll, int operation, int fd, bool readable) {
  epoll_event event{};
  if (readable) event.events = EPOLLIN;
  return epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

Gate::Gate(std::vector<int> fds)
    : fds_(std::move(fds)), epoll_(epoll_create1(EPOLL_CLOEXEC)), timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  bool made = epoll_ >= 0 && timer_ >= 0 && change(epoll_, EPOLL_CTL_ADD, timer_, true);
  for (const int fd : fds_) made = made && change(epoll_, EPOLL_CTL_ADD, fd, false);
  if (made) return;
  const int error = errno;
  if (epoll_ >= 0) ::close(epoll_);  // the destructor does not run when a constructor throws
  if (timer_ >= 0) ::close(timer_);
  throw std::system_error(error, std::generic_category(), "the engine's thread needs two descriptors beside a network (see ulimit -n)");
}

Gate::~Gate() {
  ::close(epoll_);
  ::close(timer_);
}

void Gate::open() {
  const uint32_t closes = closes_.load();
  if (is_open_ && opened_after_ == closes) return;
  is_open_ = true;
  opened_after_ = closes;
  open_for_sleeper();
}

void Gate::open_for_sleeper() {
  for (const int fd : fds_)
    if (!change(epoll_, EPOLL_CTL_MOD, fd, true)) change(epoll_, EPOLL_CTL_ADD, fd, true);
}

void Gate::close() {
  for (const int fd : fds_) change(epoll_, EPOLL_CTL_MOD, fd, false);
  closes_.fetch_add(1);  // behind it: what was opened meanwhile is opened once more
}

void Gate::detach() {
  for (const int fd : fds_) change(epoll_, EPOLL_CTL_DEL, fd, false);
  closes_.fetch_add(1);
}

void Gate::wake_after(uint32_t ns) {
  due_until_ns_.store(now_ns() + ns + kSlackNs);
  itimerspec once{};
  once.it_value.tv_nsec = ns;
  timerfd_settime(timer_, 0, &once, nullptr);
}

bool Gate::call_off() {
  if (due_until_ns_.exchange(0) == 0) return false;
  const itimerspec never{};
  timerfd_settime(timer_, 0, &never, nullptr);
  return true;
}

bool Gate::clear() {
  const uint64_t until_ns = due_until_ns_.exchange(0);
  if (until_ns == 0) return false;
  uint64_t times;
  if (read(timer_, &times, sizeof times) >= 0) return true;
  due_until_ns_.store(until_ns);  // it has yet to run out
  return false;
}

}  // namespace portunus
