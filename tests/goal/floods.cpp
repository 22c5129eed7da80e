// floods.cpp: schedules that ranks run again and again ahead of one that computes: what their messages occupy there, and at them, has a
// bound that does not depend on how many runs there are; and each run receives the data of its like.
//
// All ranks but 0 send to rank 0, which makes no call until each of them has ended all its runs or waits. Exit status 0 when all is well.
// Source: goal.h, "Running ahead".
#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine/goal/goal.h"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"
#include "tests/support/flood.hpp"
#include "tests/support/thorough.hpp"

namespace {

constexpr long long kSlack = 20 << 20;  // rings, libfabric's buffers, the allocator

int rank, size;

void must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "rank %d: %s (%s)\n", rank, what, GOAL_Explain());
  std::exit(1);
}
void must(int code, const char* what) { must(code == GOAL_SUCCESS, what); }

// A word of each rank that others add to, beside GOAL's own interface.
struct Told {
  static constexpr ptl_pt_index_t kEntry = 60;
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_handle_md_t md = PTL_INVALID_HANDLE;
  ptl_handle_ct_t arrived = PTL_INVALID_HANDLE;
  uint64_t count = 0;

  void open() {
    ptl_pt_index_t index = 0;
    ptl_handle_le_t handle;
    must(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni), "no interface");
    must(PtlxJobMap(ni), "no map");
    must(PtlCTAlloc(ni, &arrived), "no counter");
    must(PtlPTAlloc(ni, 0, PTL_EQ_NONE, kEntry, &index), "no portal table entry");
    ptl_le_t entry{&count, sizeof count, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_LINK_DISABLE | PTL_LE_EVENT_COMM_DISABLE};
    must(PtlLEAppend(ni, kEntry, &entry, PTL_PRIORITY_LIST, nullptr, &handle), "no entry");
    ptl_md_t all{nullptr, PTL_SIZE_MAX, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, arrived};
    must(PtlMDBind(ni, &all, &md), "no descriptor");
  }
  void tell(ptl_rank_t to) {
    static const uint64_t one = 1;
    ptl_ct_event_t before, after;
    PtlCTGet(arrived, &before);
    ptl_process_t target{};
    target.rank = to;
    must(PtlAtomic(md, reinterpret_cast<ptl_size_t>(&one), sizeof one, PTL_CT_ACK_REQ, target, kEntry, 0, 0, nullptr, 0, PTL_SUM,
                   PTL_UINT64_T),
         "nobody can be told");
    PtlCTWait(arrived, before.success + 1, &after);
  }
  [[nodiscard]] uint64_t seen() const { return std::atomic_ref<const uint64_t>(count).load(std::memory_order_acquire); }
};
Told told;

struct Flood {
  const char* name;
  size_t messages, bytes;  // of each run
  int runs;
  long long bound;  // of what each sender's messages occupy: 64 MiB, or less where 256 runs have less
  unsigned copies;  // that take turns under one context
};
constexpr Flood kFloods[] = {
    {"512 messages of 8 KiB", 512, 8 << 10, 100, 64 << 20, 1},
    {"a message of 4 KiB", 1, 4 << 10, 5'000, 1 << 20, 1},
    {"a message of 8 bytes", 1, 8, 200'000, 1 << 20, 1},
    {"no data", 4, 0, 40'000, 1 << 20, 1},
    {"12 messages of 4 KiB, by two copies", 12, 4 << 10, 2'000, 16 << 20, 2},
    {"4 messages of 1 MiB", 4, 1 << 20, 20, 1 << 20, 1},
};

// A message holds this at both of its ends.
uint64_t mark_of(int from, int run, size_t message) {
  return (static_cast<uint64_t>(from) << 56 | static_cast<uint64_t>(run) << 24 | message) * 0x9e3779b97f4a7c15;
}
struct Ends {
  std::byte* memory;
  size_t bytes;
  void write(uint64_t mark) const {
    if (bytes < sizeof mark) return;
    std::memcpy(memory, &mark, sizeof mark);
    std::memcpy(memory + bytes - sizeof mark, &mark, sizeof mark);
  }
  [[nodiscard]] bool hold(uint64_t mark) const {
    return bytes < sizeof mark ||
           (std::memcmp(memory, &mark, sizeof mark) == 0 && std::memcmp(memory + bytes - sizeof mark, &mark, sizeof mark) == 0);
  }
};

GOAL_Schedule compiled(const Flood& flood, std::vector<std::byte>& memory, unsigned context, unsigned epoch) {
  GOAL_Schedule s;
  must(GOAL_Create(&s), "no schedule");
  std::byte* place = memory.data();
  for (int other = 1; other < size; ++other)
    for (size_t i = 0; i < flood.messages && (rank == 0 || rank == other); ++i, place += flood.bytes) {
      if (rank == 0) must(GOAL_Recv(s, GOAL_User(place), flood.bytes, other, 0, nullptr), "no receive");
      else must(GOAL_Send(s, GOAL_User(place), flood.bytes, 0, 0, nullptr), "no send");
    }
  if (flood.copies > 1) {
    must(GOAL_Context(s, context), "no context");
    must(GOAL_Epoch(s, epoch), "no epoch");
  }
  must(GOAL_Compile(s), "not compiled");
  return s;
}

struct Sampled {
  const long long before = portunus::test::resident_bytes();
  long long most = 0;
  void look() { most = std::max(most, portunus::test::resident_bytes() - before); }
};

// Until the run has ended. A sender that sees none end for many looks is held, and tells rank 0 to go on.
void wait_for(GOAL_Request& request, bool& has_told, Sampled& memory) {
  constexpr int kLooks = 500;
  int done = 0;
  for (int look = 0; rank != 0 && !has_told && !done; ++look) {
    must(GOAL_Test(&request, &done), "a run failed");
    if (!done) sched_yield();
    if (done || look < kLooks) continue;
    memory.look();
    told.tell(0);
    has_told = true;
  }
  must(GOAL_Wait(&request), "a run failed");
}

bool is_bounded(const Flood& flood, unsigned number) {
  const int runs = static_cast<int>(portunus::test::runs(static_cast<uint32_t>(flood.runs)));
  const auto senders = static_cast<size_t>(size - 1);
  std::vector<std::byte> memory(flood.messages * flood.bytes * (rank == 0 ? senders : 1) + 1);
  std::vector<GOAL_Schedule> schedules;
  for (unsigned i = 0; i < flood.copies; ++i) schedules.push_back(compiled(flood, memory, number, 0));
  told.count = 0;
  GOAL_Schedule all_here = nullptr;
  must(GOAL_Create(&all_here), "no schedule");
  for (int other = 0; other < size; ++other) {
    must(GOAL_Send(all_here, GOAL_User(nullptr), 0, other, 1, nullptr), "no send");
    must(GOAL_Recv(all_here, GOAL_User(nullptr), 0, other, 1, nullptr), "no receive");
  }
  must(GOAL_Compile(all_here), "not compiled");
  const auto meet = [&] {
    GOAL_Request request;
    must(GOAL_Run(all_here, &request), "not begun");
    must(GOAL_Wait(&request), "nobody met");
  };
  malloc_trim(0);
  meet();
  Sampled sampled;
  if (rank == 0)
    for (; told.seen() < senders; sampled.look()) sched_yield();
  bool has_told = false;
  for (int run = 0; run < runs; ++run) {
    GOAL_Schedule& s = schedules[static_cast<size_t>(run) % flood.copies];
    if (flood.copies > 1) {  // each run is that of another copy, which counts on
      must(GOAL_Free(&s), "not freed");
      s = compiled(flood, memory, number, static_cast<unsigned>(run));
    }
    if (rank != 0)
      for (size_t i = 0; i < flood.messages; ++i) Ends{&memory[i * flood.bytes], flood.bytes}.write(mark_of(rank, run, i));
    GOAL_Request request;
    must(GOAL_Run(s, &request), "a run cannot begin");
    wait_for(request, has_told, sampled);
    for (size_t i = 0; rank == 0 && i < flood.messages * senders; ++i) {
      const Ends message{&memory[i * flood.bytes], flood.bytes};
      must(message.hold(mark_of(static_cast<int>(i / flood.messages) + 1, run, i % flood.messages)),
           "a run received what another has sent");
    }
    if (run % 64 == 0) sampled.look();
  }
  sampled.look();
  if (rank != 0 && !has_told) told.tell(0);
  meet();
  for (GOAL_Schedule& s : schedules) must(GOAL_Free(&s), "not freed");
  must(GOAL_Free(&all_here), "not freed");
  const long long bound = flood.bound * (rank == 0 ? size - 1 : 1) + kSlack;
  if (std::getenv("FLOODS_VERBOSE"))
    std::printf("%s: rank %d: %lld KiB%s\n", flood.name, rank, sampled.most >> 10, has_told ? ", was held" : "");
  if (portunus::test::kSanitized || sampled.most <= bound) return true;
  std::fprintf(stderr, "%s: %d runs take %lld KiB at rank %d\n", flood.name, runs, sampled.most >> 10, rank);
  return false;
}

}  // namespace

int main() {
  portunus::test::use_one_arena();
  must(GOAL_Init(&rank, &size), "no GOAL");
  told.open();
  bool good = true;
  unsigned number = 0;
  for (const Flood& flood : kFloods) good = is_bounded(flood, number++) && good;
  PtlNIFini(told.ni);
  must(GOAL_Finalize(), "not closed");
  return good ? 0 : 1;
}
