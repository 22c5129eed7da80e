// pieces.hpp: user's data as pieces of a schedule, and collectives as nodes that pack, run and unpack.
//
// Thread: the one that captures.
#pragma once

#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/graph/capture_state.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::graph {

constexpr char kTooManyPieces[] = "the data lie in more pieces than an operation of a graph may have; use a datatype of fewer blocks";
constexpr char kNoSuchOperation[] =
    "the engine does not have this operation for this type, and no thread of the program takes part in a graph";
constexpr size_t kMostPieces = 4096;

// Appends, and joins what follows one another in memory.
void add_piece(Pieces& pieces, const void* at, size_t bytes);
// False: there are too many.
bool pieces_of(const void* buffer, MPI_Count count, const Datatype& type, Pieces& pieces);
// The same for elements of a collective, without a limit.
Pieces runs_of(const collectives::Elements& elements);

// Makes integers in memory of the graph 0 or 1.
Node truth_node(Recording& all, std::byte* values, GOAL_Type type, size_t bytes);

// An error class; the node at which the collective ends.
int record_collective(const collectives::Call& call, collectives::Work& work, Capture& capture, Ends& ends);

}  // namespace portunus::mpi::graph
