// movement.hpp: collectives that bring data of this rank to others, and theirs here.
//
// Each of the two ends is one piece (Elements) or has a part for each rank (Parts); what comes may also be combined (Contributions).
// Thread: one at a time per object. Source: MPI-5.0, chapter 6.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/collectives/work.hpp"
#include "mpi-adi/op/op.hpp"

namespace portunus::mpi::collectives {

constexpr int kAllRanks = -1;

// One rank's parts of a buffer, by their ranks: for GOAL, sizes and places in bytes. Packed, they follow one another; several of one rank
// do so in the order in which they were added, and are one to GOAL.
class Parts {
 public:
  Parts() = default;
  // Among so many ranks; there is room for `number` parts, and comes for more.
  explicit Parts(int ranks, int number = 0) : ranks_(static_cast<size_t>(ranks)), table_(3 * ranks_) {
    parts_.reserve(static_cast<size_t>(number));
  }
  void add(int rank, const Elements& part) { parts_.push_back({static_cast<size_t>(rank), part}); }
  // Behind all add(). The data of the first part that has any is what direct places count from: the buffer itself may have no address.
  void close() {
    if (!std::ranges::is_sorted(parts_, {}, &Part::rank)) std::ranges::stable_sort(parts_, {}, &Part::rank);
    for (const auto& [rank, data] : parts_) {
      const size_t bytes = data.bytes();
      if (bytes == 0) continue;
      if (base_ == nullptr) base_ = data.data();
      const auto place = static_cast<size_t>(data.data() - base_);
      size_t &size = table_[rank], &packed = table_[ranks_ + rank], &direct = table_[2 * ranks_ + rank];
      if (size == 0) {
        packed = bytes_;
        direct = place;
      }
      contiguous_ = contiguous_ && data.contiguous() && place == direct + size;
      size += bytes;
      bytes_ += bytes;
    }
  }

  bool contiguous() const { return contiguous_; }
  std::byte* data() const { return base_; }
  size_t bytes() const { return bytes_; }
  const size_t* sizes() const { return table_.data(); }
  const ptrdiff_t* places(bool direct) const { return reinterpret_cast<const ptrdiff_t*>(table_.data() + (direct ? 2 : 1) * ranks_); }
  size_t bytes_of(int rank) const { return table_[static_cast<size_t>(rank)]; }
  // The part that was added as number i, in the order of ranks.
  const Elements& operator[](int i) const { return parts_[static_cast<size_t>(i)].data; }
  // In the order of pack(): f(rank, part).
  template <class F>
  void each_part(F&& f) const {
    for (const Part& part : parts_) f(static_cast<int>(part.rank), part.data);
  }
  void pack(std::byte* to) const {
    for (const Part& part : parts_) part.data.pack(std::exchange(to, to + part.data.bytes()));
  }
  template <class F>
  void each_run(F&& f) const {
    for (const Part& part : parts_) part.data.each_run(f);
  }
  void unpack(const std::byte* from) const {
    for (const Part& part : parts_) part.data.unpack(std::exchange(from, from + part.data.bytes()));
  }

 private:
  struct Part {
    size_t rank;
    Elements data;
  };
  std::vector<Part> parts_;
  size_t ranks_ = 0;
  std::vector<size_t> table_;  // each rank's size, then each one's place in what is packed, then in the user's memory
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  bool contiguous_ = true;
};

// The contributions of the ranks from `begin` to `end` among all, of `each` bytes, to a reduction that the thread which calls MPI does
// itself, in their order. The result is what becomes of their elements from byte `first` on.
class Contributions {
 public:
  Contributions(MPI_Op op, const Elements& result, int ranks, int begin, int end, size_t each, size_t first = 0)
      : op_(op),
        result_(result),
        number_(static_cast<size_t>(end - begin)),
        each_(each),
        first_(first),
        sizes_(static_cast<size_t>(ranks)),
        places_(sizes_.size()) {
    for (size_t i = 0; i < number_; ++i) {
      sizes_[static_cast<size_t>(begin) + i] = each;
      places_[static_cast<size_t>(begin) + i] = static_cast<ptrdiff_t>(i * each);
    }
  }
  bool contiguous() const { return false; }
  std::byte* data() const { return nullptr; }
  size_t bytes() const { return number_ * each_; }
  const size_t* sizes() const { return sizes_.data(); }
  const ptrdiff_t* places(bool) const { return places_.data(); }
  void unpack(const std::byte* from) const {
    if (number_ == 0 || result_.bytes() == 0) return;
    const auto contribution = [&](size_t i) { return from + i * each_ + first_; };
    result_.unpack(contribution(number_ - 1));
    if (result_.contiguous()) {
      for (size_t i = number_ - 1; i-- > 0;) apply(op_.op(), contribution(i), result_.data(), result_.count(), result_.type());
      return;
    }
    const Image operand(result_);
    for (size_t i = number_ - 1; i-- > 0;) {
      operand.elements().unpack(contribution(i));
      apply(op_.op(), operand.elements().address(), result_.address(), result_.count(), result_.type());
    }
  }

 private:
  OpHold op_;
  Elements result_;
  size_t number_, each_, first_;
  std::vector<size_t> sizes_;
  std::vector<ptrdiff_t> places_;
};

inline void describe_end(const Elements&, bool, const size_t*&, const ptrdiff_t*&) {}
template <class End>
void describe_end(const End& end, bool direct, const size_t*& sizes, const ptrdiff_t*& places) {
  sizes = end.sizes();
  places = end.places(direct);
}

template <class End>
bool each_run_of(const End& end, const Work::EachRun& f) {
  end.each_run(f);
  return true;
}
inline bool each_run_of(const Contributions&, const Work::EachRun&) { return false; }

// In place, the rank's own part is in `to` already, or (of a root that scatters) stays where it is.
enum class Own : uint8_t { moves, is_there, stays };

template <class From, class To>
class Movement : public Work {
 public:
  // `bytes`: of a rank's part, or, where they differ, of this rank's.
  template <class F, class T>
  Movement(GOAL_Call_kind kind, int root, size_t bytes, F&& from, T&& to, Own own = Own::moves)
      : from_(std::forward<F>(from)), to_(std::forward<T>(to)), bytes_(bytes), own_(own) {
    key = {kind, 0, 0, root, kind < GOAL_CALL_GATHERV ? bytes : 0};
    in_bytes = from_.bytes();
    out_bytes = to_.bytes();
    user_in = from_.data();
    user_out = to_.data();
    in_is_direct = from_.contiguous();
    out_is_direct = to_.contiguous();
    in_place = own == Own::is_there;
  }
  void describe(GOAL_Call& call) override {
    Work::describe(call);
    call.bytes = bytes_;
    describe_end(from_, call.in == user_in && in_is_direct, call.in_sizes, call.in_places);
    describe_end(to_, out_is_direct, call.out_sizes, call.out_places);
    if (own_ == Own::stays) call.out = nullptr;
  }
  void fill(std::byte* in) const override { from_.pack(in); }
  void drain(const std::byte* out) const override {
    if (!out_is_direct) to_.unpack(out);
  }
  bool each_run_in(const EachRun& f) const override { return each_run_of(from_, f); }
  bool each_run_out(const EachRun& f) const override { return each_run_of(to_, f); }

 protected:
  From from_;
  To to_;

 private:
  size_t bytes_;
  Own own_;
};

}  // namespace portunus::mpi::collectives
