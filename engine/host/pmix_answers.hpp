// pmix_answers.hpp: what a PMIx server says about the job, understood or refused with a sentence. Plain values in, plain values out;
// libpmix is not needed, so that any answer can be tried.
//
// Thread: any. Invariant: a view that is returned keeps what bootstrap.hpp promises of a JobView.
// Source: PMIx standard 4.1 (the keys PMIX_JOB_SIZE and PMIX_LOCAL_PEERS).
#pragma once

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/bootstrap.hpp"

namespace portunus {

// Ranks as text, "0,1,2", ascending in the result. Throws std::runtime_error where it is anything else, or names a rank twice.
inline std::vector<int> local_ranks_in(std::string_view text) {
  const auto unknown = [] {
    return std::runtime_error("the launcher's PMIx server lists the node's ranks in an unknown form; start the program with ptlrun");
  };
  std::vector<int> ranks;
  while (!text.empty()) {
    int rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc{} || rank < 0) throw unknown();
    ranks.push_back(rank);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',') throw unknown();
    text.remove_prefix(1);
  }
  std::sort(ranks.begin(), ranks.end());
  if (const auto twice = std::adjacent_find(ranks.begin(), ranks.end()); twice != ranks.end())
    throw std::runtime_error("the launcher's PMIx server lists rank " + std::to_string(*twice) +
                             " twice on this node; start the program with ptlrun");
  return ranks;
}

// The view of the process `rank` of the job `name` of `size`; without `local_peers` it is alone on its node. Throws std::runtime_error.
inline JobView view_of_answers(std::string_view name, uint32_t rank, uint32_t size, std::optional<std::string_view> local_peers) {
  if (size > INT_MAX)
    throw std::runtime_error("the launcher's PMIx server tells of " + std::to_string(size) +
                             " ranks, which no job has; start the program with ptlrun");
  JobView view;
  view.id = name;
  std::replace(view.id.begin(), view.id.end(), '/', '_');  // the id becomes part of file names
  view.size = static_cast<int>(size);
  const auto outside = [size](int64_t number) { return number < 0 || number >= int64_t{size}; };
  if (!outside(rank)) {
    view.rank = static_cast<int>(rank);
    view.local_ranks = local_peers ? local_ranks_in(*local_peers) : std::vector<int>{view.rank};
  }
  if (outside(rank) || std::any_of(view.local_ranks.begin(), view.local_ranks.end(), outside))
    throw std::runtime_error("the launcher's PMIx server names ranks outside its job of " + std::to_string(size) +
                             "; start the program with ptlrun");
  const auto place = std::find(view.local_ranks.begin(), view.local_ranks.end(), view.rank);
  if (place == view.local_ranks.end())
    throw std::runtime_error("the launcher's PMIx server leaves this rank out of its node's ranks; start the program with ptlrun");
  view.local_rank = static_cast<int>(place - view.local_ranks.begin());
  return view;
}

}  // namespace portunus
