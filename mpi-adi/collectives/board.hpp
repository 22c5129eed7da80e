// board.hpp: small blocking collectives of ranks that share a node, through memory that all of them map.
//
// Every rank has a place on the board that it alone writes: the number of the collective that it has begun last, and a few
// slots for what it contributes. Whoever needs contributions looks until they are there, and does the rest for itself: of a
// reduction each rank combines all contributions, in the order of the ranks. So a rank waits once in each collective, however
// many ranks there are, and where these outnumber the cores each is given a core once. Slots are used in turn: who is
// about to write one again waits until all ranks have begun a collective behind that which it was written for. While they
// wait, ranks step the engine, and those that wait long sleep.
//
// Thread: one at a time, as collectives of a communicator. Invariants: a slot's number says for which collective its data is; it
// is stored, with release, after the data, and `begun` after a rank has read all it needed of the collectives before.
// Which collectives go over the board depends on what is equal on all ranks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi-adi/collectives/call_log.hpp"
#include "mpi-adi/collectives/work.hpp"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/types/segment.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi::collectives {

class Board {
 public:
  // Collective over the communicator. nullptr: its ranks share no node, or no memory, if `code` is GOAL_SUCCESS; a rank has
  // died, if it is GOAL_ERR_FAILED.
  static std::unique_ptr<Board> make(Communicator& comm, CallLog& log, int& code);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  bool takes(const Work& work) const;
  // GOAL_SUCCESS; kMisfit: another rank's size or collective is not this one's; GOAL_ERR_FAILED: a rank has died, kDisagreement: they
  // will not come; from now on everything fails here.
  int run(const Work& work);

 private:
  static constexpr size_t kSlots = 8, kRoom = 1008;
  static constexpr int kMostRanks = 128;
  static constexpr uint32_t kWatchBit = 1;  // for PtlxNodeWatch

  struct alignas(64) Slot {
    std::atomic<uint64_t> number;
    uint64_t what;  // the collective and its size, which must be everybody's
    std::byte data[kRoom];
  };
  struct alignas(64) Place {
    alignas(64) std::atomic<uint64_t> begun;
    std::array<Slot, kSlots> slots;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Slot) == 1024);

  Board(const Communicator& comm, CallLog& log);
  bool prepare(const Communicator& comm);
  Slot& slot(size_t rank) const { return places_[rank]->slots[number_ % kSlots]; }
  bool post(const Work& work);
  bool fits(const Work& work) const;
  void collect(const Work& work, size_t from, size_t bytes);
  bool lost() const;
  void ring() const;
  template <class Ready>
  bool await(Ready&& ready);
  template <class Has>
  bool await_all(Has&& has);

  int failure() const { return log_.has_differed() ? kDisagreement : GOAL_ERR_FAILED; }

  CallLog& log_;
  size_t rank_, size_;
  bool crowded_ = false;   // more ranks than cores: a spinning one may keep off the one it waits for
  bool failed_ = false;
  uint64_t number_ = 0;    // of this collective, from 1 on
  uint64_t begun_by_all_ = 0;
  ptl_handle_ct_t deaths_ = PTL_CT_NONE;  // of members: its failures
  size_t memory_ = 0;  // bytes, as counted against what all boards may have
  Segment segment_;
  std::vector<Place*> places_;         // by rank
  std::vector<ptlx_watch_t> watches_;  // the same
  std::vector<std::byte> gathered_;    // contributions, one after the other
};

}  // namespace portunus::mpi::collectives
