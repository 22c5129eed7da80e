// net.hpp: words and bytes of other processes' blocks: by loads and stores on the node, by Portals operations elsewhere.
//
// A peer that cannot be reached is noted as dead; what was asked of it answers 0, and failed() is true until clear().
//
// Thread: the one that calls the library. Source: Portals 4.3, "Data Movement Operations", "Lightweight Counting
// Events".
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/client/deaths.hpp"
#include "engine/client/remote_memory.hpp"

namespace portunus::views {

using client::Operations;

inline std::atomic_ref<uint64_t> word_at(char* place) { return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(place)); }

class Net {
 public:
  // Collective. `block` is the whole symmetric block.
  void open(char* block, size_t bytes, int me, int processes);
  void close();

  // The address of `offset` of that process here; nullptr when it is not on this node.
  char* near(int pe, size_t offset) const { return at(pe).base ? at(pe).base + offset : nullptr; }
  // Inside of wait() only those are found that were asked for outside before: a callback must not call what steps the
  // engine.
  bool dead(int pe);
  bool waiting() const { return waiting_; }
  void declare_dead(int pe) { at(pe).is_dead = true; }
  bool failed() const { return failed_; }
  void clear() { failed_ = false; }

  uint64_t load(int pe, size_t offset) {
    char* const here = near(pe, offset);
    return here ? word_at(here).load() : fetch(pe, offset, PTL_SUM, 0);
  }
  // word = word op value; returns the old word.
  uint64_t fetch(int pe, size_t offset, ptl_op_t op, uint64_t value) {
    if (char* const here = near(pe, offset)) return client::change(word_at(here), op, value);
    begin_fetch(pe, offset, op, value);
    return end_fetch(pe);
  }
  // The same in two halves, for a process that is not on this node: operations begun in between are in order behind it.
  void begin_fetch(int pe, size_t offset, ptl_op_t op, uint64_t value) { fetch(replies_, pe, offset, op, value, &result_); }
  uint64_t end_fetch(int pe) { return answered(replies_, pe) ? result_ : 0; }
  // Nobody waits for these: in order before what is asked for next. A peer that is dead does not miss them. `bytes`: so few that they are
  // copied at once.
  void store(int pe, size_t offset, uint64_t value);  // and wakes the threads that wait there
  void tell(int pe, size_t offset, ptl_op_t op, uint64_t value);
  void put_small(int pe, size_t offset, const void* from, size_t bytes);
  // Bytes; true when they are there.
  bool get(int pe, size_t offset, void* to, size_t bytes) {
    get(replies_, pe, offset, to, bytes);
    return answered(replies_, pe);
  }

  client::Bundle bundle() const { return client::Bundle(ni_); }

  // Opens gets that are pending together (Operations), or puts with a signal (SignalledPuts).
  template <class Batch>
  void open(Batch& batch) const {
    check(batch.open(ni_), "PtlMDBind");
  }
  void get(Operations& batch, int pe, size_t offset, void* to, size_t bytes);
  // In order with the gets of at most ordered() bytes that are issued before and behind it.
  void fetch(Operations& batch, int pe, size_t offset, ptl_op_t op, uint64_t value, uint64_t* old);
  // Waits. False: the process has died.
  bool answered(Operations& batch, int pe);
  size_t ordered() const { return std::min(limits_.max_waw_ordered_size, limits_.max_war_ordered_size); }

  // Puts that leave by themselves; when all are acknowledged, `value` is put to the word at `word`: the engines do it,
  // nobody waits.
  void put(client::SignalledPuts& delivery, int pe, size_t offset, const void* from, size_t bytes);
  void finish(client::SignalledPuts& delivery, int pe, size_t word, uint64_t value);

  // Puts that the target counts, and nobody acknowledges: entries of their own, named by match bits, each with a counter.
  ptl_handle_ct_t count_puts(ptl_match_bits_t bits, size_t offset, size_t bytes);
  uint64_t counted(ptl_handle_ct_t count) const;
  void count_one(ptl_handle_ct_t count);
  // `from` is an offset of this process's block, whose bytes stay as they are until it is known that they came; or have left, when
  // nothing of `leaving` is pending.
  void put_counted(int pe, ptl_match_bits_t bits, size_t from, size_t bytes, const client::When& when = {}, Operations* leaving = nullptr);
  // Lets what happens when a counter reaches a threshold happen again, each time that it has counted `stride` more.
  void repeat(ptl_handle_ct_t count, uint64_t stride);
  void add_when(const client::When& when, int pe, size_t offset);

  void ring(int pe);
  // Waits until done(arg), which looks at this process's own words and counters alone: it is called while this thread steps
  // the engine.
  void wait(int (*done)(void*), void* arg);
  bool any_far() const { return any_far_; }

 private:
  struct Process {
    char* base = nullptr;  // of its block here, if it is on this node
    ptlx_watch_t watch{};
    client::Deaths deaths;  // once asked for
    bool is_dead = false;
  };
  Process& at(int pe) const { return processes_[static_cast<size_t>(pe)]; }
  client::RemoteAddress at(int pe, size_t offset) const { return {client::process(pe), index_, 0, offset}; }
  client::By unanswered() const { return {copied_, PTL_NO_ACK_REQ}; }
  static void check(int code, const char* call);
  // Counts a message that was issued with this code.
  static void issued(int code, const char* call);
  static void waits_for_round();

  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  ptl_ni_limits_t limits_{};
  ptl_pt_index_t index_ = 0, stream_index_ = 0;
  client::MatchEntry entry_;
  Operations replies_;
  client::Descriptor kept_, copied_;  // of bytes that stay as they are, or are copied at once, which nobody counts
  alignas(8) uint64_t result_ = 0;
  char* block_ = nullptr;
  uint64_t one_ = 1;  // what add_when adds
  std::unique_ptr<Process[]> processes_;
  bool waiting_ = false, failed_ = false, any_far_ = false;
  int me_ = 0;
};

}  // namespace portunus::views
