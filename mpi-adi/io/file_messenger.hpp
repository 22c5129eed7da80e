// file_messenger.hpp: what the ranks of a file tell each other, by objects of its own, so that any thread may do it while others call
// MPI.
//
// Small records go by a group where all ranks are on one node, else round by dissemination, over entries that stand as long as the file
// is open. Data are puts whose header goes first
// and is held until the receiver appends an entry for it: the receiver says when it has room, and no message
// needs credit. A dead rank ends every wait, now and later: the file's collectives are over then.
//
// Thread: one collective operation of a file at a time, whoever carries it out; fetch_add: any.
// Source: Portals 4.3; Bruck et al. 1997 (all-gather by dissemination).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/client/deaths.hpp"
#include "engine/client/remote_memory.hpp"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/io/record.hpp"
#include "mpi-adi/io/shared_memory_group.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi::io {

// Data for the engine to take from, or to put to, wherever `copy` says.
using Pieces = ptlx_layout_t;

class FileMessenger {
 public:
  static constexpr unsigned kBuffers = 4;  // of windows, each with counters of its own
  enum Kind : uint64_t { records = 1, pointer, description, written, read };

  ~FileMessenger() { close(); }
  // PTL_* codes. gather() and fetch_add() need a group, which all have, or entries, which stand on all ranks before anybody uses them.
  int open(const Communicator& comm);
  void use(SharedMemoryGroup::Pointer group) { group_ = std::move(group); }
  int open_entries();
  void close();

  // Everybody's record, by rank. MPI_SUCCESS, or MPI_ERR_PROC_ABORTED. Nobody returns before all have called it.
  int gather(const Record& own, std::vector<Record>& all);

  // The word before `by` was added; MPI_SUCCESS, or why it cannot be reached.
  int fetch_add(unsigned which, int64_t by, int64_t& old);
  // At rank 0, while nobody else uses it.
  void store(unsigned which, int64_t value) { (group_ ? group_->words() : words_.data())[which].store(value, std::memory_order_release); }

  // ---- data of one operation, numbered alike on all ranks ----
  void begin() { ++operation_; }
  int ready();  // makes what the following need: PTL_* codes
  // Memory, or Pieces that stay valid; `buffer`: whose `sent` counts it when the memory is free again.
  int put(unsigned buffer, const void* start, bool in_pieces, int64_t bytes, int rank, Kind kind, int64_t number);
  // Room for one message; `buffer`: whose `arrived` counts it.
  int accept(unsigned buffer, void* start, bool in_pieces, int64_t bytes, int rank, Kind kind, int64_t number);
  int await_sent(unsigned buffer);            // all puts of it
  int await_arrived(unsigned buffer);         // all messages accepted for it
  static constexpr unsigned kOwn = kBuffers;  // of this rank's own data, beside its windows

  bool broken() const { return broken_; }

 private:
  int watch();  // for ranks that die
  int await(ptl_handle_ct_t counter, ptl_size_t count);
  ptl_match_bits_t bits(Kind kind, int64_t number) const;

  struct Lane {
    client::Counter sent, arrived;
    client::Descriptor memory, pieces;
    ptl_size_t puts = 0, entries = 0;
    // Leaves all objects to the interface: something may refer to them for ever.
    void abandon();
  };
  const Communicator* comm_ = nullptr;
  size_t rank_ = 0, size_ = 1;
  uint64_t gathers_ = 0, operation_ = 0;
  bool broken_ = false, ready_ = false;
  std::vector<Record> records_;  // two sets, used by turns
  client::Deaths deaths_;
  client::Descriptor small_;
  std::vector<client::Counter> heard_;
  std::vector<client::MatchEntry> entries_;
  std::array<SharedMemoryGroup::Word, SharedMemoryGroup::kWords> words_{};
  SharedMemoryGroup::Pointer group_;
  std::array<Lane, kBuffers + 1> lanes_;
};

}  // namespace portunus::mpi::io
