// board.cpp: see board.hpp.
#include "mpi-adi/collectives/board.hpp"

#include <sched.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "mpi-adi/core/adi.hpp"
#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/comm/nodes.hpp"
#include "mpi-adi/core/settings.hpp"

namespace portunus::mpi::collectives {
namespace {

// What it takes to end a collective.
enum class Needs : uint8_t { everybody, only_root, all_for_root };

Needs needs(Kind kind) {
  switch (kind) {
    case Kind::bcast:
    case Kind::scatter:
      return Needs::only_root;
    case Kind::gather:
    case Kind::reduce:
      return Needs::all_for_root;
    default:
      return Needs::everybody;
  }
}

constexpr size_t kMostMemory = 16 << 20;  // of all boards of a process: many communicators must not fill the node's shared memory
std::atomic<size_t> memory_in_use{0};

uint64_t digest(const Key& key) {
  return uint64_t{key.bytes} << 48 | uint64_t{static_cast<uint32_t>(key.root)} << 24 | uint64_t{static_cast<uint8_t>(key.kind)} << 16 |
         uint64_t{key.type} << 8 | key.op;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Board::Board(const Communicator& comm, CallLog& log) : log_(log), rank_(static_cast<size_t>(comm.rank)), size_(static_cast<size_t>(comm.size)) {}

Board::~Board() {
  if (deaths_ != PTL_CT_NONE) PtlCTFree(deaths_);
  memory_in_use.fetch_sub(memory_, std::memory_order_relaxed);
}

// Whether this rank can reach all others through memory, wake them and learn of their deaths.
bool Board::prepare(const Communicator& comm) {
  memory_ = size_ * sizeof(Place);
  if (memory_in_use.fetch_add(memory_, std::memory_order_relaxed) + memory_ > kMostMemory) return false;
  watches_.resize(size_);
  ptlx_engine_info_t engine;
  if (PtlxEngineInfo(&engine) != PTL_OK || PtlCTAlloc(adi::device.ni, &deaths_) != PTL_OK) return false;
  crowded_ = engine.oversubscribed != 0;
  for (size_t i = 0; i < size_; ++i) {
    const ptl_process_t member = adi::process(comm.job_rank(static_cast<int>(i)));
    if (PtlxNodeWatch(adi::device.ni, member, &watches_[i]) != PTL_OK) return false;
    if (i == rank_) continue;
    if (PtlxTransport(adi::device.ni, member, nullptr) != PTLX_TRANSPORT_NODE) return false;
    if (PtlxCTWatch(deaths_, member) != PTL_OK) return false;
  }
  return true;
}

std::unique_ptr<Board> Board::make(Communicator& comm, CallLog& log, int& code) {
  code = GOAL_SUCCESS;
  if (comm.inter || comm.size < 2 || comm.size > kMostRanks) return nullptr;
  for (int i = 0; i < comm.size; ++i)
    if (!same_node(comm.job_rank(i), comm.job_rank(0))) return nullptr;
  std::unique_ptr<Board> board(new Board(comm, log));
  const Exchange all(comm);
  std::vector<std::byte*> bases;
  uint64_t well = settings.board && board->prepare(comm);
  if (all.all_and(&well, 1) == MPI_SUCCESS && well) {
    well = share_memory(comm, sizeof(Place), board->segment_, bases);
    // The same decision everywhere: to miss a rank is another thing than to have no memory.
    if (all.all_and(&well, 1) != MPI_SUCCESS) code = GOAL_ERR_FAILED;
  } else if (well) {
    code = GOAL_ERR_FAILED;
  }
  if (code != GOAL_SUCCESS || !well) return nullptr;
  for (std::byte* base : bases) board->places_.push_back(reinterpret_cast<Place*>(base));
  return board;
}

bool Board::takes(const Work& work) const {
  switch (work.key.kind) {
    case Kind::barrier:
    case Kind::bcast:
    case Kind::gather:
    case Kind::allgather:
    case Kind::reduce:
    case Kind::allreduce:
      return work.key.bytes <= kRoom;
    case Kind::scatter:
    case Kind::alltoall:
      return work.key.bytes <= kRoom / size_;
    default:
      return false;
  }
}

bool Board::lost() const {
  ptl_ct_event_t count;
  return PtlCTGet(deaths_, &count) != PTL_OK || count.failure > 0;
}

// Wakes those who sleep until this rank has come, or anybody.
void Board::ring() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the load comes after the store, see PtlxNodeRing
  for (size_t i = 0; i < size_; ++i) {
    if (i == rank_) continue;
    if (std::atomic_ref<uint32_t>(*watches_[i].watched).load(std::memory_order_relaxed) & kWatchBit) PtlxNodeRing(&watches_[i]);
  }
}

// When somebody has waited for long. The clock is read now and then only.
class Alarm {
 public:
  bool rings() {
    if (++looks_ % 64 != 0) return false;
    const auto now = std::chrono::steady_clock::now();
    if (looks_ == 64) return set(now);
    return now >= when_;
  }
  void wind() {
    patience_ *= 2;
    set(std::chrono::steady_clock::now());
  }

 private:
  bool set(std::chrono::steady_clock::time_point now) {
    when_ = now + patience_;
    return false;
  }
  unsigned looks_ = 0;
  std::chrono::milliseconds patience_{adi::kPatience};
  std::chrono::steady_clock::time_point when_;
};

// False: it will never be, because somebody has died or called something else.
template <class Ready>
bool Board::await(Ready&& ready) {
  constexpr int kSpins = 200, kYields = 16;  // without a look at the engine, which costs as much again as giving up the core
  if (ready()) return true;
  for (int i = 0; !crowded_ && i < kSpins; ++i) {
    relax();
    if (ready()) return true;
  }
  for (int i = 0; crowded_ && i < kYields; ++i) {
    sched_yield();
    if (ready()) return true;
  }
  struct Waiting {
    Ready& ready;
    const Board& board;
    bool is_ready = false, is_late = false;
    Alarm alarm{};
  } waiting{ready, *this};
  do {
    if (std::exchange(waiting.is_late, false)) waiting.alarm.wind();
    PtlxWait(
        [](void* arg) -> int {
          auto& self = *static_cast<Waiting*>(arg);
          return (self.is_ready = self.ready()) || self.board.lost() || (self.is_late = self.alarm.rings());
        },
        &waiting, kWatchBit);
  } while (waiting.is_late && !log_.differs());
  return waiting.is_ready;
}

template <class Has>
bool Board::await_all(Has&& has) {
  size_t next = 0;
  return await([&] {
    while (next < size_ && (next == rank_ || has(next))) ++next;
    return next == size_;
  });
}

// Writes this rank's contribution into its slot, as soon as nobody reads there any more.
bool Board::post(const Work& work) {
  if (number_ > kSlots && begun_by_all_ <= number_ - kSlots) {
    const uint64_t behind = number_ - kSlots + 1;
    if (!await_all([&](size_t i) { return places_[i]->begun.load(std::memory_order_acquire) >= behind; })) return false;
    begun_by_all_ = behind;
  }
  Slot& mine = slot(rank_);
  mine.what = digest(work.key);
  work.fill(mine.data);
  mine.number.store(number_, std::memory_order_release);
  return true;
}

// Whether those whose contributions this rank takes mean the same collective.
bool Board::fits(const Work& work) const {
  const Needs what = needs(work.key.kind);
  if (work.key.kind == Kind::barrier || (what == Needs::all_for_root && rank_ != static_cast<size_t>(work.key.root))) return true;
  const uint64_t expected = digest(work.key);
  if (what == Needs::only_root) return slot(static_cast<size_t>(work.key.root)).what == expected;
  for (size_t i = 0; i < size_; ++i)
    if (slot(i).what != expected) return false;
  return true;
}

// Gives the user the `bytes` that lie behind the first `from` of all contributions, one after the other or combined.
void Board::collect(const Work& work, size_t from, size_t bytes) {
  if (gathered_.size() < size_ * bytes) gathered_.resize(size_ * bytes);
  for (size_t i = 0; i < size_ && bytes > 0; ++i) std::memcpy(gathered_.data() + i * bytes, slot(i).data + from, bytes);
  if (work.key.kind == Kind::reduce || work.key.kind == Kind::allreduce)
    work.fold(gathered_.data(), size_);
  else
    work.drain(gathered_.data());
}

int Board::run(const Work& work) {
  if (failed_) return failure();
  ++number_;
  const Kind kind = work.key.kind;
  const Needs what = needs(kind);
  const auto root = static_cast<size_t>(work.key.root);
  const size_t bytes = work.key.bytes;
  const bool contributes = kind != Kind::barrier && (what != Needs::only_root || rank_ == root);
  failed_ = contributes && !post(work);
  if (failed_) return failure();
  places_[rank_]->begun.store(number_, std::memory_order_release);
  if (what != Needs::everybody) ring();
  const auto has_posted = [&](size_t i) { return slot(i).number.load(std::memory_order_acquire) == number_; };
  if (kind == Kind::barrier)
    failed_ = !await_all([&](size_t i) { return places_[i]->begun.load(std::memory_order_acquire) >= number_; });
  else if (what == Needs::everybody || (what == Needs::all_for_root && rank_ == root))
    failed_ = !await_all(has_posted);
  else if (what == Needs::only_root && rank_ != root)
    failed_ = !await([&] { return has_posted(root); });
  if (failed_) return failure();
  // Who finds all of them there need not have slept; the last to come never has. Who sleeps is rung once, not by each that comes.
  if (what == Needs::everybody) {
    begun_by_all_ = number_;
    ring();
  }
  if (!fits(work)) [[unlikely]]
    return kMisfit;
  if (kind == Kind::bcast && rank_ != root) work.drain(slot(root).data);
  if (kind == Kind::scatter) work.drain(slot(root).data + rank_ * bytes);
  if (kind == Kind::alltoall) collect(work, rank_ * bytes, bytes);
  if (kind == Kind::allgather || kind == Kind::allreduce || (what == Needs::all_for_root && rank_ == root)) collect(work, 0, bytes);
  return GOAL_SUCCESS;
}

}  // namespace portunus::mpi::collectives
