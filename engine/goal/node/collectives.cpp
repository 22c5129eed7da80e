// Making a group's memory, choosing the way of a call, and what goes through slots: see collectives.hpp.
//
// Thread: as collectives.hpp says.
#include "engine/goal/node/collectives.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/goal/calls.hpp"
#include "engine/goal/collectives/choice.hpp"
#include "engine/goal/node/choice.hpp"
#include "engine/goal/node/sizes.hpp"
#include "portals/portals4_ext.h"

namespace portunus::goal::node {

namespace {

constexpr size_t kMostRanks = 128;
constexpr unsigned kCallsPerStep = 32;
constexpr unsigned kEarlyCalls = 4;  // a group that is used less is not worth any memory
// The most memory of all groups of a process: many groups must not fill the node's shared memory.
constexpr size_t kMostMemory = size_t{48} << 20;
std::atomic<size_t> memory_in_use{0};

constexpr uint32_t kSlotsTag = kTags, kBuffersTag = kTags + 1, kMiddleTag = kTags + 2, kLongTag = kTags + 3, kMadeTag = kTags + 4,
                   kPipesTag = kTags + 5;

bool is_reduction(GOAL_Call_kind kind) { return kind >= GOAL_CALL_REDUCE && kind <= GOAL_CALL_EXSCAN; }

// A rank's part or vector, in bytes; the longest part of an ALLGATHERV; 0 where not all ranks know it.
size_t bytes_of(const GOAL_Call& call, size_t size) {
  if (call.kind == GOAL_CALL_BARRIER || is_by_parts(call.kind)) return 0;
  if (call.kind == GOAL_CALL_ALLGATHERV) return *std::max_element(call.out_sizes, call.out_sizes + size);
  if (!is_reduction(call.kind)) return call.bytes;
  const size_t each = local_size(type_of(call.type));
  if (call.kind != GOAL_CALL_REDUCE_SCATTER) return call.count * each;
  return (call.counts ? std::accumulate(call.counts, call.counts + size, size_t{0}) : call.count * size) * each;
}

bool is_collective_of_one_root(GOAL_Call_kind kind) {
  return kind == GOAL_CALL_BCAST || kind == GOAL_CALL_GATHER || kind == GOAL_CALL_SCATTER || kind == GOAL_CALL_REDUCE ||
         kind == GOAL_CALL_GATHERV || kind == GOAL_CALL_SCATTERV;
}

// The facts of a call that all ranks must agree on, apart from its size.
uint64_t digest(const GOAL_Call& call) {
  uint64_t what = static_cast<uint64_t>(call.kind);
  if (is_collective_of_one_root(call.kind)) what |= uint64_t{static_cast<uint32_t>(call.root)} << 32;
  if (is_reduction(call.kind)) what |= static_cast<uint64_t>(call.type) << 16 | static_cast<uint64_t>(call.op) << 24;
  return what;
}

std::vector<int> ranks_of(const GOAL_Group& group) {
  std::vector<int> ranks(static_cast<size_t>(group.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (group.ranks) std::copy_n(group.ranks, ranks.size(), ranks.begin());
  return ranks;
}

// A bit for each kind of call for which PTL_COLLECTIVES names an algorithm.
uint32_t find_forced() {
  using collectives::Collective;
  constexpr std::pair<GOAL_Call_kind, Collective> kKinds[] = {{GOAL_CALL_BARRIER, Collective::barrier},
                                                              {GOAL_CALL_BCAST, Collective::bcast},
                                                              {GOAL_CALL_GATHER, Collective::gather},
                                                              {GOAL_CALL_SCATTER, Collective::scatter},
                                                              {GOAL_CALL_ALLGATHER, Collective::allgather},
                                                              {GOAL_CALL_ALLTOALL, Collective::alltoall},
                                                              {GOAL_CALL_REDUCE, Collective::reduce},
                                                              {GOAL_CALL_ALLREDUCE, Collective::allreduce},
                                                              {GOAL_CALL_REDUCE_SCATTER, Collective::reduce_scatter},
                                                              {GOAL_CALL_ALLGATHERV, Collective::allgatherv}};
  uint32_t forced = 0;
  try {
    const auto choices = collectives::Choices::environment();
    for (const auto& [kind, collective] : kKinds) forced |= uint32_t{choices.is_forced(collective)} << kind;
  } catch (const std::invalid_argument&) {
    // GOAL_Init says what is wrong.
  }
  return forced;
}
uint32_t forced_kinds() {
  static const uint32_t forced = find_forced();
  return forced;
}

bool on_one_node(const GOAL_Group& group) {
  return !group.nodes || std::all_of(group.nodes, group.nodes + group.size, [&](int node) { return node == group.nodes[0]; });
}

}  // namespace

Collectives::Collectives(const GOAL_Group& group, unsigned context, GOAL_Domain domain, AbortPredicate abort)
    : ranks_(ranks_of(group)),
      group_{group.rank, group.size, ranks_.data(), nullptr, 0, GOAL_AUTO},
      forced_(forced_kinds()),
      rank_(static_cast<size_t>(group.rank)),
      size_(static_cast<size_t>(group.size)),
      context_(context),
      abort_(abort),
      waiting_(domain, abort),
      others_(rank_),
      short_(rank_, size_, kShortBuffer, kShortSlots, kSlotsTag, others_),
      middle_(rank_, size_, kMiddle, kMiddleSlots, kMiddleTag, others_),
      long_(rank_, size_, long_buffer(size_), long_slots(size_), kLongTag, others_),
      buffers_(rank_, size_, others_, waiting_),
      places_(parts_per_unit(size_) * kPart),
      buffer_places_(unit_of_buffers(size_ * buffers_.bytes_each())),
      for_buffers_{kBuffersTag},
      for_pipes_{kPipesTag} {
  if (size_ < 2 || size_ > kMostRanks || !on_one_node(group)) stand(Standing::none);
}

void Collectives::stand(Standing::State state) {
  for_buffers_.state = for_pipes_.state = state;
  for (Lane* lane : {&short_, &middle_, &long_}) lane->standing.state = state;
}

Collectives::~Collectives() {
  if (place_ != Arena::kNone)
    whole_->places_.raise(place_, {short_.slots.claimed(), middle_.slots.claimed(), static_cast<uint64_t>(buffer_place_)});
  if (any_pending() || !made_.empty()) {
    PendingRuns& all = PendingRuns::instance();
    const std::lock_guard held(all.lock);
    Ended untold;
    fail_all(GOAL_ERR_FAILED, untold);
    for (MadeCall* one : made_) one->owner = nullptr;
    all.remove(*this);
  }
  assert(memory_in_use.load(std::memory_order_relaxed) >= memory_);
  memory_in_use.fetch_sub(memory_, std::memory_order_relaxed);
}

int Collectives::failure() {
  stand(Standing::failed);
  return code_ = waiting_.given_up() ? int{GOAL_ABANDONED} : int{GOAL_ERR_FAILED};
}

// The first agreement also says whether all can share memory at all, and where cores are few.
int Collectives::prepare(Agreement& agreement, bool& may) {
  if (prepared_) {
    may = may && able_;
    return GOAL_SUCCESS;
  }
  may = waiting_.prepare(group_) && PendingRuns::instance().attend() && may;
  int code = agreement.tell(
      {.well = may, .crowded = waiting_.crowded(), .engine = waiting_.has_engine(), .process = getpid(), .memory = others_.word()});
  if (code == GOAL_ERR_NO_SPACE) return code;
  prepared_ = true;
  may = able_ = agreement.all_well();
  crowded_ = std::ranges::any_of(agreement.all, [](const Record& one) { return one.crowded != 0; });
  has_engine_ = std::ranges::any_of(agreement.all, [](const Record& one) { return one.engine != 0; });
  return code == GOAL_SUCCESS && able_ ? others_.open(agreement) : code;
}

Agreement::Through Collectives::through_slots() {
  if (short_.standing.state != Standing::here) return {};
  return [this](const Record& mine, std::vector<Record>& all) -> int {
    static_assert(sizeof(Record) <= kShortBuffer);
    GOAL_Call call{};
    call.kind = GOAL_CALL_ALLGATHER;
    call.bytes = sizeof mine;
    call.in = &mine;
    call.out = all.data();
    const End end = in_slots(call, sizeof mine);
    return end == End::well ? int{GOAL_SUCCESS} : end == End::mismatch ? int{GOAL_MISMATCH} : failure();
  };
}

// All ranks come to the same: whether there is memory, and how much.
template <class Kind>
int Collectives::make_memory(Kind& kind, Agreement& agreement, const GOAL_Group& group) {
  const size_t bytes = size_ * kind.bytes_each();
  const bool may = memory_in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMostMemory;
  const int code = kind.make(agreement, group, may);
  if (code == GOAL_SUCCESS && kind.made()) memory_ += bytes;
  else memory_in_use.fetch_sub(bytes, std::memory_order_relaxed);
  return code;
}

template <class Kind>
bool Collectives::has(Kind& kind, Standing& standing) {
  if (standing.state != Standing::early) [[likely]]
    return standing.state == Standing::here;
  code_ = GOAL_SUCCESS;
  counted_ = &standing;
  // Without slots, agreeing costs more than a few calls by schedules.
  if (++standing.calls < kEarlyCalls && short_.standing.state != Standing::here) return false;
  try {
    if constexpr (!std::is_same_v<Kind, Slots>) kind.reserve();
    GOAL_Group group = group_;
    group.tag = standing.tag;
    Agreement agreement(group, context_, abort_, through_slots());
    bool may = true;
    code_ = prepare(agreement, may);
    if constexpr (!std::is_same_v<Kind, Slots>)
      if (code_ == GOAL_SUCCESS && may && whole_ != nullptr) code_ = find_memory(kind, agreement);
    if constexpr (!std::is_same_v<Kind, Pipes>)
      if (code_ == GOAL_SUCCESS && may && !kind.made()) code_ = make_memory(kind, agreement, group);
  } catch (const std::bad_alloc&) {
    code_ = fail_for_memory();
  }
  if (code_ == GOAL_ERR_NO_SPACE) {  // the others have heard nothing, and wait for this call to be made again
    take_back();
    return false;
  }
  standing.state = code_ != GOAL_SUCCESS ? Standing::failed : kind.made() ? Standing::here : Standing::none;
  return standing.state == Standing::here;
}

// Pipes lie with the buffers, which groups in another group's memory may do without.
bool Collectives::has_pipes() {
  if (for_buffers_.state == Standing::here) [[likely]]
    return true;
  if (whole_ != nullptr && has(buffers_.pipes(), for_pipes_)) return true;
  return (whole_ == nullptr || for_pipes_.state == Standing::none) && has(buffers_, for_buffers_);
}

int Collectives::make_all() {
  if (short_.standing.state != Standing::early || short_.standing.calls > 0) return GOAL_SUCCESS;
  struct {
    SharedMemory& memory;
    size_t each, later;
    [[nodiscard]] size_t bytes_each() const { return each; }
    int make(Agreement& agreement, const GOAL_Group& group, bool may) { return memory.make(agreement, group, each, may, later); }
    [[nodiscard]] bool made() const { return memory.made(); }
  } whole{of_all_kinds_, buffers_.bytes_each(), places_.bytes() + buffer_places_.bytes()};
  for (const Lane* lane : {&short_, &middle_, &long_}) whole.each += lane->slots.bytes_each();
  whole.each += (2 * Arena::table_bytes() / 64 + size_ - 1) / size_ * 64;
  buffers_.reserve();
  GOAL_Group group = group_;
  group.tag = kSlotsTag;
  Agreement agreement(group, context_, abort_);
  bool may = true;
  int code = prepare(agreement, may);
  if (code == GOAL_SUCCESS && may) code = make_memory(whole, agreement, group);
  if (code == GOAL_SUCCESS && whole.made()) {
    std::byte* next = of_all_kinds_.part(0);
    for (Lane* lane : {&short_, &middle_, &long_}) {
      const size_t each = lane->slots.bytes_each();
      lane->slots.lie_at(std::exchange(next, next + size_ * each), each);
    }
    buffers_.lie_at(std::exchange(next, next + size_ * buffers_.bytes_each()));
    std::byte* const units = of_all_kinds_.part(size_);
    const auto reserve = [this](const std::byte* from, size_t bytes) { return of_all_kinds_.reserve(from, bytes); };
    places_.lie_at(next, units, reserve);
    buffer_places_.lie_at(next + Arena::table_bytes(), units + places_.bytes(), reserve);
    stand(Standing::here);
  }
  if (code == GOAL_SUCCESS || code == GOAL_ERR_NO_SPACE) return code;
  stand(Standing::failed);
  return code_ = code;
}

// Memory is made by calls that may wait.
bool Collectives::make_wanted() {
  wants_ = false;
  for (Lane* lane : {&middle_, &long_})
    if (lane->standing.calls == kEarlyCalls && !has(lane->slots, lane->standing)) {
      wants_ = code_ == GOAL_ERR_NO_SPACE;
      if (wants_ || lane->standing.state == Standing::failed) return false;
    }
  return true;
}

void Collectives::take_back() {
  assert(counted_ == nullptr || counted_->calls > 0);
  if (counted_ != nullptr) --std::exchange(counted_, nullptr)->calls;
}

int Collectives::run(const GOAL_Call& call) {
  counted_ = nullptr;
  if (is_forced(call.kind)) [[unlikely]]
    return kNotTaken;
  const size_t bytes = bytes_of(call, size_);
  const bool is_short = fits_slots(call.kind, bytes, size_, kShortBuffer);
  const bool here =
      has(short_.slots, short_.standing) && (is_short || (is_by_parts(call.kind) ? has_pipes() : has(buffers_, for_buffers_)));
  if (!here) [[unlikely]] {
    const bool failed = std::ranges::any_of(std::array{&short_.standing, &for_buffers_, &for_pipes_},
                                            [](const Standing* one) { return one->state == Standing::failed; });
    return failed || code_ == GOAL_ERR_NO_SPACE ? code_ : kNotTaken;
  }
  if (wants_ && !make_wanted()) [[unlikely]]
    return code_;
  // Nothing here looks at the engine unless it waits long; what else is under way must go on by calls alone where there is no engine
  // thread.
  if (++calls_ % kCallsPerStep == 0) PtlxProgress();
  const End end = is_short ? in_slots(call, bytes) : in_buffers(call, digest(call), bytes);
  if (end == End::well) [[likely]]
    return GOAL_SUCCESS;
  return end == End::mismatch ? int{GOAL_MISMATCH} : failure();
}

Collectives::End Collectives::in_buffers(const GOAL_Call& call, uint64_t what, size_t bytes) {
  const bool parts = is_reduction(call.kind) && is_partial(call.kind, bytes, size_, crowded_);
  switch (call.kind) {
    case GOAL_CALL_BCAST: return bcast(call, what);
    case GOAL_CALL_GATHER: return spread(call, what, false);
    case GOAL_CALL_SCATTER: return scatter(call, what);
    case GOAL_CALL_ALLGATHER: return spread(call, what, true);
    case GOAL_CALL_ALLTOALL: return alltoall(call, what);
    case GOAL_CALL_REDUCE: return parts ? partial_reduce(call, what, false) : reduce(call, what, bytes, false);
    case GOAL_CALL_ALLREDUCE: return parts ? partial_reduce(call, what, true) : reduce(call, what, bytes, true);
    case GOAL_CALL_REDUCE_SCATTER: return reduce_scatter(call, what);
    case GOAL_CALL_SCAN:
    case GOAL_CALL_EXSCAN: return prefix(call, what, bytes);
    case GOAL_CALL_ALLGATHERV: return allgather_uneven(call, what);
    default: return through_pipes(call, what);
  }
}

bool Collectives::begin(SlotCall& call) {
  if (!short_.empty()) [[unlikely]]
    return begin_behind(call);
  const uint64_t taken = call.number() - 1;
  if (!call.may_begin(short_.slots, taken) && !waiting_.until([&] { return call.may_begin(short_.slots, taken); })) return false;
  call.begin(short_.slots, taken);
  return true;
}

bool Collectives::begin_behind(SlotCall& call) {
  PendingRuns& all = PendingRuns::instance();
  {
    const std::lock_guard held(all.lock);
    short_.block(call.number());
  }
  for (bool begun = false; !begun;) {
    {
      const std::lock_guard held(all.lock);
      begun = short_.all_begun() && short_.may_begin(call);
      if (begun) call.begin(short_.slots, short_.taken_before(call.number()));
    }
    auto may_begin = [&] {
      const std::lock_guard held(all.lock);
      return short_.all_begun() && short_.may_begin(call);
    };
    if (!begun && !waiting_.until(may_begin)) return false;
  }
  return true;
}

void Collectives::end_behind() {
  const std::lock_guard held(PendingRuns::instance().lock);
  short_.unblock();
}

Collectives::End Collectives::in_slots(const GOAL_Call& wanted, size_t bytes) {
  const bool behind = !short_.empty();
  SlotCall call(wanted, bytes, digest(wanted), rank_, size_, short_.slots.claim());
  const auto through = [&] {
    if (!begin(call)) return End::never;
    if (!call.is_everybodys()) waiting_.ring();
    if (!waiting_.until([&] { return call.is_there(short_.slots); })) return End::never;
    // A rank that finds all of them there need not have slept; the last to come never has. Sleepers are rung once, not by each
    // that comes.
    if (call.is_everybodys()) waiting_.ring();
    return call.take(short_.slots, others_) == GOAL_SUCCESS ? End::well : End::mismatch;
  };
  const End end = through();
  if (behind) [[unlikely]]
    end_behind();
  return end;
}

Lane* Collectives::lane_for(GOAL_Call_kind kind, size_t bytes) {
  if (is_by_parts(kind)) return takes_parts() ? &middle_ : nullptr;
  if (fits_slots(kind, bytes, size_, kShortBuffer)) return &short_;
  if (!takes_when_looking(kind, bytes, size_, has_engine_, crowded_)) return nullptr;
  if (fits_slots(kind, bytes, size_, middle_.slots.room())) return &middle_;
  return fits_slots(kind, bytes, size_, long_.slots.room()) ? &long_ : nullptr;
}

int Collectives::start(const GOAL_Call& call, void (*ended)(void*), void* arg, std::optional<Run>& run) {
  counted_ = nullptr;
  if (is_forced(call.kind)) [[unlikely]]
    return kNotTaken;
  const size_t bytes = bytes_of(call, size_);
  Lane* const lane = lane_for(call.kind, bytes);
  if (lane == nullptr) return kNotTaken;
  Standing& standing = lane->standing;
  if (standing.state != Standing::here) [[unlikely]] {
    if (standing.state == Standing::failed) return code_;
    counted_ = standing.calls < kEarlyCalls ? &standing : nullptr;
    standing.calls = std::min(standing.calls + 1, kEarlyCalls);
    if (standing.state == Standing::early && lane != &short_ && standing.calls == kEarlyCalls) wants_ = true;
    return kNotTaken;
  }
  run.emplace(call, bytes, digest(call), rank_, size_, lane->slots.claim(), ended, arg);
  run->owner = this;
  Ended at_once;
  bool news;
  {
    PendingRuns& all = PendingRuns::instance();
    const std::lock_guard held(all.lock);
    news = lane->start(*run, at_once);
    settle(all);
  }
  if (news) waiting_.ring();
  at_once.tell();
  return GOAL_SUCCESS;
}

MadeCall::~MadeCall() {
  if (owner != nullptr) owner->forget(*this);
  memory_in_use.fetch_sub(memory, std::memory_order_relaxed);
}

int Collectives::agree_on(MadeCall& one, bool& may, Agreement& agreement) {
  const GOAL_Call& call = one.call;
  if (const int code = prepare(agreement, may); code != GOAL_SUCCESS) return code;
  const size_t in_use = memory_in_use.load(std::memory_order_relaxed),
               own = may ? SlotCall::contribution(call, one.bytes, rank_, size_) : 0;
  const Record mine{.well = may,
                    .process = static_cast<int64_t>(call.kind),
                    .memory = static_cast<int64_t>(own),
                    .free = kMostMemory - std::min(in_use, kMostMemory)};
  const int code = agreement.tell(mine);
  if (code != GOAL_SUCCESS) return code;
  // Ranks that make different calls are told when they start them.
  const std::vector<Record>& all = agreement.all;
  const auto are_alike = [&](auto Record::*what) {
    return std::ranges::all_of(all, [&](const Record& rank) { return rank.*what == all[0].*what; });
  };
  one.is_everybodys = are_alike(&Record::process);
  const bool is_even = is_by_parts(call.kind) || are_alike(&Record::memory);
  const bool is_taken = is_by_parts(call.kind) || fits_slots(call.kind, one.bytes, size_, kShortBuffer) ||
                        takes_when_looking(call.kind, one.bytes, size_, has_engine_, crowded_);
  may = may && agreement.all_well() && (!one.is_everybodys || (is_even && is_taken));
  const auto most = static_cast<size_t>(std::ranges::max(all, {}, &Record::memory).memory);
  const size_t room = Slots::room_for(std::min(most, made_room()));
  one.lane.slots.resize(room, made_slots(room, size_, std::ranges::min(all, {}, &Record::free).free));
  return GOAL_SUCCESS;
}

int Collectives::make(const GOAL_Call& call, std::unique_ptr<MadeCall>& made) {
  const bool divides = call.kind == GOAL_CALL_ALLREDUCE && is_partial(call.kind, bytes_of(call, size_), size_, crowded_);
  return divides ? make_in_shares(call, made) : make_one(call, made);
}

int Collectives::make_in_shares(const GOAL_Call& call, std::unique_ptr<MadeCall>& made) {
  const size_t width = local_size(type_of(call.type));
  auto shares = std::make_unique<MadeCall::Shares>();
  for (size_t i = 0, first = 0; i < size_; ++i) {
    shares->counts.push_back(call.count / size_ + (i < call.count % size_ ? 1 : 0));
    shares->sizes.push_back(shares->counts[i] * width);
    shares->places.push_back(static_cast<ptrdiff_t>(first));
    first += shares->sizes[i];
  }
  GOAL_Call part = call;
  part.kind = GOAL_CALL_REDUCE_SCATTER;
  part.counts = shares->counts.data();
  part.out = static_cast<std::byte*>(call.out) + shares->places[rank_];
  std::unique_ptr<MadeCall> first;
  if (const int code = make_one(part, first); code != GOAL_SUCCESS) return code;
  first->shares = std::move(shares);
  made = std::move(first);
  if (!made->is_everybodys) return GOAL_SUCCESS;  // which they are told when they start it
  GOAL_Call rest{};
  rest.kind = GOAL_CALL_ALLGATHERV;
  rest.in = part.out;
  rest.bytes = made->shares->sizes[rank_];
  rest.out = call.out;
  rest.out_sizes = made->shares->sizes.data();
  rest.out_places = made->shares->places.data();
  const int code = make_one(rest, made->then);
  if (code != GOAL_SUCCESS) made.reset();
  return code;
}

int Collectives::make_one(const GOAL_Call& call, std::unique_ptr<MadeCall>& made) {
  counted_ = nullptr;
  if (short_.standing.state == Standing::failed) return code_;
  if (short_.standing.state == Standing::none || (prepared_ && !able_) || is_forced(call.kind)) return kNotTaken;
  const size_t bytes = bytes_of(call, size_);
  bool may = is_by_parts(call.kind) ? takes_parts() : fits_slots(call.kind, bytes, size_, made_room());
  GOAL_Group group = group_;
  group.tag = kMadeTag;
  // Memory is taken before the first exchange, on which others wait.
  auto one = std::make_unique<MadeCall>(*this, call, bytes, rank_, size_, group.tag, others_);
  if (!about_made_) about_made_.emplace(group, context_, abort_, through_slots());
  {
    const std::lock_guard held(PendingRuns::instance().lock);
    made_.push_back(one.get());
  }
  int code = agree_on(*one, may, *about_made_);
  if (code == GOAL_ERR_NO_SPACE) {  // the others have heard nothing, and wait for this call to be made again
    about_made_.reset();
    return code;
  }
  if (code == GOAL_SUCCESS && may) {
    const size_t before = memory_;
    code = make_memory(one->lane.slots, *about_made_, group);
    one->memory = std::exchange(memory_, before) - before;
    if (one->lane.slots.made()) made = std::move(one);
  }
  return code != GOAL_SUCCESS ? failure() : made ? int{GOAL_SUCCESS} : kNotTaken;
}

// A part that ended in a mismatch goes on all the same: other ranks do so, too.
void Collectives::go_on(void* at) {
  MadeCall& made = *static_cast<MadeCall*>(at);
  const bool goes_on = (made.run->code == GOAL_SUCCESS || made.run->code == GOAL_MISMATCH) && made.owner != nullptr;
  if (goes_on) made.now.store(made.then.get(), std::memory_order_release);
  const int code = goes_on ? made.owner->restart_one(*made.then, made.ended, made.arg) : int{GOAL_ERR_FAILED};
  if (code == GOAL_SUCCESS) return;
  made.run->code = code;
  made.ended(made.arg);
}

int Collectives::restart(MadeCall& made, void (*ended)(void*), void* arg) {
  if (!made.then) return restart_one(made, ended, arg);
  if (!made.lane.empty() || !made.then->lane.empty()) return GOAL_ERR_STATE;
  made.now.store(&made, std::memory_order_release);
  made.ended = ended;
  made.arg = arg;
  return restart_one(made, go_on, &made);
}

int Collectives::restart_one(MadeCall& made, void (*ended)(void*), void* arg) {
  Ended at_once;
  bool news;
  {
    PendingRuns& all = PendingRuns::instance();
    const std::lock_guard held(all.lock);
    if (made.owner == nullptr || short_.standing.state == Standing::failed) return code_ == GOAL_SUCCESS ? int{GOAL_ERR_FAILED} : code_;
    if (!made.lane.empty()) return GOAL_ERR_STATE;
    const uint64_t number = made.lane.slots.claim();
    if (made.run) made.run->renew(number, ended, arg);
    else made.run.emplace(made.call, made.bytes, digest(made.call), rank_, size_, number, ended, arg);
    made.run->owner = this;
    news = made.lane.start(*made.run, at_once);
    if (!made.lane.empty()) {
      pending_made_.push_back(&made);
      all.add(*this);
    }
  }
  if (news) waiting_.ring();
  at_once.tell();
  return GOAL_SUCCESS;
}

void Collectives::forget(MadeCall& made) {
  PendingRuns& all = PendingRuns::instance();
  const std::lock_guard held(all.lock);
  std::erase(made_, &made);
  std::erase(pending_made_, &made);
  settle(all);
}

void Collectives::settle(PendingRuns& all) {
  if (any_pending()) all.add(*this);
  else all.remove(*this);
}

void Collectives::fail_all(int code, Ended& ended) {
  for (Lane* lane : {&short_, &middle_, &long_}) lane->fail(code, ended);
  for (MadeCall* made : pending_made_) made->lane.fail(code, ended);
  pending_made_.clear();
}

bool Collectives::look(Ended& ended) {
  bool news = false;
  if (waiting_.lost()) [[unlikely]] {
    fail_all(waiting_.given_up() ? int{GOAL_ABANDONED} : int{GOAL_ERR_FAILED}, ended);
  } else {
    for (Lane* lane : {&short_, &middle_, &long_})
      if (!lane->empty()) news = lane->look(ended) || news;
    for (MadeCall* made : pending_made_) news = made->lane.look(ended) || news;
    std::erase_if(pending_made_, [](const MadeCall* made) { return made->lane.empty(); });
    if (news) waiting_.ring();
  }
  settle(PendingRuns::instance());
  return news;
}

void Collectives::remove(Run& run) {
  for (Lane* lane : {&short_, &middle_, &long_}) lane->remove(run);
  for (MadeCall* made : pending_made_) made->lane.remove(run);
  std::erase_if(pending_made_, [](const MadeCall* made) { return made->lane.empty(); });
  settle(PendingRuns::instance());
}

}  // namespace portunus::goal::node
