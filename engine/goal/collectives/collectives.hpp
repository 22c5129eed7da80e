// Collectives as programs of one rank: each function adds to a script what this rank does.
//
// All ranks of the team call the same function with the same sizes, root, element and algorithm. Buffers hold this
// rank's part. Input and output may be the same buffer where MPI allows MPI_IN_PLACE; they do not overlap otherwise.
// Nothing is sent for empty pieces. Combined elements meet in an order that depends on sizes and ranks alone, so a
// result is the same in every run, and the same on all ranks that get it.
//
// With a map of nodes (levels.hpp), the work is done inside each node first, then among one leader per node.
//
// Thread: any; pure.
// Source: Hensgen, Finkel, Manber 1988 (dissemination); Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Rabenseifner 2004;
// Thakur, Rabenseifner, Gropp 2005 (recursive doubling and halving, folding of other rank counts than powers of two);
// van de Geijn 1994 (scatter-allgather); Hillis, Steele 1986 (scan).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/collectives/choice.hpp"
#include "engine/goal/collectives/levels.hpp"
#include "engine/goal/collectives/pieces.hpp"
#include "engine/goal/collectives/script.hpp"
#include "engine/goal/collectives/team.hpp"

namespace portunus::goal::collectives {

// The vectors that are combined: `count` elements here, on every rank.
struct Reduction {
  Memory from{}, to{};
  uint64_t count = 0;
  Element element{};
  [[nodiscard]] uint64_t bytes() const { return count * element.width(); }
};

// ---- by choice: the algorithm that `choices` names for this size and number of ranks

void barrier(Script& script, const Team& team, const Choices& choices);
void bcast(Script& script, const Team& team, uint32_t root, Memory buffer, uint64_t bytes, const Choices& choices);
// Only the root's `to` is written.
void reduce(Script& script, const Team& team, uint32_t root, const Reduction& r, const Choices& choices);
void allreduce(Script& script, const Team& team, const Reduction& r, const Choices& choices);
// cuts: how many elements each rank keeps; `to` takes this rank's. r.count is not used.
void reduce_scatter(Script& script, const Team& team, const Reduction& r, const Cuts& cuts, const Choices& choices);
void scan(Script& script, const Team& team, const Reduction& r);
// Rank 0's `to` is not written.
void exscan(Script& script, const Team& team, const Reduction& r);
// `bytes` from each rank; `to` is the root's alone.
void gather(Script& script, const Team& team, uint32_t root, Memory from, Memory to, uint64_t bytes, const Choices& choices);
void scatter(Script& script, const Team& team, uint32_t root, Memory from, Memory to, uint64_t bytes, const Choices& choices);
// `pieces` are where the root has each rank's piece, its own included; empty elsewhere.
void gatherv(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces);
void scatterv(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces);
// `bytes` from each rank.
void allgather(Script& script, const Team& team, Memory from, Memory to, uint64_t bytes, const Choices& choices);
// `pieces` are where this rank wants each rank's piece, its own included.
void allgatherv(Script& script, const Team& team, Memory from, std::span<const Piece> pieces, const Choices& choices);
// `bytes` to each rank.
void alltoall(Script& script, const Team& team, Memory from, Memory to, uint64_t bytes, const Choices& choices);
// `out`: the piece for each rank; `in`: the place of the piece from each rank. They may be the same pieces.
void alltoallv(Script& script, const Team& team, std::span<const Piece> out, std::span<const Piece> in);

// One edge of any graph, seen from one of its ends. Several edges between two ranks that have the same tag meet in the
// order in which each side lists them.
struct Link {
  uint32_t peer = 0, tag = 0;
  Piece piece{};
};
void exchange(Script& script, const Team& team, std::span<const Link> out, std::span<const Link> in);

// ---- by name, and parts that several use

void bcast_linear(Script& script, const Team& team, uint32_t root, Memory buffer, uint64_t bytes);
void bcast_binomial(Script& script, const Team& team, uint32_t root, Memory buffer, uint64_t bytes);
void bcast_pipeline(Script& script, const Team& team, uint32_t root, Memory buffer, uint64_t bytes, uint64_t segment);
void bcast_scatter_allgather(Script& script, const Team& team, uint32_t root, Memory buffer, uint64_t bytes, const Choices& choices);

void reduce_binomial(Script& script, const Team& team, uint32_t root, const Reduction& r);
void reduce_halving(Script& script, const Team& team, uint32_t root, const Reduction& r);

void allreduce_doubling(Script& script, const Team& team, const Reduction& r);
void allreduce_halving(Script& script, const Team& team, const Reduction& r);
void allreduce_pipeline(Script& script, const Team& team, const Reduction& r);
void allreduce_ring(Script& script, const Team& team, const Reduction& r);
// For elements that come to the same in any order.
void allreduce_dissemination(Script& script, const Team& team, const Reduction& r);

void reduce_scatter_halving(Script& script, const Team& team, const Reduction& r, const Cuts& cuts);
void reduce_scatter_ring(Script& script, const Team& team, const Reduction& r, const Cuts& cuts);
// Ranks that stay take in what their left-out neighbour has: returns the reduction of the core, whose `from` then holds
// both. Into `sum`, or where it lies already if there is nobody to take in.
Reduction fold_in(Script& script, const Team& team, const Reduction& r, Memory sum);
// Piece i of the sum comes to be at `sum` on rank i of a core of at least two; elsewhere `sum` is overwritten.
void halve(Script& script, const Team& core, Memory from, Memory sum, const Cuts& cuts, const Element& element);

void gather_linear(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces);
void gather_binomial(Script& script, const Team& team, uint32_t root, Memory from, Memory to, uint64_t bytes);
void scatter_linear(Script& script, const Team& team, uint32_t root, Piece mine, std::span<const Piece> pieces);
void scatter_binomial(Script& script, const Team& team, uint32_t root, Memory from, Memory to, uint64_t bytes);

// Each rank's own piece is in place already.
// Each step in messages of up to `segment` bytes.
void allgather_ring(Script& script, const Team& team, std::span<const Piece> pieces, uint64_t segment = ~uint64_t{0});
void allgather_bruck(Script& script, const Team& team, Memory from, std::span<const Piece> pieces);
// For a power of two of ranks; the pieces are cuts of `buffer`, in elements of `width` bytes.
void allgather_doubling(Script& script, const Team& team, Memory buffer, const Cuts& cuts, uint64_t width);

void alltoall_bruck(Script& script, const Team& team, Memory from, Memory to, uint64_t bytes);
void alltoall_pairwise(Script& script, const Team& team, std::span<const Piece> out, std::span<const Piece> in);

// ---- node level first

void barrier(Script& script, const Levels& levels, const Choices& choices);
void bcast(Script& script, const Levels& levels, Memory buffer, uint64_t bytes, const Choices& choices);
void reduce(Script& script, const Levels& levels, const Reduction& r, const Choices& choices);
void allreduce(Script& script, const Levels& levels, const Reduction& r, const Choices& choices);
void allgather(Script& script, const Levels& levels, Memory from, Memory to, uint64_t bytes, const Choices& choices);

}  // namespace portunus::goal::collectives
