// Every function may be called from any thread at any time: several threads append, put, poll and wait on the same interface,
// share one event queue and one counting event, and allocate and free everything there is; in one process, where messages go
// by `self`, and in two, where they go through the node's rings.
//
// Thread: many; made for ThreadSanitizer. Nothing here depends on who is faster.
// Source: Portals 4.3, threads; event queues (each event goes to one of several waiters).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "tests/portals/alone.hpp"

namespace portals_test {
namespace {

constexpr int kSenders = 2;
constexpr uint64_t kMessages = 200;  // of each sender

// Puts and atomics from several threads to one process, whose threads share the queue of the events.
struct Traffic {
  explicit Traffic(unsigned options) {
    EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
    EXPECT_EQ(PtlGetPhysId(ni, &peer), PTL_OK);
    EXPECT_EQ(PtlEQAlloc(ni, 8192, &eq), PTL_OK);
    EXPECT_EQ(PtlPTAlloc(ni, 0, eq, 3, &pt), PTL_OK);
    EXPECT_EQ(PtlCTAlloc(ni, &acknowledged), PTL_OK);
    EXPECT_EQ(PtlCTAlloc(ni, &added), PTL_OK);
    ptl_me_t me = Alone::any_me(&sum, sizeof sum, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, added);
    me.match_bits = kSum;
    ptl_handle_me_t handle;
    EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
    // A message that no entry expects yet lands here and is found by the append that comes later.
    me = Alone::any_me(spare.data(), sizeof spare, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE);
    me.ignore_bits = ~uint64_t{0};
    EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_OVERFLOW_LIST, nullptr, &handle), PTL_OK);
  }
  ~Traffic() { EXPECT_EQ(PtlNIFini(ni), PTL_OK); }

  // Sends kMessages puts and as many additions, binding and releasing a descriptor for each.
  void send() {
    uint64_t value = 1;
    for (uint64_t i = 0; i < kMessages; ++i) {
      const ptl_md_t md{&value, sizeof value, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, acknowledged};
      ptl_handle_md_t handle;
      ASSERT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
      ASSERT_EQ(PtlPut(handle, 0, 8, PTL_CT_ACK_REQ, peer, pt, i % kMessages, 0, nullptr, i), PTL_OK);
      ASSERT_EQ(PtlAtomic(handle, 0, 8, PTL_CT_ACK_REQ, peer, pt, kSum, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
      ASSERT_EQ(PtlMDRelease(handle), PTL_OK);
      if (i % 16 == 0) quiet(2 * (i + 1));  // any of the senders' acknowledgements: a lower bound that surely comes
    }
    quiet(2 * kMessages * kSenders);
  }
  void quiet(uint64_t count) {
    ptl_ct_event_t value;
    int code;
    while ((code = PtlCTWait(acknowledged, count, &value)) == PTL_ABORTED) {
    }
    ASSERT_EQ(code, PTL_OK);
    ASSERT_EQ(value.failure, 0u);
  }
  // Appends an entry for each message of every sender, while they send.
  void append() {
    for (uint64_t i = 0; i < kMessages * kSenders; ++i) {
      ptl_me_t me = Alone::any_me(&landing[i], 8, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE);
      me.match_bits = i % kMessages;
      ptl_handle_me_t handle;
      ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &landing[i], &handle), PTL_OK);
    }
  }
  // Takes events, by all calls, until all messages are accounted for.
  void receive() {
    ptl_event_t events[4];
    unsigned which;
    for (int i = 0; taken.load() < kMessages * kSenders; ++i) {
      unsigned count = 1;
      const int code = i % 4 == 0   ? PtlEQGet(eq, events)
                       : i % 4 == 1 ? PtlEQPoll(&eq, 1, 2, events, &which)
                       : i % 4 == 2 ? PtlEQPoll(&eq, 1, 0, events, &which)
                                    : PtlxEQTake(eq, 0, events, 4, &count, nullptr, nullptr, nullptr);
      if (code == PTL_EQ_EMPTY || code == PTL_ABORTED) continue;
      ASSERT_EQ(code, PTL_OK);
      for (const ptl_event_t& event : std::span(events, count)) {
        ASSERT_TRUE(event.type == PTL_EVENT_PUT || event.type == PTL_EVENT_PUT_OVERFLOW) << int{event.type};
        ++seen[(static_cast<uint64_t*>(event.user_ptr) - landing.data())];
        ++taken;
      }
    }
  }
  void check() {
    ptl_ct_event_t value;
    while (PtlCTWait(added, kMessages * kSenders, &value) == PTL_ABORTED) {
    }
    EXPECT_EQ(sum, kMessages * kSenders);
    for (const auto& count : seen) EXPECT_EQ(count.load(), 1);
    ptl_event_t event;
    EXPECT_EQ(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
    EXPECT_EQ(PtlPTDisable(ni, pt), PTL_OK);
  }

  static constexpr uint64_t kSum = uint64_t{1} << 40;
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_process_t peer{};
  ptl_handle_eq_t eq = PTL_EQ_NONE;
  ptl_pt_index_t pt = 0;
  ptl_handle_ct_t acknowledged = PTL_CT_NONE, added = PTL_CT_NONE;
  uint64_t sum = 0;
  std::array<uint64_t, kMessages * kSenders> landing{};
  std::array<uint64_t, 8> spare{};
  std::array<std::atomic<int>, kMessages * kSenders> seen{};
  std::atomic<uint64_t> taken{0};
};

// Allocates and frees one of everything, over and over, and lets a chain of triggers run.
void come_and_go(ptl_handle_ni_t ni, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    ptl_handle_ct_t first, second;
    ptl_handle_eq_t eq;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    ptl_ct_event_t value{};
    ptl_event_t event;
    ASSERT_EQ(PtlCTAlloc(ni, &first), PTL_OK);
    ASSERT_EQ(PtlCTAlloc(ni, &second), PTL_OK);
    ASSERT_EQ(PtlEQAlloc(ni, 2u << (i % 6), &eq), PTL_OK);
    ASSERT_EQ(PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt), PTL_OK);
    const ptl_md_t all{nullptr, PTL_SIZE_MAX, 0, eq, first};
    ASSERT_EQ(PtlMDBind(ni, &all, &md), PTL_OK);
    ASSERT_EQ(PtlTriggeredCTInc(second, {1, 0}, first, 1), PTL_OK);
    ASSERT_EQ(PtlTriggeredCTInc(second, {1, 0}, first, 100), PTL_OK);
    ASSERT_EQ(PtlCTInc(first, {1, 0}), PTL_OK);
    int code;
    while ((code = PtlCTWait(second, 1, &value)) == PTL_ABORTED) {
    }
    ASSERT_EQ(code, PTL_OK);
    ptl_me_t me = Alone::any_me(&value, 0);
    me.options &= ~static_cast<unsigned>(PTL_ME_EVENT_LINK_DISABLE);
    ptl_handle_me_t handle;
    ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
    while ((code = PtlEQWait(eq, &event)) == PTL_ABORTED) {
    }
    ASSERT_EQ(code, PTL_OK);
    ASSERT_EQ(event.type, PTL_EVENT_LINK);
    ASSERT_EQ(PtlMESearch(ni, pt, &me, PTL_SEARCH_ONLY, nullptr), PTL_OK);
    ASSERT_EQ(PtlMEUnlink(handle), PTL_OK);
    ASSERT_EQ(PtlPTFree(ni, pt), PTL_OK);
    ASSERT_EQ(PtlMDRelease(md), PTL_OK);
    ASSERT_EQ(PtlEQFree(eq), PTL_OK);
    ASSERT_EQ(PtlCTFree(first), PTL_OK);
    ASSERT_EQ(PtlCTFree(second), PTL_OK);
    ASSERT_EQ(PtlCTGet(first, &value), PTL_ARG_INVALID);
  }
}

// Opens and closes an interface of another kind, and uses it.
void open_and_close(unsigned options, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    ptl_handle_ni_t ni, again;
    ASSERT_EQ(PtlInit(), PTL_OK);
    ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
    ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, nullptr, nullptr, &again), PTL_OK);
    ASSERT_EQ(PtlHandleIsEqual(ni, again), 1);
    ptl_process_t self;
    ASSERT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
    ptl_handle_ct_t ct;
    ASSERT_EQ(PtlCTAlloc(ni, &ct), PTL_OK);
    ptl_pt_index_t pt;
    ASSERT_EQ(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt), PTL_OK);
    uint64_t from = 5, to = 0;
    ptl_le_t le{&to, 8, ct, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM};
    ptl_handle_le_t entry;
    ASSERT_EQ(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
    const ptl_md_t md{&from, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
    ptl_handle_md_t handle;
    ASSERT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
    ASSERT_EQ(PtlPut(handle, 0, 8, PTL_NO_ACK_REQ, self, pt, 0, 0, nullptr, 0), PTL_OK);
    ptl_ct_event_t value;
    int code;
    while ((code = PtlCTWait(ct, 1, &value)) == PTL_ABORTED) {
    }
    ASSERT_EQ(code, PTL_OK);
    ASSERT_EQ(to, 5u);
    ASSERT_EQ(PtlNIFini(again), PTL_OK);
    ASSERT_EQ(PtlNIFini(ni), PTL_OK);
    PtlFini();
  }
}

void run(const std::vector<std::function<void()>>& jobs) {
  std::vector<std::thread> threads;
  for (const auto& job : jobs) threads.emplace_back(job);
  for (std::thread& thread : threads) thread.join();
}

// `rival` disturbs: the other interface comes and goes, waits are aborted.
void exchange(Traffic& traffic, bool rival) {
  std::vector<std::function<void()>> jobs = {[&] { traffic.append(); }, [&] { traffic.receive(); }, [&] { traffic.receive(); },
                                             [&] { come_and_go(traffic.ni, 60); }, [&] { come_and_go(traffic.ni, 60); }};
  for (int i = 0; i < kSenders; ++i) jobs.push_back([&] { traffic.send(); });
  if (rival) {
    jobs.push_back([] { open_and_close(kNonMatching, 30); });
    jobs.push_back([&] {
      for (int i = 0; i < 50; ++i) {
        PtlAbort();
        std::this_thread::yield();
      }
    });
  }
  run(jobs);
  traffic.check();
}

TEST(Threads, MayCallEverythingAtAnyTimeInOneProcess) {
  ASSERT_EQ(PtlInit(), PTL_OK);
  {
    Traffic traffic(kMatching);
    exchange(traffic, true);
  }
  PtlFini();
}

// The child's part: opens, tells where it is, waits for the peer's place and for the word to begin, then works.
[[noreturn]] void child(int out, int in) {
  EXPECT_EQ(PtlInit(), PTL_OK);
  {
    Traffic traffic(kMatching);
    const ptl_process_t self = traffic.peer;
    bool told = write(out, &self, sizeof self) == sizeof self;
    told = told && read(in, &traffic.peer, sizeof traffic.peer) == sizeof traffic.peer;
    EXPECT_TRUE(told);
    if (told) exchange(traffic, false);
    char done = 0;
    EXPECT_EQ(write(out, &done, 1), 1);
    EXPECT_EQ(read(in, &done, 1), 1);  // nobody leaves while the other still sends
  }
  PtlFini();
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(Threads, MayCallEverythingAtAnyTimeBetweenProcessesOfANode) {
  signal(SIGPIPE, SIG_IGN);  // what a child that died is told fails
  int up[2][2], down[2][2];
  pid_t pids[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(pipe(up[i]), 0);
    ASSERT_EQ(pipe(down[i]), 0);
    pids[i] = fork();
    if (pids[i] == 0) {
      for (int j = 0; j <= i; ++j) close(up[j][0]), close(down[j][1]);  // so that a parent that dies ends our reads
      child(up[i][1], down[i][0]);
    }
    close(up[i][1]);  // so that a child that dies ends our reads
    close(down[i][0]);
  }
  ptl_process_t ids[2] = {};
  char word = 0;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read(up[i][0], &ids[i], sizeof ids[i]), static_cast<ssize_t>(sizeof ids[i]));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(write(down[i][1], &ids[1 - i], sizeof ids[i]), static_cast<ssize_t>(sizeof ids[i]));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read(up[i][0], &word, 1), 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(write(down[i][1], &word, 1), 1);
  for (int i = 0; i < 2; ++i) {
    int status = -1;
    EXPECT_EQ(waitpid(pids[i], &status, 0), pids[i]);
    EXPECT_EQ(status, 0);
    close(up[i][0]);
    close(down[i][1]);
  }
}

// The thread that steps the engine writes it: this thread, the sender's or the engine's.
TEST(Threads, FindARecordWholeOnceTheySeeItsState) {
  ASSERT_EQ(PtlInit(), PTL_OK);
  ptl_handle_ni_t ni;
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kMatching, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
  ptl_process_t self;
  ptl_handle_eq_t eq;
  ptl_pt_index_t pt;
  ASSERT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
  ASSERT_EQ(PtlEQAlloc(ni, 8, &eq), PTL_OK);
  ASSERT_EQ(PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt), PTL_OK);
  std::array<ptlx_record_t, kMessages> records{};
  std::array<uint64_t, kMessages> rooms{};
  for (uint64_t i = 0; i < kMessages; ++i) {
    ptl_me_t me = Alone::any_me(&rooms[i], sizeof rooms[i],
                                PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE |
                                    PTLX_ME_COMPLETE_UNEXPECTED | PTLX_ME_RECORD);
    me.match_bits = i;
    ptl_handle_me_t handle;
    ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &records[i], &handle), PTL_OK);
  }
  run({[&] {
         uint64_t value = 0;
         const ptl_md_t md{&value, sizeof value, PTL_MD_VOLATILE, PTL_EQ_NONE, PTL_CT_NONE};
         ptl_handle_md_t handle;
         ASSERT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
         for (uint64_t i = 0; i < kMessages; ++i) {
           value = i + 1;
           ASSERT_EQ(PtlPut(handle, 0, sizeof value, PTL_NO_ACK_REQ, self, pt, i, 0, nullptr, 0), PTL_OK);
         }
       },
       [&] {
         uint64_t recorded = 0;
         for (uint64_t i = 0; i < kMessages; ++i) {
           ptl_event_t event;
           unsigned taken;
           while (std::atomic_ref<uint32_t>(records[i].state).load(std::memory_order_acquire) != PTLX_RECORDED)
             ASSERT_EQ(PtlxEQTake(eq, PTL_TIME_FOREVER, &event, 1, &taken, &recorded, nullptr, nullptr), PTL_OK);
           ASSERT_EQ(records[i].match_bits, i);
           ASSERT_EQ(records[i].mlength, sizeof rooms[i]);
           ASSERT_EQ(rooms[i], i + 1);
         }
       }});
  ASSERT_EQ(PtlNIFini(ni), PTL_OK);
  PtlFini();
}

// Closing looks at every slot, also at those that others release and claim anew at that moment.
TEST(Threads, MayBindAndReleaseWhileAnotherInterfaceCloses) {
  ASSERT_EQ(PtlInit(), PTL_OK);
  ptl_handle_ni_t ni;
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kMatching, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
  std::atomic<bool> closing{true};
  run({[&] {
         open_and_close(kNonMatching, 20);
         closing = false;
       },
       [&] {
         const ptl_md_t all{nullptr, PTL_SIZE_MAX, 0, PTL_EQ_NONE, PTL_CT_NONE};
         while (closing) {
           ptl_handle_md_t md;
           ASSERT_EQ(PtlMDBind(ni, &all, &md), PTL_OK);
           ASSERT_EQ(PtlMDRelease(md), PTL_OK);
         }
       }});
  ASSERT_EQ(PtlNIFini(ni), PTL_OK);
  PtlFini();
}

TEST(Threads, OfAFreshProcessMayAllOpenTheLibraryAtOnce) {
  for (int round = 0; round < 5; ++round)
    run({[] { open_and_close(kNonMatching, 3); }, [] { open_and_close(kNonMatching, 3); }, [] { open_and_close(kNonMatching, 3); }});
}

}  // namespace
}  // namespace portals_test
