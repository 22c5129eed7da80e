// Executes the schedules of all ranks of a large job as graphs, without memory: does everything happen, how many messages are
// sent, and how many follow each other at most?
//
// Thread: any; pure. Time O(n log n) in operations, for matching; 100 bytes for each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "engine/goal/schedules/schedule.hpp"

namespace portunus::goal {

struct GraphRun {
  uint64_t operations = 0, messages = 0;
  uint64_t rounds = 0;  // messages on the longest way from a start to an end
  bool ended = false;   // everything has happened, every send was received
};

class GraphRunner {
 public:
  explicit GraphRunner(std::span<const Schedule> ranks) : ranks_(ranks) {
    uint32_t count = 0;
    for (const Schedule& schedule : ranks_) {
      first_.push_back(count);
      count += schedule.size();
    }
    rank_.resize(count);
    open_.resize(count);
    rounds_.assign(count, 0);
    partner_.assign(count, kNoVertex);
    match();
  }

  GraphRun run() {
    GraphRun result;
    result.operations = rank_.size();
    std::vector<uint32_t> ready;
    for (uint32_t n = 0; n < rank_.size(); ++n) {
      if (open_[n] == 0) ready.push_back(n);
    }
    uint64_t done = 0;
    while (!ready.empty()) {
      const uint32_t n = ready.back();
      ready.pop_back();
      if (vertex(n).kind == Kind::send) {
        ++result.messages;
        if (partner_[n] != kNoVertex) meet(partner_[n], rounds_[n] + 1, ready);
      }
      result.rounds = std::max<uint64_t>(result.rounds, rounds_[n]);
      ++done;
      for (const Edge e : ranks_[rank_[n]].dependents(n - first_[rank_[n]])) meet(first_[rank_[n]] + e.vertex, rounds_[n], ready);
    }
    result.ended = matched_ && done == rank_.size();
    return result;
  }

 private:
  // The two that come together in a receive: its prerequisites and its message.
  void meet(uint32_t n, uint32_t rounds, std::vector<uint32_t>& ready) {
    rounds_[n] = std::max(rounds_[n], rounds);
    if (--open_[n] == 0) ready.push_back(n);
  }
  [[nodiscard]] const Vertex& vertex(uint32_t n) const { return ranks_[rank_[n]][n - first_[rank_[n]]]; }

  // The n-th send of a pair and tag and its n-th receive.
  void match() {
    using End = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;  // source, target, tag, operation
    std::vector<End> sends, recvs;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      for (VertexId v = 0; v < ranks_[r].size(); ++v) {
        const Vertex& vertex = ranks_[r][v];
        const uint32_t n = first_[r] + v;
        rank_[n] = r;
        open_[n] = static_cast<uint32_t>(ranks_[r].prerequisites(v).size()) + (vertex.kind == Kind::recv ? 1 : 0);
        if (vertex.kind == Kind::send) sends.emplace_back(r, vertex.peer, vertex.tag, n);
        if (vertex.kind == Kind::recv) recvs.emplace_back(vertex.peer, r, vertex.tag, n);
      }
    }
    std::ranges::sort(sends);
    std::ranges::sort(recvs);
    matched_ = sends.size() == recvs.size();
    for (size_t i = 0; matched_ && i < sends.size(); ++i) {
      const auto& [source, target, tag, send] = sends[i];
      const auto& [from, to, same, recv] = recvs[i];
      matched_ = source == from && target == to && tag == same && vertex(send).size == vertex(recv).size;
      partner_[send] = recv;
    }
  }

  std::span<const Schedule> ranks_;
  std::vector<uint32_t> first_, rank_, open_, rounds_, partner_;  // by number of the operation over all ranks
  bool matched_ = false;
};

}  // namespace portunus::goal
