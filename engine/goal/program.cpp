// Loading, arming and watching a compiled schedule: see program.hpp.
//
// **Thread:** as program.hpp says. Everything goes through the Portals API.
#include "engine/goal/program.hpp"

#include <sched.h>

#include <utility>

namespace portunus::goal {

namespace {

constexpr std::uint64_t kEpochs = 256;

ptl_process_t process(std::uint32_t rank) {
  ptl_process_t id{};
  id.rank = rank == kAnySource ? PTL_RANK_ANY : rank;
  return id;
}

// Takes the entry out however long a message still works in it.
void unlink(ptl_handle_me_t entry) {
  while (PtlMEUnlink(entry) == PTL_IN_USE) {
    if (PtlxProgress() == 0) sched_yield();
  }
}

}  // namespace

int Port::open(ptl_handle_ni_t ni, ptl_pt_index_t index) {
  int code = PtlPTAlloc(ni, 0, PTL_EQ_NONE, index, &index_);
  if (code != PTL_OK) return code;
  ni_ = ni;
  ptl_me_t keeper{};
  keeper.ct_handle = PTL_CT_NONE;
  keeper.uid = PTL_UID_ANY;
  keeper.options = PTL_ME_OP_PUT | PTLX_ME_HOLD;
  keeper.match_id = process(kAnySource);
  keeper.ignore_bits = ~ptl_match_bits_t{0};
  code = PtlMEAppend(ni_, index_, &keeper, PTL_OVERFLOW_LIST, nullptr, &keeper_);
  if (code != PTL_OK) close();
  return code;
}

void Port::close() {
  if (ni_ == PTL_INVALID_HANDLE) return;
  if (keeper_ != PTL_INVALID_HANDLE) unlink(keeper_);
  PtlPTFree(ni_, index_);
  ni_ = keeper_ = PTL_INVALID_HANDLE;
}

LoadedProgram::LoadedProgram(const Port& port, Program program, std::vector<Binding> bindings)
    : port_(port), program_(std::move(program)), bindings_(std::move(bindings)) {}

int LoadedProgram::load() {
  const std::size_t count = program_.increments.size();
  for (std::size_t i = 0; i < count; ++i) {
    ptl_handle_ct_t counter;
    if (const int code = PtlCTAlloc(port_.ni(), &counter); code != PTL_OK) return code;
    counters_.push_back(counter);
  }
  descriptors_.assign(count, PTL_INVALID_HANDLE);
  for (const Operation& operation : program_.triggered) {
    if (operation.action != Action::put || descriptors_[operation.counter] != PTL_INVALID_HANDLE) continue;
    ptl_md_t everything{};
    everything.length = PTL_SIZE_MAX;
    everything.options = PTL_MD_EVENT_CT_SEND;
    everything.eq_handle = PTL_EQ_NONE;
    everything.ct_handle = counters_[operation.counter];
    if (const int code = PtlMDBind(port_.ni(), &everything, &descriptors_[operation.counter]); code != PTL_OK) return code;
  }
  return PTL_OK;
}

// Counters go first: with them go the operations that wait, appends included.
void LoadedProgram::unload() {
  for (const ptl_handle_ct_t counter : counters_) PtlCTFree(counter);
  for (const ptl_handle_me_t entry : entries_) unlink(entry);
  for (const ptl_handle_md_t descriptor : descriptors_) {
    if (descriptor != PTL_INVALID_HANDLE) PtlMDRelease(descriptor);
  }
}

std::uint64_t LoadedProgram::threshold(Point point) const {
  return point.threshold + epoch_ * program_.increments[point.counter];
}

std::uint64_t LoadedProgram::goal() const { return (epoch_ + 1) * program_.increments[kFinish]; }

ptl_me_t LoadedProgram::entry(const Operation& operation) const {
  ptl_me_t me{};
  me.start = bindings_[operation.vertex].memory;
  me.length = operation.size;
  me.ct_handle = counters_[operation.counter];
  me.uid = PTL_UID_ANY;
  me.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTLX_ME_COMPLETE_UNEXPECTED;
  me.match_id = process(operation.peer);
  me.match_bits = operation.match_bits | (epoch_ % kEpochs) << kEpochShift;
  me.ignore_bits = operation.ignore_bits;
  return me;
}

int LoadedProgram::arm() {
  if (armed_ || running_) return PTL_OK;
  for (const Operation& operation : program_.triggered) {
    if (const int code = arm(operation); code != PTL_OK) return code;
  }
  armed_ = true;
  return PTL_OK;
}

// The early entries come with the start and not before: their messages may be here already, and what those release
// reads memory that is the program's until then.
int LoadedProgram::append_early() {
  for (const Operation& operation : program_.early) {
    const ptl_me_t me = entry(operation);
    ptl_handle_me_t handle;
    if (const int code = PtlMEAppend(port_.ni(), port_.index(), &me, PTL_PRIORITY_LIST, nullptr, &handle); code != PTL_OK)
      return code;
    entries_.push_back(handle);
  }
  return PTL_OK;
}

int LoadedProgram::arm(const Operation& operation) {
  const ptl_handle_ct_t trigger = counters_[operation.when.counter];
  const std::uint64_t when = threshold(operation.when);
  switch (operation.action) {
    case Action::put:
      return PtlTriggeredPut(descriptors_[operation.counter], reinterpret_cast<std::uintptr_t>(bindings_[operation.vertex].memory),
                             operation.size, PTL_NO_ACK_REQ, process(operation.peer), port_.index(),
                             operation.match_bits | (epoch_ % kEpochs) << kEpochShift, 0, nullptr, 0, trigger, when);
    case Action::append: {
      const ptl_me_t me = entry(operation);
      ptl_handle_me_t handle;
      const int code =
          PtlxTriggeredMEAppend(port_.ni(), port_.index(), &me, PTL_PRIORITY_LIST, nullptr, &handle, trigger, when);
      if (code == PTL_OK) entries_.push_back(handle);
      return code;
    }
    case Action::local: {
      const Binding& work = bindings_[operation.vertex];
      return PtlxTriggeredLocal(port_.ni(), work.op, work.type, work.memory, work.a, work.b,
                                work.op == PTLX_DELAY ? operation.size : work.count, counters_[operation.counter], trigger, when);
    }
    case Action::increment: return PtlTriggeredCTInc(counters_[operation.counter], {1, 0}, trigger, when);
  }
  return PTL_ARG_INVALID;
}

int LoadedProgram::start() {
  if (const int code = arm(); code != PTL_OK) return code;
  armed_ = false;
  running_ = true;
  if (const int code = append_early(); code != PTL_OK) return code;
  return PtlCTInc(counters_[kStart], {1, 0});
}

int LoadedProgram::wait() {
  ptl_ct_event_t value;
  const int code = PtlCTWait(counters_[kFinish], goal(), &value);
  return code == PTL_OK ? finish_epoch() : code;
}

int LoadedProgram::test(bool& ended) {
  ptl_ct_event_t value;
  const int code = PtlCTGet(counters_[kFinish], &value);
  ended = code != PTL_OK || value.failure != 0 || value.success >= goal();
  return ended && code == PTL_OK ? finish_epoch() : code;
}

// A failure releases what waits for it, so the end comes in any case; every counter knows its own failures.
int LoadedProgram::finish_epoch() {
  running_ = false;
  for (const ptl_handle_ct_t counter : counters_) {
    ptl_ct_event_t value;
    if (const int code = PtlCTGet(counter, &value); code != PTL_OK) return code;
    if (value.failure != 0) return PTL_FAIL;
  }
  entries_.clear();  // each took its message and is gone
  ++epoch_;
  return PTL_OK;
}

}  // namespace portunus::goal
