// Executes the plans of all ranks of a collective on real memory, what happens next drawn from a seed, and tells what is
// wrong: operations that can never happen, messages that do not fit, memory that two operations use in no order.
//
// A send may leave at once, or wait for its receive, by chance. All of what an operation reads and writes happens at its
// end, the latest moment at which an engine could; that nobody touches the memory in between is checked on the graph.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "engine/goal/collectives/script.hpp"
#include "engine/goal/schedules/validate.hpp"

namespace portunus::goal::collectives {

template <class T>
void apply(ptlx_local_op_t op, std::byte* to, const std::byte* a, const std::byte* b, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    T x, y, z{};
    std::memcpy(&x, a + i * sizeof(T), sizeof(T));
    std::memcpy(&y, b + i * sizeof(T), sizeof(T));
    switch (op) {
      case PTLX_ADD: z = static_cast<T>(x + y); break;
      case PTLX_MULT: z = static_cast<T>(x * y); break;
      case PTLX_MAX: z = std::max(x, y); break;
      case PTLX_MIN: z = std::min(x, y); break;
      default:
        if constexpr (std::is_integral_v<T>) z = static_cast<T>(op == PTLX_AND ? x & y : op == PTLX_OR ? x | y : x ^ y);
    }
    std::memcpy(to + i * sizeof(T), &z, sizeof(T));
  }
}

inline void combine(const Element& e, std::byte* to, const std::byte* a, const std::byte* b, uint64_t count) {
  switch (e.type) {
    case PTL_INT8_T: return apply<int8_t>(e.op, to, a, b, count);
    case PTL_UINT8_T: return apply<uint8_t>(e.op, to, a, b, count);
    case PTL_INT16_T: return apply<int16_t>(e.op, to, a, b, count);
    case PTL_UINT16_T: return apply<uint16_t>(e.op, to, a, b, count);
    case PTL_INT32_T: return apply<int32_t>(e.op, to, a, b, count);
    case PTL_UINT32_T: return apply<uint32_t>(e.op, to, a, b, count);
    case PTL_INT64_T: return apply<int64_t>(e.op, to, a, b, count);
    case PTL_UINT64_T: return apply<uint64_t>(e.op, to, a, b, count);
    case PTL_FLOAT: return apply<float>(e.op, to, a, b, count);
    case PTL_DOUBLE: return apply<double>(e.op, to, a, b, count);
    default: throw std::invalid_argument("no such type");
  }
}

// The mistake in the memory of one rank's plan, or nothing.
class MemoryOrder {
 public:
  explicit MemoryOrder(const Plan& plan) : plan_(plan), words_((plan.graph.size() + 63) / 64) {
    const size_t n = plan.graph.size();
    after_start_.assign(n * words_, 0);
    after_end_.assign(n * words_, 0);
    for (VertexId v = plan.graph.size(); v-- > 0;) {
      for (const Edge e : plan.graph.dependents(v)) {
        follow(after_start_, v, e.vertex);
        if (!e.on_start) follow(after_end_, v, e.vertex);
      }
    }
  }

  [[nodiscard]] std::string problem() const {
    struct Access {
      std::pair<Space, uint32_t> space;
      uint64_t begin, end;
      VertexId v;
      bool writes;
    };
    std::vector<Access> all;
    for (VertexId v = 0; v < plan_.graph.size(); ++v) {
      plan_.each_range(v, [&](const Memory& m, uint64_t bytes, bool written) {
        if (bytes > 0) all.push_back({{m.space, m.number}, m.place, m.place + bytes, v, written});
      });
    }
    std::ranges::sort(all, {}, [](const Access& x) { return std::tuple(x.space, x.begin); });
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t j = i + 1; j < all.size() && all[j].space == all[i].space && all[j].begin < all[i].end; ++j) {
        const Access &x = all[i], &y = all[j];
        if (!x.writes && !y.writes) continue;
        if (x.v == y.v) {
          if (x.begin != y.begin || x.end != y.end) return "operation " + std::to_string(x.v) + " works on ranges that overlap";
        } else if (!ordered(std::min(x.v, y.v), std::max(x.v, y.v))) {
          return "operations " + std::to_string(x.v) + " and " + std::to_string(y.v) + " share memory in no order";
        }
      }
    }
    return {};
  }

 private:
  void follow(std::vector<uint64_t>& set, size_t v, VertexId next) {
    set[v * words_ + next / 64] |= uint64_t{1} << next % 64;
    for (size_t w = 0; w < words_; ++w) set[v * words_ + w] |= after_start_[next * words_ + w];
  }
  [[nodiscard]] bool ordered(VertexId first, VertexId second) const {
    return (after_end_[first * words_ + second / 64] >> second % 64 & 1) != 0;
  }

  const Plan& plan_;
  size_t words_;
  std::vector<uint64_t> after_start_, after_end_;  // rows of bits: who starts after the row's vertex started, ended
};

class Executor {
 public:
  static constexpr uint32_t kNoRank = 0xffffffff;
  // `absent`: a rank that never begins.
  Executor(const std::vector<Plan>& plans, uint64_t seed, uint32_t absent = kNoRank) : plans_(plans), random_(seed), ranks_(plans.size()) {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<VertexId>> sends, recvs;
    for (uint32_t r = 0; r < plans.size(); ++r) {
      Rank& rank = ranks_[r];
      const Schedule& graph = plans[r].graph;
      rank.scratch.resize(plans[r].scratch_bytes + 1, std::byte{0xa5});
      rank.open.resize(graph.size());
      rank.partner.resize(graph.size());
      rank.state.resize(graph.size());
      for (VertexId v = 0; v < graph.size(); ++v) {
        rank.open[v] = static_cast<uint32_t>(graph.prerequisites(v).size());
        if (graph[v].kind == Kind::send) sends[{r, graph[v].peer, graph[v].tag}].push_back(v);
        if (graph[v].kind == Kind::recv) recvs[{graph[v].peer, r, graph[v].tag}].push_back(v);
        if (rank.open[v] == 0 && r != absent) can_.push_back({r, v});
      }
    }
    for (const auto& [channel, list] : sends) {
      const auto& [source, target, tag] = channel;
      for (size_t i = 0; i < list.size(); ++i) {
        const VertexId recv = recvs.at(channel)[i];
        ranks_[source].partner[list[i]] = recv;
        ranks_[target].partner[recv] = list[i];
      }
    }
  }

  // Runs until nothing can happen. True if everything has.
  bool run() {
    while (!can_.empty()) {
      const size_t i = random_() % can_.size();
      const Place chosen = can_[i];
      can_[i] = can_.back();
      can_.pop_back();
      happen(chosen);
    }
    return std::ranges::all_of(ranks_, [](const Rank& rank) { return ended(rank); });
  }
  [[nodiscard]] bool ended(uint32_t rank) const { return ended(ranks_[rank]); }
  [[nodiscard]] uint64_t messages() const { return messages_; }

 private:
  enum class State : uint8_t { waiting, started, ended };
  struct Place {
    uint32_t rank;
    VertexId v;
  };
  struct Rank {
    std::vector<std::byte> scratch;
    std::vector<uint32_t> open;
    std::vector<VertexId> partner;
    std::vector<State> state;
    std::map<VertexId, std::vector<std::byte>> payload;  // of sends that left and have not landed
    std::set<VertexId> waits;                            // sends that wait for their receive
  };

  static bool ended(const Rank& rank) {
    return std::ranges::all_of(rank.state, [](State s) { return s == State::ended; });
  }

  std::byte* bytes(uint32_t r, const Memory& m) {
    return m.space == Space::scratch ? ranks_[r].scratch.data() + m.place : std::bit_cast<std::byte*>(m.place);
  }

  void release(uint32_t r, VertexId v, bool on_start) {
    for (const Edge e : plans_[r].graph.dependents(v)) {
      if (on_start == (e.on_start != 0) && --ranks_[r].open[e.vertex] == 0) can_.push_back({r, e.vertex});
    }
  }

  void happen(const Place& at) {
    Rank& rank = ranks_[at.rank];
    const Vertex& vertex = plans_[at.rank].graph[at.v];
    const Work& work = plans_[at.rank].works[at.v];
    if (rank.state[at.v] == State::waiting) {
      rank.state[at.v] = State::started;
      release(at.rank, at.v, true);
      if (vertex.kind == Kind::send) start_send(at, vertex);
      else if (vertex.kind == Kind::recv) start_recv(at, vertex);
      else can_.push_back(at);
      return;
    }
    if (vertex.kind == Kind::send) leave(at, vertex, work);
    else if (vertex.kind == Kind::recv) land(at, vertex, work);
    else if (vertex.kind == Kind::local) compute(at, work);
    rank.state[at.v] = State::ended;
    release(at.rank, at.v, false);
  }

  void compute(const Place& at, const Work& work) {
    std::byte *to = bytes(at.rank, work.memory), *a = bytes(at.rank, work.a), *b = bytes(at.rank, work.b);
    if (work.op == PTLX_COPY) std::memcpy(to, a, plans_[at.rank].bytes(at.v));
    else combine({work.op, work.type}, to, a, b, work.count);
  }
  void start_send(const Place& at, const Vertex& send) {
    ++messages_;
    const bool waits = random_() % 2 == 0 && ranks_[send.peer].state[ranks_[at.rank].partner[at.v]] == State::waiting;
    if (waits) ranks_[at.rank].waits.insert(at.v);
    else can_.push_back(at);
  }
  void start_recv(const Place& at, const Vertex& recv) {
    Rank& sender = ranks_[recv.peer];
    const VertexId send = ranks_[at.rank].partner[at.v];
    if (sender.waits.erase(send) > 0) can_.push_back({recv.peer, send});
    if (sender.payload.contains(send)) can_.push_back(at);
  }
  void leave(const Place& at, const Vertex& send, const Work& work) {
    const std::byte* from = bytes(at.rank, work.memory);
    ranks_[at.rank].payload[at.v].assign(from, from + send.size);
    const VertexId recv = ranks_[at.rank].partner[at.v];
    if (ranks_[send.peer].state[recv] == State::started) can_.push_back({send.peer, recv});
  }
  void land(const Place& at, const Vertex& recv, const Work& work) {
    auto& payloads = ranks_[recv.peer].payload;
    const auto payload = payloads.find(ranks_[at.rank].partner[at.v]);
    std::ranges::copy(payload->second, bytes(at.rank, work.memory));
    payloads.erase(payload);
  }

  const std::vector<Plan>& plans_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::vector<Place> can_;
  uint64_t messages_ = 0;
};

// Judges the plans of all ranks, and executes them. Empty if all is well.
inline std::string trouble(const std::vector<Plan>& plans, uint64_t seed, uint64_t* messages = nullptr) {
  std::vector<Schedule> schedules;
  for (uint32_t r = 0; r < plans.size(); ++r) {
    const std::string problem = MemoryOrder(plans[r]).problem();
    if (!problem.empty()) return "rank " + std::to_string(r) + ": " + problem;
    schedules.push_back(plans[r].graph);
  }
  try {
    validate(schedules, 0);  // 0: every message may have to wait for its receive
  } catch (const ScheduleError& error) {
    return error.message;
  }
  Executor executor(plans, seed);
  if (!executor.run()) return "it does not end";
  if (messages) *messages = executor.messages();
  return {};
}

}  // namespace portunus::goal::collectives
