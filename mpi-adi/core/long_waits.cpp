// long_waits.cpp: see long_waits.hpp.
#include "mpi-adi/core/long_waits.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/request/request.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi::device::long_waits {
namespace {

constexpr uint64_t kStale = 3'000'000'000;  // a wait of which nothing was told for so long has ended

std::atomic<size_t> own_threads = 0;  // of the library
std::atomic<bool> silent{false};

size_t threads() {
  size_t count = 0;
  if (DIR* folder = opendir("/proc/self/task")) {
    while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
    closedir(folder);
  }
  return count;
}

// The call of MPI that is nearest to the user on this thread's stack.
std::string call_here() {
  std::array<void*, 64> frames;
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  std::string call = "MPI";
  for (int i = 0; i < depth; ++i) {
    Dl_info info{};
    const ElfW(Sym)* symbol = nullptr;
    const auto address = reinterpret_cast<uintptr_t>(frames[static_cast<size_t>(i)]) - 1;
    if (dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) == 0 ||
        info.dli_sname == nullptr || symbol == nullptr || address - reinterpret_cast<uintptr_t>(info.dli_saddr) >= symbol->st_size)
      continue;
    const char* name = info.dli_sname + (std::strncmp(info.dli_sname, "PMPI", 4) == 0);
    if (std::strncmp(name, "MPI_", 4) == 0 || std::strncmp(name, "MPIX_", 5) == 0) call = name;
  }
  return call;
}

std::string name_of(const Communicator& comm) { return comm.name[0] != '\0' ? comm.name : "a communicator without name"; }

std::string with_tag(int tag) { return tag == MPI_ANY_TAG ? "with any tag" : "with tag " + std::to_string(tag); }

// A message that has come, and is not the one that is waited for.
std::string other_message(const Communicator& comm, ptl_rank_t source) {
  for (const bool elsewhere : {false, true}) {
    ptl_event_t found;
    const Pattern any = pattern(comm.context, MPI_ANY_SOURCE, MPI_ANY_TAG);
    if (find(source, {any.match_bits, elsewhere ? ~ptl_match_bits_t{0} : any.ignore_bits}, nullptr, found) != PTL_OK) return "";
    if (found.ni_fail_type != PTL_NI_OK) continue;
    return "; rank " + std::to_string(source_of(found.match_bits)) + " has sent " + std::to_string(found.rlength) + " bytes " +
           with_tag(tag_of(found.match_bits)) + (elsewhere ? " on another communicator" : "");
  }
  return "";
}

// The wait that one thread has told of last.
struct Told {
  std::thread::id thread;
  uint64_t since, looked;
  std::string call;
  Wait wait;
};
std::mutex mutex;
std::vector<Told>& all_told() {
  static auto& all = *new std::vector<Told>;
  return all;
}

}  // namespace

uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void count_threads(bool started) { own_threads = threads() - (started ? own_threads.load() : 0); }

void add_own_threads(int count) { own_threads += static_cast<size_t>(count); }

void be_silent() { silent.store(true, std::memory_order_relaxed); }

void Wait::may_end_by(int job_rank) {
  const int own = job_rank - world().job_rank(0);
  if (own < 0 || own >= world().size) known = false;  // of another job
  else ranks.push_back(static_cast<ptl_rank_t>(own));
}

void Wait::may_end_by(const Communicator& comm) {
  for (const Group* side : {comm.group, comm.remote_group})
    for (int i = 0; side != nullptr && i < side->size; ++i) may_end_by(side->job_rank(i));
}

void Wait::or_else(const Wait& other) {
  what += what.empty() ? other.what : ", or " + other.what;
  known = known && other.known;
  ranks.insert(ranks.end(), other.ranks.begin(), other.ranks.end());
}

Wait of_message(const Communicator& comm, int source, int tag) {
  Wait wait;
  wait.what = "a message from " + (source == MPI_ANY_SOURCE ? "any rank" : "rank " + std::to_string(source)) + " " + with_tag(tag) +
              " on " + name_of(comm);
  if (source == MPI_ANY_SOURCE) wait.may_end_by(comm);
  else wait.may_end_by(comm.job_rank(source));
  wait.what += other_message(comm, source == MPI_ANY_SOURCE ? PTL_RANK_ANY : static_cast<ptl_rank_t>(comm.job_rank(source)));
  return wait;
}

constexpr int kMostNamed = 4;  // parts of one operation

Wait of_request(const Request& request) {
  Wait wait;
  const Attachment* const attached = request.special ? request.attached : nullptr;
  if (request.comm != nullptr && attached != nullptr)
    if (const std::string others = attached->awaited(); !others.empty()) return of_all(others, *request.comm);
  if (attached != nullptr) {
    Wait any;
    int parts = 0;
    attached->visit_parts([&](const Request& part) {
      const Wait one = of_request(part);
      if (parts++ < kMostNamed) return any.or_else(one);
      any.known = any.known && one.known;
      any.ranks.insert(any.ranks.end(), one.ranks.begin(), one.ranks.end());
    });
    if (parts > kMostNamed) any.what += ", or " + std::to_string(parts - kMostNamed) + " others";
    if (parts > 0) return any;
  }
  wait.known = request.comm != nullptr && (attached == nullptr || attached->is_message());
  if (!wait.known) return wait;
  const Communicator& comm = *request.comm;
  if (!request.receives) {
    wait.may_end_by(static_cast<int>(request.requested));
    wait.what = "its message " + with_tag(tag_of(request.match_bits)) + " on " + name_of(comm) + " to be received by rank " +
                std::to_string(comm.peer_group().member(static_cast<int>(request.requested)));
    return wait;
  }
  ptl_match_bits_t bits = 0, ignored = 0;
  if (PtlxMEGet(request.entry, &bits, &ignored) != PTL_OK) {
    wait.known = false;
    return wait;
  }
  const bool any = request.source == MPI_ANY_SOURCE;
  if ((bits ^ match_bits(comm.context, 0, 0)) >> (envelope.source_bits + kTagBits) != 0) {
    wait.what = "another rank to come to the same call";
    if (any) wait.may_end_by(comm);
    else wait.may_end_by(request.source);
    return wait;
  }
  return of_message(comm, any ? MPI_ANY_SOURCE : source_of(bits), (ignored & kTagMask) != 0 ? MPI_ANY_TAG : tag_of(bits));
}

Wait of_all(const std::string& what, const Communicator& comm) {
  Wait wait;
  wait.what = what + " on " + name_of(comm);
  wait.may_end_by(comm);
  return wait;
}

void tell(const Wait& wait, bool again, uint64_t looked_ns) {
  // Waits end by errors if a rank has died, or a communicator was revoked.
  if (!wait.known || wait.ranks.empty() || silent.load(std::memory_order_relaxed) || failures.count.load(std::memory_order_relaxed) != 0)
    return;
  const uint64_t time = looked_ns != 0 ? looked_ns : now();
  const std::lock_guard lock(mutex);
  std::vector<Told>& told = all_told();
  std::erase_if(told, [time](const Told& each) { return time > each.looked + kStale; });
  const auto self = std::this_thread::get_id();
  auto mine = std::find_if(told.begin(), told.end(), [self](const Told& each) { return each.thread == self; });
  if (mine == told.end()) mine = told.insert(told.end(), Told{self, time, time, call_here(), wait});
  if (!again || mine->wait.what != wait.what) *mine = Told{self, time, time, call_here(), wait};
  mine->looked = time;
  if (device.threaded && told.size() + own_threads < threads()) return;
  Wait whole;
  uint64_t since = 0, looked = time;
  for (const Told& each : told) {
    whole.or_else(each.wait);
    since = std::max(since, each.since);
    looked = std::min(looked, each.looked);
  }
  std::sort(whole.ranks.begin(), whole.ranks.end());
  whole.ranks.erase(std::unique(whole.ranks.begin(), whole.ranks.end()), whole.ranks.end());
  const ptlx_long_wait_t all{
      mine->call.c_str(), whole.what.c_str(), whole.ranks.data(), static_cast<unsigned>(whole.ranks.size()), since, looked};
  PtlxTellWait(&all);
}

void tell(const Request& request) { tell(of_request(request), true); }

}  // namespace portunus::mpi::device::long_waits
