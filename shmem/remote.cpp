// remote.cpp: Channel, and the list entries it aims at.
#include "shmem/remote.hpp"

#include <optional>

#include "shmem/include/shmem_base.h"

namespace portunus::shmem {

constinit client::Undestroyed<Channel> default_channel_storage;

namespace {

struct Interface {
  ptl_handle_ni_t ni{};
  ptl_ni_limits_t limits{};
  const uint32_t* throttled = nullptr;
  RemoteIndices index{};
  client::ListEntry entry[kSegments];
};
constinit client::Undestroyed<Interface> interface_storage;
constexpr Interface& interface = interface_storage.it;

void check(int code, const char* call) {
  if (code != PTL_OK) [[unlikely]]
    misuse("the network failed (error %d of %s)", code, call);
}

client::RemoteAddress at(int pe, Place place) { return {client::process(pe), interface.index[place.segment], 0, place.offset}; }

// All atomics are on raw words: sums and bit patterns do not depend on the sign, and a swap moves bits.
ptl_datatype_t word(size_t size) { return size == 4 ? PTL_UINT32_T : PTL_UINT64_T; }

// Copies of what is sent would occupy this PE's memory for as long as some other does not read.
bool throttled() { return __atomic_load_n(interface.throttled, __ATOMIC_RELAXED) != 0; }

// Until all is complete; the end of the job if something has failed.
template <class Counted>
void finish(const Counted& operations, const char* what) {
  const int code = operations.quiet();
  if (code == PTL_FAIL) failed_operations(operations.failures(), what);
  check(code, "PtlCTWait");
}

}  // namespace

RemoteIndices remote_open(ptl_handle_ni_t ni, const ptl_ni_limits_t& limits, void* const start[kSegments], const size_t size[kSegments]) {
  interface.ni = ni;
  interface.limits = limits;
  interface.throttled = PtlxThrottled();
  for (const Segment segment : {kHeap, kData}) {
    check(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &interface.index[segment]), "PtlPTAlloc");
    check(client::expose(ni, interface.index[segment], start[segment], size[segment], 0, interface.entry[segment]), "PtlLEAppend");
  }
  return interface.index;
}

void remote_close() {
  for (const Segment segment : {kHeap, kData}) {
    interface.entry[segment].close();
    PtlPTFree(interface.ni, interface.index[segment]);
  }
}

bool Channel::open(bool one_thread) {
  one_thread_ = one_thread;
  constexpr ptl_size_t kEvents = 8;
  // Only SEND becomes a full event: a PTL_CT_ACK_REQ never does.
  const bool good = all_.open(interface.ni) == PTL_OK && answers_.open(interface.ni) == PTL_OK &&
                    sent_.open(interface.ni, kEvents) == PTL_OK &&
                    copied_.bind_all(interface.ni, client::Operations::kCounted | PTL_MD_VOLATILE, all_.counter()) == PTL_OK &&
                    lazy_.bind_all(interface.ni, client::Operations::kCounted | PTLX_MD_LAZY, all_.counter()) == PTL_OK &&
                    sending_.bind_all(interface.ni, client::Operations::kCounted, all_.counter(), sent_) == PTL_OK;
  if (!good) close();
  return good;
}

void Channel::close() {
  for (client::SignalledPuts& payload : payloads_) payload.close();
  signalled_ = 0;
  for (client::Descriptor* descriptor : {&copied_, &lazy_, &sending_}) descriptor->close();
  all_.close();
  answers_.close();
  sent_.close();
}

std::unique_lock<std::mutex> Channel::exclusive() {
  return runtime.thread_level == SHMEM_THREAD_MULTIPLE && !one_thread_ ? std::unique_lock(blocking_) : std::unique_lock<std::mutex>();
}

// Counted behind its issue: a quiet between both waits for it, and the fence that comes next does so in vain.
void Channel::note_put(size_t size) {
  if (size > interface.limits.max_waw_ordered_size) long_puts_.fetch_add(1, std::memory_order_relaxed);
}

// Issues what sends so many bytes, which may change on return: copied if they are few, else the call waits until they were sent.
template <class Issue>
void Channel::send(size_t size, const char* call, const char* what, Issue&& issue) {
  if (size <= interface.limits.max_volatile_size && !throttled()) return check(issue(all_.by(copied_)), call);
  const auto lock = exclusive();
  check(issue(all_.by(sending_)), call);
  ptl_event_t event;
  check(PtlEQWait(sent_, &event), "PtlEQWait");
  if (event.ni_fail_type != PTL_NI_OK) failed_operations(1, what);
}

void Channel::put(int pe, Place to, const void* source, size_t size) {
  send(size, "PtlPut", "puts", [&](const client::By& by) { return client::put(by, at(pe, to), source, size); });
  note_put(size);
}

void Channel::put_nbi(int pe, Place to, const void* source, size_t size) {
  check(client::put(size <= client::kMostTogether ? all_.by(lazy_) : all_.own(), at(pe, to), source, size), "PtlPut");
  note_put(size);
}

void Channel::get(int pe, Place from, void* dest, size_t size) { get_blocks(pe, from, 0, dest, 0, size, 1); }

void Channel::put_blocks(int pe, Place to, size_t to_step, const void* source, size_t source_step, size_t size, size_t blocks) {
  const client::Bundle together(interface.ni);
  for (size_t i = 0; i < blocks; ++i)
    put(pe, {to.segment, to.offset + i * to_step}, static_cast<const std::byte*>(source) + i * source_step, size);
}

void Channel::get_blocks(int pe, Place from, size_t from_step, void* dest, size_t dest_step, size_t size, size_t blocks) {
  const auto lock = exclusive();
  std::optional<client::Bundle> together(interface.ni);
  for (size_t i = 0; i < blocks; ++i)
    check(client::get(answers_.own(), at(pe, from) + i * from_step, static_cast<std::byte*>(dest) + i * dest_step, size), "PtlGet");
  together.reset();
  finish(answers_, "gets");
}

void Channel::get_nbi(int pe, Place from, void* dest, size_t size) {
  check(client::get(size <= client::kMostTogether ? all_.by(lazy_) : all_.own(), at(pe, from), dest, size), "PtlGet");
}

void Channel::put_signal(int pe, Place to, const void* source, size_t size, Place signal, uint64_t value, bool add, bool nbi) {
  if (size <= interface.limits.max_waw_ordered_size) {
    if (size != 0) nbi ? put_nbi(pe, to, source, size) : put(pe, to, source, size);
    return add ? atomic(pe, signal, PTL_SUM, &value, sizeof value) : set(pe, signal, &value, sizeof value);
  }
  const auto lock = exclusive();
  // In turn, and each when what it had before is done.
  client::SignalledPuts& payload = payloads_[signalled_.fetch_add(1, std::memory_order_relaxed) % kPayloads];
  if (payload.puts.is_open()) finish(payload, "puts with signal");
  else check(payload.open(interface.ni), "PtlMDBind");
  check(client::put(payload.puts.own(), at(pe, to), source, size), "PtlPut");
  check(payload.signal(at(pe, signal), add ? PTL_SUM : PTL_SWAP, value), "PtlTriggeredAtomic");
  if (!nbi) finish(payload.puts, "puts with signal");
  note_put(size);
}

void Channel::atomic(int pe, Place to, ptl_op_t op, const void* operand, size_t size) {
  const auto issue = [&](const client::By& by) { return client::update(by, at(pe, to), op, word(size), operand, size); };
  send(size, "PtlAtomic", "atomic operations", issue);
}

void Channel::fetch(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size, const void* cond) {
  const auto lock = exclusive();
  check(client::fetch(answers_.own(), at(pe, to), op, word(size), {copied_, operand, cond}, result, size), "PtlFetchAtomic");
  finish(answers_, "fetching atomics");
}

void Channel::fetch_nbi(int pe, Place to, ptl_op_t op, const void* operand, void* result, size_t size, const void* cond) {
  check(client::fetch(all_.by(lazy_), at(pe, to), op, word(size), {copied_, operand, cond}, result, size), "PtlFetchAtomic");
}

// Nobody need wait for it, so it leaves at once.
void Channel::set(int pe, Place to, const void* value, size_t size) {
  check(client::fetch(all_.own(), at(pe, to), PTL_SWAP, word(size), {copied_, value}, &sink_, size), "PtlSwap");
}

void Channel::quiet() {
  const uint64_t long_puts = long_puts_.load(std::memory_order_relaxed);
  finish(all_, "operations");
  if (signalled_.load(std::memory_order_relaxed) != 0) {
    const auto lock = exclusive();
    for (const client::SignalledPuts& payload : payloads_)
      if (payload.puts.is_open()) finish(payload, "puts with signal");
  }
  long_puts_over_.store(long_puts, std::memory_order_relaxed);
}

void Channel::check_failures() const {
  if (const ptl_size_t failures = all_.failures(); failures != 0) failed_operations(failures, "operations");
}

// Short data are in place before what comes behind them is looked at (max_waw_ordered_size).
void Channel::fence() {
  if (long_puts_.load(std::memory_order_relaxed) != long_puts_over_.load(std::memory_order_relaxed)) quiet();
}

}  // namespace portunus::shmem
