// Reduction to all ranks: by recursive doubling (short vectors), by halving and doubling, around a ring, either of these a part at a time,
// or by dissemination.
//
// Thread: any; pure.
// Source: Rabenseifner, "Optimization of collective reduction operations", 2004; Thakur, Rabenseifner, Gropp,
// "Optimization of collective communication operations in MPICH", 2005 (folding); Hensgen, Finkel, Manber, "Two algorithms for barrier
// synchronization", 1988 (dissemination); the windows for any number of ranks are this library's.
#include <algorithm>
#include <bit>

#include "engine/goal/collectives/collectives.hpp"

namespace portunus::goal::collectives {

namespace {

// Those who were left out get the result from the one that took them in.
void unfold(Script& script, const Team& team, const Reduction& r) {
  if (team.folded() == 0) return;
  if (!team.stays()) script.recv(r.to, r.bytes(), team.peer(team.rank - 1));
  else if (team.has_left_out()) script.send(r.to, r.bytes(), team.peer(team.rank + 1));
}

// Whether a combination of any number of them is the same in any order.
bool is_exact(const Element& element) { return element.type < PTL_DOUBLE && element.type != PTL_FLOAT; }

}  // namespace

// The sum moves from one buffers place to the next, so that no step waits until the message of the step before has left.
void allreduce_doubling(Script& script, const Team& team, const Reduction& r) {
  const Reduction both = fold_in(script, team, r, r.to);
  if (team.stays()) {
    const Team core = team.core();
    if (core.size == 1) script.copy(r.to, both.from, r.bytes());
    const auto rounds = static_cast<uint32_t>(std::bit_width(core.size)) - 1;
    const ReceiveBuffers buffers(script, r.bytes(), std::max(rounds, 1u));
    Memory sum = both.from;
    for (uint32_t round = 0; round < rounds; ++round) {
      const uint32_t partner = core.rank ^ 1u << round;
      const Memory arrived = buffers.slot(round), next = round + 1 == rounds ? r.to : arrived;
      script.send(sum, r.bytes(), core.peer(partner));
      script.recv(arrived, r.bytes(), core.peer(partner));
      const bool mine_first = core.rank < partner;
      script.combine(r.element, next, mine_first ? sum : arrived, mine_first ? arrived : sum, r.count);
      sum = next;
    }
  }
  unfold(script, team, r);
}

// In round k each rank hears from the one 2^k before it: of the window of the 2^k ranks up to that one, which makes its own window twice as
// long, and where bit k of the number of ranks is set, of the ranks that its result has so far. No rank has to wait for others that were
// left out, so ranks that are no power of two take ceil(log2 n) rounds. Each rank combines in an order of its own.
void allreduce_dissemination(Script& script, const Team& team, const Reduction& r) {
  const auto top = static_cast<uint32_t>(std::bit_width(team.size)) - 1;
  const uint64_t stride = (r.bytes() + 63) / 64 * 64;
  const Memory buffers = script.scratch(2 * (top + 1) * stride);
  Memory window = r.from, result{};
  bool has_result = false;
  if (team.size == 1) return static_cast<void>(script.copy(r.to, r.from, r.bytes()));
  for (uint32_t k = 0; k <= top; ++k) {
    const uint32_t distance = 1u << k;
    const uint32_t next = team.peer((team.rank + distance) % team.size), before = team.peer((team.rank + team.size - distance) % team.size);
    const bool is_part = (team.size >> k & 1) != 0, extends = is_part && has_result;
    const Memory longer = buffers + 2 * k * stride, more = longer + stride;
    if (k < top) {
      script.send(window, r.bytes(), next);
      script.recv(longer, r.bytes(), before);
    }
    if (extends) {
      script.send(result, r.bytes(), next);
      script.recv(more, r.bytes(), before);
      result = k == top ? r.to : more;
      script.combine(r.element, result, more, window, r.count);
    } else if (is_part) {
      result = window;
      has_result = true;
    }
    if (k == top) return;
    // The last window of a power of two is the result.
    const Memory twice = k + 1 == top && !has_result ? r.to : longer;
    script.combine(r.element, twice, longer, window, r.count);
    window = twice;
  }
}

void allreduce_halving(Script& script, const Team& team, const Reduction& r) {
  const Reduction both = fold_in(script, team, r, r.to);
  if (team.stays()) {
    const Team core = team.core();
    const Cuts cuts = Cuts::even(r.count, core.size);
    if (core.size == 1) script.copy(r.to, both.from, r.bytes());
    else halve(script, core, both.from, r.to, cuts, r.element);
    allgather_doubling(script, core, r.to, cuts, r.element.width());
  }
  unfold(script, team, r);
}

void allreduce_ring(Script& script, const Team& team, const Reduction& r) {
  const Cuts cuts = Cuts::even(r.count, team.size);
  Reduction mine = r;
  mine.to = r.to + cuts.begin(team.rank) * r.element.width();
  reduce_scatter_ring(script, team, mine, cuts);
  allgather_ring(script, team, cuts.in(r.to, r.element.width()));
}

// A request for data, or the word that there are some, waits on a slow wire behind all that go the same way already: with one part alone
// nothing would travel the other way until then. Whose rank is the faster one is chance, so that is the rule. Messages that need no
// request, being short, are better still, but each costs processor time. How many parts are good was measured with 2 to 8 hosts at 1
// Gbit/s.
void allreduce_pipeline(Script& script, const Team& team, const Reduction& r) {
  constexpr uint64_t kShort = 64 << 10, kFewest = 4, kMost = 8;
  const bool halves = std::has_single_bit(team.size);
  const uint64_t longest = r.bytes() / (halves ? 2 : team.size);  // message, were it one part
  const uint64_t parts = team.size == 2 ? kFewest : std::clamp((longest + kShort - 1) / kShort, kFewest, kMost);
  const Cuts cuts = Cuts::even(r.count, static_cast<uint32_t>(parts));
  for (uint32_t i = 0; i < parts; ++i) {
    if (cuts.count(i, i + 1) == 0) continue;
    Reduction part = r;
    part.from = r.from + cuts.begin(i) * r.element.width();
    part.to = r.to + cuts.begin(i) * r.element.width();
    part.count = cuts.count(i, i + 1);
    (halves ? allreduce_halving : allreduce_ring)(script, team, part);
  }
}

void allreduce(Script& script, const Team& team, const Reduction& r, const Choices& choices) {
  switch (choices.of(Collective::allreduce, r.bytes(), team.size).algorithm) {
    case GOAL_HALVING: return allreduce_halving(script, team, r);
    case GOAL_PIPELINE: return allreduce_pipeline(script, team, r);
    case GOAL_RING: return allreduce_ring(script, team, r);
    case GOAL_DISSEMINATION: return is_exact(r.element) ? allreduce_dissemination(script, team, r) : allreduce_doubling(script, team, r);
    default: return allreduce_doubling(script, team, r);
  }
}

void allreduce(Script& script, const Levels& levels, const Reduction& r, const Choices& choices) {
  Reduction outside = r;
  if (levels.node().size > 1) {
    reduce(script, levels.node(), 0, r, choices.within());
    outside.from = r.to;
  }
  if (levels.leads()) allreduce(script, levels.leaders(), outside, choices.between());
  bcast(script, levels.node(), 0, r.to, r.bytes(), choices.within());
}

}  // namespace portunus::goal::collectives
