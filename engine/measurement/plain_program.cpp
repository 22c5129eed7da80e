// Announcements, gets and everything issued anew for each epoch: see plain_program.hpp.
//
// Thread: as plain_program.hpp says. Standard Portals calls only.
#include "engine/measurement/plain_program.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/goal/schedules/plan.hpp"
#include "engine/host/clock.hpp"

namespace portunus::goal {

namespace {

// The class bits of a message announce it; these make its other two messages.
constexpr uint64_t kFetch = uint64_t{4} << 60;
constexpr uint64_t kOwnMemory = uint64_t{15} << 60;

ptl_process_t process(uint32_t rank) {
  ptl_process_t id{};
  id.rank = rank;
  return id;
}

void unlink(ptl_handle_me_t entry) {
  while (PtlMEUnlink(entry) == PTL_IN_USE) sched_yield();
}

bool has_atomic(ptlx_local_op_t op) { return op < PTLX_COPY && op != PTLX_SUB && op != PTLX_DIV; }

ptl_op_t atomic_of(ptlx_local_op_t op) {
  switch (op) {
    case PTLX_MULT: return PTL_PROD;
    case PTLX_MAX: return PTL_MAX;
    case PTLX_MIN: return PTL_MIN;
    case PTLX_AND: return PTL_BAND;
    case PTLX_OR: return PTL_BOR;
    case PTLX_XOR: return PTL_BXOR;
    default: return PTL_SUM;
  }
}

ptl_size_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

}  // namespace

PlainProgram::PlainProgram(ptl_handle_ni_t ni, ptl_pt_index_t index, Program program, std::vector<Binding> bindings, uint64_t max_atomic)
    : ni_(ni),
      index_(index),
      program_(std::move(program)),
      bindings_(std::move(bindings)),
      max_atomic_(max_atomic / 16 * 16),
      increments_(program_.increments),
      into_(bindings_.size(), PTL_INVALID_HANDLE),
      extras_(bindings_.size()) {}

PlainProgram::Way PlainProgram::way_of(const Operation& operation) const {
  const Binding& work = bindings_[operation.vertex];
  if (work.op < PTLX_TIMESTAMP && work.count == 0) return Way::nothing;
  if (work.op == PTLX_COPY) return Way::put;
  if (!has_atomic(work.op) || work.type >= PTL_DATATYPE_LAST) return Way::host;
  return work.memory == work.a || work.memory == work.b ? Way::atomic : Way::put_and_atomic;
}

CounterId PlainProgram::new_counter(uint32_t increments) {
  increments_.push_back(increments);
  return static_cast<CounterId>(increments_.size() - 1);
}

// The counters that an operation takes besides the program's.
void PlainProgram::claim(const Operation& operation, bool early) {
  if (operation.action == Action::append) extras_[operation.vertex].counter = new_counter(early ? 1 : 2);
  if (operation.action != Action::local) return;
  Extra& extra = extras_[operation.vertex];
  extra.way = way_of(operation);
  if (extra.way == Way::put_and_atomic) extra.counter = new_counter(1);
  const Binding& work = bindings_[operation.vertex];
  const uint64_t bytes = work.count * width_of(work.type);
  if ((extra.way == Way::atomic || extra.way == Way::put_and_atomic) && bytes > max_atomic_)
    extra.parts = new_counter(static_cast<uint32_t>((bytes + max_atomic_ - 1) / max_atomic_));
}

int PlainProgram::load() {
  for (const auto* operations : {&program_.early, &program_.triggered}) {
    for (const Operation& operation : *operations) {
      const Binding& work = bindings_[operation.vertex];
      if (operation.action == Action::append && (operation.peer == kAnySource || operation.any_tag)) return PTL_ARG_INVALID;
      if (operation.action == Action::local && work.pieces + work.a_pieces + work.b_pieces > 0) return PTL_ARG_INVALID;
      claim(operation, operations == &program_.early);
    }
  }
  for (size_t i = 0; i < increments_.size(); ++i) {
    ptl_handle_ct_t counter;
    if (const int code = PtlCTAlloc(ni_, &counter); code != PTL_OK) return code;
    counters_.push_back(counter);
  }
  descriptors_.assign(counters_.size(), PTL_INVALID_HANDLE);
  ptl_md_t nothing{};
  nothing.eq_handle = PTL_EQ_NONE;
  nothing.ct_handle = PTL_CT_NONE;
  if (const int code = PtlMDBind(ni_, &nothing, &announcer_); code != PTL_OK) return code;
  if (const int code = PtlGetId(ni_, &self_); code != PTL_OK) return code;
  return open();
}

// Two entries for ever: one keeps the headers of announcements that come early, one is all memory, for this process alone.
int PlainProgram::open() {
  if (const int code = PtlPTAlloc(ni_, 0, PTL_EQ_NONE, index_, &index_); code != PTL_OK) return code;
  open_ = true;
  ptl_me_t me{};
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options = PTL_ME_OP_PUT;
  me.match_id = process(kAnySource);
  me.match_id.rank = PTL_RANK_ANY;
  me.ignore_bits = ~ptl_match_bits_t{0};
  if (const int code = PtlMEAppend(ni_, index_, &me, PTL_OVERFLOW_LIST, nullptr, &overflow_); code != PTL_OK) return code;
  me.length = PTL_SIZE_MAX;
  me.match_id = self_;
  me.match_bits = kOwnMemory;
  me.ignore_bits = 0;
  return PtlMEAppend(ni_, index_, &me, PTL_PRIORITY_LIST, nullptr, &own_memory_);
}

int PlainProgram::descriptor(CounterId counter, ptl_handle_md_t& handle) {
  if (descriptors_[counter] == PTL_INVALID_HANDLE) {
    ptl_md_t md{};
    md.length = PTL_SIZE_MAX;
    md.options = PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK;
    md.eq_handle = PTL_EQ_NONE;
    md.ct_handle = counters_[counter];
    if (const int code = PtlMDBind(ni_, &md, &descriptors_[counter]); code != PTL_OK) return code;
  }
  handle = descriptors_[counter];
  return PTL_OK;
}

int PlainProgram::append(uint64_t bits, uint32_t rank, unsigned options, void* start, uint64_t length, CounterId counter) {
  ptl_me_t me{};
  me.start = start;
  me.length = length;
  me.ct_handle = counters_[counter];
  me.uid = PTL_UID_ANY;
  me.options = options | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM;
  me.match_id = process(rank);
  me.match_bits = bits | epoch_bits();
  entries_.emplace_back();
  return PtlMEAppend(ni_, index_, &me, PTL_PRIORITY_LIST, nullptr, &entries_.back());
}

int PlainProgram::increment(CounterId counter, Point when) {
  return PtlTriggeredCTInc(counters_[counter], {1, 0}, counters_[when.counter], at(when));
}

// The announcement of a message, and the get that it and the prerequisites release.
int PlainProgram::expect(const Operation& operation, bool early) {
  const CounterId meeting = extras_[operation.vertex].counter;
  const Binding& to = bindings_[operation.vertex];
  ptl_handle_md_t& pieces = into_[operation.vertex];
  if (to.pieces > 0 && pieces == PTL_INVALID_HANDLE) {
    ptl_md_t md{};
    md.start = to.memory;
    md.length = to.pieces;
    md.options = PTL_MD_EVENT_CT_REPLY | PTL_IOVEC;
    md.eq_handle = PTL_EQ_NONE;
    md.ct_handle = counters_[operation.counter];
    if (const int code = PtlMDBind(ni_, &md, &pieces); code != PTL_OK) return code;
    scattered_.push_back(pieces);
  }
  ptl_handle_md_t md = pieces;
  if (const int code = to.pieces > 0 ? static_cast<int>(PTL_OK) : descriptor(operation.counter, md); code != PTL_OK) return code;
  int code = append(operation.match_bits, operation.peer, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_OVERFLOW, nullptr, 0, meeting);
  if (code == PTL_OK && !early) code = increment(meeting, operation.when);
  if (code != PTL_OK) return code;
  return PtlTriggeredGet(md, to.pieces > 0 ? 0 : address(to.memory), operation.size, process(operation.peer), index_,
                         operation.match_bits | kFetch | epoch_bits(), 0, nullptr, counters_[meeting], at({meeting, increments_[meeting]}));
}

int PlainProgram::park_atomic(const Operation& operation, Point when) {
  const Binding& work = bindings_[operation.vertex];
  const Extra& extra = extras_[operation.vertex];
  const void* operand = extra.way == Way::atomic && work.memory == work.b ? work.a : work.b;
  const CounterId counts = extra.parts == kNoCounter ? operation.counter : extra.parts;
  ptl_handle_md_t md;
  if (const int code = descriptor(counts, md); code != PTL_OK) return code;
  const uint64_t bytes = work.count * width_of(work.type);
  for (uint64_t done = 0; done < bytes; done += max_atomic_) {
    const int code =
        PtlTriggeredAtomic(md, address(operand) + done, std::min(max_atomic_, bytes - done), PTL_CT_ACK_REQ, self_, index_, kOwnMemory,
                           address(work.memory) + done, nullptr, 0, atomic_of(work.op), work.type, counters_[when.counter], at(when));
    if (code != PTL_OK) return code;
  }
  return extra.parts == kNoCounter ? static_cast<int>(PTL_OK) : increment(operation.counter, {extra.parts, increments_[extra.parts]});
}

int PlainProgram::park_local(const Operation& operation) {
  Extra& extra = extras_[operation.vertex];
  if (extra.way == Way::nothing) return increment(operation.counter, operation.when);
  if (extra.way == Way::atomic) return park_atomic(operation, operation.when);
  if (extra.way == Way::host) {
    extra.pending = true;
    extra.since_ns = 0;
    return PTL_OK;
  }
  const Binding& work = bindings_[operation.vertex];
  const CounterId counts = extra.way == Way::put ? operation.counter : extra.counter;
  ptl_handle_md_t md;
  if (const int code = descriptor(counts, md); code != PTL_OK) return code;
  const int code = PtlTriggeredPut(md, address(work.a), work.count * width_of(work.type), PTL_CT_ACK_REQ, self_, index_, kOwnMemory,
                                   address(work.memory), nullptr, 0, counters_[operation.when.counter], at(operation.when));
  return code != PTL_OK || extra.way == Way::put ? code : park_atomic(operation, {extra.counter, 1});
}

int PlainProgram::park(const Operation& operation) {
  switch (operation.action) {
    case Action::put: {
      const Binding& from = bindings_[operation.vertex];
      const unsigned pieces = from.pieces > 0 ? unsigned{PTL_IOVEC} : 0u;
      const int code = append(operation.match_bits | kFetch, operation.peer, PTL_ME_OP_GET | pieces, from.memory,
                              from.pieces > 0 ? from.pieces : operation.size, operation.counter);
      if (code != PTL_OK) return code;
      return PtlTriggeredPut(announcer_, 0, 0, PTL_NO_ACK_REQ, process(operation.peer), index_, operation.match_bits | epoch_bits(), 0,
                             nullptr, 0, counters_[operation.when.counter], at(operation.when));
    }
    case Action::append: return expect(operation, false);
    case Action::local: return park_local(operation);
    case Action::parked: break;
  }
  return PTL_ARG_INVALID;
}

int PlainProgram::start() {
  running_ = true;
  entries_.clear();
  for (const Operation& operation : program_.triggered)
    if (const int code = park(operation); code != PTL_OK) return code;
  for (const Relay& relay : program_.relays)
    if (const int code = increment(relay.counter, relay.when); code != PTL_OK) return code;
  for (const Operation& operation : program_.early)
    if (const int code = expect(operation, true); code != PTL_OK) return code;
  return PtlCTInc(counters_[kStart], {1, 0});
}

ptl_ct_event_t PlainProgram::value(CounterId counter) const {
  ptl_ct_event_t value{};
  PtlCTGet(counters_[counter], &value);
  return value;
}

// Does what the host has to do. Failures release it, as they release all else.
void PlainProgram::look() {
  for (const Operation& operation : program_.triggered) {
    if (operation.action != Action::local || !extras_[operation.vertex].pending) continue;
    const ptl_ct_event_t now = value(operation.when.counter);
    if (now.success + now.failure >= at(operation.when)) work(operation, extras_[operation.vertex]);
  }
}

void PlainProgram::work(const Operation& operation, Extra& extra) {
  const Binding& work = bindings_[operation.vertex];
  bool good = true;
  if (work.op == PTLX_DELAY) {
    if (extra.since_ns == 0) extra.since_ns = now_ns();
    if (now_ns() - extra.since_ns < operation.size) return;
  } else if (work.op == PTLX_TIMESTAMP) {
    *static_cast<uint64_t*>(work.memory) = now_ns();
  } else {
    good = apply_local(work.op, work.type, work.memory, work.a, work.b, work.count);
  }
  extra.pending = false;
  PtlCTInc(counters_[operation.counter], {good ? 1u : 0u, good ? 0u : 1u});
}

int PlainProgram::wait() {
  for (bool ended = false; std::ranges::any_of(extras_, [](const Extra& extra) { return extra.pending; });) {
    if (const int code = test(ended); ended) return code;
  }
  ptl_ct_event_t end{};
  const int code = PtlCTWait(counters_[kFinish], at({kFinish, increments_[kFinish]}), &end);
  return code == PTL_OK ? end_epoch() : code;
}

int PlainProgram::test(bool& ended) {
  look();
  const ptl_ct_event_t end = value(kFinish);
  ended = end.success + end.failure >= at({kFinish, increments_[kFinish]});
  if (ended) return end_epoch();
  const ptl_size_t full = at({kFinish, increments_[kFinish]});
  ptl_ct_event_t unused;
  unsigned which = 0;
  PtlCTPoll(&counters_[kFinish], &full, 1, 0, &unused, &which);  // for progress
  return PTL_OK;
}

int PlainProgram::end_epoch() {
  running_ = false;
  ++epoch_;
  for (CounterId c = 0; c < counters_.size(); ++c)
    if (value(c).failure != 0) return PTL_FAIL;
  return PTL_OK;
}

bool PlainProgram::counters_are_full() const {
  for (CounterId c = 0; c < counters_.size(); ++c) {
    const ptl_ct_event_t now = value(c);
    if (now.failure != 0 || now.success != epoch_ * increments_[c]) return false;
  }
  return true;
}

void PlainProgram::unload() {
  for (const ptl_handle_ct_t counter : counters_) PtlCTCancelTriggered(counter);
  if (running_)
    for (const ptl_handle_me_t entry : entries_) unlink(entry);
  for (const ptl_handle_me_t entry : {own_memory_, overflow_})
    if (entry != PTL_INVALID_HANDLE) unlink(entry);
  for (const auto* descriptors : {&descriptors_, &scattered_})
    for (const ptl_handle_md_t descriptor : *descriptors)
      if (descriptor != PTL_INVALID_HANDLE) PtlMDRelease(descriptor);
  if (announcer_ != PTL_INVALID_HANDLE) PtlMDRelease(announcer_);
  for (const ptl_handle_ct_t counter : counters_) PtlCTFree(counter);
  if (open_) PtlPTFree(ni_, index_);
}

}  // namespace portunus::goal
