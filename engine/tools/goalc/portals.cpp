// Following counting events in the order of time: see portals.hpp.
#include "engine/tools/goalc/portals.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace portunus::goalc {

using goal::VertexId;
using record::Record;
using record::What;

namespace {

constexpr size_t kMany = 8;  // that a counting event has counted: one vertex stands for them from then on
constexpr uint32_t kData = 1u << 20, kBack = kData + 1;

template <class Numbers>
Numbers read(std::span<const uint64_t> numbers) {
  Numbers all{};
  std::memcpy(&all, numbers.data(), std::min(numbers.size_bytes(), sizeof all));
  return all;
}

}  // namespace

bool Portals::fits(const Record& record, size_t numbers) {
  switch (record.what) {
    case What::operation: return numbers * sizeof(uint64_t) == sizeof(record::OperationNumbers);
    case What::entry: return numbers * sizeof(uint64_t) == sizeof(record::EntryNumbers);
    case What::count: return numbers * sizeof(uint64_t) == sizeof(record::CountNumbers);
    case What::event: return numbers * sizeof(uint64_t) == sizeof(record::EventNumbers);
    default: return true;
  }
}

// Triggered operations leave in another order than they were issued in: each has its own tags.
uint32_t Portals::tag_of(uint32_t use, bool own) { return own ? next_tag() : use; }

bool Portals::take(uint32_t rank, const Record& record, std::span<const uint64_t> numbers) {
  switch (record.what) {
    case What::operation: return take_operation(rank, record, read<record::OperationNumbers>(numbers));
    case What::entry: {
      const Entry entry{record.object, read<record::EntryNumbers>(numbers)};
      at(record.time_ns, [this, rank, entry] { append(rank, entry); });
      return true;
    }
    case What::entry_gone: at(record.time_ns, [this, rank, handle = record.object] { unlink(rank, handle); }); return true;
    case What::count: take_count(rank, record, read<record::CountNumbers>(numbers)); return true;
    case What::count_wait: {
      const VertexId vertex = programs_[rank].pass();
      at(record.time_ns,
         [this, rank, vertex, counter = Counter{rank, record.object}] { wait_for_counted(rank, counters_[counter], vertex); });
      return true;
    }
    case What::event: take_event(rank, record, read<record::EventNumbers>(numbers)); return true;
    default: return true;
  }
}

bool Portals::take_operation(uint32_t rank, const Record& record, const record::OperationNumbers& facts) {
  const auto target = names_.find(facts.process);
  if (target == names_.end()) return false;
  Operation one{rank, target->second, facts, record.bytes, record.detail, 0, 0, {}};
  const bool triggered = facts.trigger != 0;
  RankProgram& mine = programs_[rank];
  RankProgram& other = programs_[one.target];
  const uint32_t tag = tag_of(kData, triggered);
  if (triggered) {
    const VertexId issued = mine.reached();
    one.sent = mine.send_after(one.bytes, one.target, tag, std::span(&issued, 1));
  } else one.sent = mine.send(one.bytes, one.target, tag, false);
  one.arrival = other.recv_freely(one.bytes, rank, tag);
  if (facts.back > 0 || (one.detail & record::kAcknowledged) != 0) {
    const uint32_t back = tag_of(kBack, triggered);
    other.send_after(facts.back, rank, back, std::span(&one.arrival, 1));
    one.ended = mine.recv_freely(facts.back, one.target, back);
  }
  operations_.push_back(one);
  at(record.time_ns, [this, index = operations_.size() - 1] {
    const Operation& each = operations_[index];
    if (each.facts.trigger == 0) return leave(index);
    when({each.rank, each.facts.trigger - 1}, each.facts.threshold, each.sent, [this, index] { leave(index); });
  });
  return true;
}

void Portals::take_count(uint32_t rank, const Record& record, const record::CountNumbers& facts) {
  Count one{{rank, record.object}, record.bytes, record.detail == 1, programs_[rank].reached()};
  if (facts.trigger == 0) return at(record.time_ns, [this, one] { count(one); });
  const VertexId later = programs_[rank].join_freely();
  programs_[rank].after(later, one.vertex);
  one.vertex = later;
  at(record.time_ns, [this, rank, one, facts] {
    when({rank, facts.trigger - 1}, facts.threshold, one.vertex, [this, one] { count(one); });
  });
}

void Portals::take_event(uint32_t rank, const Record& record, const record::EventNumbers& facts) {
  const VertexId vertex = programs_[rank].pass();
  if (record.detail == 1)
    return at(record.time_ns, [this, rank, vertex, user = facts.user] {
      std::deque<VertexId>& ended = ended_[{rank, user}];
      if (ended.empty()) return;
      programs_[rank].after(vertex, ended.front());
      ended.pop_front();
    });
  const auto origin = names_.find(facts.process);
  if (origin == names_.end()) return;
  at(record.time_ns, [this, rank, vertex, from = origin->second, facts, bytes = record.bytes] {
    std::deque<size_t>& came = came_[{rank, from, facts.index, facts.bits}];
    const auto found =
        std::ranges::find_if(came, [&](size_t i) { return std::max(operations_[i].bytes, operations_[i].facts.back) == bytes; });
    if (found == came.end()) return;
    programs_[rank].after(vertex, operations_[*found].arrival);
    came.erase(found);
  });
}

void Portals::when(const Counter& counter, uint64_t threshold, VertexId vertex, std::function<void()> what) {
  State& state = counters_[counter];
  auto fire = [this, rank = counter.first, &state, vertex, what = std::move(what)] {
    wait_for_counted(rank, state, vertex);
    what();
  };
  if (state.value >= threshold) ready_.push_back(std::move(fire));
  else state.triggered.emplace(threshold, std::move(fire));
}

void Portals::wait_for_counted(uint32_t rank, State& state, VertexId vertex) {
  if (state.counted.size() > kMany) {
    const VertexId all = programs_[rank].join_freely();
    for (const VertexId each : state.counted) programs_[rank].after(all, each);
    state.counted = {all};
  }
  for (const VertexId each : state.counted) programs_[rank].after(vertex, each);
}

void Portals::leave(size_t index) {
  const Operation& one = operations_[index];
  const bool fetches = one.facts.back > 0;
  const uint64_t bytes = std::max(one.bytes, one.facts.back);
  const auto count_here = [&](uint8_t bit, VertexId vertex) {
    if ((one.detail & bit) == 0 || one.facts.counter == 0) return;
    count({{one.rank, one.facts.counter - 1}, (one.detail & record::kCountsBytes) != 0 ? bytes : 1, false, vertex});
  };
  if (one.ended) ended_[{one.rank, one.facts.user}].push_back(*one.ended);
  came_[{one.target, one.rank, one.facts.index, one.facts.bits}].push_back(index);
  if (!fetches) count_here(record::kCountsSend, one.sent);
  if (one.ended) count_here(fetches ? record::kCountsReply : record::kCountsAck, *one.ended);
  arrive(index);
}

void Portals::arrive(size_t index) {
  const Operation& one = operations_[index];
  Place& place = places_[{one.target, one.facts.index}];
  for (size_t i = 0; i < place.entries.size(); ++i)
    if (((one.facts.bits ^ place.entries[i].facts.bits) & ~place.entries[i].facts.ignored) == 0) return deliver(place, i, index);
  place.unexpected.push_back(index);
}

void Portals::deliver(Place& place, size_t entry, size_t index) {
  const Operation& one = operations_[index];
  const record::EntryNumbers facts = place.entries[entry].facts;
  if ((facts.flags & record::kOnce) != 0) place.entries.erase(place.entries.begin() + static_cast<std::ptrdiff_t>(entry));
  if (facts.counter == 0) return;
  const uint64_t amount = (facts.flags & record::kBytes) != 0 ? std::max(one.bytes, one.facts.back) : 1;
  count({{one.target, facts.counter - 1}, amount, false, one.arrival});
}

void Portals::append(uint32_t rank, const Entry& entry) {
  Place& place = places_[{rank, entry.facts.index}];
  place.entries.push_back(entry);
  const std::vector<size_t> waiting = std::exchange(place.unexpected, {});
  for (const size_t index : waiting) arrive(index);
}

void Portals::unlink(uint32_t rank, uint64_t handle) {
  for (auto place = places_.lower_bound({rank, 0}); place != places_.end() && place->first.first == rank; ++place)
    std::erase_if(place->second.entries, [&](const Entry& each) { return each.handle == handle; });
}

void Portals::count(const Count& one) {
  State& state = counters_[one.counter];
  state.value = one.set ? one.value : state.value + one.value;
  if (one.set) state.counted.clear();
  state.counted.push_back(one.vertex);
  const auto reached = state.triggered.upper_bound(state.value);
  for (auto each = state.triggered.begin(); each != reached; ++each) ready_.push_back(std::move(each->second));
  state.triggered.erase(state.triggered.begin(), reached);
}

void Portals::resolve() {
  std::ranges::stable_sort(steps_, {}, &Step::time_ns);
  for (const Step& step : steps_) {
    step.what();
    while (!ready_.empty()) {
      const auto next = std::move(ready_.front());
      ready_.pop_front();
      next();
    }
  }
}

}  // namespace portunus::goalc
