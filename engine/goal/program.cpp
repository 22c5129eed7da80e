// Loading, arming and watching a compiled schedule: see program.hpp.
//
// Thread: as program.hpp says. Everything goes through the Portals API.
#include "engine/goal/program.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <numeric>
#include <utility>

#include "engine/goal/failure_notice.hpp"

namespace portunus::goal {

namespace {

constexpr uint64_t kEpochField = uint64_t{0xff} << kEpochShift;
constexpr uint64_t kAllButClass = (uint64_t{1} << 60) - 1;

ptl_process_t process(uint32_t rank) {
  ptl_process_t id{};
  id.rank = rank == kAnySource ? PTL_RANK_ANY : rank;
  return id;
}

uint64_t seen(const uint64_t& word) { return std::atomic_ref<const uint64_t>(word).load(std::memory_order_acquire); }

}  // namespace

// Failure notices are acknowledged at once, whether its program is here already, still, or not any more.
int Port::open(ptl_handle_ni_t ni, ptl_pt_index_t index) {
  int code = PtlPTAlloc(ni, 0, PTL_EQ_NONE, index, &index_);
  if (code != PTL_OK) return code;
  ni_ = ni;
  ptl_me_t keeper = client::entry_of(nullptr, 0, PTL_ME_OP_PUT, kFailureNotice);
  keeper.ignore_bits = kAllButClass;
  code = PtlMEAppend(ni_, index_, &keeper, PTL_OVERFLOW_LIST, nullptr, &notice_keeper_);
  keeper = client::entry_of(nullptr, 0, PTL_ME_OP_PUT | PTL_ME_UNEXPECTED_HDR_DISABLE | client::kQuiet, kRunsEnded);
  keeper.ignore_bits = kAllButClass;
  if (code == PTL_OK) code = sink_.append(ni_, index_, keeper, PTL_OVERFLOW_LIST);
  if (code == PTL_OK) code = copied_.bind_all(ni_, PTL_MD_VOLATILE);
  if (code == PTL_OK) code = keeper_.append(ni_, index_, client::entry_for_all(PTL_ME_OP_PUT | PTLX_ME_HOLD), PTL_OVERFLOW_LIST);
  if (code != PTL_OK) close();
  return code;
}

void Port::close() {
  if (ni_ == PTL_INVALID_HANDLE) return;
  keeper_.close();
  sink_.close();
  copied_.close();
  if (notice_keeper_ != PTL_INVALID_HANDLE) {
    ptl_me_t all = client::entry_of(nullptr, 0, PTL_ME_OP_PUT, kFailureNotice);
    all.ignore_bits = kAllButClass;
    while (PtlMEUnlink(notice_keeper_) == PTL_IN_USE) PtlMESearch(ni_, index_, &all, PTL_SEARCH_DELETE, nullptr);
  }
  PtlPTFree(ni_, index_);
  ni_ = notice_keeper_ = PTL_INVALID_HANDLE;
}

LoadedProgram::LoadedProgram(const Port& port, Program program, std::vector<Binding> bindings, Trace* trace)
    : port_(port), program_(std::move(program)), bindings_(std::move(bindings)) {
  if (!trace) return;
  program_ = with_own_ends(std::move(program_));
  ptl_process_t self{};
  PtlGetId(port_.ni(), &self);
  trace_ = std::make_unique<ProgramTrace>(*trace, program_, bindings_, self.rank);
}

// Operations that wait for nothing are parked in the order in which they are to happen when kStart rises. Of operations at one point the
// stamps are the first, so that none is taken after what it is to precede.
int LoadedProgram::load() {
  if (const int code = PtlCTAlloc(port_.ni(), &errors_); code != PTL_OK) return code;
  if (const int code = PtlCTAlloc(port_.ni(), &told_); code != PTL_OK) return code;
  for (const uint32_t stride : program_.increments) {
    ptl_handle_ct_t counter;
    if (const int code = PtlCTAlloc(port_.ni(), &counter); code != PTL_OK) return code;
    counters_.push_back(counter);
    if (const int code = PtlxCTRepeat(counter, stride, kEpochField); code != PTL_OK) return code;
    if (const int code = PtlxCTGuard(counter, errors_); code != PTL_OK) return code;
  }
  descriptors_.assign(counters_.size(), PTL_INVALID_HANDLE);
  if (const int code = trace_ ? park_end_stamps() : static_cast<int>(PTL_OK); code != PTL_OK) return code;
  const std::span<const Operation> triggered = program_.triggered;
  if (const int code = park_all(triggered.first(program_.sends_first)); code != PTL_OK) return code;
  for (const Operation& operation : program_.early) {
    if (trace_)
      if (const int code = park_stamp(trace_->stamp(operation.vertex).begin, {kStart, 1}); code != PTL_OK) return code;
    if (const int code = park_append(operation, {kStart, 1}); code != PTL_OK) return code;
  }
  if (const int code = park_all(triggered.subspan(program_.sends_first)); code != PTL_OK) return code;
  for (const Relay& relay : program_.relays) {
    const int code = PtlTriggeredCTInc(counters_[relay.counter], {1, 0}, counters_[relay.when.counter], relay.when.threshold);
    if (code != PTL_OK) return code;
  }
  if (const uint32_t end = program_.increments[kFinish]; end > 0)
    if (const int code = PtlxTriggeredNotify(port_.ni(), &epochs_ended_, -1, 0, counters_[kFinish], end); code != PTL_OK) return code;
  if (const int code = watch_failures(); code != PTL_OK) return code;
  if (ahead_)
    if (const int code = ahead_->load(place()); code != PTL_OK) return code;
  return checks_order_ ? expect_announcements() : static_cast<int>(PTL_OK);
}

std::vector<Channel> LoadedProgram::channels_of(Action action) const {
  std::vector<bool> exact;
  for (const Binding& binding : bindings_) exact.push_back(binding.exact);
  return channels(program_, action, exact);
}

Channel LoadedProgram::channel(Action action, uint32_t peer) const {
  for (const Channel& found : channels_of(action))
    if (found.peer == peer) return found;
  return {.peer = peer};
}

// The entry before the last takes what none before it has taken, the last one what the other schedules of this process tell of that.
int LoadedProgram::expect_announcements() {
  if (const int code = PtlCTAlloc(port_.ni(), &disorder_); code != PTL_OK) return code;
  ptl_process_t self{};
  PtlGetId(port_.ni(), &self);
  for (const ptl_size_t count : kPassedOnAt) {
    const int code = PtlTriggeredPut(teller_, 0, 0, PTL_NO_ACK_REQ, self, port_.index(), kDisorder, 0, nullptr, 0, disorder_, count);
    if (code != PTL_OK) return code;
  }
  if (const int code = PtlTriggeredCTInc(errors_, {1, 0}, disorder_, 1); code != PTL_OK) return code;
  ptl_me_t me{};
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED;
  const auto append = [&] {
    ptl_handle_me_t handle;
    const int code = PtlMEAppend(port_.ni(), port_.index(), &me, PTL_PRIORITY_LIST, nullptr, &handle);
    if (code == PTL_OK) entries_.push_back(handle);
    return code;
  };
  for (const Channel& from : channels_of(Action::append)) {
    me.match_id = process(from.peer);
    me.match_bits = from.announced_by(program_.context);
    if (const int code = append(); code != PTL_OK) return code;
  }
  me.start = &port_.unexpected();
  me.length = sizeof(Announcement);
  me.ct_handle = disorder_;
  me.options |= PTL_ME_EVENT_CT_COMM;
  me.match_id = process(kAnySource);
  me.match_bits = Channel{}.announced_by(program_.context);
  me.ignore_bits = kAnyHash;
  if (const int code = append(); code != PTL_OK) return code;
  me.match_bits = kDisorder;
  me.ignore_bits = 0;
  return append();
}

void Port::tell_of_unexpected(uint32_t ranks) const {
  unexpected_.told = 1;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    PtlPut(copied_, reinterpret_cast<uintptr_t>(&unexpected_), sizeof unexpected_, PTL_NO_ACK_REQ, process(rank), index_, kDisorder, 0,
           nullptr, 0);
}

int LoadedProgram::announce() {
  ptl_process_t self{};
  if (const int code = PtlGetId(port_.ni(), &self); code != PTL_OK) return code;
  for (const Channel& to : channels_of(Action::put)) {
    const Announcement said{.from = self.rank, .to = to.peer, .context = program_.context, .messages = to.messages, .bytes = to.bytes};
    const int code = PtlPut(port_.copied(), reinterpret_cast<uintptr_t>(&said), sizeof said, PTL_NO_ACK_REQ, process(to.peer),
                            port_.index(), to.announced_by(program_.context), 0, nullptr, 0);
    if (code != PTL_OK) return code;
  }
  return PTL_OK;
}

int LoadedProgram::park_all(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (trace_)
      if (const int code = park_stamp(trace_->stamp(operation.vertex).begin, operation.when); code != PTL_OK) return code;
    if (const int code = park(operation); code != PTL_OK) return code;
  }
  return PTL_OK;
}

// Ranks that messages come from or go to, and those of the program's own operations. One that takes messages from anyone exchanges them
// with everyone.
std::vector<uint32_t> LoadedProgram::peers() const {
  std::vector<uint32_t> ranks;
  for (const auto* operations : {&program_.early, &program_.triggered})
    for (const Operation& operation : *operations)
      if (operation.action != Action::local) ranks.push_back(operation.peer);
  std::ranges::sort(ranks);
  if (!ranks.empty() && ranks.back() == kAnySource) {
    ptl_size_t size = 0;
    PtlGetMap(port_.ni(), 0, nullptr, &size);
    ranks.resize(size);
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  ptl_process_t self{};
  if (PtlGetId(port_.ni(), &self) == PTL_OK) std::erase(ranks, self.rank);
  return ranks;
}

// The others are told first: who waits here may withdraw everything as soon as it knows.
int LoadedProgram::watch_failures() {
  const uint64_t notice = failure_notice_of(program_.context);
  ptl_md_t nothing{};
  nothing.options = PTL_MD_EVENT_CT_ACK;
  nothing.eq_handle = PTL_EQ_NONE;
  nothing.ct_handle = told_;
  if (const int code = PtlMDBind(port_.ni(), &nothing, &teller_); code != PTL_OK) return code;
  for (const uint32_t rank : peers()) {
    const int code = PtlTriggeredPut(teller_, 0, 0, PTL_CT_ACK_REQ, process(rank), port_.index(), notice, 0, nullptr, 0, errors_, 1);
    if (code != PTL_OK) return code;
    ++tells_;
  }
  // The other programs of the context in this process, see failure_notice.hpp.
  ptl_process_t self{};
  PtlGetId(port_.ni(), &self);
  for (const ptl_size_t count : kPassedOnAt) {
    const int code = PtlTriggeredPut(teller_, 0, 0, PTL_NO_ACK_REQ, self, port_.index(), notice, 0, nullptr, 0, errors_, count);
    if (code != PTL_OK) return code;
  }
  if (const int code = PtlxTriggeredNotify(port_.ni(), &failures_, -1, 0, errors_, 1); code != PTL_OK) return code;
  if (const int code = PtlTriggeredCTInc(counters_[kFinish], {0, 1}, errors_, 1); code != PTL_OK) return code;
  for (const uint32_t rank : peers())
    if (const int code = PtlxCTWatch(errors_, process(rank)); code != PTL_OK) return code;
  const ptl_me_t me = failure_notice_entry(notice, errors_);
  ptl_handle_me_t handle;
  const int code = PtlMEAppend(port_.ni(), port_.index(), &me, PTL_PRIORITY_LIST, nullptr, &handle);
  if (code == PTL_OK) entries_.push_back(handle);
  return code;
}

// Sends from contiguous memory share a descriptor of all memory with those that count on the same counter.
int LoadedProgram::bind_descriptor(const Operation& operation) {
  const Binding& binding = bindings_[operation.vertex];
  if (binding.pieces == 0 && descriptors_[operation.counter] != PTL_INVALID_HANDLE) return PTL_OK;
  ptl_md_t md{};
  md.start = binding.pieces == 0 ? nullptr : binding.memory;
  md.length = binding.pieces == 0 ? PTL_SIZE_MAX : binding.pieces;
  md.options = PTL_MD_EVENT_CT_SEND | (binding.pieces == 0 ? 0u : unsigned{PTL_IOVEC});
  md.eq_handle = PTL_EQ_NONE;
  md.ct_handle = counters_[operation.counter];
  ptl_handle_md_t handle;
  if (const int code = PtlMDBind(port_.ni(), &md, &handle); code != PTL_OK) return code;
  if (binding.pieces == 0) {
    descriptors_[operation.counter] = handle;
  } else {
    scattered_.emplace(operation.vertex, handle);
  }
  return PTL_OK;
}

ptl_me_t LoadedProgram::entry(const Operation& operation) const {
  ptl_me_t me{};
  const Binding& binding = bindings_[operation.vertex];
  me.start = binding.memory;
  me.length = binding.pieces == 0 ? operation.size : binding.pieces;
  me.ct_handle = counters_[operation.counter];
  me.uid = PTL_UID_ANY;
  me.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTLX_ME_COMPLETE_UNEXPECTED | PTLX_ME_COUNT_MISMATCHES |
               (binding.pieces == 0 ? 0u : unsigned{PTL_IOVEC});
  me.match_id = process(operation.peer);
  me.match_bits = operation.match_bits;
  me.ignore_bits = operation.ignore_bits();
  return me;
}

int LoadedProgram::park_append(const Operation& operation, Point when) {
  const ptl_me_t me = entry(operation);
  ptl_handle_me_t handle;
  const int code = PtlxTriggeredMEAppend(port_.ni(), port_.index(), &me, PTL_PRIORITY_LIST, &mismatches_, &handle, counters_[when.counter],
                                         when.threshold);
  if (code == PTL_OK) entries_.push_back(handle);
  return code;
}

int LoadedProgram::park(const Operation& operation) {
  assert(operation.when.counter < counters_.size() && operation.vertex < bindings_.size() && !running_);
  const ptl_handle_ct_t trigger = counters_[operation.when.counter];
  switch (operation.action) {
    case Action::put: {
      if (const int code = bind_descriptor(operation); code != PTL_OK) return code;
      const Binding& from = bindings_[operation.vertex];
      const bool whole = from.pieces == 0;
      return PtlTriggeredPut(whole ? descriptors_[operation.counter] : scattered_.at(operation.vertex),
                             whole ? reinterpret_cast<uintptr_t>(from.memory) : 0, operation.size, PTL_NO_ACK_REQ, process(operation.peer),
                             port_.index(), operation.match_bits, 0, nullptr, 0, trigger, operation.when.threshold);
    }
    case Action::append: return park_append(operation, operation.when);
    case Action::local: {
      const Binding& work = bindings_[operation.vertex];
      const ptlx_memory_t to{work.memory, work.pieces}, a{const_cast<void*>(work.a), work.a_pieces},
          b{const_cast<void*>(work.b), work.b_pieces};
      return PtlxTriggeredLocalVector(port_.ni(), work.op, work.type, &to, &a, &b, work.op == PTLX_DELAY ? operation.size : work.count,
                                      counters_[operation.counter], trigger, operation.when.threshold);
    }
    case Action::parked: return park_programs_own(operation);
  }
  return PTL_ARG_INVALID;
}

// Match bits of the program's own operations are the same in each epoch.
int LoadedProgram::park_programs_own(const Operation& operation) {
  const Parked& own = bindings_[operation.vertex].parked;
  const Point when = operation.when;
  const uint32_t stride = program_.increments[when.counter];
  if (const int code = PtlxCTRepeat(counters_[when.counter], stride, 0); code != PTL_OK) return code;
  const int code = own.park(own.argument, counters_[when.counter], when.threshold, counters_[operation.counter]);
  const int restored = PtlxCTRepeat(counters_[when.counter], stride, kEpochField);
  return code != PTL_OK ? code : restored;
}

int LoadedProgram::park_stamp(uint64_t& to, Point when) {
  const ptlx_memory_t word{&to, 0}, nothing{nullptr, 0};
  return PtlxTriggeredLocalVector(port_.ni(), PTLX_TIMESTAMP, PTL_UINT64_T, &word, &nothing, &nothing, 1, PTL_CT_NONE,
                                  counters_[when.counter], when.threshold);
}

int LoadedProgram::park_end_stamps() {
  for (const auto* operations : {&program_.early, &program_.triggered})
    for (const Operation& operation : *operations)
      if (const int code = park_stamp(trace_->stamp(operation.vertex).end, {operation.counter, program_.increments[operation.counter]});
          code != PTL_OK)
        return code;
  return PTL_OK;
}

bool LoadedProgram::failed() const { return withdrawn_ || seen(failures_) != 0; }

int LoadedProgram::start() {
  if (failed()) return PTL_FAIL;
  assert(!running_ && counters_.size() == program_.increments.size());
  ptl_handle_ct_t behind = PTL_CT_NONE;
  ptl_size_t threshold = 0;
  if (ahead_ && epoch_ >= ahead_->next()) [[unlikely]]
    if (const int code = ahead_->begin(place(), epoch_, behind, threshold); code != PTL_OK) return code;
  if (checks_order_ && epoch_ == 0)
    if (const int code = announce(); code != PTL_OK) return code;
  running_ = true;
  if (trace_) trace_->begin();
  if (behind != PTL_CT_NONE) [[unlikely]]
    return PtlTriggeredCTInc(counters_[kStart], {1, 0}, behind, threshold);
  return PtlxCTIncSoon(counters_[kStart], {1, 0});
}

RunAhead::Place LoadedProgram::place() const { return {port_.notices(), port_.ni(), port_.index(), program_, counters_[kFinish], teller_}; }

int LoadedProgram::wait() {
  ptl_ct_event_t value;
  const int code = PtlCTWait(counters_[kFinish], (epoch_ + 1) * program_.increments[kFinish], &value);
  return code == PTL_OK ? end_epoch(value.failure != 0) : code;
}

bool LoadedProgram::has_ended() const { return program_.increments[kFinish] == 0 || seen(epochs_ended_) > epoch_ || failed(); }

int LoadedProgram::test(bool& ended) {
  ended = has_ended() || (PtlxProgress() > 0 && has_ended());
  return ended ? end_epoch(false) : static_cast<int>(PTL_OK);
}

// Messages that a failed rank sent before may have come in the meantime; only an end that no failure went before counts. What kFinish has
// learned from errors_ is in failures_ already (watch_failures); a failure of its own, as of a send that is the last of its branch,
// is told there a moment later: hence `seen_to_fail`.
int LoadedProgram::end_epoch(bool seen_to_fail) {
  assert(running_);
  const bool well = !seen_to_fail && !failed();
  if (!well) withdraw();
  running_ = false;
  if (trace_) trace_->end(epoch_, !well);
  if (!well) return PTL_FAIL;
  ++epoch_;
  return PTL_OK;
}

int LoadedProgram::open(VertexId receive) const {
  ptl_process_t self{};
  if (const int code = PtlGetId(port_.ni(), &self); code != PTL_OK) return code;
  for (const auto* operations : {&program_.early, &program_.triggered})
    for (const Operation& operation : *operations) {
      if (operation.vertex != receive || operation.action != Action::append) continue;
      const uint64_t bits = (operation.match_bits & ~kEpochField) | ((operation.match_bits + (epoch_ << kEpochShift)) & kEpochField);
      return PtlPut(port_.copied(), 0, 0, PTL_NO_ACK_REQ, self, port_.index(), bits, 0, nullptr, 0);
    }
  return PTL_ARG_INVALID;
}

bool LoadedProgram::counters_are_full() const {
  for (CounterId c = 0; c < counters_.size(); ++c) {
    ptl_ct_event_t value{};
    if (PtlCTGet(counters_[c], &value) != PTL_OK || value.failure != 0 || value.success != epoch_ * program_.increments[c]) return false;
  }
  return true;
}

void LoadedProgram::cancel() {
  if (!running_) return;
  PtlCTInc(errors_, {1, 0});
  withdraw();
  running_ = false;
}

bool LoadedProgram::in_use(int how) const {
  return std::ranges::any_of(counters_, [&](ptl_handle_ct_t counter) {
    int busy = 0;
    return PtlxCTBusy(counter, &busy) == PTL_OK && (busy & how) != 0;
  });
}

// Takes everything out of the engine's hands. What is under way ends by itself, except that a peer may never read what
// it was sent; once it knows of the failure it does not take what it reads for a result.
void LoadedProgram::withdraw() {
  if (withdrawn_) return;
  withdrawn_ = true;
  if (ahead_) ahead_->cancel();
  for (const ptl_handle_ct_t counter : counters_) PtlCTCancelTriggered(counter);
  for (const ptl_handle_me_t entry : entries_) client::take_out(entry);
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  const auto all_know = [&] {
    ptl_ct_event_t told{};
    return PtlCTGet(told_, &told) != PTL_OK || told.success + told.failure >= tells_;
  };
  while (in_use(2) || (in_use(1) && !all_know() && std::chrono::steady_clock::now() < limit)) {
    if (PtlxProgress() == 0) sched_yield();
  }
}

// Counters go first: with them go the operations that wait, appends included.
void LoadedProgram::unload() {
  cancel();
  ahead_.reset();
  for (const ptl_handle_ct_t counter : counters_) PtlCTFree(counter);
  if (errors_ != PTL_INVALID_HANDLE) PtlCTFree(errors_);
  if (told_ != PTL_INVALID_HANDLE) PtlCTFree(told_);
  if (disorder_ != PTL_INVALID_HANDLE) PtlCTFree(disorder_);
  for (const ptl_handle_me_t entry : entries_) client::take_out(entry);
  for (const auto& [vertex, descriptor] : scattered_) PtlMDRelease(descriptor);
  for (const ptl_handle_md_t descriptor : descriptors_) {
    if (descriptor != PTL_INVALID_HANDLE) PtlMDRelease(descriptor);
  }
  if (teller_ != PTL_INVALID_HANDLE) PtlMDRelease(teller_);
}

}  // namespace portunus::goal
