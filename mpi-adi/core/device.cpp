// device.cpp: opens what device.hpp sends and receives with, and the barrier that ends MPI.
//
// Thread: the one that calls MPI_Init and MPI_Finalize.
// Source: Portals 4.3; Hensgen, Finkel, Manber 1988 (dissemination barrier).
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "engine/goal/goal.h"
#include "engine/goal/goal_call.h"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/continuation/continuation.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/core/settings.hpp"
#include "mpi-adi/pt2pt/signatures.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::device {

constinit Device device;

namespace {

constexpr int kMaxRounds = std::bit_width(unsigned{kMaxRanks - 1});

// The barrier before stop(): whoever ends is not to be taken for one that calls MPI_Barrier, so its messages are its own. Round r:
// tell the rank 2^r above, hear from the rank 2^r below. Each round has a counter and an entry that feeds it, there from the
// start: whoever comes early finds it.
struct Barrier {
  int rank = 0;
  int size = 1;
  int rounds = 0;
  ptl_handle_md_t md = PTL_INVALID_HANDLE;
  std::array<ptl_handle_ct_t, kMaxRounds> heard{};
  std::array<ptl_process_t, kMaxRounds> from{};
  // The wishes of all ranks that a rank has heard of, for what to do before the ranks meet once more.
  std::array<uint64_t, kMaxRounds> said{}, told{};
  ptl_size_t uses = 0;
};
constinit Barrier last;

int open_barrier(Barrier& state, int rank, int size) {
  state.rank = rank;
  state.size = size;
  state.rounds = std::bit_width(static_cast<unsigned>(size - 1));
  ptl_md_t word{};
  word.start = state.said.data();
  word.length = sizeof state.said;
  word.eq_handle = PTL_EQ_NONE;
  word.ct_handle = PTL_CT_NONE;
  int result = PtlMDBind(device.ni, &word, &state.md);
  for (int round = 0; round < state.rounds && result == PTL_OK; ++round) {
    result = PtlCTAlloc(device.ni, &state.heard[round]);
    if (result != PTL_OK) break;
    ptl_me_t entry =
        client::entry_of(&state.told[static_cast<size_t>(round)], sizeof state.told[0],
                         PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | client::kQuiet, static_cast<ptl_match_bits_t>(round), state.heard[round]);
    entry.uid = device.uid;
    entry.match_id = process((rank - (1 << round) % size + size) % size);
    ptl_handle_me_t handle;
    result = PtlMEAppend(device.ni, kBarrierPortal, &entry, PTL_PRIORITY_LIST, nullptr, &handle);
    state.from[round] = entry.match_id;
  }
  return result;
}

int open_last_barrier(int rank, int size) {
  ptl_pt_index_t portal;
  const int result = PtlPTAlloc(device.ni, 0, PTL_EQ_NONE, kBarrierPortal, &portal);
  return result == PTL_OK ? open_barrier(last, rank, size) : result;
}

// As much as there is: what is not used costs nothing.
ptl_ni_limits_t generous() {
  ptl_ni_limits_t limits{};
  for (int* count : {&limits.max_entries, &limits.max_unexpected_headers, &limits.max_mds, &limits.max_cts, &limits.max_eqs,
                     &limits.max_pt_index, &limits.max_iovecs, &limits.max_list_size, &limits.max_triggered_ops})
    *count = INT_MAX;
  for (ptl_size_t* size : {&limits.max_msg_size, &limits.max_atomic_size, &limits.max_fetch_atomic_size, &limits.max_waw_ordered_size,
                           &limits.max_war_ordered_size, &limits.max_volatile_size})
    *size = PTL_SIZE_MAX;
  return limits;
}

// The entry at which signals to oneself end; sending them is all that counts.
int open_signals() {
  ptl_pt_index_t portal;
  const int result = PtlPTAlloc(device.ni, 0, PTL_EQ_NONE, kSignalPortal, &portal);
  if (result != PTL_OK) return result;
  ptl_me_t entry{};
  entry.ct_handle = PTL_CT_NONE;
  entry.uid = device.uid;
  entry.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;
  entry.match_id = device.self;
  ptl_handle_me_t handle;
  return PtlMEAppend(device.ni, kSignalPortal, &entry, PTL_PRIORITY_LIST, nullptr, &handle);
}

// The memory of windows; they append to it.
int open_windows() {
  ptl_pt_index_t portal;
  return PtlPTAlloc(device.ni, 0, PTL_EQ_NONE, kWindowPortal, &portal);
}

int bind_ways(unsigned options, ptl_handle_md_t& copied, ptl_handle_md_t& sent, ptl_handle_md_t& header_first,
              ptl_handle_md_t& synchronous) {
  int result = client::bind_all(device.ni, options | PTL_MD_VOLATILE, PTL_CT_NONE, PTL_EQ_NONE, copied);
  if (result == PTL_OK) result = client::bind_all(device.ni, options, PTL_CT_NONE, device.eq, sent);
  if (result == PTL_OK) result = client::bind_all(device.ni, options | PTLX_MD_HEADER_FIRST, PTL_CT_NONE, device.eq, header_first);
  if (result == PTL_OK) result = client::bind_all(device.ni, options | PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, device.eq, synchronous);
  return result;
}

// A portal table entry for messages, with the overflow entry behind the receives. It is closed, with an event, rather than losing a message
// for want of memory.
int open_portal(ptl_pt_index_t index, unsigned counted, ptl_handle_ct_t counter) {
  ptl_pt_index_t portal;
  const int result = PtlPTAlloc(device.ni, PTL_PT_ONLY_TRUNCATE | PTL_PT_FLOWCTRL, device.eq, index, &portal);
  if (result != PTL_OK) return result;
  ptl_me_t early = client::entry_for_all(PTL_ME_OP_PUT | PTLX_ME_HOLD | client::kQuiet | counted, counter);
  early.uid = device.uid;
  ptl_handle_me_t handle;
  return PtlMEAppend(device.ni, index, &early, PTL_OVERFLOW_LIST, nullptr, &handle);
}

int open_messages(uint32_t event_slots) {
  int result = PtlEQAlloc(device.ni, event_slots, &device.eq);
  if (result == PTL_OK) result = PtlCTAlloc(device.ni, &device.arrived_early);
  if (result == PTL_OK) result = open_portal(kMessagePortal, PTL_ME_EVENT_CT_COMM, device.arrived_early);
  if (result == PTL_OK) result = open_portal(kControlPortal, 0, PTL_CT_NONE);
  if (result == PTL_OK) result = PtlxPTLimitHeld(device.ni, kMessagePortal, settings.unexpected_buffer(), settings.unexpected_limit);
  if (result == PTL_OK) result = bind_ways(0, device.md_copied, device.md_sent, device.md_long, device.md_synchronous);
  if (result == PTL_OK)
    result = bind_ways(PTLX_MD_LAYOUT, device.md_copied_layout, device.md_sent_layout, device.md_long_layout, device.md_synchronous_layout);
  return result;
}

}  // namespace

// As many as an interface with so many objects can have events for: it has fewer where `ulimit -v` leaves little room.
uint32_t event_slots_for(int objects) {
  uint32_t slots = kEventSlots;
  while (slots / 2 >= static_cast<uint32_t>(objects) && slots > 4 * kBlockingCalls) slots /= 2;
  return slots;
}

const char* start(bool threaded, ptlx_job_t& job) {
  if (const char* complaint = read_settings()) return complaint;
  read_debug();
  if (PtlxJobInit(&job) != PTL_OK) return "the job cannot be joined";
  if (job.size > kMaxRanks) return "the job has more ranks than this library can address (2^20)";
  const int rank = job.rank, size = job.size;
  envelope = envelope_for(size);
  if (PtlInit() != PTL_OK) return "the network cannot be started";
  const ptl_ni_limits_t desired = generous();
  ptl_ni_limits_t actual;
  if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, &desired, &actual, &device.ni) != PTL_OK)
    return "no network interface can be opened";
  const uint32_t event_slots = event_slots_for(actual.max_entries);
  if (!pool.open(threaded, event_slots)) return "there is no memory for the requests";
  signatures::open();
  if (PendingSteps::open() != PTL_OK) return "other libraries of this process leave no place among those that look for messages";
  device.threaded = threaded;
  device.thread = &this_thread;
  device.eager_limit = settings.eager_limit;
  device.kept_limit = settings.eager_limit != Settings::kNoLimit ? settings.eager_limit : 0;
  device.copy_limit = std::min<ptl_size_t>(settings.eager_limit, actual.max_volatile_size);
  if (debug.very_short > 0) device.copy_limit = std::min<ptl_size_t>(device.copy_limit, debug.very_short);
  device.ordered_limit = static_cast<int64_t>(std::min<ptl_size_t>(actual.max_waw_ordered_size, INT64_MAX));
  device.throttled = PtlxThrottled();
  device.self = process(rank);
  if (PtlGetUid(device.ni, &device.uid) != PTL_OK || open_messages(event_slots) != PTL_OK || open_signals() != PTL_OK ||
      open_windows() != PTL_OK || ulfm::open() != PTL_OK || open_last_barrier(rank, size) != PTL_OK)
    return "the network has not enough room for what MPI needs; other libraries of this process may use it up";
  if (!open_failures(size)) return "there is no memory for the states of the ranks";
  if (ptlx_engine_info_t engine; settings.info && rank == 0 && PtlxEngineInfo(&engine) == PTL_OK) {
    print_settings(stdout);
    std::printf("%-24s %12s  what carries messages of this rank\n", "transports", engine.transports);
  }
  // Nobody sends before everybody has opened all of the above. The last step of GOAL_Init is a fence, unless another library has
  // begun with GOAL on this interface before, on all ranks alike.
  const bool begun = PtlGetMap(device.ni, 0, nullptr, nullptr) == PTL_OK;
  if (GOAL_Init(nullptr, nullptr) != GOAL_SUCCESS) return GOAL_Explain();
  if (const char* complaint = open_processes(size, job.first)) return complaint;
  return !begun || PtlxJobFence() == PTL_OK ? nullptr : "the other ranks do not answer; has one of them ended?";
}

void stop() {
  continuation::stop();
  GOAL_Finalize();
  close_failures();
  PtlNIFini(device.ni);  // frees all that belongs to it
  PtlFini();
  PtlxJobFini();
}

int last_barrier(uint64_t& wishes) {
  ++last.uses;
  for (int round = 0; round < last.rounds; ++round) {
    if (int result = PtlxCTWatch(last.heard[round], last.from[round]); result != PTL_OK) return result;
  }
  bool failed = false;  // who misses somebody goes on all the same, lest others miss it, too
  for (int round = 0; round < last.rounds; ++round) {
    const auto place = static_cast<size_t>(round);
    last.said[place] = wishes;
    int result =
        PtlPut(last.md, place * sizeof last.said[0], sizeof last.said[0], PTL_NO_ACK_REQ, process((last.rank + (1 << round)) % last.size),
               kBarrierPortal, static_cast<ptl_match_bits_t>(round), 0, nullptr, 0);
    if (result != PTL_OK) return result;
    ptl_ct_event_t heard;
    while ((result = wait_for_count(last.heard[round], last.uses, kLongAsleep, heard)) == PTL_CT_NONE_REACHED)
      long_waits::tell(long_waits::of_all("the others in MPI_Finalize", world()), true);
    if (result != PTL_OK) return result;
    failed = failed || heard.success < last.uses;
    wishes &= last.told[place];
  }
  if (failed) wishes = 0;
  return failed ? PTL_FAIL : PTL_OK;
}

void abort(int status, const char* message) {
  PtlxJobAbort(status, message);
  __builtin_unreachable();
}

void show_error(const char* message) {
  const bool core = PtlxDebug("core") != 0;
  if (!core && PtlxDebug("stack") == 0) return;
  std::array<void*, 64> frames;
  if (core) std::fprintf(stderr, "%s\n", message);
  std::fprintf(stderr, "the stack of this error, process %d:\n", static_cast<int>(getpid()));
  std::fflush(nullptr);
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
  if (core) std::abort();
}

void abort_by_error(int status, const char* message) {
  show_error(message);
  abort(status, message);
}

}  // namespace portunus::mpi::device
