// Every wait ends when what it waits for is freed, when its interface is closed, and at PtlAbort.
//
// Thread: one for each wait, all asleep before the end comes, where they sleep at all.
// Source: Portals 4.3, event queues, counting events, initialisation (PtlAbort).
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/portals/alone.hpp"

namespace portals_test {
namespace {

struct Objects {
  ptl_handle_ni_t ni;
  ptl_handle_eq_t eq;
  ptl_handle_ct_t ct;
};

struct Wait {
  const char* name;
  int (*call)(const Objects&);
};
constexpr Wait kWaits[] = {
    {"PtlEQWait",
     [](const Objects& of) {
       ptl_event_t event;
       return PtlEQWait(of.eq, &event);
     }},
    {"PtlEQPoll",
     [](const Objects& of) {
       ptl_event_t event;
       unsigned which;
       return PtlEQPoll(&of.eq, 1, PTL_TIME_FOREVER, &event, &which);
     }},
    {"PtlxEQTake",
     [](const Objects& of) {
       ptl_event_t event;
       unsigned taken;
       return PtlxEQTake(of.eq, PTL_TIME_FOREVER, &event, 1, &taken, nullptr, nullptr, nullptr);
     }},
    {"PtlCTWait",
     [](const Objects& of) {
       ptl_ct_event_t value;
       return PtlCTWait(of.ct, 1, &value);
     }},
    {"PtlCTPoll",
     [](const Objects& of) {
       ptl_ct_event_t value;
       unsigned which;
       const ptl_size_t test = 1;
       return PtlCTPoll(&of.ct, &test, 1, PTL_TIME_FOREVER, &value, &which);
     }},
};

struct End {
  const char* name;
  int code;  // of the waits
  void (*come)(const Objects&);
};
constexpr End kEnds[] = {
    {"freed", PTL_ARG_INVALID,
     [](const Objects& of) {
       EXPECT_EQ(PtlEQFree(of.eq), PTL_OK);
       EXPECT_EQ(PtlCTFree(of.ct), PTL_OK);
     }},
    {"closed", PTL_ARG_INVALID, [](const Objects& of) { EXPECT_EQ(PtlNIFini(of.ni), PTL_OK); }},
    {"aborted", PTL_ABORTED, [](const Objects&) { PtlAbort(); }},
};

// Does the thread sleep in the kernel? One that spins does not, and one that was not there yet may just sleep on its way.
bool sleeps(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  std::FILE* file = std::fopen(path.c_str(), "r");
  char state = '?';
  if (file != nullptr) {
    if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
    std::fclose(file);
  }
  return state == 'S';
}

class Waiter {
 public:
  Waiter(const Wait& wait, const Objects& of, int expected)
      : thread_([this, &wait, of, expected] {
          id_ = static_cast<pid_t>(syscall(SYS_gettid));
          int code = wait.call(of);
          while (code == PTL_ABORTED && expected != code) code = wait.call(of);
          EXPECT_EQ(code, expected) << wait.name;
          over_ = true;
        }) {}
  ~Waiter() { thread_.join(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  bool over() const { return over_; }
  void settle() const {
    constexpr int kLooks = 3000;
    while (id_ == 0) std::this_thread::yield();
    for (int i = 0; i < kLooks && !sleeps(id_); ++i) std::this_thread::yield();
  }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST(Waits, EndWithWhatTheyWaitFor) {
  ASSERT_EQ(PtlInit(), PTL_OK);
  for (const End& end : kEnds)
    for (const bool together : {false, true})
      for (const Wait& wait : kWaits) {
        SCOPED_TRACE(std::string(wait.name) + " " + end.name);
        Objects of{};
        ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kMatching, PTL_PID_ANY, nullptr, nullptr, &of.ni), PTL_OK);
        ASSERT_EQ(PtlEQAlloc(of.ni, 8, &of.eq), PTL_OK);
        ASSERT_EQ(PtlCTAlloc(of.ni, &of.ct), PTL_OK);
        {
          std::vector<std::unique_ptr<Waiter>> waiters;
          waiters.push_back(std::make_unique<Waiter>(wait, of, end.code));
          for (const Wait& other : kWaits)
            if (together) waiters.push_back(std::make_unique<Waiter>(other, of, end.code));
          for (const auto& waiter : waiters) waiter->settle();
          end.come(of);
          // A thread that was just before its wait is not aborted: once more, until all have been there.
          for (const auto& waiter : waiters)
            while (end.code == PTL_ABORTED && !waiter->over()) PtlAbort(), std::this_thread::yield();
        }
        if (end.come != kEnds[1].come) {
          EXPECT_EQ(PtlNIFini(of.ni), PTL_OK);
        }
        if (together) break;
      }
  PtlFini();
}

}  // namespace
}  // namespace portals_test
