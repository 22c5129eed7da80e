// Broadcast: to all at once, down a binomial tree, along a chain in segments, or scattered and then gathered by all.
//
// Thread: any; pure.
// Source: van de Geijn, "On global combine operations", 1994 (scatter-allgather).
#include "engine/goal/collectives/collectives.hpp"
#include "engine/goal/collectives/tree.hpp"

namespace portunus::goal::collectives {

void bcast_linear(Script& script, const Team& whole, uint32_t root, Memory buffer, uint64_t bytes) {
  const Team team = whole.from(root);
  if (team.rank > 0) script.recv(buffer, bytes, team.peer(0));
  else
    for (uint32_t i = 1; i < team.size; ++i) script.send(buffer, bytes, team.peer(i));
}

void bcast_binomial(Script& script, const Team& whole, uint32_t root, Memory buffer, uint64_t bytes) {
  const Team team = whole.from(root);
  if (team.rank > 0) script.recv(buffer, bytes, team.peer(parent(team.rank)));
  each_child(team.rank, team.size, [&](uint32_t child, uint32_t) { script.send(buffer, bytes, team.peer(child)); });
}

void bcast_pipeline(Script& script, const Team& whole, uint32_t root, Memory buffer, uint64_t bytes, uint64_t segment) {
  const Team team = whole.from(root);
  for (uint64_t at = 0; at < bytes; at += segment) {
    const uint64_t length = std::min(segment, bytes - at);
    if (team.rank > 0) script.recv(buffer + at, length, team.peer(team.rank - 1));
    if (team.rank + 1 < team.size) script.send(buffer + at, length, team.peer(team.rank + 1));
  }
}

void bcast_scatter_allgather(Script& script, const Team& whole, uint32_t root, Memory buffer, uint64_t bytes, const Choices& choices) {
  const Team team = whole.from(root);
  const Cuts cuts = Cuts::even(bytes, team.size);
  const uint32_t end = subtree_end(team.rank, team.size);
  if (team.rank > 0) script.recv(buffer + cuts.begin(team.rank), cuts.count(team.rank, end), team.peer(parent(team.rank)));
  each_child(team.rank, team.size, [&](uint32_t child, uint32_t child_end) {
    script.send(buffer + cuts.begin(child), cuts.count(child, child_end), team.peer(child));
  });
  const bool doubles = team.folded() == 0 && choices.of(Collective::allgather, bytes, team.size).algorithm == GOAL_DOUBLING;
  if (doubles) allgather_doubling(script, team, buffer, cuts, 1);
  else allgather_ring(script, team, cuts.in(buffer, 1));
}

void bcast(Script& script, const Team& team, uint32_t root, Memory buffer, uint64_t bytes, const Choices& choices) {
  const Choice choice = choices.of(Collective::bcast, bytes, team.size);
  switch (choice.algorithm) {
    case GOAL_LINEAR: return bcast_linear(script, team, root, buffer, bytes);
    case GOAL_PIPELINE: return bcast_pipeline(script, team, root, buffer, bytes, choice.segment);
    case GOAL_SCATTER_ALLGATHER: return bcast_scatter_allgather(script, team, root, buffer, bytes, choices);
    default: return bcast_binomial(script, team, root, buffer, bytes);
  }
}

void bcast(Script& script, const Levels& levels, Memory buffer, uint64_t bytes, const Choices& choices) {
  if (levels.leads()) bcast(script, levels.leaders(), levels.root(), buffer, bytes, choices.between());
  bcast(script, levels.node(), 0, buffer, bytes, choices.within());
}

}  // namespace portunus::goal::collectives
