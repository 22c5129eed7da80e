// topology.hpp: who neighbours whom in a communicator.
// Thread: constant from its making on. Source: MPI-5.0, 8.
#pragma once

#include <vector>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

struct Topology {
  int kind = MPI_UNDEFINED;  // MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH

  std::vector<int> dims, periods, coords;  // MPI_CART
  std::vector<int> index, edges;           // MPI_GRAPH, as given

  // In the order of neighbourhood collectives; MPI_PROC_NULL beyond the edge of a grid.
  std::vector<int> sources, destinations;
  bool weighted = false;
  std::vector<int> source_weights, destination_weights;  // MPI_DIST_GRAPH, when weighted
};

}  // namespace portunus::mpi
