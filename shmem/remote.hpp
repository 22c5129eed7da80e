// remote.hpp: symmetric memory of PEs that are not on this node, by Portals operations.
//
// Each segment is a list entry on a portal index of its own, with neither events nor counters, so a target does nothing
// for what arrives. A Channel is what a context owns at the initiator: operations whose ends are counted, never reset
// (engine/client/remote_memory.hpp).
//
//   put, atomic, nbi       all_       quiet waits for them
//   get, fetch             answers_   the call itself waits
//   put with signal        short: in all_, the update right behind the put, which it does not overtake
//                          long: the update is triggered by the acknowledgements of the puts (client::SignalledPuts)
//
// Thread: any. Non-blocking issue is free of locks; a blocking call holds `blocking_` from issue to completion, since
// a counter cannot tell whose reply it counted.
// Source: Portals 4.3, chapters "Data Movement Operations" and "Lightweight Counting Events".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "engine/client/remote_memory.hpp"
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
  // `cond`: of PTL_CSWAP.
  void fetch(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size, const void* cond = nullptr);
  void fetch_nbi(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size, const void* cond = nullptr);
  void set(int pe, Place to, const void* value, size_t size);

  // All operations so far are complete at their targets, and their results here.
  void quiet();
  // Ends the job if an operation has failed by now. Waits for none.
  void check_failures() const;
  // Later operations take effect after earlier ones at the same PE.
  void fence();

 private:
  static constexpr size_t kPayloads = 8;

  template <class Issue>
  void send(size_t size, const char* call, const char* what, Issue&& issue);
  std::unique_lock<std::mutex> exclusive();
  void note_put(size_t size);

  client::Operations all_, answers_;
  client::Queue sent_;                          // SEND events of sending_, at most one outstanding
  client::Descriptor copied_, lazy_, sending_;  // beside all_.own(), which leaves at once
  std::mutex blocking_;
  bool one_thread_ = false;
  client::SignalledPuts payloads_[kPayloads];               // one long put with signal at a time each; opened by the first ones
  std::atomic<size_t> signalled_{0};                        // these, so far
  std::atomic<uint64_t> long_puts_{0}, long_puts_over_{0};  // begun; begun before the last quiet
  alignas(8) uint64_t sink_ = 0;                            // where the old value goes that nobody wants
};

// The one context there is so far.
extern client::Undestroyed<Channel> default_channel_storage [[gnu::visibility("hidden")]];
inline constexpr Channel& default_channel = default_channel_storage.it;

using RemoteIndices = std::array<ptl_pt_index_t, kSegments>;

// Opens what the segments [start, start + size) need on `ni`; the indices must turn out equal on all PEs.
RemoteIndices remote_open(ptl_handle_ni_t ni, const ptl_ni_limits_t& limits, void* const start[kSegments], const size_t size[kSegments]);
void remote_close();

}  // namespace portunus::shmem
