// Reduction of a vector of which each rank keeps a piece: by recursive halving, or around a ring.
//
// Thread: any; pure.
// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
#include "engine/goal/collectives/collectives.hpp"

namespace portunus::goal::collectives {

namespace {

bool overlap(const Memory& x, uint64_t x_bytes, const Memory& y, uint64_t y_bytes) {
  return x.space == y.space && x.number == y.number && x.place < y.place + y_bytes && y.place < x.place + x_bytes;
}

}  // namespace

Reduction fold_in(Script& script, const Team& team, const Reduction& r, Memory sum) {
  Reduction both = r;
  if (team.folded() == 0) return both;
  if (!team.stays()) {
    script.send(r.from, r.bytes(), team.peer(team.rank - 1));
  } else if (team.has_left_out()) {
    const Memory theirs = script.scratch(r.bytes());
    script.recv(theirs, r.bytes(), team.peer(team.rank + 1));
    script.combine(r.element, sum, r.from, theirs, r.count);
    both.from = sum;
  }
  return both;
}

void halve(Script& script, const Team& core, Memory from, Memory sum, const Cuts& cuts, const Element& element) {
  uint32_t first = 0;
  uint64_t most = 0;  // elements that arrive at once
  for (uint32_t half = core.size / 2, at = 0; half > 0; half /= 2) {
    if (core.rank & half) at += half;
    most = std::max(most, cuts.count(at, at + half));
  }
  const ReceiveBuffers buffers(script, most * element.width(), static_cast<uint32_t>(std::bit_width(core.size)) - 1);
  uint32_t round = 0;
  for (uint32_t half = core.size / 2; half > 0; half /= 2, ++round) {
    const bool keep_upper = (core.rank & half) != 0;
    const uint32_t partner = core.rank ^ half, kept = first + (keep_upper ? half : 0), given = first + (keep_upper ? 0 : half);
    const uint64_t at = cuts.begin(kept) * element.width(), count = cuts.count(kept, kept + half);
    const Memory arrived = buffers.slot(round);
    script.send(from + cuts.begin(given) * element.width(), cuts.count(given, given + half) * element.width(), core.peer(partner));
    script.recv(arrived, count * element.width(), core.peer(partner));
    script.combine(element, sum + at, keep_upper ? arrived : from + at, keep_upper ? from + at : arrived, count);
    from = sum;
    first = kept;
  }
}

void reduce_scatter_halving(Script& script, const Team& team, const Reduction& r, const Cuts& cuts) {
  Reduction all = r;
  all.count = cuts.total();
  const auto piece = [&](Memory base, uint32_t i) { return base + cuts.begin(i) * r.element.width(); };
  const auto bytes = [&](uint32_t i) { return cuts.count(i) * r.element.width(); };
  const Memory sum = script.scratch(team.stays() ? all.bytes() : 0);
  const Reduction both = fold_in(script, team, all, sum);
  if (!team.stays()) {
    script.recv(r.to, bytes(team.rank), team.peer(team.rank - 1));
    return;
  }
  const Team core = team.core();
  Memory result = both.from;
  if (core.size > 1) {
    halve(script, core, both.from, sum, cuts.joined(core.size, [&](uint32_t i) { return core.unfold(i); }), r.element);
    result = sum;
  }
  if (team.has_left_out()) script.send(piece(result, team.rank + 1), bytes(team.rank + 1), team.peer(team.rank + 1));
  script.copy(r.to, piece(result, team.rank), bytes(team.rank));
}

// Piece i is gathered up on its way once around, from rank i + 1 to rank i.
void reduce_scatter_ring(Script& script, const Team& team, const Reduction& r, const Cuts& cuts) {
  const uint32_t size = team.size, right = team.peer((team.rank + 1) % size), left = team.peer((team.rank + size - 1) % size);
  const uint64_t width = r.element.width();
  const Memory own = r.from + cuts.begin(team.rank) * width;
  if (size == 1) {
    script.copy(r.to, own, cuts.count(0) * width);
    return;
  }
  uint64_t most = 0;
  for (uint32_t i = 0; i < size; ++i) most = std::max(most, cuts.count(i));
  const ReceiveBuffers buffers(script, most * width, size - 1);
  // An element-wise operation may write what it reads, but not something that reaches into it.
  const uint64_t kept = cuts.count(team.rank) * width;
  const bool shifted = !(r.to == own) && overlap(r.to, kept, own, kept);
  Memory passing = r.from + cuts.begin((team.rank + size - 1) % size) * width;
  for (uint32_t step = 1; step < size; ++step) {
    const uint32_t out = (team.rank + size - step) % size, in = (team.rank + 2 * size - step - 1) % size;
    const Memory arrived = buffers.slot(step - 1);
    script.send(passing, cuts.count(out) * width, right);
    script.recv(arrived, cuts.count(in) * width, left);
    const bool last = step + 1 == size;
    passing = last && !shifted ? r.to : arrived;
    script.combine(r.element, passing, r.from + cuts.begin(in) * width, arrived, cuts.count(in));
  }
  script.copy(r.to, passing, kept);
}

void reduce_scatter(Script& script, const Team& team, const Reduction& r, const Cuts& cuts, const Choices& choices) {
  const uint64_t bytes = cuts.total() * r.element.width();
  if (choices.of(Collective::reduce_scatter, bytes, team.size).algorithm == GOAL_RING) reduce_scatter_ring(script, team, r, cuts);
  else reduce_scatter_halving(script, team, r, cuts);
}

}  // namespace portunus::goal::collectives
