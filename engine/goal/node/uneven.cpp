// Collectives in which two ranks alone know how much the one gives the other, through pipes: see collectives.hpp.
//
// Thread: as collectives.hpp says.
#include "engine/goal/node/collectives.hpp"

namespace portunus::goal::node {

namespace {

// The place of a part, in memory that need not be there where it is empty.
template <class Byte>
Byte* place(Byte* base, std::ptrdiff_t offset, size_t bytes) {
  return bytes > 0 ? base + offset : nullptr;
}

}  // namespace

Collectives::End Collectives::through_pipes(const GOAL_Call& call, uint64_t what) {
  const auto root = static_cast<size_t>(call.root);
  const bool is_root = rank_ == root, to_all = call.kind == GOAL_CALL_ALLTOALLV;
  const bool is_gather = call.kind == GOAL_CALL_GATHERV, is_scatter = call.kind == GOAL_CALL_SCATTERV;
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  Pipes& pipes = buffers_.pipes();
  pipes.begin(what);
  if (is_gather && !is_root) pipes.give(root, in, call.bytes);
  if (is_scatter && !is_root) pipes.take(root, out, call.bytes);
  // Ranks of an ALLTOALLV that have nothing for each other do not meet: neighbours are few among many.
  for (size_t i = 0; (to_all || is_root) && i + 1 < size_; ++i) {
    const size_t other = after(i);
    if (const size_t bytes = is_gather ? 0 : call.in_sizes[other]; bytes > 0 || is_scatter)
      pipes.give(other, place(in, call.in_places[other], bytes), bytes);
    if (const size_t bytes = is_scatter ? 0 : call.out_sizes[other]; bytes > 0 || is_gather)
      pipes.take(other, place(out, call.out_places[other], bytes), bytes);
  }
  // Its own part, meanwhile. A root that scatters in place has it already.
  if (to_all || (is_root && out)) {
    const size_t own = is_gather ? call.out_sizes[rank_] : call.in_sizes[rank_];
    if (own > 0) copy(out + (is_scatter ? 0 : call.out_places[rank_]), in + (is_gather ? 0 : call.in_places[rank_]), own);
  }
  const int code = pipes.end();
  return code == GOAL_SUCCESS ? End::well : code == GOAL_MISMATCH ? End::mismatch : End::never;
}

}  // namespace portunus::goal::node
