// call_log.hpp: which collectives each rank has begun on a communicator, for other ranks to read.
//
// Ranks that call different collectives, or one with sizes or roots that do not fit, may wait for each other for ever. So each
// notes the last few calls on each communicator in memory that all ranks may get. Who has waited for long gets what others have
// noted: where that is another call under the same number, nobody will ever come, and an error is raised in place of waiting.
//
// Thread: note: one at a time per communicator, as collectives; differs: any. Invariants: an entry is written anew only kKept
// calls later, so what is read twice alike was there as a whole. Costs three stores per call; all else is for those who wait.
// Source: MPI-5.0, 6.1 (ranks call the same collectives in the same order), 6.14.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "mpi-adi/collectives/work.hpp"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/types/signature.hpp"
#include "portals/portals4.h"

namespace portunus::mpi::collectives {

enum class Form : uint8_t { blocking, nonblocking, persistent, captured };  // the last is recorded in place of either of the first two

// clang-format off
#define MPI_COLLECTIVES(EACH)                                                                                                  \
  EACH(Barrier) EACH(Bcast) EACH(Gather) EACH(Gatherv) EACH(Scatter) EACH(Scatterv) EACH(Allgather) EACH(Allgatherv)            \
  EACH(Alltoall) EACH(Alltoallv) EACH(Alltoallw) EACH(Reduce) EACH(Allreduce) EACH(Reduce_scatter) EACH(Reduce_scatter_block)   \
  EACH(Scan) EACH(Exscan) EACH(Neighbor_allgather) EACH(Neighbor_allgatherv) EACH(Neighbor_alltoall) EACH(Neighbor_alltoallv)   \
  EACH(Neighbor_alltoallw)
// clang-format on
#define MPI_ENUMERATOR(Name) Name,
enum class Collective : uint8_t { MPI_COLLECTIVES(MPI_ENUMERATOR) };
#undef MPI_ENUMERATOR

class CallLog {
 public:
  explicit CallLog(const Communicator& comm);
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // `signature`: see Call; 0 where nobody asks for it.
  void note(Collective which, Form form, const Key& key, uint64_t signature) {
    if (debug.calls) [[unlikely]]
      watch(signature);
    Entry& entry = calls_->entries[++number_ % kKept];
    entry.what.store(uint64_t{static_cast<uint32_t>(key.root)} << 32 | uint64_t{static_cast<uint8_t>(which)} << 24 |
                         uint64_t{static_cast<uint8_t>(form)} << 16 | uint64_t{key.type} << 8 | key.op,
                     std::memory_order_relaxed);
    entry.bytes.store(key.bytes, std::memory_order_relaxed);
    entry.number.store(number_, std::memory_order_release);
  }
  void take_back() { --number_; }  // the call that was noted last has begun nothing
  // PTL_DEBUG=calls, of a call by which each rank sends data of its own to each: what this rank is going to send to each and to receive
  // from each. Returns the signature of that call; 0: there are too many ranks.
  struct alignas(8) Pair {
    uint32_t types = 0, bytes = 0;  // a hash of the datatypes, 0 where they go with all; their length, where it does not fit all ones
    bool operator==(const Pair&) const = default;
  };
  [[gnu::cold, gnu::noinline]] uint64_t note_pairs(std::span<const Pair> sent, std::span<const Pair> received);
  // Whether some other rank has noted a call that does not fit this one's; then, and ever after, complaint() says which. Looks at
  // the next few ranks each time, and is slow.
  enum class In : uint8_t { anything, function };
  [[gnu::cold, gnu::noinline]] bool differs(In what = In::anything);
  // The same of a rank that has waited for another second, `again` or for the first time: which it tells (core/long_waits.hpp). Looks after
  // 1, 4, 8, 16 ... seconds.
  [[gnu::cold, gnu::noinline]] bool overdue(bool again);
  // The same where a message had another length than expected: it may be that of another collective. Others answer late where nobody lets
  // them, so it looks more than once.
  [[gnu::cold, gnu::noinline]] bool is_of_another_call();
  // The last look, once all ranks have made their last call.
  bool differs_at_the_end();
  // Whether all that were asked in the last look have answered, and fit.
  bool all_fit() const { return all_fit_; }
  bool has_differed() const { return error_ != MPI_SUCCESS; }
  int error_class() const { return error_; }
  const char* complaint() const { return complaint_.c_str(); }
  // A sentence on the lengths that differ, if is_of_another_call() has seen some, or `otherwise`.
  const char* lengths_or(const char* otherwise) const { return lengths_.empty() ? otherwise : lengths_.c_str(); }

 private:
  static constexpr size_t kKept = 64;
  struct Entry {
    std::atomic<uint64_t> number, what, bytes, signature;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Entry) == 32);
  // The pairs of the calls of late, one call behind the other: those sent to each rank, then those received from each.
  static constexpr size_t kKeptPairs = 240;
  struct Calls {
    std::array<Entry, kKept> entries;
    std::atomic<uint64_t> pairs_begun;  // how many are, or are being written
    std::array<std::atomic<Pair>, kKeptPairs> pairs;
  };
  static_assert(std::atomic<Pair>::is_always_lock_free && sizeof(Pair) == 8);
  struct Call {  // as it was read
    uint64_t number, what, bytes, signature;
    bool operator==(const Call&) const = default;
  };
  struct AllCalls {  // as they were read
    std::array<Call, kKept> entries;
    uint64_t pairs_begun;
    std::array<Pair, kKeptPairs> pairs;
  };
  static_assert(sizeof(AllCalls) == sizeof(Calls));
  // A signature with this bit says where the call's first pair is, counted over all calls.
  static constexpr uint64_t kHasPairs = uint64_t{1} << 63;

  // PTL_DEBUG=calls: of the next call; and now and then a look at what the next rank has noted.
  [[gnu::cold, gnu::noinline]] void watch(uint64_t signature);
  int next_rank() const { return (comm_.rank + 1) % comm_.size; }
  Call noted(size_t i) const;
  // Whether a call of theirs seems to differ from this rank's.
  bool is_suspect(int rank, const AllCalls& theirs) const;
  // False: that rank does not answer within `longest` milliseconds.
  bool compare(int rank, In what, ptl_time_t longest);
  // Whether that rank has made as many collective calls. False: it does not answer now.
  bool compare_numbers(int rank);
  // False: their entry is another call than this rank's. Says so.
  bool fits(int rank, const Call& mine, const Call& other, In what);
  // The same of what either rank sends to the other by these calls; the other rank had begun no more than `begun` pairs when
  // `theirs` were read.
  bool pairs_fit(int rank, const Call& mine, const Call& other, const AllCalls& theirs, uint64_t begun);
  struct Mismatch {
    bool sends;  // this rank
    Pair sent, received;
  };
  std::optional<Mismatch> mismatch(int rank, const Call& mine, const Call& other, const AllCalls& theirs, uint64_t begun) const;
  // Notes that the calls do not fit, and tells the other ranks. Returns false.
  bool disagree(int error, const std::string& sentence, const Call& mine);
  void give_up();

  const Communicator& comm_;
  Calls* calls_;
  uint64_t number_ = 0, pairs_ = 0;  // calls and pairs noted
  uint64_t next_look_ = 0;           // PTL_DEBUG=calls: the call that looks next at what another rank has noted
  int next_;                         // rank to look at
  unsigned seconds_ = 0;             // of the wait that is overdue
  bool all_fit_ = false;             // as of the last look
  int error_ = MPI_SUCCESS;
  std::string complaint_, lengths_;
  struct Suspect {
    int rank;
    AllCalls calls;
  };
  std::unique_ptr<Suspect> suspect_;  // has been read, and is to be read again
};

}  // namespace portunus::mpi::collectives
