// Runs a compiled schedule by Portals 4.3 alone: what program.hpp does by extensions E1-E7 is done by their fallbacks.
//
// It is here to compare: no message may come before it is wanted, so each is announced and then fetched, which takes one more
// way through the network than program.hpp; and whatever is used up by an execution is issued again for the next one.
//
//   sender                            receiver
//   appends an entry for the get      appends an entry for the announcement; it counts on a counter of the receive
//   put of no bytes ----------------> counted, also if it came before the entry (PTL_ME_EVENT_CT_OVERFLOW)
//   the entry counts: sent  <-------- get, as soon as the announcement and what the receive waits for are there
//
//   E1, E2  announcements (above): no payload is ever unexpected, and no entry is appended by a counter
//   E3      triggered put and atomics to oneself, whose acknowledgements count; what those cannot do (subtraction, division,
//           time) the thread does that tests or waits; work on memory in pieces would be divided into what is contiguous
//   E4, E5  PtlCTGet and PtlCTWait; everything is issued again
//   E6      failures are looked for after the execution, on this rank alone; results of others may be wrong
//   E7      what waits for a start may overtake it
//
// Thread: one at a time per object.
// Invariants: after epoch E every counter is E * K, and nothing is parked or linked but what is for all epochs.
// Source: Portals 4.3 section 3.14 and 3.15; rendezvous as in Di Girolamo, Jolivet, Underwood, Hoefler, "Exploiting offload
// enabled network interfaces", HOTI 2015.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/goal/program.hpp"

namespace portunus::goal {

class PlainProgram {
 public:
  // One binding per vertex. `index` is a portal table entry of its own, equal on all ranks; `max_atomic` bytes of one atomic, 16 at least.
  PlainProgram(ptl_handle_ni_t ni, ptl_pt_index_t index, Program program, std::vector<Binding> bindings, uint64_t max_atomic);
  ~PlainProgram() { unload(); }
  PlainProgram(const PlainProgram&) = delete;
  PlainProgram& operator=(const PlainProgram&) = delete;

  // PTL_ARG_INVALID: it receives from any source or any tag, whom nobody could ask for the message, or works on pieces. On
  // all ranks before the first start.
  int load();
  int start();
  // PTL_FAIL: something failed here.
  int wait();
  int test(bool& ended);
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] uint64_t epoch() const { return epoch_; }
  [[nodiscard]] bool counters_are_full() const;

 private:
  // The form that a local operation takes.
  enum class Way : uint8_t { nothing, put, atomic, put_and_atomic, host };
  // A receive, or a local operation: its counters besides those of the program.
  struct Extra {
    CounterId counter = kNoCounter;  // announcement and prerequisites; the copy before the atomic
    CounterId parts = kNoCounter;    // of an atomic in several parts
    uint64_t since_ns = 0;           // when a delay by the host began
    Way way = Way::nothing;
    bool pending = false;  // by the host, in this epoch
  };

  void unload();
  [[nodiscard]] Way way_of(const Operation& operation) const;
  CounterId new_counter(uint32_t increments);
  void claim(const Operation& operation, bool early);
  int descriptor(CounterId counter, ptl_handle_md_t& handle);
  int open();
  int append(uint64_t bits, uint32_t rank, unsigned options, void* start, uint64_t length, CounterId counter);
  int expect(const Operation& operation, bool early);
  int park(const Operation& operation);
  int park_local(const Operation& operation);
  int park_atomic(const Operation& operation, Point when);
  int increment(CounterId counter, Point when);
  void look();
  void work(const Operation& operation, Extra& extra);
  int end_epoch();
  [[nodiscard]] uint64_t at(Point when) const { return when.threshold + epoch_ * increments_[when.counter]; }
  [[nodiscard]] ptl_ct_event_t value(CounterId counter) const;
  [[nodiscard]] uint64_t epoch_bits() const { return (epoch_ & 0xff) << kEpochShift; }

  ptl_handle_ni_t ni_;
  ptl_pt_index_t index_;
  Program program_;
  std::vector<Binding> bindings_;
  uint64_t max_atomic_;
  ptl_process_t self_{};
  bool open_ = false, running_ = false;
  uint64_t epoch_ = 0;
  std::vector<uint32_t> increments_;  // of the program's counters and of ours
  std::vector<ptl_handle_ct_t> counters_;
  std::vector<ptl_handle_md_t> descriptors_;        // by counter: all memory, counting replies and acknowledgements there
  std::vector<ptl_handle_md_t> scattered_;          // of receives into pieces
  std::vector<ptl_handle_md_t> into_;               // by vertex: one of these, or none
  ptl_handle_md_t announcer_ = PTL_INVALID_HANDLE;  // no memory, no counter
  std::vector<ptl_handle_me_t> entries_;            // of this epoch
  ptl_handle_me_t overflow_ = PTL_INVALID_HANDLE, own_memory_ = PTL_INVALID_HANDLE;
  std::vector<Extra> extras_;  // by vertex
};

}  // namespace portunus::goal
