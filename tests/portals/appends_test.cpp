// An append that has returned is in force: whatever follows it, also what another process learns through memory outside Portals, meets
// the entry. Source: Portals 4.3, PtlMEAppend ("list entries" are searched in the order of their appends), PTL_EVENT_PUT_OVERFLOW.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/portals/job.hpp"

namespace portals_test {
namespace {

constexpr int kRounds = 200;

// Two words that ranks 0 and 1 share without Portals: how far each has come.
class Told {
 public:
  Told() {
    struct Place {
      pid_t process;
      int file;
    } place{getpid(), -1};
    if (rank() == 0) {
      place.file = memfd_create("told", MFD_CLOEXEC);
      EXPECT_EQ(ftruncate(place.file, 4096), 0);
    }
    static int generation = 0;
    const std::string key = "told." + std::to_string(++generation);
    EXPECT_EQ(PtlxJobPut(key.c_str(), &place, sizeof place), PTL_OK);
    fence();
    size_t size = sizeof place;
    EXPECT_EQ(PtlxJobGet(0, key.c_str(), &place, &size), PTL_OK);
    file_ = rank() == 0
                ? place.file
                : open(("/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.file)).c_str(), O_RDWR | O_CLOEXEC);
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    words_ = memory == MAP_FAILED ? nullptr : static_cast<std::atomic<int>*>(memory);
    fence();  // the file is open everywhere
  }
  ~Told() {
    if (words_) munmap(words_, 4096);
    if (file_ >= 0) close(file_);
  }
  bool possible() const { return words_ != nullptr; }
  void tell(int how_far) { words_[rank()].store(how_far, std::memory_order_release); }
  // Looks into the queue `idle`, which stays empty, so that this process is stepped where no engine thread does it.
  void await(int of_rank, int how_far, ptl_handle_eq_t idle) const {
    ptl_event_t event;
    while (words_[of_rank].load(std::memory_order_acquire) < how_far) {  // pairs with tell
      EXPECT_EQ(PtlEQGet(idle, &event), PTL_EQ_EMPTY);
      sched_yield();
    }
  }

 private:
  int file_ = -1;
  std::atomic<int>* words_ = nullptr;
};

struct Appends : Portals {
  ptl_handle_eq_t idle = PTL_EQ_NONE;
  void SetUp() override {
    Portals::SetUp();
    ASSERT_EQ(PtlEQAlloc(ni, 4, &idle), PTL_OK);
  }

  // Rank 1 puts a word to rank 0, and hears what became of it.
  void put_and_hear(ptl_handle_md_t md, ptl_handle_eq_t acks, uint64_t* word, uint64_t bits, ptl_pt_index_t table) {
    ASSERT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(word), sizeof *word, PTL_ACK_REQ, process(0), table, bits, 0, nullptr, 0), PTL_OK);
    ptl_event_t event;
    do ASSERT_EQ(PtlEQWait(acks, &event), PTL_OK);
    while (event.type != PTL_EVENT_ACK);
    EXPECT_EQ(event.ni_fail_type, PTL_NI_OK) << "put " << bits;
  }

  void puts_follow_appends(ptl_pt_index_t table) {
    Told told;
    ASSERT_TRUE(told.possible());
    uint64_t word = 0;
    const ptl_handle_ct_t arrived = counter();
    const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, eq);
    for (int round = 1; round <= kRounds; ++round) {
      const auto bits = static_cast<uint64_t>(round);
      if (rank() == 0) {
        ptl_me_t me{};
        me.start = &word;
        me.length = sizeof word;
        me.ct_handle = arrived;
        me.uid = PTL_UID_ANY;
        me.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE |
                     PTL_ME_EVENT_CT_COMM;
        me.match_id.rank = PTL_RANK_ANY;
        me.match_bits = bits;
        ptl_handle_me_t handle;
        ASSERT_EQ(PtlMEAppend(ni, table, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
        told.tell(round);
        told.await(1, round, idle);
      } else if (rank() == 1) {
        told.await(0, round, idle);
        put_and_hear(md, eq, &word, bits, table);
        told.tell(round);
      }
    }
    ptl_ct_event_t count{};
    if (rank() == 0) {
      EXPECT_EQ(PtlCTGet(arrived, &count), PTL_OK);
      EXPECT_EQ(count.success, static_cast<ptl_size_t>(kRounds));
    }
    fence();
  }
};

TEST_F(Appends, MeetWhatFollowsThem) {
  if (ranks() < 2) GTEST_SKIP() << "needs two ranks";
  puts_follow_appends(pt);
}

TEST_F(Appends, KeepTablesWithFlowControlOpen) {
  if (ranks() < 2) GTEST_SKIP() << "needs two ranks";
  ptl_handle_eq_t events;
  ptl_pt_index_t table;
  ASSERT_EQ(PtlEQAlloc(ni, 64, &events), PTL_OK);
  ASSERT_EQ(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, events, PTL_PT_ANY, &table), PTL_OK);
  fence();
  puts_follow_appends(table);
  ptl_event_t event;
  EXPECT_EQ(PtlEQGet(events, &event), PTL_EQ_EMPTY) << "event " << event.type;  // PTL_EVENT_PT_DISABLED would be one
}

TEST_F(Appends, HaveToldOfHeadersThatWereThereWhenTheyReturn) {
  if (ranks() < 2) GTEST_SKIP() << "needs two ranks";
  Told told;
  ASSERT_TRUE(told.possible());
  uint64_t word = 7;
  std::vector<uint64_t> unexpected(static_cast<size_t>(kRounds) + 1);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, eq);
  if (rank() == 0)
    entry(unexpected.data(), unexpected.size() * sizeof(uint64_t),
          PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE, PTL_CT_NONE, 0, ~uint64_t{0},
          PTL_OVERFLOW_LIST);
  fence();
  for (int round = 1; round <= kRounds; ++round) {
    const auto bits = static_cast<uint64_t>(round);
    if (rank() == 0) {
      told.await(1, round, idle);
      entry(&word, sizeof word, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, PTL_CT_NONE, bits);
      ptl_event_t event{};
      ASSERT_EQ(PtlEQGet(eq, &event), PTL_OK) << "round " << round << ": looked once, and it was not there";
      EXPECT_EQ(event.type, PTL_EVENT_PUT_OVERFLOW);
      EXPECT_EQ(event.match_bits, bits);
      told.tell(round);
    } else if (rank() == 1) {
      put_and_hear(md, eq, &word, bits, pt);
      told.tell(round);
      told.await(0, round, idle);
    }
  }
  fence();
}

}  // namespace
}  // namespace portals_test
