// remote.hpp: symmetric memory of PEs that are not on this node, by Portals operations.
//
// Each segment is a list entry on a portal index of its own, with neither events nor counters, so a target does nothing
// for what arrives. A Channel is what a context owns at the initiator: memory descriptors over all memory and counters
// of acknowledgements and replies, never reset. An operation is finished when the counter says so.
//
//   put, atomic            volatile | put | lazy_put | send  -> acks     quiet: acks    == puts
//   nbi get, nbi fetch     get | lazy_get                    -> replies  quiet: replies == gets
//   get, fetch             blocking                          -> answers  the call itself waits
//   put with signal        of a Payload: the update is triggered by the acknowledgements of the puts
//
// Thread: any. Non-blocking issue is free of locks; a blocking call holds `blocking_` from issue to completion, since
// a counter cannot tell whose reply it counted.
// Invariants: `puts_` and `gets_` are raised before the operation is issued, so no counter can run ahead of them.
// Source: Portals 4.3, chapters "Data Movement Operations" and "Lightweight Counting Events".
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "shmem/runtime.hpp"

namespace portunus::shmem {

class Channel {
 public:
  // Claims descriptors and counters on the interface of remote_open; false if there are none left. `one_thread` promises
  // that no two threads are in here at the same time.
  bool open(bool one_thread = false);
  void close();

  // The source may be reused on return: copied if it is small, else the call waits until it was sent.
  void put(int pe, Place to, const void* source, size_t size);
  // The source is in use until quiet.
  void put_nbi(int pe, Place to, const void* source, size_t size);
  void get(int pe, Place from, void* dest, size_t size);
  // put, of `blocks` pieces of `size` bytes each, that lie to_step and source_step apart; few messages where they are small.
  void put_blocks(int pe, Place to, size_t to_step, const void* source, size_t source_step, size_t size, size_t blocks);
  // `blocks` pieces of `size` bytes, at regular distances here and there.
  void get_blocks(int pe, Place from, size_t from_step, void* dest, size_t dest_step, size_t size, size_t blocks);
  void get_nbi(int pe, Place from, void* dest, size_t size);

  // A put, and when it has arrived an update of the word `signal`: SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD, done by the engine.
  // With `nbi` the source is in use until quiet.
  void put_signal(int pe, Place to, const void* source, size_t size, Place signal, uint64_t value, bool add, bool nbi);

  // Atomics on one datum of 4 or 8 bytes; `operand`, `value`, `cond` are read before the call returns.
  void atomic(int pe, Place to, ptl_op_t op, const void* operand, size_t size);
  void fetch(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size);
  void fetch_nbi(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size);
  // SWAP, or with `cond` CSWAP.
  void swap(int pe, Place to, const void* value, const void* cond, void* result, size_t size);
  void swap_nbi(int pe, Place to, const void* value, const void* cond, void* result, size_t size);
  void set(int pe, Place to, const void* value, size_t size);

  // All operations so far are complete at their targets, and their results here.
  void quiet();
  // Ends the job if an operation has failed by now. Waits for none.
  void check_failures() const;
  // Later operations take effect after earlier ones at the same PE.
  void fence();

 private:
  void wait_until_sent(const char* what, int pe);
  // One put-with-signal at a time. Its puts are counted apart from all others, so that the update of the signal can hang on
  // them; the engine reads `signal` when it does the update, which `updated` counts.
  struct Payload {
    ptl_handle_ct_t acks = PTL_CT_NONE, updated = PTL_CT_NONE;
    ptl_handle_md_t md{}, volatile_md{}, signal_md{};
    uint64_t puts = 0, updates = 0;
    uint64_t signal = 0;
  };
  static constexpr size_t kPayloads = 8;

  bool bind_all();
  void swap_by(ptl_handle_md_t md, int pe, Place to, const void* value, const void* cond, void* result, size_t size);
  Payload& next_payload();
  void wait_for_signals();
  static void wait_for_all(ptl_handle_ct_t counter, uint64_t expected, const char* what);
  static void wait_for_issued(ptl_handle_ct_t counter, const std::atomic<uint64_t>& issued, const char* what);
  void wait_for_answers(const char* what);
  std::unique_lock<std::mutex> exclusive();

  ptl_handle_ct_t acks_ = PTL_CT_NONE, replies_ = PTL_CT_NONE, answers_ = PTL_CT_NONE;
  ptl_handle_eq_t sent_ = PTL_EQ_NONE;  // SEND events of send_md_, at most one outstanding
  ptl_handle_md_t volatile_md_{}, put_md_{}, lazy_put_md_{}, send_md_{}, get_md_{}, lazy_get_md_{}, blocking_md_{};
  std::atomic<uint64_t> puts_{0}, gets_{0};
  std::mutex blocking_;
  bool one_thread_ = false;
  std::deque<Payload> payloads_;      // made by the first puts with signal
  std::atomic<bool> signals_{false};  // there are some
  size_t payload_turn_ = 0;
  uint64_t asked_ = 0;            // answers that answers_ will have counted when the blocking call under way is done
  alignas(8) uint64_t sink_ = 0;  // where the old value goes that nobody wants
};

// The one context there is so far.
extern Channel default_channel [[gnu::visibility("hidden")]];

struct RemoteIndices {
  ptl_pt_index_t of[kSegments];
};

// Opens what the segments [start, start + size) need on `ni`; the indices must turn out equal on all PEs.
RemoteIndices remote_open(ptl_handle_ni_t ni, const ptl_ni_limits_t& limits, void* const start[kSegments], const size_t size[kSegments]);
void remote_close();

}  // namespace portunus::shmem
