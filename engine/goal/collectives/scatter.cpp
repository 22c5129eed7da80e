// Scattering from one rank: to all at once, or down a binomial tree for many small pieces.
//
// Thread: any; pure.
#include "engine/goal/collectives/collectives.hpp"
#include "engine/goal/collectives/tree.hpp"

namespace portunus::goal::collectives {

void scatter_linear(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces) {
  if (team.rank != root) {
    script.recv(mine.at, mine.bytes, team.peer(root));
    return;
  }
  for (uint32_t i = 0; i < team.size; ++i) {
    if (i == root) script.copy(mine.at, pieces[i].at, mine.bytes);
    else script.send(pieces[i].at, pieces[i].bytes, team.peer(i));
  }
}

// The mirror image of gather_binomial.
void scatter_binomial(Script& script, const Team& whole, uint32_t root, Memory from, Memory to, uint64_t bytes) {
  const Team team = whole.from(root);
  const uint32_t size = team.size, end = subtree_end(team.rank, size);
  if (team.rank == 0) {
    each_child(0, size, [&](uint32_t child, uint32_t child_end) {
      const uint64_t length = (child_end - child) * bytes;
      const uint32_t first = (root + child) % size, last = (root + child_end - 1) % size;
      Memory leaving = from + first * bytes;
      if (first > last) {
        const uint64_t before_end = (size - first) * bytes;
        const Memory joined = script.scratch(length);
        script.copy(joined, leaving, before_end);
        script.copy(joined + before_end, from, length - before_end);
        leaving = joined;
      }
      script.send(leaving, length, team.peer(child));
    });
    script.copy(to, from + root * bytes, bytes);
    return;
  }
  const uint64_t length = (end - team.rank) * bytes;
  const Memory all = end - team.rank > 1 ? script.scratch(length) : to;
  script.recv(all, length, team.peer(parent(team.rank)));
  each_child(team.rank, size, [&](uint32_t child, uint32_t child_end) {
    script.send(all + (child - team.rank) * bytes, (child_end - child) * bytes, team.peer(child));
  });
  script.copy(to, all, bytes);
}

void scatterv(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces) {
  scatter_linear(script, team, root, mine, pieces);
}

void scatter(Script& script, const Team& team, uint32_t root, Memory from, Memory to, uint64_t bytes, const Choices& choices) {
  if (choices.of(Collective::scatter, bytes, team.size).algorithm == GOAL_BINOMIAL) {
    scatter_binomial(script, team, root, from, to, bytes);
    return;
  }
  std::vector<Piece> pieces;
  for (uint32_t i = 0; team.rank == root && i < team.size; ++i) pieces.push_back({from + i * bytes, bytes});
  scatter_linear(script, team, root, {to, bytes}, pieces);
}

}  // namespace portunus::goal::collectives
