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

void Words::wait(uint32_t rank, uint64_t place, uint64_t bytes, uint64_t time_ns, VertexId vertex) {
  waits_[rank].push_back({place, bytes, time_ns, vertex});
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
    for (const Wait& wait : waits) {
      for (; next < puts.size() && puts_[puts[next]].put.time_ns <= wait.time_ns; ++next) {
        unseen.emplace(puts_[puts[next]].put.place, puts[next]);
        longest = std::max(longest, puts_[puts[next]].put.bytes);
      }
      for (auto at = unseen.lower_bound(wait.place - std::min(wait.place, longest));
           at != unseen.end() && at->first < wait.place + wait.bytes;) {
        const Put& put = puts_[at->second].put;
        if (put.place + put.bytes <= wait.place) {
          ++at;
          continue;
        }
        wait_for(at->second, [&](VertexId arrival) { after(rank, wait.vertex, arrival); });
        at = unseen.erase(at);
      }
    }
  }
}

}  // namespace portunus::goalc
