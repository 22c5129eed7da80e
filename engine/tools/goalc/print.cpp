// Texts about compiled schedules: see print.hpp.
//
// Thread: any.
#include "engine/tools/goalc/print.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/block.hpp"
#include "engine/goal/schedules/write.hpp"

namespace portunus::goalc {

namespace {

using goal::Action;
using goal::Kind;

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string counter_name(goal::CounterId counter) {
  if (counter == goal::kStart) return "start";
  return counter == goal::kFinish ? "finish" : "c" + std::to_string(counter);
}

std::string rank_or_any(uint32_t peer) { return peer == goal::kAnySource ? "any" : std::to_string(peer); }

// "send 8b to 3 tag 7", "max f32 x 100", "calc 40".
std::string work_text(const goal::Plan& plan, goal::VertexId v) {
  const goal::Vertex& vertex = plan.graph[v];
  switch (vertex.kind) {
    case Kind::send:
      return "send " + std::to_string(vertex.size) + "b to " + std::to_string(vertex.peer) + " tag " + std::to_string(vertex.tag);
    case Kind::recv:
      return "recv " + std::to_string(vertex.size) + "b from " + rank_or_any(vertex.peer) + " tag " +
             (vertex.tag == goal::kAnyTag ? "any" : std::to_string(vertex.tag));
    case Kind::calc: return "calc " + std::to_string(vertex.size);
    case Kind::parked: return std::to_string(vertex.size) + " of the program to " + std::to_string(vertex.peer);
    case Kind::local: break;
  }
  const goal::Work& work = plan.works[v];
  if (work.op == PTLX_TIMESTAMP) return "timestamp";
  return std::string(goal::name_of(work.op)) + " " + goal::name_of(work.type) + " x " + std::to_string(work.count);
}

std::string vertex_text(const goal::Plan& plan, goal::VertexId v) {
  const std::string_view label = plan.graph.label(v);
  return (label.empty() ? "#" + std::to_string(v) : std::string(label)) + ": " + work_text(plan, v);
}

std::string operation_text(const goal::Compiled& compiled, const goal::Operation& operation) {
  std::string text;
  switch (operation.action) {
    case Action::put: text = "put"; break;
    case Action::append: text = "append"; break;
    case Action::local: text = "local"; break;
    case Action::parked: text = "parked"; break;
  }
  text = formatted("%-9s -> %-7s", text.c_str(), counter_name(operation.counter).c_str());
  if (operation.action != Action::local) text += formatted(" bits %016" PRIx64, operation.match_bits);
  if (operation.any_tag) text += formatted(" ignore %08" PRIx64, operation.ignore_bits());
  return text + "  " + vertex_text(compiled.plan, operation.vertex);
}

}  // namespace

std::string compiled_form(const goal::Compiled& compiled) {
  std::string text;
  for (const goal::Operation& operation : compiled.program.early)
    text += formatted("  %-14s ", "before start") + operation_text(compiled, operation) + "\n";
  const auto point_text = [](const goal::Point& when) {
    return formatted("  %-14s ", (counter_name(when.counter) + " = " + std::to_string(when.threshold)).c_str());
  };
  for (const goal::Operation& operation : compiled.program.triggered)
    text += point_text(operation.when) + operation_text(compiled, operation) + "\n";
  for (const goal::Relay& relay : compiled.program.relays)
    text += point_text(relay.when) + "increment -> " + counter_name(relay.counter) + "\n";
  text += "  increments per epoch:";
  for (goal::CounterId c = 0; c < compiled.program.increments.size(); ++c)
    text += " " + counter_name(c) + " " + std::to_string(compiled.program.increments[c]);
  return text + "\n";
}

std::string resources(std::span<const std::shared_ptr<const goal::Compiled>> ranks, uint32_t first_rank) {
  std::string text = formatted("%6s %10s %8s %8s %8s %8s %10s %10s %10s %8s\n", "rank", "operations", "edges", "counters", "entries",
                               "descr.", "triggered", "increments", "scratch B", "block B");
  for (size_t i = 0; i < ranks.size(); ++i) {
    const goal::Compiled& c = *ranks[i];
    std::vector<goal::CounterId> send_counters;
    size_t entries = c.program.early.size();
    for (const goal::Operation& operation : c.program.triggered) {
      if (operation.action == Action::put) send_counters.push_back(operation.counter);
      if (operation.action == Action::append) ++entries;
    }
    std::ranges::sort(send_counters);
    send_counters.erase(std::unique(send_counters.begin(), send_counters.end()), send_counters.end());
    text += formatted("%6zu %10u %8" PRIu64 " %8zu %8zu %8zu %10zu %10zu %10" PRIu64 " %8zu\n", first_rank + i, c.plan.graph.size(),
                      c.plan.graph.num_edges(), c.program.increments.size(), entries, send_counters.size(),
                      c.program.triggered.size() + c.program.relays.size(), c.program.relays.size(), c.plan.scratch_bytes,
                      goal::save(c).size());
  }
  return text;
}

std::string path_text(std::span<const goal::Plan> ranks, std::span<const Step> path) {
  std::string text = formatted("critical path: %zu operations, %.0f ns\n", path.size(), path.empty() ? 0.0 : path.back().ends_ns);
  for (const Step& step : path) {
    text += formatted("  %10.0f .. %-10.0f rank %u  ", step.starts_ns, step.ends_ns, step.rank) +
            vertex_text(ranks[step.rank], step.vertex) + "\n";
  }
  return text;
}

std::string simulated_text(const Simulated& simulated, std::optional<uint32_t> rank) {
  const auto& ranks = simulated.ranks;
  const auto last = static_cast<uint32_t>(std::ranges::max_element(ranks, {}, &RankTime::ends_ns) - ranks.begin());
  std::string text =
      formatted("simulated: %.0f ns, of %zu ranks\n", ranks.empty() ? 0.0 : ranks[last].ends_ns, ranks.size()) +
      formatted("messages: %lu of %lu bytes, of which %lu are announced first\n", simulated.messages, simulated.bytes, simulated.announced);
  if (ranks.empty()) return text;
  const uint32_t shown = rank.value_or(last);
  const RankTime& time = ranks[shown];
  return text + formatted("rank %u: ends at %.0f ns, computes for %.0f, sends and receives for %.0f\n", shown, time.ends_ns,
                          time.computes_ns, time.overhead_ns);
}

std::string dot(std::span<const goal::Plan> ranks, std::span<const Step> path) {
  std::string text = "digraph goal {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n";
  const auto name = [](size_t rank, goal::VertexId v) { return "r" + std::to_string(rank) + "_" + std::to_string(v); };
  const auto critical = [&](size_t rank, goal::VertexId v) {
    return std::ranges::any_of(path, [&](const Step& s) { return s.rank == rank && s.vertex == v; });
  };
  for (size_t r = 0; r < ranks.size(); ++r) {
    const goal::Schedule& graph = ranks[r].graph;
    text += "  subgraph cluster_" + std::to_string(r) + " {\n    label=\"rank " + std::to_string(r) + "\";\n";
    for (goal::VertexId v = 0; v < graph.size(); ++v) {
      text += "    " + name(r, v) + " [label=\"" + vertex_text(ranks[r], v) + "\"" + (graph.is_choice(v) ? ", shape=diamond" : "") +
              (critical(r, v) ? ", color=red" : "") + "];\n";
    }
    for (goal::VertexId v = 0; v < graph.size(); ++v) {
      for (const goal::Edge e : graph.prerequisites(v)) {
        text += "    " + name(r, e.vertex) + " -> " + name(r, v) + (e.on_start ? " [style=dotted]" : "") + ";\n";
      }
    }
    text += "  }\n";
  }
  // Messages: the n-th of two ranks at the one end is the n-th at the other.
  for (size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<uint32_t> numbers = goal::message_numbers(ranks[r].graph);
    for (goal::VertexId v = 0; v < ranks[r].graph.size(); ++v) {
      const goal::Vertex& send = ranks[r].graph[v];
      if (send.kind != Kind::send || send.peer >= ranks.size()) continue;
      const goal::Schedule& theirs = ranks[send.peer].graph;
      const std::vector<uint32_t> their_numbers = goal::message_numbers(theirs);
      for (goal::VertexId w = 0; w < theirs.size(); ++w) {
        const bool same =
            theirs[w].kind == Kind::recv && theirs[w].peer == r && theirs[w].tag == send.tag && their_numbers[w] == numbers[v];
        if (same) text += "  " + name(r, v) + " -> " + name(send.peer, w) + " [style=dashed, color=blue];\n";
      }
    }
  }
  return text + "}\n";
}

goal::Schedule exported(const goal::Compiled& compiled, Costs& costs, bool distinct_tags) {
  const std::vector<uint32_t> numbers = goal::message_numbers(compiled.plan.graph);
  const goal::Program& program = compiled.program;
  const auto whole = [](double ns) { return static_cast<uint64_t>(std::llround(std::max(ns, 0.0))); };
  goal::Schedule out;
  struct Node {
    goal::VertexId first;
    goal::Point when;
  };
  std::vector<Node> nodes;
  std::vector<std::vector<goal::VertexId>> into(program.increments.size());  // what increments each counter
  const auto add_hop = [&](const goal::Point& when) {
    goal::Vertex hop;
    hop.cpu = 1;
    hop.size = whole(costs.hop_ns());
    nodes.push_back({out.add(hop, {}), when});
    return nodes.back().first;
  };
  const auto add = [&](const goal::Operation& operation, bool triggered) {
    const goal::VertexId first = triggered ? add_hop(operation.when) : goal::kNoVertex;
    goal::Vertex work = compiled.plan.graph[operation.vertex];
    work.cpu = 1;
    if (!work.is_message()) {
      work.size = whole(costs.work_ns(compiled.plan, operation.vertex));
      work.kind = Kind::calc;
    } else if (distinct_tags) {
      work.tag = numbers[operation.vertex];
    }
    work.needs = 0;
    const goal::VertexId last = out.add(work, {});
    if (triggered) out.add_dependency(last, first);
    into[operation.counter].push_back(last);
  };
  for (const goal::Operation& operation : program.early) add(operation, false);
  for (const goal::Operation& operation : program.triggered) add(operation, true);
  for (const goal::Relay& relay : program.relays) into[relay.counter].push_back(add_hop(relay.when));
  for (const Node& node : nodes) {
    for (const goal::VertexId before : into[node.when.counter]) out.add_dependency(node.first, before);
  }
  out.finish();
  return out;
}

}  // namespace portunus::goalc
