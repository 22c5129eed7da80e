// Each rank has something for each: directly, in an order in which ranks do not all turn to the same one, or by Bruck's
// algorithm in ceil(log2 n) rounds with short pieces. And the exchange along the edges of any graph.
//
// Thread: any; pure.
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications", 1997.
#include "engine/goal/collectives/collectives.hpp"

namespace portunus::goal::collectives {

namespace {

constexpr uint32_t kMostPending = 64;  // messages that a rank sends at once

// The pieces `out`, but where some of them are to be overwritten, copies.
std::vector<Piece> saved(Script& script, const Team& team, std::span<const Piece> out, std::span<const Piece> in) {
  std::vector<Piece> safe(out.begin(), out.end());
  for (uint32_t i = 0; i < team.size; ++i) {
    if (i == team.rank || !(out[i].at == in[i].at) || out[i].bytes == 0) continue;
    safe[i].at = script.scratch(out[i].bytes);
    script.copy(safe[i].at, out[i].at, out[i].bytes);
  }
  return safe;
}

}  // namespace

void alltoall_pairwise(Script& script, const Team& team, std::span<const Piece> out, std::span<const Piece> in) {
  const std::vector<Piece> safe = saved(script, team, out, in);
  const uint32_t size = team.size;
  script.copy(in[team.rank].at, safe[team.rank].at, in[team.rank].bytes);
  std::vector<VertexId> sends;
  for (uint32_t step = 1; step < size; ++step) {
    const uint32_t to = (team.rank + step) % size, from = (team.rank + size - step) % size;
    script.recv(in[from].at, in[from].bytes, team.peer(from));
    const VertexId send = script.send(safe[to].at, safe[to].bytes, team.peer(to));
    if (send == kNoVertex) continue;
    if (sends.size() >= kMostPending) script.after(send, sends[sends.size() - kMostPending]);
    sends.push_back(send);
  }
}

// Piece i is for the rank i further on. In the round of each bit of i it moves on by that many ranks.
void alltoall_bruck(Script& script, const Team& team, Memory from, Memory to, uint64_t bytes) {
  const uint32_t size = team.size;
  std::vector<Memory> where;
  for (uint32_t i = 0; i < size; ++i) where.push_back(from + (team.rank + i) % size * bytes);
  for (uint32_t bit = 1; bit < size; bit *= 2) {
    std::vector<uint32_t> moving;
    for (uint32_t i = bit; i < size; ++i) {
      if (i & bit) moving.push_back(i);
    }
    const uint64_t length = moving.size() * bytes;
    const Memory packed = script.scratch(length), arrived = script.scratch(length);
    for (size_t i = 0; i < moving.size();) {
      size_t next = i + 1;
      while (next < moving.size() && where[moving[next]] == where[moving[i]] + (next - i) * bytes) ++next;
      script.copy(packed + i * bytes, where[moving[i]], (next - i) * bytes);
      i = next;
    }
    script.send(packed, length, team.peer((team.rank + bit) % size));
    script.recv(arrived, length, team.peer((team.rank + size - bit) % size));
    for (size_t i = 0; i < moving.size(); ++i) where[moving[i]] = arrived + i * bytes;
  }
  for (uint32_t i = 0; i < size; ++i) script.copy(to + (team.rank + size - i) % size * bytes, where[i], bytes);
}

void alltoall(Script& script, const Team& team, Memory from, Memory to, uint64_t bytes, const Choices& choices) {
  if (choices.of(Collective::alltoall, bytes, team.size).algorithm == GOAL_BRUCK) {
    alltoall_bruck(script, team, from, to, bytes);
    return;
  }
  const Cuts cuts = Cuts::even(bytes * team.size, team.size);
  alltoall_pairwise(script, team, cuts.in(from, 1), cuts.in(to, 1));
}

void alltoallv(Script& script, const Team& team, std::span<const Piece> out, std::span<const Piece> in) {
  alltoall_pairwise(script, team, out, in);
}

void exchange(Script& script, const Team& team, std::span<const Link> out, std::span<const Link> in) {
  for (const Link& link : in) script.recv(link.piece.at, link.piece.bytes, team.peer(link.peer), link.tag);
  for (const Link& link : out) script.send(link.piece.at, link.piece.bytes, team.peer(link.peer), link.tag);
}

}  // namespace portunus::goal::collectives
