// remote_memory.hpp: memory of other processes: by a pointer where this process maps it, elsewhere by operations of Portals.
//
//   expose         this process's memory as an entry that operations of others aim at
//   RemoteAddress  the target of an operation
//   change, ring   an atomic by a pointer, and waking the threads that wait for it
//   Operations     puts, gets and atomics, counted when they are complete; quiet() waits for all of them
//   put ... fetch  one operation, at once or later, that counts among them or not
//   SignalledPuts  puts, and an atomic on a word of their target when all have arrived: the engines do it, nobody waits
//
// An operation is complete when it is acknowledged, or when its data are here. One whose target has died, or refuses it, is a failure.
// Operations at one target take effect in Portals' order; what must come after more than that is issued after quiet().
//
// Thread: issuing, looking and quiet(): any; open, bind, close: one. Invariant: what is issued is noted before, so that no count runs ahead
// of it. Cost: an addition beside the call of Portals. Source: Portals 4.3, 3.10 (descriptors), 3.14 (counting events), 3.15.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "engine/client/objects.hpp"

namespace portunus::client {

// Exposes memory of this process, which all processes of its user may put to and get from without an event, by a MatchEntry or ListEntry.
// `counter`: counts these operations.
template <class Entry>
int expose(ptl_handle_ni_t ni, ptl_pt_index_t index, void* start, ptl_size_t bytes, ptl_match_bits_t bits, Entry& exposed,
           ptl_handle_ct_t counter = PTL_CT_NONE) {
  const unsigned counts = counter == PTL_CT_NONE ? 0 : PTL_ME_EVENT_CT_COMM;
  ptl_me_t entry = entry_of(start, bytes, counts | PTL_ME_OP_PUT | PTL_ME_OP_GET | kQuiet | PTL_ME_EVENT_SUCCESS_DISABLE, bits, counter);
  const int code = PtlGetUid(ni, &entry.uid);
  return code == PTL_OK ? exposed.append(ni, index, entry) : code;
}

// Match bits mean nothing where entries have none.
struct RemoteAddress {
  ptl_process_t process;
  ptl_pt_index_t index;
  ptl_match_bits_t bits;
  ptl_size_t offset;

  RemoteAddress operator+(ptl_size_t more) const { return {process, index, bits, offset + more}; }
};

// Sets word = word op operand, and returns its old value: a sum, a pattern of bits, PTL_SWAP, or PTL_CSWAP where it is `*expected`.
template <class T>
[[gnu::always_inline]] inline T change(std::atomic_ref<T> word, ptl_op_t op, T operand, const T* expected = nullptr) {
  if constexpr (std::is_integral_v<T>) switch (op) {
      case PTL_SUM: return word.fetch_add(operand);
      case PTL_BOR: return word.fetch_or(operand);
      case PTL_BAND: return word.fetch_and(operand);
      case PTL_BXOR: return word.fetch_xor(operand);
      case PTL_CSWAP: {
        T old = *expected;
        word.compare_exchange_strong(old, operand);
        return old;
      }
      default: break;
    }
  return word.exchange(operand);
}

// The bits of memory for which threads of a process sleep, read after a store to its memory.
inline uint32_t watched_after_store(const ptlx_watch_t& watch) {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the load comes after the store, see PtlxNodeRing
  return std::atomic_ref<uint32_t>(*watch.watched).load(std::memory_order_relaxed);
}
// Wakes those that sleep until memory of these bits changes.
inline void ring(const ptlx_watch_t& watch, uint32_t bits) {
  if (watched_after_store(watch) & bits) PtlxNodeRing(&watch);
}

class Operations;

// How an operation is issued: by a descriptor of all memory, with what acknowledges it and the pointer that its events have. `among`: the
// operations that it counts among (Operations::by); nullptr: nobody counts it here.
struct By {
  ptl_handle_md_t memory;
  ptl_ack_req_t ack = PTL_CT_ACK_REQ;
  void* user = nullptr;
  Operations* among = nullptr;
};

// An operation is issued when `counter` reaches `threshold`; without a counter at once.
struct When {
  ptl_handle_ct_t counter = PTL_CT_NONE;
  ptl_size_t threshold = 0;
  bool is_now() const { return counter == PTL_CT_NONE; }
};

class Operations {
 public:
  static constexpr unsigned kCounted = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY;
  enum class State : uint8_t { pending, complete, failed };

  int open(ptl_handle_ni_t ni, unsigned options = kCounted) {
    close();
    issued_ = 0;
    int code = counter_.open(ni);
    if (code == PTL_OK) code = memory_.bind_all(ni, options, counter_);
    if (code != PTL_OK) close();
    return code;
  }
  void close() {
    memory_.close();
    counter_.close();
  }
  [[nodiscard]] bool is_open() const { return counter_.is_open(); }

  // How operations are issued that count here: by the descriptor that open() made, or by another of all memory that counts by counter()
  // and is closed first.
  By own() { return by(memory_); }
  By by(const Descriptor& another, ptl_ack_req_t ack = PTL_CT_ACK_REQ, void* user = nullptr) { return {another, ack, user, this}; }
  const Counter& counter() const { return counter_; }

  // One operation, which issue() begins. PTL_* codes, as of all that follows.
  template <class Issue>
  int one(Issue&& issue) {
    issued_.fetch_add(1, std::memory_order_relaxed);
    const int code = issue();
    if (code != PTL_OK) [[unlikely]]
      PtlCTInc(counter_, {1, 0});  // in its place
    return code;
  }

  [[nodiscard]] uint64_t issued() const { return issued_.load(std::memory_order_relaxed); }
  // A counter that cannot be read is a failure. Lets the engine make progress.
  [[nodiscard]] ptl_ct_event_t count() const {
    ptl_ct_event_t count{};
    return PtlCTGet(counter_, &count) == PTL_OK ? count : ptl_ct_event_t{0, 1};
  }
  [[nodiscard]] State state() const {
    const ptl_ct_event_t now = count();
    return now.failure != 0 ? State::failed : now.success >= issued() ? State::complete : State::pending;
  }
  // Nothing that was issued will count any more.
  [[nodiscard]] bool nothing_pending() const {
    if (issued() == 0) return true;
    const ptl_ct_event_t now = count();
    return now.success + now.failure >= issued();
  }
  // All that was issued is complete, as far as is known without a step of the engine; none has failed.
  [[nodiscard]] bool is_quiet() const {
    const uint64_t expected = issued();
    const ptl_ct_event_t now = counter_.peek();
    return now.success >= expected && now.failure == 0;
  }
  // The operations that failed, without a step of the engine.
  [[nodiscard]] ptl_size_t failures() const { return counter_.peek().failure; }

  // Waits until all is complete that was issued before. What other threads issue meanwhile may be counted in its place: so it is waited
  // for, too. PTL_FAIL: something has failed.
  int quiet(int (*wait)(ptl_handle_ct_t, ptl_size_t, ptl_ct_event_t*) = PtlCTWait) const {
    uint64_t expected = issued();
    for (uint64_t seen = ~expected; seen != expected; expected = issued()) {
      ptl_ct_event_t count;
      seen = expected;
      if (const int code = wait(counter_, seen, &count); code != PTL_OK) return code;
      if (count.failure != 0) return PTL_FAIL;
    }
    return PTL_OK;
  }

 private:
  std::atomic<uint64_t> issued_{0};
  Counter counter_;
  Descriptor memory_;
};

constexpr ptl_hdr_data_t kNoHeaderData = 0;
// Operations of up to so many bytes may travel together (PTLX_MD_LAZY): programs issue them by the thousand. Longer ones leave at once, so
// that they move while the program computes.
constexpr ptl_size_t kMostTogether = 512;

// Issues an operation by `now`, or by `later`, which takes a counter and its threshold behind the same arguments.
template <class Now, class Later, class... Arguments>
[[gnu::always_inline]] inline int issue(const By& by, const When& when, Now* now, Later* later, Arguments... arguments) {
  const auto call = [&] { return when.is_now() ? now(arguments...) : later(arguments..., when.counter, when.threshold); };
  return by.among ? by.among->one(call) : call();
}

inline int put(const By& by, const RemoteAddress& to, const void* from, ptl_size_t bytes, const When& when = {}) {
  return issue(by, when, PtlPut, PtlTriggeredPut, by.memory, address(from), bytes, by.ack, to.process, to.index, to.bits, to.offset,
               by.user, kNoHeaderData);
}
inline int get(const By& by, const RemoteAddress& from, void* to, ptl_size_t bytes, const When& when = {}) {
  return issue(by, when, PtlGet, PtlTriggeredGet, by.memory, address(to), bytes, from.process, from.index, from.bits, from.offset, by.user);
}
inline int update(const By& by, const RemoteAddress& at, ptl_op_t op, ptl_datatype_t type, const void* operand, ptl_size_t bytes,
                  const When& when = {}) {
  return issue(by, when, PtlAtomic, PtlTriggeredAtomic, by.memory, address(operand), bytes, by.ack, at.process, at.index, at.bits,
               at.offset, by.user, kNoHeaderData, op, type);
}
// The operand of an atomic that fetches. `memory`: its descriptor; `expected`: of PTL_CSWAP and its like, else nothing; read by the call.
struct Operand {
  ptl_handle_md_t memory;
  const void* at;
  const void* expected = nullptr;
};
inline int fetch(const By& by, const RemoteAddress& at, ptl_op_t op, ptl_datatype_t type, const Operand& operand, void* old,
                 ptl_size_t bytes, const When& when = {}) {
  const ptl_size_t to = address(old), from = address(operand.at);
  if (op == PTL_SWAP || operand.expected)
    return issue(by, when, PtlSwap, PtlTriggeredSwap, by.memory, to, operand.memory, from, bytes, at.process, at.index, at.bits, at.offset,
                 by.user, kNoHeaderData, operand.expected, op, type);
  return issue(by, when, PtlFetchAtomic, PtlTriggeredFetchAtomic, by.memory, to, operand.memory, from, bytes, at.process, at.index, at.bits,
               at.offset, by.user, kNoHeaderData, op, type);
}

// Thread: one at a time.
class SignalledPuts {
 public:
  int open(ptl_handle_ni_t ni) {
    const int code = puts.open(ni);
    return code == PTL_OK ? signals_.open(ni) : code;
  }
  void close() {
    puts.close();
    signals_.close();
  }

  // word = word op value at `at`, or PTL_SWAP: word = value. Once all puts so far are acknowledged; not before the last one is complete.
  int signal(const RemoteAddress& at, ptl_op_t op, uint64_t value) {
    value_ = value;
    const By by = signals_.own();
    const When all_arrived{puts.counter(), puts.issued()};
    return op == PTL_SWAP ? fetch(by, at, op, PTL_UINT64_T, {by.memory, &value_}, &old_, sizeof value, all_arrived)
                          : update(by, at, op, PTL_UINT64_T, &value_, sizeof value, all_arrived);
  }
  // Every signal is given, or never will be.
  [[nodiscard]] bool is_over() const { return signals_.nothing_pending() || puts.count().failure != 0; }
  // Until every signal is given. PTL_FAIL: something has failed.
  int quiet() const { return signals_.quiet(); }
  [[nodiscard]] ptl_size_t failures() const { return puts.failures() + signals_.failures(); }

  Operations puts;

 private:
  Operations signals_;
  uint64_t value_ = 0, old_ = 0;
};

// Static storage without a destructor: a process that ends in the midst of an operation waits for nothing.
template <class T>
union Undestroyed {
  T it;
  constexpr Undestroyed() : it() {}
  constexpr ~Undestroyed() {}
};

}  // namespace portunus::client
