// remote.cpp: Channel, and the list entries it aims at.
#include "shmem/remote.hpp"

#include <algorithm>

#include "shmem/shmem_base.h"

namespace portunus::shmem {

Channel default_channel;

namespace {

struct Interface {
  ptl_handle_ni_t ni{};
  ptl_ni_limits_t limits{};
  ptl_pt_index_t index[kSegments]{};
  ptl_handle_le_t entry[kSegments]{};
  bool entry_linked[kSegments]{};
};
Interface door;

void check(int code, const char* call) {
  if (code != PTL_OK) [[unlikely]] misuse("%s failed with Portals return code %d", call, code);
}

ptl_process_t process(int pe) {
  ptl_process_t id;
  id.rank = static_cast<ptl_rank_t>(pe);
  return id;
}

ptl_size_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// All atomics are on raw words: sums and bit patterns do not depend on the sign, and a swap moves bits.
ptl_datatype_t word(size_t size) { return size == 4 ? PTL_UINT32_T : PTL_UINT64_T; }

ptl_handle_md_t bind(unsigned int options, ptl_handle_ct_t counter, ptl_handle_eq_t events = PTL_EQ_NONE) {
  const ptl_md_t md{
      .start = nullptr, .length = PTL_SIZE_MAX, .options = options, .eq_handle = events, .ct_handle = counter};
  ptl_handle_md_t handle;
  check(PtlMDBind(door.ni, &md, &handle), "PtlMDBind");
  return handle;
}

ptl_handle_ct_t counter() {
  ptl_handle_ct_t handle;
  check(PtlCTAlloc(door.ni, &handle), "PtlCTAlloc");
  return handle;
}

void expose(Segment segment, void* start, size_t size) {
  check(PtlPTAlloc(door.ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &door.index[segment]), "PtlPTAlloc");
  ptl_le_t le{};
  le.start = start;
  le.length = size;
  le.ct_handle = PTL_CT_NONE;
  le.options = PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_EVENT_LINK_DISABLE | PTL_LE_EVENT_COMM_DISABLE |
               PTL_LE_EVENT_SUCCESS_DISABLE | PTL_LE_EVENT_UNLINK_DISABLE;
  check(PtlGetUid(door.ni, &le.uid), "PtlGetUid");
  check(PtlLEAppend(door.ni, door.index[segment], &le, PTL_PRIORITY_LIST, nullptr, &door.entry[segment]), "PtlLEAppend");
  door.entry_linked[segment] = true;
}

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

RemoteIndices remote_open(ptl_handle_ni_t ni, const ptl_ni_limits_t& limits, void* const start[kSegments],
                          const size_t size[kSegments]) {
  door = {};
  door.ni = ni;
  door.limits = limits;
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

void Channel::open() {
  acks_ = counter();
  replies_ = counter();
  answers_ = counter();
  constexpr ptl_size_t kEvents = 8;
  check(PtlEQAlloc(door.ni, kEvents, &sent_), "PtlEQAlloc");
  volatile_md_ = bind(PTL_MD_VOLATILE | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE, acks_);
  put_md_ = bind(PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SUCCESS_DISABLE, acks_);
  // Only SEND becomes a full event: a PTL_CT_ACK_REQ never does.
  send_md_ = bind(PTL_MD_EVENT_CT_ACK, acks_, sent_);
  get_md_ = bind(PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SUCCESS_DISABLE, replies_);
  blocking_md_ = bind(PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SUCCESS_DISABLE, answers_);
  puts_ = 0;
  gets_ = 0;
  asked_ = 0;
}

void Channel::close() {
  for (const ptl_handle_md_t md : {volatile_md_, put_md_, send_md_, get_md_, blocking_md_})
    while (PtlMDRelease(md) == PTL_IN_USE) PtlxProgress();
  for (const ptl_handle_ct_t ct : {acks_, replies_, answers_}) PtlCTFree(ct);
  PtlEQFree(sent_);
}

std::unique_lock<std::mutex> Channel::exclusive() {
  return runtime.thread_level == SHMEM_THREAD_MULTIPLE ? std::unique_lock(blocking_) : std::unique_lock<std::mutex>();
}

void Channel::put(int pe, Place to, const void* source, size_t size) {
  const ptl_pt_index_t index = door.index[to.segment];
  if (size <= door.limits.max_volatile_size) {
    puts_.fetch_add(1);
    check(PtlPut(volatile_md_, address(source), size, PTL_CT_ACK_REQ, process(pe), index, 0, to.offset, nullptr, 0),
          "PtlPut");
    return;
  }
  const auto lock = exclusive();
  in_pieces(size, [&](size_t done, size_t part) {
    puts_.fetch_add(1);
    check(PtlPut(send_md_, address(source) + done, part, PTL_CT_ACK_REQ, process(pe), index, 0, to.offset + done,
                 nullptr, 0),
          "PtlPut");
    ptl_event_t event;
    check(PtlEQWait(sent_, &event), "PtlEQWait");
    if (event.ni_fail_type != PTL_NI_OK)
      misuse("a put to PE %d could not be sent (Portals failure %d)", pe, event.ni_fail_type);
  });
}

void Channel::put_nbi(int pe, Place to, const void* source, size_t size) {
  in_pieces(size, [&](size_t done, size_t part) {
    puts_.fetch_add(1);
    check(PtlPut(put_md_, address(source) + done, part, PTL_CT_ACK_REQ, process(pe), door.index[to.segment], 0,
                 to.offset + done, nullptr, 0),
          "PtlPut");
  });
}

void Channel::get(int pe, Place from, void* dest, size_t size) {
  const auto lock = exclusive();
  in_pieces(size, [&](size_t done, size_t part) {
    ++asked_;
    check(PtlGet(blocking_md_, address(dest) + done, part, process(pe), door.index[from.segment], 0,
                 from.offset + done, nullptr),
          "PtlGet");
  });
  wait_for_answers("get");
}

void Channel::get_nbi(int pe, Place from, void* dest, size_t size) {
  in_pieces(size, [&](size_t done, size_t part) {
    gets_.fetch_add(1);
    check(PtlGet(get_md_, address(dest) + done, part, process(pe), door.index[from.segment], 0,
                 from.offset + done, nullptr),
          "PtlGet");
  });
}

void Channel::atomic(int pe, Place to, ptl_op_t op, const void* operand, size_t size) {
  puts_.fetch_add(1);
  check(PtlAtomic(volatile_md_, address(operand), size, PTL_CT_ACK_REQ, process(pe), door.index[to.segment], 0,
                  to.offset, nullptr, 0, op, word(size)),
        "PtlAtomic");
}

void Channel::fetch(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size) {
  const auto lock = exclusive();
  ++asked_;
  check(PtlFetchAtomic(blocking_md_, address(result), volatile_md_, address(operand), size, process(pe),
                       door.index[to.segment], 0, to.offset, nullptr, 0, op, word(size)),
        "PtlFetchAtomic");
  wait_for_answers("fetching atomic");
}

void Channel::fetch_nbi(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size) {
  gets_.fetch_add(1);
  check(PtlFetchAtomic(get_md_, address(result), volatile_md_, address(operand), size, process(pe),
                       door.index[to.segment], 0, to.offset, nullptr, 0, op, word(size)),
        "PtlFetchAtomic");
}

void Channel::swap(int pe, Place to, const void* value, const void* cond, void* result, size_t size) {
  const auto lock = exclusive();
  ++asked_;
  check(PtlSwap(blocking_md_, address(result), volatile_md_, address(value), size, process(pe), door.index[to.segment], 0,
                to.offset, nullptr, 0, cond, cond ? PTL_CSWAP : PTL_SWAP, word(size)),
        "PtlSwap");
  wait_for_answers("swap");
}

void Channel::swap_nbi(int pe, Place to, const void* value, const void* cond, void* result, size_t size) {
  gets_.fetch_add(1);
  check(PtlSwap(get_md_, address(result), volatile_md_, address(value), size, process(pe), door.index[to.segment], 0,
                to.offset, nullptr, 0, cond, cond ? PTL_CSWAP : PTL_SWAP, word(size)),
        "PtlSwap");
}

void Channel::wait_for_answers(const char* what) {
  ptl_ct_event_t count;
  check(PtlCTWait(answers_, asked_, &count), "PtlCTWait");
  if (count.failure != 0) misuse("a %s failed: a PE is gone or refused it", what);
}

// Other threads may issue while this one waits, and theirs may be counted in place of ours: only a counter that has
// caught up with all that was issued says that ours is done.
void Channel::wait_for_all(ptl_handle_ct_t counter, const std::atomic<uint64_t>& issued, const char* what) {
  uint64_t expected = issued.load();
  for (uint64_t seen = 0; seen != expected; expected = issued.load()) {
    seen = expected;
    ptl_ct_event_t count;
    check(PtlCTWait(counter, seen, &count), "PtlCTWait");
    if (count.failure != 0)
      misuse("%llu %s failed: a PE is gone or refused them", static_cast<unsigned long long>(count.failure), what);
  }
}

void Channel::quiet() {
  wait_for_all(acks_, puts_, "puts or atomics");
  wait_for_all(replies_, gets_, "gets or fetching atomics");
}

// Portals orders data by address only, unless the interface promises more; what was acknowledged is ordered anyway.
void Channel::fence() {
  if (!(door.limits.features & PTL_TOTAL_DATA_ORDERING)) quiet();
}

}  // namespace portunus::shmem
