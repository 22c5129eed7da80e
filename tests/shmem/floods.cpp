// floods.cpp: operations that nobody waits for, to a PE that takes none for a long time: what they keep at their origin has a bound that
// does not depend on how many there are, whatever call issues them.
//
// PE 1 stops PE 0 and issues operations. A process beside it lets PE 0 go on when PE 1 has issued none for many looks: it waits inside a
// call, or has issued all. Exit status 0 when all is well. Source: OpenSHMEM 1.6, 9.6 to 9.8; Portals 4.3, data movement.
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"
#include "tests/support/flood.hpp"
#include "tests/support/thorough.hpp"

namespace {

constexpr long long kBound = 48 << 20;  // 16384 messages and what waits for their answers

// Words that PE 1 and the process beside it share.
struct Watched {
  std::atomic<int> stopped{0};  // the process that is to go on; 0: none
  std::atomic<long> issued{0};
};
Watched& watched() {
  static auto* const page = new (mmap(nullptr, sizeof(Watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Watched;
  return *page;
}

[[noreturn]] void let_go_on_what_is_stopped() {
  constexpr int kLooks = 2'000;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    const long before = watched().issued;
    int looks = 0;
    while (looks < kLooks && watched().issued == before) ++looks, sched_yield();
    if (looks < kLooks) continue;
    if (const int process = watched().stopped.exchange(0)) kill(process, SIGCONT);
  }
}

// Portals of its own beside OpenSHMEM's: memory of PE 0 that all may access.
struct Portals {
  static constexpr ptl_pt_index_t kEntry = 60;
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_handle_md_t md = PTL_INVALID_HANDLE;
  ptl_handle_ct_t ct = PTL_INVALID_HANDLE;
  ptl_process_t target{};
  uint64_t room[4]{}, mine[4]{}, result[4]{};

  void begin(int pe) {
    PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni);
    PtlxJobMap(ni);
    PtlCTAlloc(ni, &ct);
    ptl_md_t all{nullptr, PTL_SIZE_MAX, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, ct};
    PtlMDBind(ni, &all, &md);
    target.rank = 0;
    ptl_pt_index_t index = 0;
    if (pe != 0) return;
    PtlPTAlloc(ni, 0, PTL_EQ_NONE, kEntry, &index);
    ptl_le_t entry{room, sizeof room, PTL_CT_NONE, PTL_UID_ANY,
                   PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_EVENT_LINK_DISABLE | PTL_LE_EVENT_COMM_DISABLE};
    ptl_handle_le_t handle;
    PtlLEAppend(ni, kEntry, &entry, PTL_PRIORITY_LIST, nullptr, &handle);
  }
  ptl_size_t at(const void* place) const { return reinterpret_cast<ptl_size_t>(place); }
};

Portals portals;
long *memory, local[32];
uint64_t* signals;

struct Flood {
  const char* call;
  long times;
  std::function<void()> issue;
};
const Flood kFloods[] = {
    {"shmem_p", 100'000, [] { shmem_long_p(memory, 1, 0); }},
    {"shmem_putmem", 100'000, [] { shmem_putmem(memory, local, 8, 0); }},
    {"shmem_putmem_nbi", 300'000, [] { shmem_putmem_nbi(memory, local, 8, 0); }},
    {"shmem_putmem_nbi and shmem_fence", 10'000,
     [] {
       shmem_putmem_nbi(memory, local, 8, 0);
       shmem_fence();
     }},
    {"shmem_getmem_nbi", 300'000, [] { shmem_getmem_nbi(local, memory, 8, 0); }},
    {"shmem_iput", 10'000, [] { shmem_long_iput(memory, local, 2, 2, 16, 0); }},
    {"shmem_atomic_add", 100'000, [] { shmem_long_atomic_add(memory, 1, 0); }},
    {"shmem_atomic_fetch_add_nbi", 300'000, [] { shmem_long_atomic_fetch_add_nbi(local, memory, 1, 0); }},
    {"shmem_putmem_signal_nbi", 3'000, [] { shmem_putmem_signal_nbi(memory, local, 8, signals, 1, SHMEM_SIGNAL_ADD, 0); }},
    {"PtlPut", 300'000,
     [] { PtlPut(portals.md, portals.at(portals.mine), 8, PTL_NO_ACK_REQ, portals.target, portals.kEntry, 0, 0, nullptr, 0); }},
    {"PtlPut with PTL_CT_ACK_REQ", 300'000,
     [] { PtlPut(portals.md, portals.at(portals.mine), 8, PTL_CT_ACK_REQ, portals.target, portals.kEntry, 0, 0, nullptr, 0); }},
    {"PtlGet", 300'000, [] { PtlGet(portals.md, portals.at(portals.result), 8, portals.target, portals.kEntry, 0, 0, nullptr); }},
    {"PtlAtomic", 300'000,
     [] {
       PtlAtomic(portals.md, portals.at(portals.mine), 8, PTL_NO_ACK_REQ, portals.target, portals.kEntry, 0, 0, nullptr, 0, PTL_SUM,
                 PTL_UINT64_T);
     }},
    {"PtlFetchAtomic", 300'000,
     [] {
       PtlFetchAtomic(portals.md, portals.at(portals.result), portals.md, portals.at(portals.mine), 8, portals.target, portals.kEntry, 0, 0,
                      nullptr, 0, PTL_SUM, PTL_UINT64_T);
     }},
    {"PtlSwap", 300'000,
     [] {
       PtlSwap(portals.md, portals.at(portals.result), portals.md, portals.at(portals.mine), 8, portals.target, portals.kEntry, 0, 0,
               nullptr, 0, nullptr, PTL_SWAP, PTL_UINT64_T);
     }},
};

bool is_bounded(const Flood& flood, int target) {
  const long long before = portunus::test::resident_bytes();
  long long most = 0;
  kill(target, SIGSTOP);
  watched().stopped = target;
  for (long i = 1; i <= static_cast<long>(portunus::test::runs(static_cast<uint32_t>(flood.times))); ++i) {
    flood.issue();
    watched().issued.fetch_add(1, std::memory_order_relaxed);
    if (i % 1024 == 0) most = std::max(most, portunus::test::resident_bytes() - before);
  }
  shmem_quiet();
  // A get comes back after all that was sent before it.
  ptl_ct_event_t replies;
  PtlCTGet(portals.ct, &replies);
  PtlGet(portals.md, portals.at(portals.result), 8, portals.target, portals.kEntry, 0, 0, nullptr);
  PtlCTWait(portals.ct, replies.success + 1, &replies);
  most = std::max(most, portunus::test::resident_bytes() - before);
  if (std::getenv("FLOODS_VERBOSE")) std::printf("%s: %lld KiB\n", flood.call, most >> 10);
  if (portunus::test::kSanitized || most <= kBound) return true;
  std::fprintf(stderr, "%s: %ld of them keep %lld KiB at their origin\n", flood.call, flood.times, most >> 10);
  return false;
}

}  // namespace

int main() {
  portunus::test::use_one_arena();
  watched();
  const pid_t beside = fork();
  if (beside == 0) let_go_on_what_is_stopped();
  shmem_init();
  static long process;
  process = getpid();
  memory = static_cast<long*>(shmem_calloc(64, sizeof *memory));
  signals = static_cast<uint64_t*>(shmem_calloc(1, sizeof *signals));
  portals.begin(shmem_my_pe());
  shmem_barrier_all();
  bool good = true;
  if (shmem_my_pe() == 1) {
    const int target = static_cast<int>(shmem_long_g(&process, 0));
    for (const Flood& flood : kFloods) good = is_bounded(flood, target) && good;
  }
  shmem_barrier_all();
  PtlNIFini(portals.ni);
  shmem_finalize();
  kill(beside, SIGKILL);
  waitpid(beside, nullptr, 0);
  return good ? 0 : 1;
}
