// gate.hpp: what the engine thread sleeps on beside its bell: descriptors that end its sleep, or do not, as others decide meanwhile.
//
// While an application thread waits and looks at descriptors itself, they need not wake another. Who sleeps in poll(2) sleeps on what it
// has named; here that is one descriptor, which is readable only while the gate is open and one of those behind it is.
//
// Thread: open, close and detach, whoever sleeps on it; close also any other, of which a sleeper that opens it at once may know nothing:
// then it is woken once for nothing. The rest any. Cost: a system call of less than a microsecond for each descriptor. Source: epoll(7),
// timerfd_create(2).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace portunus {

class Gate {
 public:
  explicit Gate(std::vector<int> fds);  // closed; throws std::system_error
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open();  // no system call where nobody has closed it since
  // The same from another thread, which changes what that one is to be woken by while it sleeps. One who closes it meanwhile may come
  // before or behind.
  void open_for_sleeper();
  void close();
  // Closed, and those behind it do not even look at it when they become readable; to open it costs more then.
  void detach();
  // It is readable once after so many ns, open or not.
  void wake_after(uint32_t ns);
  // Whether it may still come, or has come and the sleeper has yet to say so. For a while after its time: two who set the timer, or call it
  // off, at once may leave the mark behind.
  bool is_due(uint64_t now_ns) const { return now_ns < due_until_ns_.load(); }
  // Not, then. False: it has been so already.
  bool call_off();
  // The sleeper is awake: what wake_after has brought about is over. True: that was it.
  bool clear();
  int fd() const { return epoll_; }

 private:
  std::vector<int> fds_;
  int epoll_ = -1, timer_ = -1;
  static constexpr uint64_t kSlackNs = 1'000'000;
  std::atomic<uint64_t> due_until_ns_{0};  // not 0: the timer runs, or has run out and the sleeper has yet to say so
  std::atomic<uint32_t> closes_{0};
  uint32_t opened_after_ = 0;  // so many of them; the sleeper's
  bool is_open_ = false;
};

}  // namespace portunus
