// Prefix reductions, with and without a rank's own part, in ceil(log2 n) rounds.
//
// Thread: any; pure.
// Source: Hillis, Steele, "Data parallel algorithms", 1986.
#include "engine/goal/collectives/collectives.hpp"

namespace portunus::goal::collectives {

namespace {

// `sum` is that of the `distance` ranks up to this one (or of all of them, near rank 0). Where a rank's own part is left
// out of the result, the result is gathered beside it.
void prefix(Script& script, const Team& team, const Reduction& r, bool with_own) {
  const uint32_t rank = team.rank;
  const ReceiveBuffers buffers(script, r.bytes(), static_cast<uint32_t>(std::bit_width(rank)));
  Memory sum = r.from;
  if (rank == 0 && with_own) script.copy(r.to, r.from, r.bytes());
  if (rank > 0 && !with_own && r.to == r.from) {  // the first result comes before the last use of the own part
    sum = script.scratch(r.bytes());
    script.copy(sum, r.from, r.bytes());
  }
  uint32_t round = 0;
  for (uint32_t distance = 1; distance < team.size; distance *= 2, ++round) {
    if (rank + distance < team.size) script.send(sum, r.bytes(), team.peer(rank + distance));
    if (rank < distance) continue;
    const Memory arrived = buffers.slot(round);
    script.recv(arrived, r.bytes(), team.peer(rank - distance));
    if (!with_own && round == 0) script.copy(r.to, arrived, r.bytes());
    else if (!with_own) script.combine(r.element, r.to, arrived, r.to, r.count);
    const bool sends_later = rank + 2 * distance < team.size, receives_later = rank >= 2 * distance;
    if (!with_own && !sends_later) continue;
    const Memory next = with_own && !receives_later ? r.to : arrived;
    script.combine(r.element, next, arrived, sum, r.count);
    sum = next;
  }
}

}  // namespace

void scan(Script& script, const Team& team, const Reduction& r) { prefix(script, team, r, true); }
void exscan(Script& script, const Team& team, const Reduction& r) { prefix(script, team, r, false); }

}  // namespace portunus::goal::collectives
