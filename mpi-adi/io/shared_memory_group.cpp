// shared_memory_group.cpp: see shared_memory_group.hpp.
#include "mpi-adi/io/shared_memory_group.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <thread>

#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/io/portal.hpp"

namespace portunus::mpi::io {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kWordsRoom = kLine * SharedMemoryGroup::kWords;
constexpr uint64_t kBell = 6;  // a kind of message, beside the messenger's
constexpr size_t kMostKept = 16;

// Boards of this process, whether a file uses them or not.
struct Known {
  std::mutex mutex;
  std::vector<std::weak_ptr<SharedMemoryGroup>> all;
  std::vector<SharedMemoryGroup::Pointer> kept;
};
Known& known() {
  static Known& groups = *new Known;  // outlives whoever ends last
  return groups;
}

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// One writer each, but for `asleep`, which who rings takes back.
struct alignas(kLine) SharedMemoryGroup::Place {
  std::atomic<uint64_t> come;    // how many gathers have begun here
  std::atomic<uint64_t> asleep;  // the gather in which it sleeps; 0: it does not
  std::atomic<uint64_t> bell;    // which of its entries rings
  alignas(kLine) Record record[2];
};

SharedMemoryGroup::SharedMemoryGroup(const Communicator& comm)
    : members_(members_of(comm)),
      rank_(static_cast<size_t>(comm.rank)),
      looks_(members_.size() <= std::thread::hardware_concurrency() ? 2000 : 20) {}

SharedMemoryGroup::Word* SharedMemoryGroup::words() const { return std::launder(reinterpret_cast<Word*>(memory_.start())); }
SharedMemoryGroup::Place* SharedMemoryGroup::places() const { return std::launder(reinterpret_cast<Place*>(memory_.start() + kWordsRoom)); }

bool SharedMemoryGroup::open(int64_t number) {
  const size_t bytes = kWordsRoom + members_.size() * sizeof(Place);  // zeroed, as fresh memory is: no objects to make
  return (number == 0 ? memory_.make(bytes) : memory_.join(number, bytes)) && open_bell();
}

bool SharedMemoryGroup::open_bell() {
  static std::atomic<uint64_t> bells{0};
  const uint64_t own = bells.fetch_add(1, std::memory_order_relaxed) & 0xffffffff;
  int result = open_file_portal();
  if (result == PTL_OK) result = bell_.open(device::device.ni);
  if (result == PTL_OK) result = watch_all(deaths_, members_);
  if (result == PTL_OK) result = nothing_.bind_all(device::device.ni, PTL_MD_VOLATILE);
  if (result != PTL_OK) return false;
  ptl_me_t entry = client::entry_of(nullptr, 0, kQuietEntry | PTL_ME_EVENT_CT_COMM, file_bits(0, kBell, own), bell_);
  entry.uid = device::device.uid;
  if (entry_.append(device::device.ni, kFilePortal, entry) != PTL_OK) return false;
  places()[rank_].bell.store(own, std::memory_order_release);  // acquired by ring(), after `come`
  return true;
}

SharedMemoryGroup::Pointer SharedMemoryGroup::make(const Communicator& comm) {
  const std::vector<int> members = members_of(comm);
  std::lock_guard lock(known().mutex);
  auto& kept = known().kept;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const Pointer& group) { return group->members_ == members; });
  Pointer group;
  if (found != kept.end()) {
    group = *found;
    kept.erase(found);
    for (unsigned i = 0; i < kWords; ++i) group->words()[i].store(0, std::memory_order_relaxed);  // nobody uses it; told of by messages
    return group;
  }
  group = std::make_shared<SharedMemoryGroup>(comm);
  if (!group->open()) return nullptr;
  known().all.push_back(group);
  return group;
}

SharedMemoryGroup::Pointer SharedMemoryGroup::find(const Communicator& comm, int64_t number) {
  std::lock_guard lock(known().mutex);
  Known& groups = known();
  std::erase_if(groups.all, [](const std::weak_ptr<SharedMemoryGroup>& one) { return one.expired(); });
  for (const std::weak_ptr<SharedMemoryGroup>& one : groups.all)
    if (Pointer group = one.lock(); group && group->number() == number) {
      std::erase(groups.kept, group);
      return group;
    }
  auto group = std::make_shared<SharedMemoryGroup>(comm);
  if (!group->open(number)) return nullptr;
  groups.all.push_back(group);
  return group;
}

void SharedMemoryGroup::keep(Pointer group) {
  if (group == nullptr || group->broken_) return;
  std::lock_guard lock(known().mutex);
  auto& kept = known().kept;
  if (std::find(kept.begin(), kept.end(), group) == kept.end()) kept.push_back(std::move(group));
  if (kept.size() > kMostKept) kept.erase(kept.begin());
}
void SharedMemoryGroup::drop_kept() {
  std::vector<Pointer> gone;
  std::lock_guard lock(known().mutex);
  known().kept.swap(gone);
}

bool SharedMemoryGroup::all_have_come() const {
  const Place* all = places();
  for (size_t i = 0; i < members_.size(); ++i)
    if (all[i].come.load(std::memory_order_seq_cst) < gathers_) return false;  // acquires what gather() stores: the record
  return true;
}

// Wakes those who sleep in this gather; each is rung for once.
void SharedMemoryGroup::ring() {
  for (size_t i = 0; i < members_.size(); ++i) {
    Place& place = places()[i];
    uint64_t asleep = gathers_;
    if (i == rank_ || place.asleep.load(std::memory_order_seq_cst) != asleep || !place.asleep.compare_exchange_strong(asleep, 0)) continue;
    PtlPut(nothing_, 0, 0, PTL_NO_ACK_REQ, device::process(members_[i]), kFilePortal,
           file_bits(0, kBell, place.bell.load(std::memory_order_acquire)), 0, nullptr, 0);
  }
}

int SharedMemoryGroup::sleep() {
  Place& own = places()[rank_];
  own.asleep.store(gathers_, std::memory_order_seq_cst);
  uint64_t asleep = gathers_;
  // A rank that came after this was said has seen it; one that came before is seen now.
  if (all_have_come() && own.asleep.compare_exchange_strong(asleep, 0)) return MPI_SUCCESS;
  return deaths_.await(bell_, ++rings_) ? MPI_SUCCESS : MPI_ERR_PROC_ABORTED;
}

int SharedMemoryGroup::gather(const Record& own, std::vector<Record>& all) {
  const std::lock_guard lock(mutex_);
  all.assign(members_.size(), own);
  if (broken_) return MPI_ERR_PROC_ABORTED;
  ++gathers_;
  const size_t set = gathers_ % 2;  // the other one may be being read by who has not come to this gather
  places()[rank_].record[set] = own;
  places()[rank_].come.store(gathers_, std::memory_order_seq_cst);
  bool here = all_have_come();
  if (here) ring();
  for (int i = 1; !here && i <= looks_; ++i) {
    pause();
    if (i % 256 == 0) PtlxProgress();
    here = all_have_come();
  }
  if (!here && sleep() != MPI_SUCCESS) {
    broken_ = true;
    return MPI_ERR_PROC_ABORTED;
  }
  for (size_t i = 0; i < members_.size(); ++i) all[i] = places()[i].record[set];
  return MPI_SUCCESS;
}

}  // namespace portunus::mpi::io
