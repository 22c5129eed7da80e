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
#include <deque>
#include <vector>

#include "engine/client/deaths.hpp"

namespace portunus::views {

// Gets that are under way together.
struct Batch {
  ptl_handle_ct_t count = PTL_CT_NONE;
  ptl_handle_md_t md{};
  uint64_t asked = 0;
  bool open() const { return count != PTL_CT_NONE; }
};
enum class Arrival : uint8_t { under_way, all, failed };

class Net {
 public:
  // Collective. `block` is the whole symmetric block.
  void open(char* block, size_t bytes, int me, int processes);
  void close();

  // Where `offset` of that process lies here; nullptr when it is not on this node.
  char* near(int pe, size_t offset) const { return bases_[static_cast<size_t>(pe)] ? bases_[static_cast<size_t>(pe)] + offset : nullptr; }
  // Inside of wait() only those are found that were asked for outside before: a callback must not call what steps the
  // engine.
  bool dead(int pe);
  bool waiting() const { return waiting_; }
  void declare_dead(int pe) { dead_[static_cast<size_t>(pe)] = 1; }
  bool failed() const { return failed_; }
  void clear() { failed_ = false; }

  uint64_t load(int pe, size_t offset);
  void store(int pe, size_t offset, uint64_t value);  // and wakes who waits there
  uint64_t fetch_add(int pe, size_t offset, uint64_t value);
  uint64_t fetch_or(int pe, size_t offset, uint64_t value);
  uint64_t fetch_and(int pe, size_t offset, uint64_t value);
  // Nobody waits for these: in order before what is asked for next. `bytes`: so few that they are copied at once.
  void set_bits(int pe, size_t offset, uint64_t bits);
  void put_small(int pe, size_t offset, const void* from, size_t bytes);
  // The same in two halves, for a process that is not on this node: what is asked for in between is in order behind it.
  void begin_fetch_or(int pe, size_t offset, uint64_t value);
  uint64_t end_fetch(int pe);
  uint64_t exchange(int pe, size_t offset, uint64_t value);
  bool compare_exchange(int pe, size_t offset, uint64_t& expected, uint64_t value);
  // Bytes; true when they are there. A put is acknowledged before it returns.
  bool get(int pe, size_t offset, void* to, size_t bytes);
  bool put(int pe, size_t offset, const void* from, size_t bytes);

  // While one lives, what is asked for may be kept back, to travel together, until somebody waits.
  class Bundle {
   public:
    explicit Bundle(Net& net) : net_(net) { PtlStartBundle(net_.ni_); }
    ~Bundle() { PtlEndBundle(net_.ni_); }
    Bundle(const Bundle&) = delete;
    Bundle& operator=(const Bundle&) = delete;

   private:
    Net& net_;
  };

  void begin(Batch& batch);
  void get(Batch& batch, int pe, size_t offset, void* to, size_t bytes);
  // A word, read by an atomic: in order with the gets of at most ordered() bytes that are issued before and behind it.
  void load(Batch& batch, int pe, size_t offset, uint64_t* to);
  // What is not long goes in messages that travel with their header: longer ones need the other's engine once more, which may have to wait
  // for a processor.
  size_t part_of(size_t bytes) const {
    constexpr size_t kLong = 128 * 1024;
    return bytes <= kLong ? ordered() : limits_.max_msg_size;
  }
  // Nobody asks in which order counted ones come; and puts of this length need the other's engine once in any case.
  size_t counted_part_of(size_t bytes) const {
    constexpr size_t kWhole = 64 * 1024;
    return bytes <= kWhole ? bytes : part_of(bytes);
  }
  size_t ordered() const { return std::min(limits_.max_waw_ordered_size, limits_.max_war_ordered_size); }
  Arrival wait(Batch& batch, int pe);
  Arrival arrived(Batch& batch);
  bool settled(const Batch& batch) const;  // nothing of it arrives any more
  void end(Batch& batch);

  // Puts that leave by themselves; when all are acknowledged, `value` is put to the word at `told`: the engines do it,
  // nobody waits.
  struct Delivery {
    ptl_handle_ct_t acks = PTL_CT_NONE, last = PTL_CT_NONE;
    ptl_handle_md_t md{}, last_md{};
    uint64_t puts = 0;
    uint64_t value = 0;
  };
  void begin(Delivery& delivery);
  void put(Delivery& delivery, int pe, size_t offset, const void* from, size_t bytes);
  void finish(Delivery& delivery, int pe, size_t told, uint64_t value);
  bool is_over(const Delivery& delivery) const;
  bool finished(Delivery& delivery);  // and gives its means back

  // Puts that the target counts, and nobody acknowledges: entries of their own, named by match bits, each with a counter. A message of
  // `bytes` goes in parts_of(bytes) puts.
  uint64_t parts_of(size_t bytes) const { return bytes == 0 ? 1 : (bytes - 1) / counted_part_of(bytes) + 1; }
  ptl_handle_ct_t count_puts(ptl_match_bits_t bits, size_t offset, size_t bytes);
  uint64_t counted(ptl_handle_ct_t count) const;
  void count_one(ptl_handle_ct_t count);
  // Of puts whose bytes may change as soon as they have left.
  struct Leaving {
    ptl_handle_ct_t count = PTL_CT_NONE;
    ptl_handle_md_t md{};
    uint64_t puts = 0;
  };
  bool have_left(const Leaving& leaving) const;
  // `from` is an offset of this process's block, whose bytes stay as they are until it is known that they came; or have left.
  void put_counted(int pe, ptl_match_bits_t bits, size_t from, size_t bytes, Leaving* leaving = nullptr);
  void add(int pe, size_t offset, uint64_t value);
  // What is said to happen when a counter reaches a threshold then happens again, each time that it has counted `stride` more.
  void repeat(ptl_handle_ct_t count, uint64_t stride);
  void put_when(ptl_handle_ct_t count, uint64_t threshold, int pe, ptl_match_bits_t bits, size_t from, size_t bytes);
  void add_when(ptl_handle_ct_t count, uint64_t threshold, int pe, size_t offset);

  void ring(int pe);
  // Waits until done(arg), which looks at this process's own words and counters alone: it is called while this thread steps
  // the engine.
  void wait(int (*done)(void*), void* arg);
  bool any_far() const { return any_far_; }

  static void count_message();

 private:
  void bind(ptl_handle_md_t& md, unsigned options, ptl_handle_ct_t count);
  uint64_t answer(int code, int pe);
  bool wait_for_replies(int pe);
  void renew_replies();
  uint64_t fetch(int pe, size_t offset, ptl_op_t op, uint64_t operand);

  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  ptl_ni_limits_t limits_{};
  ptl_pt_index_t index_ = 0, stream_index_ = 0;
  ptl_handle_me_t entry_{};
  ptl_handle_ct_t replies_ = PTL_CT_NONE;
  ptl_handle_md_t reply_md_{}, operand_md_{}, volatile_md_{}, memory_md_{};
  uint64_t asked_ = 0;
  alignas(8) uint64_t result_ = 0;
  char* block_ = nullptr;
  uint64_t one_ = 1;  // what add_when adds
  std::vector<char*> bases_;
  std::vector<ptlx_watch_t> watches_;
  std::deque<client::Deaths> deaths_;  // of each process, once asked for
  std::vector<uint8_t> dead_;
  bool waiting_ = false, failed_ = false, any_far_ = false, oversubscribed_ = false;
  int me_ = 0;
};

inline std::atomic_ref<uint64_t> word_at(char* place) { return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(place)); }

inline uint64_t Net::load(int pe, size_t offset) {
  if (char* here = near(pe, offset)) return word_at(here).load(std::memory_order_seq_cst);
  return fetch(pe, offset, PTL_SUM, 0);
}
inline uint64_t Net::fetch_add(int pe, size_t offset, uint64_t value) {
  if (char* here = near(pe, offset)) return word_at(here).fetch_add(value, std::memory_order_seq_cst);
  return fetch(pe, offset, PTL_SUM, value);
}
inline uint64_t Net::fetch_or(int pe, size_t offset, uint64_t value) {
  if (char* here = near(pe, offset)) return word_at(here).fetch_or(value, std::memory_order_seq_cst);
  return fetch(pe, offset, PTL_BOR, value);
}
inline uint64_t Net::fetch_and(int pe, size_t offset, uint64_t value) {
  if (char* here = near(pe, offset)) return word_at(here).fetch_and(value, std::memory_order_seq_cst);
  return fetch(pe, offset, PTL_BAND, value);
}

}  // namespace portunus::views
