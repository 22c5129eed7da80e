// net.cpp: Net, on a matching interface of its own.
#include "shmem/views/job/net.hpp"

#include <sched.h>

#include <algorithm>

#include "shmem/include/shmem.h"
#include "shmem/views/refusal.hpp"

namespace portunus::views {
namespace {

constexpr uint32_t kWatchBit = 1u << 30;

using client::address;
ptl_process_t process(int pe) { return client::process(static_cast<ptl_rank_t>(pe)); }

void check(int code, const char* call) {
  if (code != PTL_OK) end_job("the network failed (error %d of %s)", code, call);
}

}  // namespace

void Net::bind(ptl_handle_md_t& md, unsigned options, ptl_handle_ct_t count) {
  const ptl_md_t all{.start = nullptr,
                     .length = PTL_SIZE_MAX,
                     .options = options | PTL_MD_EVENT_SUCCESS_DISABLE,
                     .eq_handle = PTL_EQ_NONE,
                     .ct_handle = count};
  check(PtlMDBind(ni_, &all, &md), "PtlMDBind");
}

void Net::open(char* block, size_t bytes, int me, int processes) {
  me_ = me;
  block_ = block;
  check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, &limits_, &ni_), "PtlNIInit");
  check(PtlxJobMap(ni_), "PtlxJobMap");
  check(PtlPTAlloc(ni_, 0, PTL_EQ_NONE, PTL_PT_ANY, &index_), "PtlPTAlloc");
  check(PtlPTAlloc(ni_, 0, PTL_EQ_NONE, PTL_PT_ANY, &stream_index_), "PtlPTAlloc");
  ptl_me_t me_all = client::entry_of(block, bytes, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_SUCCESS_DISABLE | client::kQuiet, 0);
  me_all.ignore_bits = ~ptl_match_bits_t{0};
  check(PtlGetUid(ni_, &me_all.uid), "PtlGetUid");
  check(PtlMEAppend(ni_, index_, &me_all, PTL_PRIORITY_LIST, nullptr, &entry_), "PtlMEAppend");
  renew_replies();
  bind(operand_md_, PTL_MD_VOLATILE, PTL_CT_NONE);
  bind(memory_md_, 0, PTL_CT_NONE);
  bases_.assign(static_cast<size_t>(processes), nullptr);
  watches_.assign(static_cast<size_t>(processes), {});
  deaths_.resize(static_cast<size_t>(processes));
  dead_.assign(static_cast<size_t>(processes), 0);
  for (int pe = 0; pe < processes; ++pe) {
    char* base = static_cast<char*>(shmem_ptr(block, pe));
    if (base && PtlxNodeWatch(ni_, process(pe), &watches_[static_cast<size_t>(pe)]) == PTL_OK) bases_[static_cast<size_t>(pe)] = base;
    any_far_ |= !bases_[static_cast<size_t>(pe)];
  }
  if (!bases_[static_cast<size_t>(me)]) end_job("this process cannot reach its own memory");
  ptlx_engine_info_t engine{};
  check(PtlxEngineInfo(&engine), "PtlxEngineInfo");
  oversubscribed_ = engine.oversubscribed != 0;
}

void Net::close() {
  client::take_out(entry_);
  deaths_.clear();
  PtlNIFini(ni_);
  ni_ = PTL_INVALID_HANDLE;
}

// A failure would end all later waits at once: so there is a fresh counter after one.
void Net::renew_replies() {
  if (replies_ != PTL_CT_NONE) {
    client::release(reply_md_);
    client::release(volatile_md_);
    PtlCTFree(replies_);
  }
  check(PtlCTAlloc(ni_, &replies_), "PtlCTAlloc");
  bind(reply_md_, PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK, replies_);
  bind(volatile_md_, PTL_MD_VOLATILE | PTL_MD_EVENT_CT_ACK, replies_);
  asked_ = 0;
}

bool Net::wait_for_replies(int pe) {
  ptl_ct_event_t count{};
  check(PtlCTWait(replies_, asked_, &count), "PtlCTWait");
  if (count.failure == 0) return true;
  renew_replies();
  declare_dead(pe);
  failed_ = true;
  return false;
}

uint64_t Net::answer(int code, int pe) {
  check(code, "an atomic operation");
  ++asked_;
  count_message();
  return wait_for_replies(pe) ? result_ : 0;
}

uint64_t Net::fetch(int pe, size_t offset, ptl_op_t op, uint64_t operand) {
  return answer(PtlFetchAtomic(reply_md_, address(&result_), operand_md_, address(&operand), 8, process(pe), index_, 0, offset, nullptr, 0,
                               op, PTL_UINT64_T),
                pe);
}

void Net::begin_fetch_or(int pe, size_t offset, uint64_t value) {
  check(PtlFetchAtomic(reply_md_, address(&result_), operand_md_, address(&value), 8, process(pe), index_, 0, offset, nullptr, 0, PTL_BOR,
                       PTL_UINT64_T),
        "PtlFetchAtomic");
}
uint64_t Net::end_fetch(int pe) { return answer(PTL_OK, pe); }

uint64_t Net::exchange(int pe, size_t offset, uint64_t value) {
  if (char* here = near(pe, offset)) return word_at(here).exchange(value, std::memory_order_seq_cst);
  return answer(PtlSwap(reply_md_, address(&result_), operand_md_, address(&value), 8, process(pe), index_, 0, offset, nullptr, 0, nullptr,
                        PTL_SWAP, PTL_UINT64_T),
                pe);
}

bool Net::compare_exchange(int pe, size_t offset, uint64_t& expected, uint64_t value) {
  if (char* here = near(pe, offset)) return word_at(here).compare_exchange_strong(expected, value, std::memory_order_seq_cst);
  const uint64_t old = answer(PtlSwap(reply_md_, address(&result_), operand_md_, address(&value), 8, process(pe), index_, 0, offset,
                                      nullptr, 0, &expected, PTL_CSWAP, PTL_UINT64_T),
                              pe);
  const bool same = !failed_ && old == expected;
  expected = old;
  return same;
}

void Net::store(int pe, size_t offset, uint64_t value) {
  if (char* here = near(pe, offset)) {
    word_at(here).store(value, std::memory_order_seq_cst);
    ring(pe);
    return;
  }
  // Nobody waits for this one: a peer that is dead does not miss it.
  count_message();
  check(PtlAtomic(operand_md_, address(&value), 8, PTL_NO_ACK_REQ, process(pe), index_, 0, offset, nullptr, 0, PTL_MAX, PTL_UINT64_T),
        "PtlAtomic");
}

void Net::set_bits(int pe, size_t offset, uint64_t bits) {
  if (char* here = near(pe, offset)) {
    word_at(here).fetch_or(bits, std::memory_order_seq_cst);
    return;
  }
  count_message();
  check(PtlAtomic(operand_md_, address(&bits), 8, PTL_NO_ACK_REQ, process(pe), index_, 0, offset, nullptr, 0, PTL_BOR, PTL_UINT64_T),
        "PtlAtomic");
}

void Net::put_small(int pe, size_t offset, const void* from, size_t bytes) {
  count_message();
  check(PtlPut(operand_md_, address(from), bytes, PTL_NO_ACK_REQ, process(pe), index_, 0, offset, nullptr, 0), "PtlPut");
}

void Net::ring(int pe) {
  if (pe == me_ || !bases_[static_cast<size_t>(pe)]) return;  // a message wakes by itself
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const ptlx_watch_t& watch = watches_[static_cast<size_t>(pe)];
  if (std::atomic_ref<uint32_t>(*watch.watched).load(std::memory_order_relaxed) & kWatchBit) PtlxNodeRing(&watch);
}

bool Net::get(int pe, size_t offset, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, part_of(bytes));
    check(PtlGet(reply_md_, address(to) + done, part, process(pe), index_, 0, offset + done, nullptr), "PtlGet");
    ++asked_;
    count_message();
    done += part;
  }
  return wait_for_replies(pe);
}

bool Net::put(int pe, size_t offset, const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, part_of(bytes));
    check(PtlPut(reply_md_, address(from) + done, part, PTL_CT_ACK_REQ, process(pe), index_, 0, offset + done, nullptr, 0), "PtlPut");
    ++asked_;
    count_message();
    done += part;
  }
  return wait_for_replies(pe);
}

void Net::begin(Batch& batch) {
  check(PtlCTAlloc(ni_, &batch.count), "PtlCTAlloc");
  bind(batch.md, PTL_MD_EVENT_CT_REPLY, batch.count);
  batch.asked = 0;
}

void Net::get(Batch& batch, int pe, size_t offset, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, part_of(bytes));
    check(PtlGet(batch.md, address(to) + done, part, process(pe), index_, 0, offset + done, nullptr), "PtlGet");
    ++batch.asked;
    count_message();
    done += part;
  }
}

void Net::load(Batch& batch, int pe, size_t offset, uint64_t* to) {
  uint64_t nothing = 0;
  check(PtlFetchAtomic(batch.md, address(to), operand_md_, address(&nothing), 8, process(pe), index_, 0, offset, nullptr, 0, PTL_BOR,
                       PTL_UINT64_T),
        "PtlFetchAtomic");
  ++batch.asked;
  count_message();
}

Arrival Net::wait(Batch& batch, int pe) {
  ptl_ct_event_t count{};
  check(PtlCTWait(batch.count, batch.asked, &count), "PtlCTWait");
  if (count.failure == 0) return Arrival::all;
  declare_dead(pe);
  failed_ = true;
  return Arrival::failed;
}

Arrival Net::arrived(Batch& batch) {
  ptl_ct_event_t count{};
  check(PtlCTGet(batch.count, &count), "PtlCTGet");
  if (count.failure) return Arrival::failed;
  return count.success == batch.asked ? Arrival::all : Arrival::under_way;
}

bool Net::settled(const Batch& batch) const {
  ptl_ct_event_t count{};
  check(PtlCTGet(batch.count, &count), "PtlCTGet");
  return count.success + count.failure >= batch.asked;
}

void Net::end(Batch& batch) {
  client::release(batch.md);
  PtlCTFree(batch.count);
  batch = {};
}

void Net::begin(Delivery& delivery) {
  check(PtlCTAlloc(ni_, &delivery.acks), "PtlCTAlloc");
  check(PtlCTAlloc(ni_, &delivery.last), "PtlCTAlloc");
  bind(delivery.md, PTL_MD_EVENT_CT_ACK, delivery.acks);
  bind(delivery.last_md, PTL_MD_EVENT_CT_ACK, delivery.last);
  delivery.puts = 0;
}

void Net::put(Delivery& delivery, int pe, size_t offset, const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, part_of(bytes));
    check(PtlPut(delivery.md, address(from) + done, part, PTL_CT_ACK_REQ, process(pe), index_, 0, offset + done, nullptr, 0), "PtlPut");
    ++delivery.puts;
    count_message();
    done += part;
  }
}

void Net::finish(Delivery& delivery, int pe, size_t told, uint64_t value) {
  delivery.value = value;
  count_message();
  check(PtlTriggeredAtomic(delivery.last_md, address(&delivery.value), 8, PTL_CT_ACK_REQ, process(pe), index_, 0, told, nullptr, 0, PTL_MAX,
                           PTL_UINT64_T, delivery.acks, delivery.puts),
        "PtlTriggeredAtomic");
}

bool Net::is_over(const Delivery& delivery) const {
  ptl_ct_event_t count{}, acks{};
  check(PtlCTGet(delivery.last, &count), "PtlCTGet");
  check(PtlCTGet(delivery.acks, &acks), "PtlCTGet");
  return count.success + count.failure != 0 || acks.failure != 0;
}

bool Net::finished(Delivery& delivery) {
  if (waiting_ || !is_over(delivery)) return false;
  client::release(delivery.md);
  client::release(delivery.last_md);
  PtlCTFree(delivery.acks);
  PtlCTFree(delivery.last);
  delivery = {};
  return true;
}

bool Net::dead(int pe) {
  const size_t p = static_cast<size_t>(pe);
  if (dead_[p]) return true;
  if (pe == me_) return false;
  if (!deaths_[p].is_open()) {
    if (waiting_) return false;
    check(deaths_[p].open(ni_), "watching a process");
    check(deaths_[p].watch(process(pe)), "watching a process");
  }
  dead_[p] = deaths_[p].any();
  return dead_[p];
}

void Net::wait(int (*done)(void*), void* arg) {
  if (done(arg)) return;
  waiting_ = true;
  PtlxWait(done, arg, kWatchBit, PTL_TIME_FOREVER);
  waiting_ = false;
}

}  // namespace portunus::views
