// Gathering at all ranks: by Bruck's algorithm in ceil(log2 n) rounds, by recursive doubling without copies where ranks are
// a power of two, or around a ring, in one message for each step or in segments that need not be asked for.
//
// Thread: any; pure.
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications", 1997.
#include "engine/goal/collectives/collectives.hpp"

namespace portunus::goal::collectives {

void allgather_ring(Script& script, const Team& team, std::span<const Piece> pieces, uint64_t segment) {
  const uint32_t size = team.size;
  for (uint32_t step = 0; step + 1 < size; ++step) {
    const Piece& out = pieces[(team.rank + size - step) % size];
    const Piece& in = pieces[(team.rank + 2 * size - step - 1) % size];
    for (uint64_t at = 0; at < out.bytes; at += segment)
      script.send(out.at + at, std::min(segment, out.bytes - at), team.peer((team.rank + 1) % size));
    for (uint64_t at = 0; at < in.bytes; at += segment)
      script.recv(in.at + at, std::min(segment, in.bytes - at), team.peer((team.rank + size - 1) % size));
  }
}

void allgather_doubling(Script& script, const Team& team, Memory buffer, const Cuts& cuts, uint64_t width) {
  for (uint32_t known = 1; known < team.size; known *= 2) {
    const uint32_t partner = team.rank ^ known, mine = team.rank & ~(known - 1), theirs = partner & ~(known - 1);
    script.send(buffer + cuts.begin(mine) * width, cuts.count(mine, mine + known) * width, team.peer(partner));
    script.recv(buffer + cuts.begin(theirs) * width, cuts.count(theirs, theirs + known) * width, team.peer(partner));
  }
}

// The parts known so far lie in scratchpad, counted from this rank on; in the end they go to their places.
void allgather_bruck(Script& script, const Team& team, Memory from, std::span<const Piece> pieces) {
  const uint32_t size = team.size;
  const auto piece = [&](uint32_t i) { return pieces[(team.rank + i) % size]; };
  std::vector<uint64_t> at(1, 0);
  for (uint32_t i = 0; i < size; ++i) at.push_back(at.back() + piece(i).bytes);
  const Memory all = script.scratch(at[size]);
  script.copy(all, from, at[1]);
  for (uint32_t known = 1; known < size; known *= 2) {
    const uint32_t more = std::min(known, size - known);
    script.send(all, at[more], team.peer((team.rank + size - known) % size));
    script.recv(all + at[known], at[known + more] - at[known], team.peer((team.rank + known) % size));
  }
  for (uint32_t i = 0; i < size;) {
    uint32_t next = i + 1;
    while (next < size && piece(next).at == piece(i).at + (at[next] - at[i])) ++next;
    const bool own_alone_in_place = i == 0 && next == 1 && piece(0).at == from;
    if (!own_alone_in_place) script.copy(piece(i).at, all + at[i], at[next] - at[i]);
    i = next;
  }
}

void allgatherv(Script& script, const Team& team, Memory from, std::span<const Piece> pieces, const Choices& choices) {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  if (choices.of(Collective::allgatherv, bytes, team.size).algorithm == GOAL_BRUCK) {
    allgather_bruck(script, team, from, pieces);
    return;
  }
  const Piece& own = pieces[team.rank];
  script.copy(own.at, from, own.bytes);
  allgather_ring(script, team, pieces);
}

void allgather(Script& script, const Team& team, Memory from, Memory to, uint64_t bytes, const Choices& choices) {
  const Cuts cuts = Cuts::even(bytes * team.size, team.size);
  const Choice choice = choices.of(Collective::allgather, bytes * team.size, team.size);
  const Algorithm algorithm = choice.algorithm;
  if (algorithm == GOAL_BRUCK || (algorithm == GOAL_DOUBLING && team.folded() != 0)) {
    allgather_bruck(script, team, from, cuts.in(to, 1));
    return;
  }
  script.copy(to + team.rank * bytes, from, bytes);
  if (algorithm == GOAL_DOUBLING) allgather_doubling(script, team, to, cuts, 1);
  else if (algorithm == GOAL_PIPELINE) allgather_ring(script, team, cuts.in(to, 1), choice.segment);
  else allgather_ring(script, team, cuts.in(to, 1));
}

// Each node gathers at its leader, the leaders exchange what their nodes have, and each node gets all. Where ranks are
// not numbered node by node, that happens in scratchpad.
void allgather(Script& script, const Levels& levels, Memory from, Memory to, uint64_t bytes, const Choices& choices) {
  const uint32_t size = static_cast<uint32_t>(levels.order().size());
  const bool in_order = std::ranges::is_sorted(levels.order());
  const Memory all = in_order ? to : script.scratch(size * bytes);
  gather(script, levels.node(), 0, from, all + levels.first(levels.mine()) * bytes, bytes, choices.within());
  if (levels.leads()) {
    std::vector<Piece> nodes;
    for (uint32_t i = 0; i < levels.count(); ++i) nodes.push_back({all + levels.first(i) * bytes, levels.size(i) * bytes});
    allgatherv(script, levels.leaders(), nodes[levels.mine()].at, nodes, choices.between());
  }
  bcast(script, levels.node(), 0, all, size * bytes, choices.within());
  if (in_order) return;
  for (uint32_t i = 0; i < size;) {
    uint32_t next = i + 1;
    while (next < size && levels.order()[next] == levels.order()[i] + (next - i)) ++next;
    script.copy(to + levels.order()[i] * bytes, all + i * bytes, (next - i) * bytes);
    i = next;
  }
}

}  // namespace portunus::goal::collectives
