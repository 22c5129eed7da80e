// The collectives of one group on one node: what each kind does with slots and buffers.
//
// Thread: one at a time per group.
// Invariants: whether a call is taken, which way it goes and in how many exchanges depends on what is equal on all
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "engine/goal/goal_call.h"
#include "engine/goal/node/arena.hpp"
#include "engine/goal/node/exchange_buffers.hpp"
#include "engine/goal/node/made_call.hpp"
#include "engine/goal/node/peer_memory.hpp"
#include "engine/goal/node/pending_runs.hpp"
#include "engine/goal/node/sizes.hpp"
#include "engine/goal/node/slot_call.hpp"
#include "engine/goal/node/waiting.hpp"
#include "engine/goal/node/ways.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

// No memory to share yet, or at all; a kind or a size that it is not for; an algorithm that PTL_COLLECTIVES names.
inline constexpr int kNotTaken = -3;
// Tags of the agreements about memory, from here on.
inline constexpr uint32_t kTags = 32768;

class Collectives {
 public:
  Collectives(const GOAL_Group& group, unsigned context, GOAL_Domain domain, AbortPredicate abort);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  // GOAL_* codes, as GOAL_Call_run and GOAL_Start, or kNotTaken: nothing was done, and the answer is the same on all ranks. `run` is the
  // caller's after ended().
  int run(const GOAL_Call& call);
  int start(const GOAL_Call& call, void (*ended)(void*), void* arg, std::optional<Run>& run);
  // Makes a call that is started again and again; waits for the other ranks. The answer is the same on all of them.
  int make(const GOAL_Call& call, std::unique_ptr<MadeCall>& made);
  // Starts it. GOAL_ERR_STATE: it is under way.
  int restart(MadeCall& made, void (*ended)(void*), void* arg);
  void forget(MadeCall& made);
  // Makes memory of all kinds at once, before any call; waits for the other ranks. GOAL_SUCCESS also where there is none.
  int make_all();
  // Places for the short calls of parts of the group, if make_all() has made memory: see GOAL_Place_take and what follows it.
  int take_place(const GOAL_Group& part, uint64_t key);
  int find_place(const GOAL_Group& part, uint64_t key) const;
  void leave_place(const GOAL_Group& part, int place);
  void return_place(const GOAL_Group& part, int place);
  // Before any call: short calls go through a place of that group, which outlives this. GOAL_SUCCESS or GOAL_ERR_NO_SPACE. Local.
  int lie_at(Collectives& whole, int place);
  // The call that was not taken last has failed otherwise, for want of memory, and will be made again: it counts for nothing.
  void take_back();
  // Under the lock of PendingRuns.
  bool look(Ended& ended);  // true: there is something new for others
  void remove(Run& run);

 private:
  // The ends of a wait.
  enum class End : uint8_t { well, mismatch, never };

  // Bytes [from, from + bytes) of a contribution.
  struct Range {
    size_t from, bytes;
  };
  // One exchange, from begin() to end(), and what it must be called by all ranks.
  class Exchange;

  // Whether there is memory of the kind by now, made when there were a few calls for it.
  template <class Kind>
  bool has(Kind& kind, Standing& standing);
  template <class Kind>
  int make_memory(Kind& kind, Agreement& agreement, const GOAL_Group& group);
  int make_one(const GOAL_Call& call, std::unique_ptr<MadeCall>& made);
  int make_in_shares(const GOAL_Call& call, std::unique_ptr<MadeCall>& made);
  int restart_one(MadeCall& made, void (*ended)(void*), void* arg);
  static void go_on(void* made);
  // The most bytes of a contribution to a call that is made.
  [[nodiscard]] size_t made_room() const { return crowded_ ? std::max(long_.slots.room(), kMostMadeRooms / size_) : long_.slots.room(); }
  // Whether all ranks may make this call, how much room it has, and how many slots.
  int agree_on(MadeCall& one, bool& may, Agreement& agreement);
  // False: in vain, for good or for want of memory here.
  bool make_wanted();
  void stand(Standing::State state);
  int prepare(Agreement& agreement, bool& may);
  // Memory in that of `whole_`, if there is room. As Agreement::tell. Buffers and pipes have one place: pages of the buffers come later,
  // as each of them is zeroed first.
  int find_memory(Pipes&, Agreement& agreement);
  int find_memory(ExchangeBuffers& buffers, Agreement& agreement);
  int find_place_for_buffers(Agreement& agreement);
  [[nodiscard]] bool has_pipes();
  // By which the ranks agree on memory: through slots where there are some.
  [[nodiscard]] Agreement::Through through_slots();
  // Whether all ranks of a part are in this group; and there may be a place for them.
  [[nodiscard]] bool includes(const GOAL_Group& part) const;
  [[nodiscard]] bool may_place(const GOAL_Group& part) const;
  int failure();
  // Whether this job wants a schedule with a certain algorithm instead.
  [[nodiscard]] bool is_forced(GOAL_Call_kind kind) const { return (forced_ >> kind & 1) != 0; }

  End in_slots(const GOAL_Call& call, size_t bytes);
  // Begins it, waiting for room.
  bool begin(SlotCall& call);
  // Claims a number and begins behind what is under way; and ends so.
  bool begin_behind(SlotCall& call);
  void end_behind();
  [[nodiscard]] bool any_pending() const { return !short_.empty() || !middle_.empty() || !long_.empty() || !pending_made_.empty(); }
  Lane* lane_for(GOAL_Call_kind kind, size_t bytes);
  // Whether started calls may give parts that others read in place.
  [[nodiscard]] bool takes_parts() const { return !has_engine_ && others_.may_read(); }
  // Is it among those that have something under way?
  void settle(PendingRuns& all);
  void fail_all(int code, Ended& ended);
  // `what`: what all ranks must say of the call.
  End in_buffers(const GOAL_Call& call, uint64_t what, size_t bytes);
  End bcast(const GOAL_Call& call, uint64_t what);
  End spread(const GOAL_Call& call, uint64_t what, bool to_all);  // gather, allgather
  End scatter(const GOAL_Call& call, uint64_t what);
  End alltoall(const GOAL_Call& call, uint64_t what);
  End reduce(const GOAL_Call& call, uint64_t what, size_t bytes, bool to_all);
  End partial_reduce(const GOAL_Call& call, uint64_t what, bool to_all);
  End reduce_scatter(const GOAL_Call& call, uint64_t what);
  End prefix(const GOAL_Call& call, uint64_t what, size_t bytes);
  End allgather_uneven(const GOAL_Call& call, uint64_t what);
  End through_pipes(const GOAL_Call& call, uint64_t what);

  // The other ranks, i < size - 1: from the next one on, so that not all read the same at a time; and in their order.
  [[nodiscard]] size_t after(size_t i) const { return (rank_ + 1 + i) % size_; }
  [[nodiscard]] size_t other(size_t i) const { return i < rank_ ? i : i + 1; }
  // The most that goes to each of the others in one exchange.
  [[nodiscard]] size_t part_buffer() const { return buffers_.room() / (size_ - 1) / 64 * 64; }
  static void copy(std::byte* to, const std::byte* from, size_t bytes) {
    if (to != from) copy_run(to, from, bytes);
  }

  std::vector<int> ranks_;
  GOAL_Group group_;
  uint32_t forced_;              // a bit for each kind of call
  Standing* counted_ = nullptr;  // where the last call was counted, which was not taken
  size_t rank_, size_;
  unsigned context_;
  AbortPredicate abort_;
  Waiting waiting_;
  PeerMemory others_;
  Lane short_, middle_, long_;                  // short ones of all kinds, longer ones that were started
  std::vector<MadeCall*> made_, pending_made_;  // all; those that are under way. Under the lock of PendingRuns
  std::optional<Agreement> about_made_;
  ExchangeBuffers buffers_;
  SharedMemory of_all_kinds_;
  Arena places_, buffer_places_;  // in it, for parts of the group
  Collectives* whole_ = nullptr;  // the group in whose memory this one has a place, and one for buffers
  int place_ = Arena::kNone, buffer_place_ = Arena::kNone;
  Standing for_buffers_, for_pipes_;
  Ways to_all_, to_each_;
  unsigned calls_ = 0;
  bool wants_ = false;  // there were starts for which there is no memory yet
  bool prepared_ = false, able_ = false, crowded_ = false, has_engine_ = false;
  size_t memory_ = 0;        // bytes, as counted against what all groups may have
  int code_ = GOAL_SUCCESS;  // of the failure
};

}  // namespace portunus::goal::node
