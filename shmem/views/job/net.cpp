// net.cpp: Net, on a matching interface of its own.
#include "shmem/views/job/net.hpp"

#include "shmem/include/shmem.h"
#include "shmem/views/refusal.hpp"

namespace portunus::views {
namespace {

constexpr uint32_t kWatchBit = 1u << 30;

using client::process;

}  // namespace

void Net::check(int code, const char* call) {
  if (code != PTL_OK) end_job("the network failed (error %d of %s)", code, call);
}

void Net::open(char* block, size_t bytes, int me, int processes) {
  me_ = me;
  block_ = block;
  check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, &limits_, &ni_), "PtlNIInit");
  check(PtlxJobMap(ni_), "PtlxJobMap");
  check(PtlPTAlloc(ni_, 0, PTL_EQ_NONE, PTL_PT_ANY, &index_), "PtlPTAlloc");
  check(PtlPTAlloc(ni_, 0, PTL_EQ_NONE, PTL_PT_ANY, &stream_index_), "PtlPTAlloc");
  check(client::expose(ni_, index_, block, bytes, 0, entry_), "PtlMEAppend");
  open(replies_);
  check(kept_.bind_all(ni_, 0), "PtlMDBind");
  check(copied_.bind_all(ni_, PTL_MD_VOLATILE), "PtlMDBind");
  processes_ = std::make_unique<Process[]>(static_cast<size_t>(processes));
  for (int pe = 0; pe < processes; ++pe) {
    char* const base = static_cast<char*>(shmem_ptr(block, pe));
    if (base && PtlxNodeWatch(ni_, process(pe), &at(pe).watch) == PTL_OK) at(pe).base = base;
    any_far_ |= !at(pe).base;
  }
  if (!at(me).base) end_job("this process cannot reach its own memory");
}

void Net::close() {
  entry_.close();
  processes_.reset();
  for (client::Descriptor* descriptor : {&kept_, &copied_}) descriptor->close();
  replies_.close();
  PtlNIFini(ni_);
  ni_ = PTL_INVALID_HANDLE;
}

bool Net::dead(int pe) {
  Process& one = at(pe);
  if (one.is_dead || pe == me_) return one.is_dead;
  if (!one.deaths.is_open()) {
    if (waiting_) return false;
    check(one.deaths.open(ni_), "watching a process");
    check(one.deaths.watch(process(pe)), "watching a process");
  }
  return one.is_dead = one.deaths.any();
}

// A failure would end all later waits at once: so what follows is counted afresh after one.
bool Net::answered(Operations& batch, int pe) {
  waits_for_round();
  const int code = batch.quiet();
  if (code == PTL_OK) return true;
  if (code != PTL_FAIL) check(code, "PtlCTWait");
  if (&batch == &replies_) open(replies_);
  declare_dead(pe);
  failed_ = true;
  return false;
}

// ---- words

void Net::fetch(Operations& batch, int pe, size_t offset, ptl_op_t op, uint64_t value, uint64_t* old) {
  issued(client::fetch(batch.own(), at(pe, offset), op, PTL_UINT64_T, {copied_, &value}, old, sizeof value), "PtlFetchAtomic");
}

void Net::tell(int pe, size_t offset, ptl_op_t op, uint64_t value) {
  if (char* const here = near(pe, offset)) client::change(word_at(here), op, value);
  else issued(client::update(unanswered(), at(pe, offset), op, PTL_UINT64_T, &value, sizeof value), "PtlAtomic");
}

void Net::store(int pe, size_t offset, uint64_t value) {
  char* const here = near(pe, offset);
  if (!here) return tell(pe, offset, PTL_MAX, value);
  word_at(here).store(value);
  ring(pe);
}

void Net::put_small(int pe, size_t offset, const void* from, size_t bytes) {
  issued(client::put(unanswered(), at(pe, offset), from, bytes), "PtlPut");
}

void Net::ring(int pe) {
  if (pe != me_ && at(pe).base) client::ring(at(pe).watch, kWatchBit);  // a message wakes by itself
}

// ---- bytes

void Net::get(Operations& batch, int pe, size_t offset, void* to, size_t bytes) {
  if (bytes != 0) issued(client::get(batch.own(), at(pe, offset), to, bytes), "PtlGet");
}

void Net::put(client::SignalledPuts& delivery, int pe, size_t offset, const void* from, size_t bytes) {
  issued(client::put(delivery.puts.own(), at(pe, offset), from, bytes), "PtlPut");
}

void Net::finish(client::SignalledPuts& delivery, int pe, size_t word, uint64_t value) {
  issued(delivery.signal(at(pe, word), PTL_MAX, value), "PtlTriggeredAtomic");
}

// ---- puts that are counted at their target

ptl_handle_ct_t Net::count_puts(ptl_match_bits_t bits, size_t offset, size_t bytes) {
  client::Counter count;
  client::MatchEntry entry;
  check(count.open(ni_), "PtlCTAlloc");
  check(client::expose(ni_, stream_index_, block_ + offset, bytes, bits, entry, count), "PtlMEAppend");
  entry.let_go();
  return count.let_go();
}

uint64_t Net::counted(ptl_handle_ct_t count) const {
  ptl_ct_event_t now{};
  check(PtlCTGet(count, &now), "PtlCTGet");
  return now.success;
}

void Net::count_one(ptl_handle_ct_t count) { check(PtlCTInc(count, {1, 0}), "PtlCTInc"); }

void Net::repeat(ptl_handle_ct_t count, uint64_t stride) { check(PtlxCTRepeat(count, stride, 0), "PtlxCTRepeat"); }

void Net::put_counted(int pe, ptl_match_bits_t bits, size_t from, size_t bytes, const client::When& when, Operations* leaving) {
  if (leaving && !leaving->is_open()) check(leaving->open(ni_, PTL_MD_EVENT_CT_SEND), "PtlMDBind");
  client::By by = leaving ? leaving->own() : client::By{kept_};
  by.ack = PTL_NO_ACK_REQ;
  issued(client::put(by, {process(pe), stream_index_, bits, 0}, block_ + from, bytes, when), "PtlPut");
}

void Net::add_when(const client::When& when, int pe, size_t offset) {
  const client::By by{kept_, PTL_NO_ACK_REQ};
  check(client::update(by, at(pe, offset), PTL_SUM, PTL_UINT64_T, &one_, sizeof one_, when), "PtlTriggeredAtomic");
}

void Net::wait(int (*done)(void*), void* arg) {
  if (done(arg)) return;
  waiting_ = true;
  PtlxWait(done, arg, kWatchBit, PTL_TIME_FOREVER);
  waiting_ = false;
}

}  // namespace portunus::views
