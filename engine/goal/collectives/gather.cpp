// Gathering at one rank: from all at once, or up a binomial tree for many small pieces.
//
// Thread: any; pure.
#include "engine/goal/collectives/collectives.hpp"
#include "engine/goal/collectives/tree.hpp"

namespace portunus::goal::collectives {

void gather_linear(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces) {
  if (team.rank != root) {
    script.send(mine.at, mine.bytes, team.peer(root));
    return;
  }
  for (uint32_t i = 0; i < team.size; ++i) {
    if (i == root) script.copy(pieces[i].at, mine.at, mine.bytes);
    else script.recv(pieces[i].at, pieces[i].bytes, team.peer(i));
  }
}

// Counted from the root, a subtree is consecutive; counted from rank 0 it may go once around the end, and then it lands
// in scratchpad first.
void gather_binomial(Script& script, const Team& whole, uint32_t root, Memory from, Memory to, uint64_t bytes) {
  const Team team = whole.from(root);
  const uint32_t size = team.size, end = subtree_end(team.rank, size);
  if (team.rank == 0) {
    script.copy(to + root * bytes, from, bytes);
    each_child_ascending(0, size, [&](uint32_t child, uint32_t child_end) {
      const uint64_t length = (child_end - child) * bytes;
      const uint32_t first = (root + child) % size, last = (root + child_end - 1) % size;
      if (first <= last) {
        script.recv(to + first * bytes, length, team.peer(child));
        return;
      }
      const Memory arrived = script.scratch(length);
      const uint64_t before_end = (size - first) * bytes;
      script.recv(arrived, length, team.peer(child));
      script.copy(to + first * bytes, arrived, before_end);
      script.copy(to, arrived + before_end, length - before_end);
    });
    return;
  }
  const uint64_t length = (end - team.rank) * bytes;
  Memory all = from;
  if (end - team.rank > 1) {
    all = script.scratch(length);
    script.copy(all, from, bytes);
    each_child_ascending(team.rank, size, [&](uint32_t child, uint32_t child_end) {
      script.recv(all + (child - team.rank) * bytes, (child_end - child) * bytes, team.peer(child));
    });
  }
  script.send(all, length, team.peer(parent(team.rank)));
}

void gatherv(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces) {
  gather_linear(script, team, root, mine, pieces);
}

void gather(Script& script, const Team& team, uint32_t root, Memory from, Memory to, uint64_t bytes, const Choices& choices) {
  if (choices.of(Collective::gather, bytes, team.size).algorithm == GOAL_BINOMIAL) {
    gather_binomial(script, team, root, from, to, bytes);
    return;
  }
  std::vector<Piece> pieces;
  for (uint32_t i = 0; team.rank == root && i < team.size; ++i) pieces.push_back({to + i * bytes, bytes});
  gather_linear(script, team, root, {from, bytes}, pieces);
}

}  // namespace portunus::goal::collectives
