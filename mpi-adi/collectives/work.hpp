// work.hpp: what one rank does in one collective, apart from when and how it is run.
//
// A work says which GOAL collective it is, on one piece of memory that goes in and one that comes out. Where the user's
// memory is such a piece the schedule works on it; otherwise data is packed before and unpacked afterwards, by the thread
// that calls MPI. That thread also does what the engine cannot, when the data has come (drain).
//
// Thread: one at a time per object. Source: MPI-5.0, chapter 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/goal/goal_collectives.h"
#include "engine/goal/goal_node.h"

namespace portunus::mpi::collectives {

enum class Kind : uint8_t { barrier, bcast, gather, scatter, allgather, alltoall, reduce, allreduce, reduce_scatter, scan, exscan, other };

// Equal on all ranks for calls that match, so that all of them keep and forget the same resident schedules.
struct Key {
  Kind kind = Kind::other;  // other: sizes differ from rank to rank, or only some know them
  uint8_t type = 0, op = 0;
  int root = 0;
  size_t bytes = 0;  // of one rank's part
  bool operator==(const Key&) const = default;
};

// Beside the codes of GOAL: it ran to its end, but another rank's data have another length than this one expects.
constexpr int kMismatch = GOAL_NODE_MISMATCH;
// It will not end, as the ranks' calls do not fit: see CallLog.
constexpr int kDisagreement = GOAL_NODE_HOPELESS;

class Work {
 public:
  Work() = default;
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Adds the collective to a schedule: a GOAL_* code.
  virtual int build(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer in, GOAL_Buffer out) const = 0;
  // Before a run, unless the schedule works on the user's memory: packs what this rank contributes.
  virtual void fill(std::byte*) const {}
  // After a run; always, and out is the user's memory if the schedule works on it.
  virtual void drain(const std::byte*) const {}
  // Says what it is for ranks that share memory, on `in` and `out` of the call, which are there already. False: they do not
  // have it. The same on all ranks.
  virtual bool on_node(GOAL_Node_call& call) const;

  Key key{};
  size_t most_bytes = 0;  // that any rank has to pack; equal on all ranks
  // Alike on all ranks: its schedule stays. If it is small it works on memory of its own; beyond, copying costs more than another
  // schedule where the user's memory is another; and there, making a schedule costs little beside running it.
  bool can_be_resident() const { return key.kind != Kind::other && most_bytes <= kResidentBytes; }
  bool is_small() const { return key.kind != Kind::other && most_bytes <= kSmallBytes; }
  static constexpr size_t kSmallBytes = 32 * 1024, kResidentBytes = 256 * 1024;
  // Does the schedule work on the user's memory where its input is?
  bool input_is_direct() const { return in_is_direct && (!in_place || out_is_direct); }
  // The packed sizes of what goes in and what comes out on this rank.
  size_t in_bytes = 0, out_bytes = 0;
  // The user's memory, where a schedule may work on it.
  std::byte *user_in = nullptr, *user_out = nullptr;
  bool in_is_direct = false, out_is_direct = false;
  bool in_place = false;         // what goes in lies in the user's `out`
  bool in_is_out = false;        // one piece of memory is both: fill() fills `out` (broadcast, scatter to the root)
  bool waits_for_all = false;    // nobody ends before all have begun
  std::unique_ptr<Work> then{};  // begins when this one is drained
};

// An alltoallv for Work::on_node.
inline void describe_exchange(GOAL_Node_call& call, const size_t* out_sizes, const ptrdiff_t* out_places, const size_t* in_sizes,
                              const ptrdiff_t* in_places) {
  call.kind = GOAL_NODE_ALLTOALLV;
  call.in_sizes = out_sizes;
  call.in_places = out_places;
  call.out_sizes = in_sizes;
  call.out_places = in_places;
}

}  // namespace portunus::mpi::collectives
