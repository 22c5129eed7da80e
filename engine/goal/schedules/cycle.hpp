// Finds a cycle in a directed graph, without recursion and in time linear in vertices and edges.
//
// Thread: any; touches nothing shared.
// Source: Kahn, "Topological sorting of large networks", CACM 1962.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace portunus::goal {

constexpr size_t kCycleNames = 8;  // members of a cycle that an error prints

// The vertices of one cycle in the direction of the edges, or nothing if the graph of `count` vertices has none.
// `each_successor(v, f)` calls f(w) for every edge v -> w.
template <class EachSuccessor>
std::vector<uint32_t> find_cycle(uint32_t count, EachSuccessor&& each_successor) {
  constexpr uint32_t kNone = 0xffffffff;
  std::vector<uint32_t> open(count);  // edges into v from vertices that are not sorted yet
  for (uint32_t v = 0; v < count; ++v) {
    each_successor(v, [&](uint32_t w) { ++open[w]; });
  }
  std::vector<uint32_t> sorted;
  sorted.reserve(count);
  for (uint32_t v = 0; v < count; ++v) {
    if (open[v] == 0) sorted.push_back(v);
  }
  for (size_t i = 0; i < sorted.size(); ++i) {
    each_successor(sorted[i], [&](uint32_t w) {
      if (--open[w] == 0) sorted.push_back(w);
    });
  }
  if (sorted.size() == count) return {};

  // Every vertex left has an edge from another one left, so walking backwards must meet itself.
  std::vector<uint32_t> before(count, kNone);
  uint32_t at = kNone;
  for (uint32_t v = 0; v < count; ++v) {
    if (open[v] == 0) continue;
    if (at == kNone) at = v;
    each_successor(v, [&](uint32_t w) { before[w] = v; });
  }
  std::vector<bool> seen(count);
  for (; !seen[at]; at = before[at]) seen[at] = true;
  std::vector<uint32_t> cycle;
  uint32_t v = at;
  do {
    cycle.push_back(v);
    v = before[v];
  } while (v != at);
  // The walk was against the edges; begin with the smallest so that the answer does not depend on the walk.
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace portunus::goal
