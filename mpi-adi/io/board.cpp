// board.cpp: see board.hpp.
#include "mpi-adi/io/board.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <thread>

#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/adi.hpp"
#include "mpi-adi/io/portal.hpp"

namespace portunus::mpi::io {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kWordsRoom = kLine * Board::kWords;
constexpr uint64_t kBell = 6;  // a kind of message, beside the wire's
constexpr size_t kMostKept = 16;

// Boards of this process, whether a file uses them or not.
struct Known {
  std::mutex mutex;
  std::vector<std::weak_ptr<Board>> all;
  std::vector<Board::Pointer> kept;
};
Known& known() {
  static Known& boards = *new Known;  // outlives whoever ends last
  return boards;
}

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// One writer each, but for `asleep`, which who rings takes back.
struct alignas(kLine) Board::Place {
  std::atomic<uint64_t> come;    // how many gathers have begun here
  std::atomic<uint64_t> asleep;  // the gather in which it sleeps; 0: it does not
  std::atomic<uint64_t> bell;    // which of its entries rings
  alignas(kLine) Record record[2];
};

Board::Board(const Communicator& comm)
    : members_(members_of(comm)),
      rank_(static_cast<size_t>(comm.rank)),
      looks_(members_.size() <= std::thread::hardware_concurrency() ? 2000 : 20) {}

Board::Word* Board::words() const { return std::launder(reinterpret_cast<Word*>(memory_.start())); }
Board::Place* Board::places() const { return std::launder(reinterpret_cast<Place*>(memory_.start() + kWordsRoom)); }

bool Board::open(int64_t number) {
  const size_t bytes = kWordsRoom + members_.size() * sizeof(Place);  // zeroed, as fresh memory is: no objects to make
  return (number == 0 ? memory_.make(bytes) : memory_.join(number, bytes)) && open_bell();
}

bool Board::open_bell() {
  static std::atomic<uint64_t> bells{0};
  const uint64_t own = bells.fetch_add(1, std::memory_order_relaxed) & 0xffffffff;
  int result = open_file_portal();
  if (result == PTL_OK) result = bell_.open(adi::device.ni);
  if (result == PTL_OK) result = watch_all(deaths_, members_);
  if (result == PTL_OK) result = nothing_.bind_all(adi::device.ni, PTL_MD_VOLATILE);
  if (result != PTL_OK) return false;
  ptl_me_t entry = client::entry_of(nullptr, 0, kQuietEntry | PTL_ME_EVENT_CT_COMM, file_bits(0, kBell, own), bell_);
  entry.uid = adi::device.uid;
  if (entry_.append(adi::device.ni, kFilePortal, entry) != PTL_OK) return false;
  places()[rank_].bell.store(own, std::memory_order_release);  // acquired by ring(), after `come`
  return true;
}

Board::Pointer Board::make(const Communicator& comm) {
  const std::vector<int> members = members_of(comm);
  std::lock_guard lock(known().mutex);
  auto& kept = known().kept;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const Pointer& board) { return board->members_ == members; });
  Pointer board;
  if (found != kept.end()) {
    board = *found;
    kept.erase(found);
    for (unsigned i = 0; i < kWords; ++i) board->words()[i].store(0, std::memory_order_relaxed);  // nobody uses it; told of by messages
    return board;
  }
  board = std::make_shared<Board>(comm);
  if (!board->open()) return nullptr;
  known().all.push_back(board);
  return board;
}

Board::Pointer Board::find(const Communicator& comm, int64_t number) {
  std::lock_guard lock(known().mutex);
  Known& boards = known();
  std::erase_if(boards.all, [](const std::weak_ptr<Board>& one) { return one.expired(); });
  for (const std::weak_ptr<Board>& one : boards.all)
    if (Pointer board = one.lock(); board && board->number() == number) {
      std::erase(boards.kept, board);
      return board;
    }
  auto board = std::make_shared<Board>(comm);
  if (!board->open(number)) return nullptr;
  boards.all.push_back(board);
  return board;
}

void Board::keep(Pointer board) {
  if (board == nullptr || board->broken_) return;
  std::lock_guard lock(known().mutex);
  auto& kept = known().kept;
  if (std::find(kept.begin(), kept.end(), board) == kept.end()) kept.push_back(std::move(board));
  if (kept.size() > kMostKept) kept.erase(kept.begin());
}
void Board::drop_kept() {
  std::vector<Pointer> gone;
  std::lock_guard lock(known().mutex);
  known().kept.swap(gone);
}

bool Board::all_have_come() const {
  const Place* all = places();
  for (size_t i = 0; i < members_.size(); ++i)
    if (all[i].come.load(std::memory_order_seq_cst) < gathers_) return false;  // acquires what gather() stores: the record
  return true;
}

// Wakes those who sleep in this gather; each is rung for once.
void Board::ring() {
  for (size_t i = 0; i < members_.size(); ++i) {
    Place& place = places()[i];
    uint64_t asleep = gathers_;
    if (i == rank_ || place.asleep.load(std::memory_order_seq_cst) != asleep || !place.asleep.compare_exchange_strong(asleep, 0)) continue;
    PtlPut(nothing_, 0, 0, PTL_NO_ACK_REQ, adi::process(members_[i]), kFilePortal,
           file_bits(0, kBell, place.bell.load(std::memory_order_acquire)), 0, nullptr, 0);
  }
}

int Board::sleep() {
  Place& own = places()[rank_];
  own.asleep.store(gathers_, std::memory_order_seq_cst);
  uint64_t asleep = gathers_;
  // Who came after this was said has seen it; who came before is seen now.
  if (all_have_come() && own.asleep.compare_exchange_strong(asleep, 0)) return MPI_SUCCESS;
  return deaths_.await(bell_, ++rings_) ? MPI_SUCCESS : MPI_ERR_PROC_ABORTED;
}

int Board::gather(const Record& own, std::vector<Record>& all) {
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
