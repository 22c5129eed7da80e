// two_phase.hpp: collective transfers.
//
// The ranks first tell each other what they access, in a few numbers. Where their data do not interleave, or come in long
// runs, each accesses the file alone. Else the file is dealt out in windows to a few ranks, the aggregators, who have the
// data of all ranks that lie in a window put into one buffer, or taken from it, by the engines, and access the file in long
// runs.
//
// The data of a rank in a window are one range of its data, as places in a view ascend: nothing is ever listed. An aggregator
// knows the views of the others by descriptions, which are sent again only when they are not among the last few.
//
// Thread: one collective of a file at a time. Source: del Rosario, Bordawekar, Choudhary 1993; Thakur, Choudhary 1996
// (two-phase I/O).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "mpi-adi/io/access.hpp"

namespace portunus::mpi::io {

// Whether all know without a word that each accesses the file alone: where data lie in a row; and reads of ranks that share
// a page cache, where reading the others' data, too, costs less than to exchange them, until processors are scarce.
bool each_goes_alone(const File& file, bool writes);

// Collective over the file's communicator; an access that failed before takes part, so that no rank waits for it.
void carry_out_together(Access& access);

// The access of one rank, as all others know it.
struct Share {
  int64_t first = 0, end = 0;         // in the file
  int64_t from = 0, bytes = 0;        // of its view's data
  int64_t hash = 0, description = 0;  // of the view, and the description's length
  int64_t run = 1;                    // bytes of its runs, about
  bool ascending = true;
  bool is_there = false;  // the file reaches that far, and can be mapped
};

// A number for what all ranks access, and where.
uint64_t shape_of(const std::vector<Share>& shares);

// The memory of each other's views from one access to the next.
class TwoPhase {
 public:
  explicit TwoPhase(size_t ranks) : known_(ranks) {}

  // nullptr: it is not among the last few of that rank. The same answer on all ranks.
  Tiling* find(size_t rank, int64_t hash) {
    for (Known& one : known_[rank])
      if (one.hash == hash) return &one.tiling;
    return nullptr;
  }
  Tiling& add(size_t rank, int64_t hash) {
    if (known_[rank].size() == kKept) known_[rank].pop_front();
    return known_[rank].emplace_back(Known{hash, {}}).tiling;
  }

  void forget() {
    for (std::deque<Known>& views : known_) views.clear();
    whole_.clear();
  }

  // Whether accesses of this shape are known to leave no holes in the windows of this rank.
  bool is_whole(uint64_t shape) const { return std::find(whole_.begin(), whole_.end(), shape) != whole_.end(); }
  void set_whole(uint64_t shape) {
    if (whole_.size() == kKept) whole_.pop_front();
    whole_.push_back(shape);
  }

  // Whether accesses of this shape have been before, which then counts. The same answer on all ranks.
  bool was_before(uint64_t shape) {
    if (std::find(before_.begin(), before_.end(), shape) != before_.end()) return true;
    if (before_.size() == kKept) before_.pop_front();
    before_.push_back(shape);
    return false;
  }

  std::vector<int> aggregators;  // ranks; made when first needed, and when their number changes

 private:
  static constexpr size_t kKept = 8;
  struct Known {
    int64_t hash;
    Tiling tiling;  // set with aggregators only
  };
  std::vector<std::deque<Known>> known_;
  std::deque<uint64_t> whole_, before_;
};

// By way of aggregators; MPI_SUCCESS, or why the ranks could not tell each other. `bytes`: how many of this rank's were
// moved.
int exchange_and_move(Access& access, const Placed& placed, const Memory& memory, const std::vector<Share>& shares, int64_t& bytes);

}  // namespace portunus::mpi::io
