// shared_memory_group.hpp: memory that the ranks of a file on one node share: the words of the shared pointer, where an addition costs no
// message, and a place for each rank's records, so that all learn of all by looking. Files of ranks on several nodes do both by messages
// (file_messenger.hpp).
//
// A rank that waits looks for a while, then sleeps until the last one to come rings by a message without data: the sleeper's engine goes on
// with its work, and tells of ranks that die. A group is made for the first file of its ranks and kept for their next ones.
//
// Thread: gather: one at a time waits for another; the rest as noted. Invariants: rank 0 says which group a file has; all ranks have the
// same number of gathers behind them; the name of the memory is gone once all have mapped it.
// Source: Dijkstra 1965 (Dekker's algorithm, for who falls asleep beside who rings).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/client/deaths.hpp"
#include "engine/client/shared_memory.hpp"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/io/record.hpp"

namespace portunus::mpi::io {

class SharedMemoryGroup {
 public:
  using Word = std::atomic<int64_t>;
  static constexpr unsigned kWords = 2;
  using Pointer = std::shared_ptr<SharedMemoryGroup>;

  explicit SharedMemoryGroup(const Communicator& comm);
  SharedMemoryGroup(const SharedMemoryGroup&) = delete;
  SharedMemoryGroup& operator=(const SharedMemoryGroup&) = delete;

  // At rank 0: one that an earlier file has left, or a new one; nullptr: there is no memory. Its words are zero.
  static Pointer make(const Communicator& comm);
  // Elsewhere: the one of that number. nullptr: it cannot be mapped.
  static Pointer find(const Communicator& comm, int64_t number);
  void forget_name() { memory_.forget_name(); }
  // For the next file of these ranks.
  static void keep(Pointer group);
  static void drop_kept();

  int64_t number() const { return memory_.number(); }
  Word* words() const;
  // Everybody's record, by rank. MPI_SUCCESS, or MPI_ERR_PROC_ABORTED: then and ever after. Nobody returns before all have called it.
  int gather(const Record& own, std::vector<Record>& all);

 private:
  struct Place;
  bool open(int64_t number = 0);  // 0: it is made
  bool open_bell();
  Place* places() const;
  bool all_have_come() const;
  void ring();
  int sleep();

  const std::vector<int> members_;  // ranks of the job
  const size_t rank_;
  const int looks_;  // before it sleeps
  client::SharedMemory memory_{"file", client::SharedMemory::Pages::reserved};
  std::mutex mutex_;
  bool broken_ = false;
  uint64_t gathers_ = 0, rings_ = 0;
  client::Deaths deaths_;
  client::Counter bell_;
  client::Descriptor nothing_;
  client::MatchEntry entry_;
};
static_assert(SharedMemoryGroup::Word::is_always_lock_free);

}  // namespace portunus::mpi::io
