// Reduction to one rank: up a binomial tree, or by halving and gathering for long vectors.
//
// Thread: any; pure.
// Source: Rabenseifner, "Optimization of collective reduction operations", 2004 (halving).
#include "engine/goal/collectives/collectives.hpp"
#include "engine/goal/collectives/tree.hpp"

namespace portunus::goal::collectives {

void reduce_binomial(Script& script, const Team& whole, uint32_t root, const Reduction& r) {
  const Team team = whole.from(root);
  uint32_t children = 0;
  each_child(team.rank, team.size, [&](uint32_t, uint32_t) { ++children; });
  const bool is_root = team.rank == 0;
  if (is_root && children == 0) script.copy(r.to, r.from, r.bytes());
  Memory sum = r.from;
  if (children > 0) {
    const Memory next = is_root ? r.to : script.scratch(r.bytes());
    const ReceiveBuffers buffers(script, r.bytes(), children);
    uint32_t i = 0;
    each_child_ascending(team.rank, team.size, [&](uint32_t child, uint32_t) {
      const Memory arrived = buffers.slot(i++);
      script.recv(arrived, r.bytes(), team.peer(child));
      script.combine(r.element, next, sum, arrived, r.count);
      sum = next;
    });
  }
  if (!is_root) script.send(sum, r.bytes(), team.peer(parent(team.rank)));
}

void reduce_halving(Script& script, const Team& whole, uint32_t root, const Reduction& r) {
  const Team team = whole.from(root);
  const Memory sum = team.rank == 0 ? r.to : script.scratch(team.stays() ? r.bytes() : 0);
  const Reduction both = fold_in(script, team, r, sum);
  if (!team.stays()) return;
  const Team core = team.core();
  if (core.size == 1) {
    script.copy(sum, both.from, r.bytes());
    return;
  }
  const Cuts cuts = Cuts::even(r.count, core.size);
  halve(script, core, both.from, sum, cuts, r.element);
  const auto range = [&](uint32_t first, uint32_t last) {
    return Piece{sum + cuts.begin(first) * r.element.width(), cuts.count(first, last) * r.element.width()};
  };
  each_child_ascending(core.rank, core.size, [&](uint32_t child, uint32_t end) {
    const Piece theirs = range(child, end);
    script.recv(theirs.at, theirs.bytes, core.peer(child));
  });
  if (core.rank == 0) return;
  const Piece mine = range(core.rank, subtree_end(core.rank, core.size));
  script.send(mine.at, mine.bytes, core.peer(parent(core.rank)));
}

void reduce(Script& script, const Team& team, uint32_t root, const Reduction& r, const Choices& choices) {
  if (choices.of(Collective::reduce, r.bytes(), team.size).algorithm == GOAL_HALVING) reduce_halving(script, team, root, r);
  else reduce_binomial(script, team, root, r);
}

void reduce(Script& script, const Levels& levels, const Reduction& r, const Choices& choices) {
  const bool is_root = levels.leads() && levels.mine() == levels.root();
  Reduction inside = r;
  const bool alone = levels.node().size == 1;
  if (levels.leads() && !is_root && !alone) inside.to = script.scratch(r.bytes());
  if (alone) inside.to = r.from;
  else reduce(script, levels.node(), 0, inside, choices.within());
  if (!levels.leads()) return;
  Reduction outside = r;
  outside.from = inside.to;
  reduce(script, levels.leaders(), levels.root(), outside, choices.between());
}

}  // namespace portunus::goal::collectives
