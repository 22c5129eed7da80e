// Topologies: grids, graphs, distributed graphs. Source: MPI-5.0, 8.
#include <algorithm>

#include "ranks.hpp"

namespace topologies_test {
namespace {

std::vector<int> dims_of(int processes, std::vector<int> dims) {
  EXPECT_EQ(MPI_Dims_create(processes, static_cast<int>(dims.size()), dims.data()), MPI_SUCCESS);
  return dims;
}

TEST(Topologies, DimensionsAreAsEqualAsCanBeAndDecrease) {
  EXPECT_EQ(dims_of(6, {0, 0}), (std::vector<int>{3, 2}));
  EXPECT_EQ(dims_of(7, {0, 0}), (std::vector<int>{7, 1}));
  EXPECT_EQ(dims_of(6, {0, 3, 0}), (std::vector<int>{2, 3, 1}));
  EXPECT_EQ(dims_of(64, {0, 0, 0}), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(dims_of(36, {0, 0, 0}), (std::vector<int>{4, 3, 3}));
  EXPECT_EQ(dims_of(1 << 20, {0, 0}), (std::vector<int>{1024, 1024}));
  ReturnErrors guard;
  int dims[2] = {0, 3};
  EXPECT_EQ(MPI_Dims_create(7, 2, dims), MPI_ERR_DIMS);
}

TEST(Topologies, GridsKnowTheirNeighbours) {
  int dims[2] = {0, 0};
  const int periods[2] = {1, 0};
  MPI_Dims_create(ranks(), 2, dims);
  MPI_Comm grid, row;
  ASSERT_EQ(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid), MPI_SUCCESS);
  int kind, me, coords[2], up, down, west, east, found;
  MPI_Topo_test(grid, &kind);
  EXPECT_EQ(kind, MPI_CART);
  MPI_Comm_rank(grid, &me);
  MPI_Cart_coords(grid, me, 2, coords);
  MPI_Cart_rank(grid, coords, &found);
  EXPECT_EQ(found, me);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &west, &east);
  const int below[2] = {coords[0] + 1, coords[1]};
  MPI_Cart_rank(grid, below, &found);  // periodic
  EXPECT_EQ(found, down);
  EXPECT_EQ(west == MPI_PROC_NULL, coords[1] == 0);
  EXPECT_EQ(east == MPI_PROC_NULL, coords[1] == dims[1] - 1);
  int got = -1;
  MPI_Sendrecv(&me, 1, MPI_INT, down, 0, &got, 1, MPI_INT, up, 0, grid, MPI_STATUS_IGNORE);
  EXPECT_EQ(got, up);
  const int keep[2] = {0, 1};
  MPI_Cart_sub(grid, keep, &row);
  int size, count;
  MPI_Comm_size(row, &size);
  EXPECT_EQ(size, dims[1]);
  MPI_Comm_rank(row, &found);
  EXPECT_EQ(found, coords[1]);
  MPI_Cartdim_get(row, &count);
  EXPECT_EQ(count, 1);
  MPI_Comm twin;
  MPI_Comm_dup(grid, &twin);
  int dims_back[2], periods_back[2], coords_back[2];
  MPI_Cart_get(twin, 2, dims_back, periods_back, coords_back);
  EXPECT_TRUE(std::equal(dims, dims + 2, dims_back) && std::equal(periods, periods + 2, periods_back));
  for (MPI_Comm* comm : {&grid, &row, &twin}) MPI_Comm_free(comm);
}

TEST(Topologies, GraphsAreKnownToAll) {
  std::vector<int> index, edges;  // a ring
  for (int i = 0; i < ranks(); ++i) {
    edges.push_back((i + ranks() - 1) % ranks());
    edges.push_back((i + 1) % ranks());
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm ring;
  MPI_Graph_create(MPI_COMM_WORLD, ranks(), index.data(), edges.data(), 0, &ring);
  int nodes, arcs, count, neighbours[2];
  MPI_Graphdims_get(ring, &nodes, &arcs);
  EXPECT_EQ(nodes, ranks());
  EXPECT_EQ(arcs, 2 * ranks());
  MPI_Graph_neighbors_count(ring, ranks() - 1, &count);
  EXPECT_EQ(count, 2);
  MPI_Graph_neighbors(ring, rank(), 2, neighbours);
  EXPECT_EQ(neighbours[0], left());
  EXPECT_EQ(neighbours[1], right());
  MPI_Comm_free(&ring);
}

TEST(Topologies, DistributedGraphsAreToldByAnybody) {
  // Every rank tells of its right neighbour's edge to the one after it.
  const int from[1] = {right()}, degree[1] = {1}, to[1] = {(right() + 1) % ranks()}, weight[1] = {right() + 5};
  MPI_Comm told, adjacent;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, from, degree, to, weight, MPI_INFO_NULL, 0, &told);
  int in, out, weighted, sources[1], source_weights[1], destinations[1], weights[1];
  MPI_Dist_graph_neighbors_count(told, &in, &out, &weighted);
  EXPECT_EQ(in, 1);
  EXPECT_EQ(out, 1);
  EXPECT_TRUE(weighted);
  MPI_Dist_graph_neighbors(told, 1, sources, source_weights, 1, destinations, weights);
  EXPECT_EQ(sources[0], left());
  EXPECT_EQ(source_weights[0], left() + 5);
  EXPECT_EQ(destinations[0], right());
  EXPECT_EQ(weights[0], rank() + 5);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &adjacent);
  MPI_Dist_graph_neighbors_count(adjacent, &in, &out, &weighted);
  EXPECT_FALSE(weighted);
  int kind;
  MPI_Topo_test(adjacent, &kind);
  EXPECT_EQ(kind, MPI_DIST_GRAPH);
  ReturnErrors guard;
  MPI_Comm_set_errhandler(adjacent, MPI_ERRORS_RETURN);
  EXPECT_EQ(MPI_Cartdim_get(adjacent, &in), MPI_ERR_TOPOLOGY);
  MPI_Comm_free(&told);
  MPI_Comm_free(&adjacent);
}

}  // namespace
}  // namespace topologies_test
