// Barrier: by dissemination in ceil(log2 n) rounds, or up and down a tree with the fewest messages.
//
// Thread: any; pure.
// Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988.
#include <vector>

#include "engine/goal/collectives/collectives.hpp"
#include "engine/goal/collectives/tree.hpp"

namespace portunus::goal::collectives {

namespace {

// The events that must have happened before this rank may say anything more.
struct Arrival {
  std::vector<VertexId> ended;
  VertexId started = kNoVertex;
  void hold(Script& script, VertexId v) const {
    for (const VertexId before : ended) script.after(v, before);
    script.after_start(v, started);
  }
};

// A signal of round k must follow the arrivals of all rounds before, not of the last one alone. That the signal of round
// k-1 has started says so of the rounds before k-1.
Arrival disseminate(Script& script, const Team& team, Arrival arrival) {
  for (uint32_t distance = 1; distance < team.size; distance *= 2) {
    const VertexId out = script.send_signal(team.peer((team.rank + distance) % team.size));
    const VertexId in = script.recv_signal(team.peer((team.rank + team.size - distance) % team.size));
    arrival.hold(script, out);
    arrival = {{in}, out};
  }
  return arrival;
}

Arrival arrive(Script& script, const Team& team) {
  Arrival arrival;
  each_child_ascending(team.rank, team.size,
                       [&](uint32_t child, uint32_t) { arrival.ended.push_back(script.recv_signal(team.peer(child))); });
  if (team.rank > 0) arrival.hold(script, script.send_signal(team.peer(parent(team.rank))));
  return arrival;
}

void release(Script& script, const Team& team, Arrival arrival) {
  if (team.rank > 0) arrival = {{script.recv_signal(team.peer(parent(team.rank)))}};
  each_child(team.rank, team.size, [&](uint32_t child, uint32_t) { arrival.hold(script, script.send_signal(team.peer(child))); });
}

}  // namespace

void barrier(Script& script, const Team& team, const Choices& choices) {
  if (choices.of(Collective::barrier, 0, team.size).algorithm == GOAL_BINOMIAL) release(script, team, arrive(script, team));
  else disseminate(script, team, {});
}

void barrier(Script& script, const Levels& levels, const Choices&) {
  Arrival arrival = arrive(script, levels.node());
  if (levels.leads()) arrival = disseminate(script, levels.leaders(), std::move(arrival));
  release(script, levels.node(), std::move(arrival));
}

}  // namespace portunus::goal::collectives
