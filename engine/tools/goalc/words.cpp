// Which puts a wait for memory has seen: see words.hpp.
#include "engine/tools/goalc/words.hpp"

#include <algorithm>

namespace portunus::goalc {

using goal::VertexId;

void Words::put(const Put& put) {
  Stream& stream = streams_[{put.comm, put.origin, put.target}];
  puts_.push_back({put, orders_[{put.comm, put.origin}], stream.acknowledged, stream.puts.size()});
  stream.puts.push_back(puts_.size() - 1);
}

void Words::acknowledge(uint32_t origin, uint32_t comm, uint32_t target) {
  Stream& stream = streams_[{comm, origin, target}];
  stream.acknowledged = stream.puts.size();
}

void Words::wait(uint32_t rank, const record::WaitNumbers& facts, uint64_t time_ns, VertexId vertex) {
  waits_[rank].push_back({facts, time_ns, vertex});
}

// How many of the puts into its word a wait has seen. `before`: what the wait before found there, or null.
size_t Words::needed(const std::vector<size_t>& puts, const Wait& wait, const uint64_t* before) const {
  if (wait.facts.is_known == 0) return puts.size();
  const uint64_t mask = wait.facts.bytes < sizeof(uint64_t) ? (uint64_t{1} << (8 * wait.facts.bytes)) - 1 : ~uint64_t{0};
  uint64_t value = before == nullptr ? 0 : *before;
  for (size_t i = 0; i < puts.size(); ++i) {
    const Put& put = puts_[puts[i]].put;
    if (put.change == record::Change::unknown) continue;
    value = (put.change == record::Change::set ? put.value : value + put.value) & mask;
    if (value == wait.facts.value) return i + 1;
  }
  return before != nullptr && *before == wait.facts.value ? 0 : puts.size();
}

// With what its origin had ordered before it.
void Words::wait_for(size_t index, const std::function<void(VertexId)>& after) {
  const Issued& seen = puts_[index];
  Stream& stream = streams_[{seen.put.comm, seen.put.origin, seen.put.target}];
  const size_t at = seen.place_in_stream;
  for (stream.covered = std::max(stream.covered, seen.acknowledged); stream.covered < at; ++stream.covered) {
    const Issued& before = puts_[stream.puts[stream.covered]];
    if (before.order == seen.order) break;
    after(before.put.arrival);
  }
  if (seen.put.behind && at > 0 && stream.covered < at) after(puts_[stream.puts[at - 1]].put.arrival);
  after(seen.put.arrival);
}

void Words::resolve(const std::function<void(uint32_t, VertexId, VertexId)>& after) {
  std::map<uint32_t, std::vector<size_t>> by_target;
  for (size_t i = 0; i < puts_.size(); ++i)
    if (waits_.contains(puts_[i].put.target)) by_target[puts_[i].put.target].push_back(i);
  for (auto& [rank, waits] : waits_) {
    std::vector<size_t>& puts = by_target[rank];
    std::ranges::stable_sort(puts, {}, [&](size_t i) { return puts_[i].put.time_ns; });
    std::ranges::stable_sort(waits, {}, &Wait::time_ns);
    std::multimap<uint64_t, size_t> unseen;  // by place
    uint64_t longest = 0;
    size_t next = 0;
    std::map<uint64_t, uint64_t> found;  // by place: what the last wait found there
    for (const Wait& wait : waits) {
      for (; next < puts.size() && puts_[puts[next]].put.time_ns <= wait.time_ns; ++next) {
        unseen.emplace(puts_[puts[next]].put.place, puts[next]);
        longest = std::max(longest, puts_[puts[next]].put.bytes);
      }
      const uint64_t place = wait.facts.place;
      std::vector<size_t> into;
      for (auto at = unseen.lower_bound(place - std::min(place, longest)); at != unseen.end() && at->first < place + wait.facts.bytes; ++at)
        if (at->first + puts_[at->second].put.bytes > place) into.push_back(at->second);
      std::ranges::stable_sort(into, {}, [&](size_t i) { return puts_[i].put.time_ns; });
      const auto before = found.find(place);
      into.resize(needed(into, wait, before == found.end() ? nullptr : &before->second));
      for (const size_t put : into) {
        wait_for(put, [&, target = rank](VertexId arrival) { after(target, wait.vertex, arrival); });
        const auto [first, last] = unseen.equal_range(puts_[put].put.place);
        unseen.erase(std::find_if(first, last, [&](const auto& one) { return one.second == put; }));
      }
      if (wait.facts.is_known != 0) found[place] = wait.facts.value;
    }
  }
}

}  // namespace portunus::goalc
