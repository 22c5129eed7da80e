// windows.cpp: collective transfers by way of aggregators, window by window.
//
// All puts are begun at once and wait at their target, by their headers, until there is room; an aggregator fills one window
// while it writes another. What is read goes the other way: entries for all of it stand before anything is sent.
#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>

#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/io/two_phase.hpp"

namespace portunus::mpi::io {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

// The lowest ranks of all nodes, then the second ones, and so on: `count` of them.
std::vector<int> choose_aggregators(const Communicator& comm, size_t count) {
  std::vector<std::pair<int, int>> order;  // how many of its node come before, rank
  for (int i = 0; i < comm.size; ++i) {
    int before = 0;
    for (int j = 0; j < i; ++j) before += same_node(comm.job_rank(j), comm.job_rank(i));
    order.emplace_back(before, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> chosen;
  for (size_t i = 0; i < std::min(count, order.size()); ++i) chosen.push_back(order[i].second);
  return chosen;
}

// Data in memory, or at their places in a window's buffer, for the engine.
struct Place {
  Pieces pieces;
  Memory memory;
  int64_t from;
  bool packs;

  static void copy(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece) {
    const auto& self = *static_cast<const Place*>(context);
    const int64_t from = self.from + static_cast<int64_t>(offset);
    if (to_piece) pack(self.memory.layout, self.memory.base, from, static_cast<int64_t>(bytes), piece);
    else unpack(self.memory.layout, self.memory.base, from, static_cast<int64_t>(bytes), piece);
  }
};

class Transfer {
 public:
  Transfer(Access& access, const Placed& placed, const Memory& memory, const std::vector<Share>& shares);
  int describe();  // MPI_SUCCESS, or why the ranks cannot tell each other
  int run();
  // After run(): what all ranks have to say.
  int conclude(int64_t& bytes);

 private:
  // The part of one rank in a window.
  struct Part {
    size_t rank;
    int64_t skip, count;
  };
  struct Window {
    int64_t number = 0, low = 0, high = 0;  // of the data in it
    std::vector<Part> parts;
    std::deque<Place> places;
    std::unique_ptr<Scratch> room;
    std::byte* origin() const { return room->data() - start; }
    int64_t start = 0;
  };

  int64_t window_of(int64_t offset) const { return offset / size_; }
  int aggregator_of(int64_t window) const { return aggregators_[static_cast<size_t>(window) % aggregators_.size()]; }
  bool aggregates() const { return std::find(aggregators_.begin(), aggregators_.end(), rank_) != aggregators_.end(); }
  int64_t number_of(int64_t window) const { return window - first_window_; }
  uint64_t shape() const;

  template <class Act>
  int for_own_windows(Act&& act);  // of this rank's data, that others aggregate: act(window, skip, count)
  int give();
  int expect();
  bool find_parts(int64_t number, Window& window);
  int fill(Window& window, unsigned buffer);
  void write(Window& window);
  void write_runs(const Window& window);
  int spread(Window& window, unsigned buffer);
  int aggregate();
  void fail(int error) {
    if (error_ == 0) error_ = error;
  }
  Memory in_buffer(const Window& window, size_t rank) const { return {window.origin() + all_[rank].base, all_[rank].layout}; }

  Access& access_;
  File& file_;
  FileMessenger& messenger_;
  const Placed& placed_;
  const Memory& memory_;
  const std::vector<Share>& shares_;
  std::vector<int>& aggregators_;
  const int rank_;
  int64_t size_, first_window_ = 0, last_window_ = 0;
  std::vector<Placed> all_;  // with aggregators: every rank's
  std::deque<Place> places_;
  std::deque<std::vector<std::byte>> descriptions_;
  std::vector<Window> windows_;
  bool known_whole_ = false, whole_ = true;
  int error_ = 0;  // errno
  int64_t end_of_file_ = kNoEnd;
};

Transfer::Transfer(Access& access, const Placed& placed, const Memory& memory, const std::vector<Share>& shares)
    : access_(access),
      file_(*access.file),
      messenger_(file_.messenger),
      placed_(placed),
      memory_(memory),
      shares_(shares),
      aggregators_(file_.two_phase->aggregators),
      rank_(file_.comm->rank) {
  if (aggregators_.size() != static_cast<size_t>(file_.tuning.cb_nodes)) {
    file_.two_phase->forget();  // new ones know nothing yet
    aggregators_ = choose_aggregators(*file_.comm, static_cast<size_t>(std::max<int64_t>(file_.tuning.cb_nodes, 1)));
  }
  const int64_t unit = file_.tuning.striping_unit > 0 ? std::lcm(file_.tuning.striping_unit, kPage) : kPage;
  size_ = std::max(file_.tuning.cb_buffer_size / FileMessenger::kBuffers / unit * unit, unit);
  int64_t first = kNoEnd, end = 0;
  for (const Share& share : shares) {
    if (share.bytes == 0) continue;
    first = std::min(first, share.first);
    end = std::max(end, share.end);
  }
  first_window_ = window_of(first);
  last_window_ = window_of(end - 1);
}

// The shape of this rank's windows depends on this alone.
uint64_t Transfer::shape() const { return shape_of(shares_) ^ static_cast<uint64_t>(size_); }

int Transfer::describe() {
  messenger_.begin();
  const bool aggregates = this->aggregates();
  std::vector<std::pair<Tiling*, size_t>> unknown;
  for (size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i].bytes == 0 || file_.two_phase->find(i, shares_[i].hash) != nullptr) continue;
    Tiling& tiling = file_.two_phase->add(i, shares_[i].hash);
    const bool own = i == static_cast<size_t>(rank_);
    if (own && aggregates) tiling = access_.view->tiling;
    if (own) {
      const std::vector<std::byte>& description = access_.view->description();
      for (const int aggregator : aggregators_)
        if (aggregator != rank_)
          if (int error = messenger_.put(FileMessenger::kOwn, description.data(), false, static_cast<int64_t>(description.size()),
                                         aggregator, FileMessenger::description, 0))
            return error;
    } else if (aggregates) {
      descriptions_.emplace_back(static_cast<size_t>(std::max<int64_t>(shares_[i].description, 0)));
      unknown.emplace_back(&tiling, descriptions_.size() - 1);
      if (int error = messenger_.accept(FileMessenger::kOwn, descriptions_.back().data(), false, shares_[i].description,
                                        static_cast<int>(i), FileMessenger::description, 0))
        return error;
    }
  }
  if (!unknown.empty())
    if (int error = messenger_.await_arrived(FileMessenger::kOwn)) return error;
  for (const auto& [tiling, i] : unknown)
    if (!Tiling::read(descriptions_[i].data(), descriptions_[i].size(), *tiling)) return MPI_ERR_INTERN;
  if (!aggregates) return MPI_SUCCESS;
  all_.resize(shares_.size());
  for (size_t i = 0; i < shares_.size(); ++i)
    if (shares_[i].bytes > 0 && !file_.two_phase->find(i, shares_[i].hash)->range(shares_[i].from, shares_[i].bytes, all_[i]))
      return MPI_ERR_INTERN;
  known_whole_ = access_.writes && file_.two_phase->is_whole(shape());
  return MPI_SUCCESS;
}

template <class Act>
int Transfer::for_own_windows(Act&& act) {
  for (int64_t skip = 0; skip < placed_.bytes;) {
    const int64_t window = window_of(placed_.place(skip)), count = placed_.below((window + 1) * size_) - skip;
    if (aggregator_of(window) != rank_)
      if (int error = act(window, skip, count)) return error;
    skip += count;
  }
  return MPI_SUCCESS;
}

int Transfer::give() {
  return for_own_windows([&](int64_t window, int64_t skip, int64_t count) {
    const int to = aggregator_of(window);
    if (const std::byte* run = memory_.run(skip))
      return messenger_.put(FileMessenger::kOwn, run, false, count, to, FileMessenger::written, number_of(window));
    Place& place = places_.emplace_back(Place{{}, memory_, skip, true});
    place.pieces = {Place::copy, &place};
    return messenger_.put(FileMessenger::kOwn, &place.pieces, true, count, to, FileMessenger::written, number_of(window));
  });
}

int Transfer::expect() {
  return for_own_windows([&](int64_t window, int64_t skip, int64_t count) {
    const int from = aggregator_of(window);
    if (std::byte* run = memory_.run(skip))
      return messenger_.accept(FileMessenger::kOwn, run, false, count, from, FileMessenger::read, number_of(window));
    Place& place = places_.emplace_back(Place{{}, memory_, skip, false});
    place.pieces = {Place::copy, &place};
    return messenger_.accept(FileMessenger::kOwn, &place.pieces, true, count, from, FileMessenger::read, number_of(window));
  });
}

// False: nobody has data there.
bool Transfer::find_parts(int64_t number, Window& window) {
  window.number = number;
  window.start = number * size_;
  window.low = kNoEnd;
  window.high = 0;
  window.parts.clear();
  window.places.clear();
  for (size_t i = 0; i < all_.size(); ++i) {
    if (shares_[i].bytes == 0 || shares_[i].end <= window.start || shares_[i].first >= window.start + size_) continue;
    const int64_t skip = all_[i].below(window.start), count = all_[i].below(window.start + size_) - skip;
    if (count == 0) continue;
    window.parts.push_back({i, skip, count});
    window.low = std::min(window.low, all_[i].place(skip));
    window.high = std::max(window.high, all_[i].place(skip + count - 1) + 1);
  }
  return !window.parts.empty();
}

// Has all data of the window put into its buffer; this rank's own are copied.
int Transfer::fill(Window& window, unsigned buffer) {
  for (const Part& part : window.parts) {
    const Memory there = in_buffer(window, part.rank);
    const int64_t from = all_[part.rank].from + part.skip;
    if (part.rank == static_cast<size_t>(rank_)) continue;
    int error;
    if (std::byte* run = there.run(from)) {
      error =
          messenger_.accept(buffer, run, false, part.count, static_cast<int>(part.rank), FileMessenger::written, number_of(window.number));
    } else {
      Place& place = window.places.emplace_back(Place{{}, there, from, false});
      place.pieces = {Place::copy, &place};
      error = messenger_.accept(buffer, &place.pieces, true, part.count, static_cast<int>(part.rank), FileMessenger::written,
                                number_of(window.number));
    }
    if (error != MPI_SUCCESS) return error;
  }
  for (const Part& part : window.parts)
    if (part.rank == static_cast<size_t>(rank_))
      copy(memory_, part.skip, in_buffer(window, part.rank), all_[part.rank].from + part.skip, part.count);
  return MPI_SUCCESS;
}

// Writes covered bytes and nothing else: holes stay as they are in the file.
void Transfer::write(Window& window) {
  int64_t covered = 0;
  for (const Part& part : window.parts) covered += part.count;
  const bool one_run = window.parts.size() == 1 && covered == window.high - window.low;
  if (!known_whole_ && !one_run) return write_runs(window);
  fail(file_.posix.write(window.low, window.origin() + window.low, window.high - window.low).error);
}

void Transfer::write_runs(const Window& window) {
  int64_t grain = std::gcd(window.low, window.high);
  for (const Part& part : window.parts) {
    const Placed& placed = all_[part.rank];
    for (const int64_t number : {grain_of(placed.layout), placed.base, placed.from + part.skip, part.count})
      grain = std::gcd(grain, number);
  }
  grain = std::max<int64_t>(grain, 1);
  const auto length = static_cast<size_t>((window.high - window.low) / grain);
  const Scratch room(length + 1);
  auto* marks = reinterpret_cast<unsigned char*>(room.data());
  if (marks == nullptr) return fail(ENOMEM);
  std::memset(marks, 0, length);
  for (const Part& part : window.parts)
    for_each_run(all_[part.rank].part(part.skip, part.count), [&](int64_t at, int64_t bytes) {
      unsigned char* mark = marks + (at - window.low) / grain;
      if (bytes == grain) *mark = 1;
      else std::memset(mark, 1, static_cast<size_t>(bytes / grain));
    });
  marks[length] = 0;
  if (std::memchr(marks, 0, length + 1) == marks + length) {
    fail(file_.posix.write(window.low, window.origin() + window.low, window.high - window.low).error);
    return;
  }
  whole_ = false;
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (size_t i = 0; i < length;) {
    const auto* begin = static_cast<const unsigned char*>(std::memchr(marks + i, 1, length - i));
    if (begin == nullptr) break;
    const auto* end = static_cast<const unsigned char*>(std::memchr(begin, 0, length + 1 - static_cast<size_t>(begin - marks)));
    runs.emplace_back(window.low + (begin - marks) * grain, (end - begin) * grain);
    i = static_cast<size_t>(end - marks);
  }
  constexpr size_t kMany = 64;
  if (runs.size() > kMany && file_.posix.can_be_mapped()) {
    if (const auto region = file_.mapping.reach(file_.posix, window.low, window.high, true)) {
      for (const auto& [at, bytes] : runs) std::memcpy(region->origin() + at, window.origin() + at, static_cast<size_t>(bytes));
      return;
    }
  }
  for (const auto& [at, bytes] : runs) fail(file_.posix.write(at, window.origin() + at, bytes).error);
}

// Reads a window, and sends everybody's part; what lies behind the end of the file is not sent.
int Transfer::spread(Window& window, unsigned buffer) {
  Moved moved;
  if (window.low < end_of_file_) moved = file_.posix.read(window.low, window.origin() + window.low, window.high - window.low);
  fail(moved.error);
  if (moved.bytes < window.high - window.low) end_of_file_ = std::min(end_of_file_, window.low + moved.bytes);
  for (const Part& part : window.parts) {
    const Memory there = in_buffer(window, part.rank);
    const Placed& placed = all_[part.rank];
    const int64_t from = placed.from + part.skip;
    const int64_t count = end_of_file_ == kNoEnd ? part.count : std::clamp<int64_t>(placed.below(end_of_file_) - part.skip, 0, part.count);
    if (part.rank == static_cast<size_t>(rank_)) {
      copy(there, from, memory_, part.skip, count);
      continue;
    }
    int error;
    if (const std::byte* run = there.run(from)) {
      error = messenger_.put(buffer, run, false, count, static_cast<int>(part.rank), FileMessenger::read, number_of(window.number));
    } else {
      Place& place = window.places.emplace_back(Place{{}, there, from, true});
      place.pieces = {Place::copy, &place};
      error =
          messenger_.put(buffer, &place.pieces, true, count, static_cast<int>(part.rank), FileMessenger::read, number_of(window.number));
    }
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int Transfer::aggregate() {
  const auto place = static_cast<int64_t>(std::find(aggregators_.begin(), aggregators_.end(), rank_) - aggregators_.begin());
  const auto aggregators = static_cast<int64_t>(aggregators_.size());
  int64_t next = first_window_ + ((place - first_window_) % aggregators + aggregators) % aggregators;
  windows_.resize(FileMessenger::kBuffers);
  std::vector<bool> filled(FileMessenger::kBuffers, false);
  const auto finish = [&](unsigned buffer) {
    if (!filled[buffer]) return int{MPI_SUCCESS};
    filled[buffer] = false;
    if (!access_.writes) return messenger_.await_sent(buffer);
    if (int error = messenger_.await_arrived(buffer)) return error;
    write(windows_[buffer]);
    return int{MPI_SUCCESS};
  };
  unsigned buffer = 0;
  for (; next <= last_window_; next += aggregators) {
    Window& window = windows_[buffer];
    if (int error = finish(buffer)) return error;
    if (!find_parts(next, window)) continue;
    if (!window.room) window.room = std::make_unique<Scratch>(static_cast<size_t>(size_));
    if (window.room->data() == nullptr) return MPI_ERR_NO_MEM;
    if (int error = access_.writes ? fill(window, buffer) : spread(window, buffer)) return error;
    filled[buffer] = true;
    buffer = (buffer + 1) % FileMessenger::kBuffers;
  }
  for (unsigned i = 0; i < FileMessenger::kBuffers; ++i)
    if (int error = finish((buffer + i) % FileMessenger::kBuffers)) return error;
  return MPI_SUCCESS;
}

int Transfer::run() {
  if (int error = access_.writes ? give() : expect()) return error;
  if (aggregates())
    if (int error = aggregate()) return error;
  if (int error = access_.writes ? MPI_SUCCESS : messenger_.await_arrived(FileMessenger::kOwn)) return error;
  return messenger_.await_sent(FileMessenger::kOwn);
}

int Transfer::conclude(int64_t& bytes) {
  if (access_.writes && aggregates() && whole_ && !known_whole_ && error_ == 0) file_.two_phase->set_whole(shape());
  Record own;
  std::vector<Record> all;
  own.word = {error_, end_of_file_};
  if (int error = messenger_.gather(own, all)) return error;
  for (const Record& record : all) {
    if (record.word[0] != 0)
      access_.fail(class_of_errno(static_cast<int>(record.word[0])), "the system says", static_cast<int>(record.word[0]));
    end_of_file_ = std::min(end_of_file_, record.word[1]);
  }
  bytes = access_.result.error != MPI_SUCCESS ? 0 : end_of_file_ == kNoEnd ? placed_.bytes : placed_.below(end_of_file_);
  return MPI_SUCCESS;
}

}  // namespace

int exchange_and_move(Access& access, const Placed& placed, const Memory& memory, const std::vector<Share>& shares, int64_t& bytes) {
  auto transfer = std::make_unique<Transfer>(access, placed, memory, shares);
  int error = transfer->describe();
  if (error == MPI_SUCCESS) error = transfer->run();
  if (error == MPI_SUCCESS) error = transfer->conclude(bytes);
  if (access.file->messenger.broken()) transfer.release();  // the engine may refer to what it holds
  return error;
}

}  // namespace portunus::mpi::io
