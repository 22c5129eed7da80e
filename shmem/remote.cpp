// remote.cpp: Channel, and the list entries it aims at.
#include "shmem/remote.hpp"

#include <algorithm>
#include <optional>

#include "engine/client/objects.hpp"
#include "shmem/include/shmem_base.h"

namespace portunus::shmem {

Channel default_channel;

namespace {

// Non-blocking operations of up to so many bytes may travel together: what a program issues by the thousand. Longer ones
// leave at once, so that they move while the program computes.
constexpr size_t kSmall = 512;

struct Interface {
  ptl_handle_ni_t ni{};
  ptl_ni_limits_t limits{};
  const uint32_t* throttled = nullptr;
  ptl_pt_index_t index[kSegments]{};
  ptl_handle_le_t entry[kSegments]{};
  bool entry_linked[kSegments]{};
};
Interface door;

void check(int code, const char* call) {
  if (code != PTL_OK) [[unlikely]]
    misuse("the network failed (error %d of %s)", code, call);
}

using client::address, client::release;
ptl_process_t process(int pe) { return client::process(static_cast<ptl_rank_t>(pe)); }

// All atomics are on raw words: sums and bit patterns do not depend on the sign, and a swap moves bits.
ptl_datatype_t word(size_t size) { return size == 4 ? PTL_UINT32_T : PTL_UINT64_T; }

// These return PTL_OK or what is exhausted.
int bind(unsigned int options, ptl_handle_ct_t counter, ptl_handle_md_t& handle, ptl_handle_eq_t events = PTL_EQ_NONE) {
  const ptl_md_t md{.start = nullptr, .length = PTL_SIZE_MAX, .options = options, .eq_handle = events, .ct_handle = counter};
  return PtlMDBind(door.ni, &md, &handle);
}

// Copies of what is sent would occupy this PE's memory for as long as some other does not read.
bool throttled() { return __atomic_load_n(door.throttled, __ATOMIC_RELAXED) != 0; }
int counter(ptl_handle_ct_t& handle) { return PtlCTAlloc(door.ni, &handle); }

void expose(Segment segment, void* start, size_t size) {
  check(PtlPTAlloc(door.ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &door.index[segment]), "PtlPTAlloc");
  ptl_le_t le{};
  le.start = start;
  le.length = size;
  le.ct_handle = PTL_CT_NONE;
  le.options = PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_EVENT_LINK_DISABLE | PTL_LE_EVENT_COMM_DISABLE | PTL_LE_EVENT_SUCCESS_DISABLE |
               PTL_LE_EVENT_UNLINK_DISABLE;
  check(PtlGetUid(door.ni, &le.uid), "PtlGetUid");
  check(PtlLEAppend(door.ni, door.index[segment], &le, PTL_PRIORITY_LIST, nullptr, &door.entry[segment]), "PtlLEAppend");
  door.entry_linked[segment] = true;
}

// What this thread issues meanwhile travels together.
struct Bundle {
  Bundle() { PtlStartBundle(door.ni); }
  ~Bundle() { PtlEndBundle(door.ni); }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;
};

// Calls piece(offset, size) for every part that fits into one message.
template <class Piece>
void in_pieces(size_t size, Piece&& piece) {
  for (size_t done = 0; done < size;) {
    const size_t part = std::min<size_t>(size - done, door.limits.max_msg_size);
    piece(done, part);
    done += part;
  }
}

}  // namespace

RemoteIndices remote_open(ptl_handle_ni_t ni, const ptl_ni_limits_t& limits, void* const start[kSegments], const size_t size[kSegments]) {
  door = {};
  door.ni = ni;
  door.limits = limits;
  door.throttled = PtlxThrottled();
  constexpr size_t kWord = sizeof(uint64_t);
  if (limits.max_volatile_size < kWord || limits.max_atomic_size < kWord || limits.max_fetch_atomic_size < kWord ||
      limits.max_msg_size == 0)
    misuse("the network interface cannot do atomics on 8 bytes, which OpenSHMEM needs");
  for (const Segment segment : {kHeap, kData}) expose(segment, start[segment], size[segment]);
  return {{door.index[kHeap], door.index[kData]}};
}

void remote_close() {
  for (const Segment segment : {kHeap, kData}) {
    if (!door.entry_linked[segment]) continue;
    while (PtlLEUnlink(door.entry[segment]) == PTL_IN_USE) PtlxProgress();
    PtlPTFree(door.ni, door.index[segment]);
    door.entry_linked[segment] = false;
  }
}

bool Channel::open(bool one_thread) {
  one_thread_ = one_thread;
  puts_ = 0;
  gets_ = 0;
  asked_ = 0;
  constexpr ptl_size_t kEvents = 8;
  if (counter(acks_) != PTL_OK) return false;
  if (counter(replies_) == PTL_OK) {
    if (counter(answers_) == PTL_OK) {
      if (PtlEQAlloc(door.ni, kEvents, &sent_) == PTL_OK) {
        if (bind_all()) return true;
        PtlEQFree(sent_);
      }
      PtlCTFree(answers_);
    }
    PtlCTFree(replies_);
  }
  PtlCTFree(acks_);
  return false;
}

bool Channel::bind_all() {
  const struct {
    ptl_handle_md_t* md;
    unsigned int options;
    ptl_handle_ct_t counter;
    ptl_handle_eq_t events;
  } all[] = {{&volatile_md_, PTL_MD_VOLATILE | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE, acks_, PTL_EQ_NONE},
             {&put_md_, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE, acks_, PTL_EQ_NONE},
             {&lazy_put_md_, PTLX_MD_LAZY | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE, acks_, PTL_EQ_NONE},
             // Only SEND becomes a full event: a PTL_CT_ACK_REQ never does.
             {&send_md_, PTL_MD_EVENT_CT_ACK, acks_, sent_},
             {&get_md_, PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SUCCESS_DISABLE, replies_, PTL_EQ_NONE},
             {&lazy_get_md_, PTLX_MD_LAZY | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SUCCESS_DISABLE, replies_, PTL_EQ_NONE},
             {&blocking_md_, PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SUCCESS_DISABLE, answers_, PTL_EQ_NONE}};
  for (const auto& each : all) {
    if (bind(each.options, each.counter, *each.md, each.events) == PTL_OK) continue;
    for (const auto* bound = all; bound != &each; ++bound) release(*bound->md);
    return false;
  }
  return true;
}

void Channel::close() {
  for (const Payload& payload : payloads_) {
    for (const ptl_handle_md_t md : {payload.md, payload.volatile_md, payload.signal_md}) release(md);
    PtlCTFree(payload.acks);
    PtlCTFree(payload.updated);
  }
  payloads_.clear();
  signals_ = false;
  for (const ptl_handle_md_t md : {volatile_md_, put_md_, lazy_put_md_, send_md_, get_md_, lazy_get_md_, blocking_md_}) release(md);
  for (const ptl_handle_ct_t ct : {acks_, replies_, answers_}) PtlCTFree(ct);
  PtlEQFree(sent_);
}

std::unique_lock<std::mutex> Channel::exclusive() {
  return runtime.thread_level == SHMEM_THREAD_MULTIPLE && !one_thread_ ? std::unique_lock(blocking_) : std::unique_lock<std::mutex>();
}

void Channel::put(int pe, Place to, const void* source, size_t size) {
  const ptl_pt_index_t index = door.index[to.segment];
  if (size <= door.limits.max_volatile_size && !throttled()) {
    puts_.fetch_add(1);
    check(PtlPut(volatile_md_, address(source), size, PTL_CT_ACK_REQ, process(pe), index, 0, to.offset, nullptr, 0), "PtlPut");
    return;
  }
  const auto lock = exclusive();
  in_pieces(size, [&](size_t done, size_t part) {
    puts_.fetch_add(1);
    check(PtlPut(send_md_, address(source) + done, part, PTL_CT_ACK_REQ, process(pe), index, 0, to.offset + done, nullptr, 0), "PtlPut");
    wait_until_sent("a put", pe);
  });
}

void Channel::wait_until_sent(const char* what, int pe) {
  ptl_event_t event;
  check(PtlEQWait(sent_, &event), "PtlEQWait");
  if (event.ni_fail_type == PTL_NI_OK) return;
  who_failed(nullptr);
  must_live(what, pe);
  misuse("%s to PE %d could not be sent (failure %d)", what, pe, event.ni_fail_type);
}

void Channel::put_nbi(int pe, Place to, const void* source, size_t size) {
  in_pieces(size, [&](size_t done, size_t part) {
    puts_.fetch_add(1);
    check(PtlPut(size <= kSmall ? lazy_put_md_ : put_md_, address(source) + done, part, PTL_CT_ACK_REQ, process(pe), door.index[to.segment],
                 0, to.offset + done, nullptr, 0),
          "PtlPut");
  });
}

void Channel::get(int pe, Place from, void* dest, size_t size) {
  const auto lock = exclusive();
  in_pieces(size, [&](size_t done, size_t part) {
    ++asked_;
    check(PtlGet(blocking_md_, address(dest) + done, part, process(pe), door.index[from.segment], 0, from.offset + done, nullptr),
          "PtlGet");
  });
  wait_for_answers("gets");
}

void Channel::put_blocks(int pe, Place to, size_t to_step, const void* source, size_t source_step, size_t size, size_t blocks) {
  const Bundle together;
  for (size_t i = 0; i < blocks; ++i)
    put(pe, {to.segment, to.offset + i * to_step}, static_cast<const std::byte*>(source) + i * source_step, size);
}

void Channel::get_blocks(int pe, Place from, size_t from_step, void* dest, size_t dest_step, size_t size, size_t blocks) {
  const auto lock = exclusive();
  std::optional<Bundle> together(std::in_place);
  for (size_t i = 0; i < blocks; ++i)
    in_pieces(size, [&](size_t done, size_t part) {
      ++asked_;
      check(PtlGet(blocking_md_, address(dest) + i * dest_step + done, part, process(pe), door.index[from.segment], 0,
                   from.offset + i * from_step + done, nullptr),
            "PtlGet");
    });
  together.reset();
  wait_for_answers("gets");
}

void Channel::get_nbi(int pe, Place from, void* dest, size_t size) {
  in_pieces(size, [&](size_t done, size_t part) {
    gets_.fetch_add(1);
    check(PtlGet(size <= kSmall ? lazy_get_md_ : get_md_, address(dest) + done, part, process(pe), door.index[from.segment], 0,
                 from.offset + done, nullptr),
          "PtlGet");
  });
}

// In turn, and each when what it had before is done.
Channel::Payload& Channel::next_payload() {
  if (payloads_.size() == kPayloads) {
    Payload& oldest = payloads_[payload_turn_++ % kPayloads];
    wait_for_all(oldest.updated, oldest.updates, "puts with signal");
    return oldest;
  }
  Payload& fresh = payloads_.emplace_back();
  check(counter(fresh.acks), "PtlCTAlloc");
  check(counter(fresh.updated), "PtlCTAlloc");
  constexpr unsigned kOptions = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE;
  check(bind(kOptions, fresh.acks, fresh.md), "PtlMDBind");
  check(bind(kOptions | PTL_MD_VOLATILE, fresh.acks, fresh.volatile_md), "PtlMDBind");
  check(bind(kOptions | PTL_MD_EVENT_CT_REPLY, fresh.updated, fresh.signal_md), "PtlMDBind");
  signals_.store(true, std::memory_order_relaxed);
  return fresh;
}

void Channel::wait_for_signals() {
  if (!signals_.load(std::memory_order_relaxed)) return;
  const auto lock = exclusive();
  for (const Payload& payload : payloads_) wait_for_all(payload.updated, payload.updates, "puts with signal");
}

void Channel::put_signal(int pe, Place to, const void* source, size_t size, Place signal, uint64_t value, bool add, bool nbi) {
  const auto lock = exclusive();
  Payload& payload = next_payload();
  const bool small = size <= door.limits.max_volatile_size;
  in_pieces(size, [&](size_t done, size_t part) {
    ++payload.puts;
    check(PtlPut(small ? payload.volatile_md : payload.md, address(source) + done, part, PTL_CT_ACK_REQ, process(pe),
                 door.index[to.segment], 0, to.offset + done, nullptr, 0),
          "PtlPut");
  });
  payload.signal = value;
  ++payload.updates;
  const ptl_pt_index_t index = door.index[signal.segment];
  if (add)
    check(PtlTriggeredAtomic(payload.signal_md, address(&payload.signal), sizeof value, PTL_CT_ACK_REQ, process(pe), index, 0,
                             signal.offset, nullptr, 0, PTL_SUM, PTL_UINT64_T, payload.acks, payload.puts),
          "PtlTriggeredAtomic");
  else
    check(PtlTriggeredSwap(payload.signal_md, address(&sink_), payload.signal_md, address(&payload.signal), sizeof value, process(pe),
                           index, 0, signal.offset, nullptr, 0, nullptr, PTL_SWAP, PTL_UINT64_T, payload.acks, payload.puts),
          "PtlTriggeredSwap");
  if (!small && !nbi) wait_for_all(payload.acks, payload.puts, "puts with signal");
}

void Channel::atomic(int pe, Place to, ptl_op_t op, const void* operand, size_t size) {
  const auto send = [&](ptl_handle_md_t md) {
    puts_.fetch_add(1);
    check(PtlAtomic(md, address(operand), size, PTL_CT_ACK_REQ, process(pe), door.index[to.segment], 0, to.offset, nullptr, 0, op,
                    word(size)),
          "PtlAtomic");
  };
  if (!throttled()) return send(volatile_md_);
  const auto lock = exclusive();
  send(send_md_);
  wait_until_sent("an atomic operation", pe);
}

void Channel::fetch(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size) {
  const auto lock = exclusive();
  ++asked_;
  check(PtlFetchAtomic(blocking_md_, address(result), volatile_md_, address(operand), size, process(pe), door.index[to.segment], 0,
                       to.offset, nullptr, 0, op, word(size)),
        "PtlFetchAtomic");
  wait_for_answers("fetching atomics");
}

void Channel::fetch_nbi(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size) {
  gets_.fetch_add(1);
  check(PtlFetchAtomic(lazy_get_md_, address(result), volatile_md_, address(operand), size, process(pe), door.index[to.segment], 0,
                       to.offset, nullptr, 0, op, word(size)),
        "PtlFetchAtomic");
}

void Channel::swap(int pe, Place to, const void* value, const void* cond, void* result, size_t size) {
  const auto lock = exclusive();
  ++asked_;
  check(PtlSwap(blocking_md_, address(result), volatile_md_, address(value), size, process(pe), door.index[to.segment], 0, to.offset,
                nullptr, 0, cond, cond ? PTL_CSWAP : PTL_SWAP, word(size)),
        "PtlSwap");
  wait_for_answers("swaps");
}

void Channel::swap_nbi(int pe, Place to, const void* value, const void* cond, void* result, size_t size) {
  swap_by(lazy_get_md_, pe, to, value, cond, result, size);
}

void Channel::set(int pe, Place to, const void* value, size_t size) {
  swap_by(get_md_, pe, to, value, nullptr, &sink_, size);  // nobody need wait for it, so it leaves at once
}

void Channel::swap_by(ptl_handle_md_t md, int pe, Place to, const void* value, const void* cond, void* result, size_t size) {
  gets_.fetch_add(1);
  check(PtlSwap(md, address(result), volatile_md_, address(value), size, process(pe), door.index[to.segment], 0, to.offset, nullptr, 0,
                cond, cond ? PTL_CSWAP : PTL_SWAP, word(size)),
        "PtlSwap");
}

void Channel::wait_for_answers(const char* what) {
  ptl_ct_event_t count;
  check(PtlCTWait(answers_, asked_, &count), "PtlCTWait");
  if (count.failure != 0) failed_operations(count.failure, what);
}

void Channel::wait_for_all(ptl_handle_ct_t counter, uint64_t expected, const char* what) {
  ptl_ct_event_t count;
  check(PtlCTWait(counter, expected, &count), "PtlCTWait");
  if (count.failure != 0) failed_operations(count.failure, what);
}

// Other threads may issue while this one waits, and theirs may be counted in place of ours: only a counter that has
// caught up with all that was issued says that ours is done.
void Channel::wait_for_issued(ptl_handle_ct_t counter, const std::atomic<uint64_t>& issued, const char* what) {
  uint64_t expected = issued.load();
  for (uint64_t seen = 0; seen != expected; expected = issued.load()) {
    seen = expected;
    wait_for_all(counter, seen, what);
  }
}

void Channel::quiet() {
  wait_for_issued(acks_, puts_, "puts or atomics");
  wait_for_issued(replies_, gets_, "gets or fetching atomics");
  wait_for_signals();
}

void Channel::check_failures() const {
  ptl_ct_event_t count;
  for (const ptl_handle_ct_t counter : {acks_, replies_})
    if (PtlCTGet(counter, &count) == PTL_OK && count.failure != 0) failed_operations(count.failure, "operations");
}

// Portals orders data by address only, unless the interface promises more; what was acknowledged is ordered anyway.
void Channel::fence() {
  if (!(door.limits.features & PTL_TOTAL_DATA_ORDERING)) quiet();
}

}  // namespace portunus::shmem
