// Collectives along the edges of grids and graphs. Source: MPI-5.0, 8.6.
#include "collectives.hpp"

namespace neighbours_test {
namespace {

TEST(Neighbours, OfARingHearEachOtherInTheOrderOfTheDirections) {
  for (const int periodic : {0, 1}) {
    const int n = ranks();
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &ring);
    const int below = me(ring) == 0 && !periodic ? -1 : (me(ring) + n - 1) % n;
    const int above = me(ring) == n - 1 && !periodic ? -1 : (me(ring) + 1) % n;
    for (const Form form : kForms) {
      // Data that go down are seen by the one below as coming from above, also where both are the same rank.
      const int out[2] = {me(ring) * 10 + 1, me(ring) * 10 + 2};
      int in[2] = {-1, -1};
      IN_FORM(form, ring, Neighbor_alltoall, neighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT);
      EXPECT_EQ(in[0], below < 0 ? -1 : below * 10 + 2);
      EXPECT_EQ(in[1], above < 0 ? -1 : above * 10 + 1);
      IN_FORM(form, ring, Neighbor_allgather, neighbor_allgather, out, 1, MPI_INT, in, 1, MPI_INT);
      EXPECT_EQ(in[0], below < 0 ? -1 : below * 10 + 1);
      EXPECT_EQ(in[1], above < 0 ? -1 : above * 10 + 1);
    }
    MPI_Comm_free(&ring);
  }
}

TEST(Neighbours, OfAGraphExchangeAsMuchAsEachEdgeSays) {
  // Everyone sends r + 1 elements to the next rank and to rank 0; rank 0 hears from all, in their order.
  const int n = ranks(), degree = rank() == 0 ? n + 1 : 1;
  const int targets[2] = {right(), 0};
  std::vector<int> sources(1, left());
  for (int r = 0; rank() == 0 && r < n; ++r) sources.push_back(r);
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources.data(), MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  for (const Form form : kForms) {
    const int own = rank() + 1;
    const std::vector<int> mine = vector_of<int>(rank(), static_cast<size_t>(own));
    const int counts[2] = {own, own}, zeros[2] = {0, 0};
    std::vector<int> in_counts, places, expected;
    for (const int source : sources) {
      places.push_back(static_cast<int>(expected.size()));
      in_counts.push_back(source + 1);
      for (const int value : vector_of<int>(source, static_cast<size_t>(source) + 1)) expected.push_back(value);
    }
    std::vector<int> in(expected.size(), -1);
    IN_FORM(form, graph, Neighbor_alltoallv, neighbor_alltoallv, mine.data(), counts, zeros, MPI_INT, in.data(), in_counts.data(),
            places.data(), MPI_INT);
    EXPECT_EQ(in, expected);
    in.assign(expected.size(), -1);
    IN_FORM(form, graph, Neighbor_allgatherv, neighbor_allgatherv, mine.data(), own, MPI_INT, in.data(), in_counts.data(), places.data(),
            MPI_INT);
    EXPECT_EQ(in, expected);
    in.assign(expected.size(), -1);
    const MPI_Datatype out_types[2] = {MPI_INT, MPI_INT};
    const std::vector<MPI_Datatype> in_types(sources.size(), MPI_INT);
    const MPI_Aint nowhere[2] = {0, 0};
    std::vector<MPI_Aint> bytes(places.begin(), places.end());
    for (MPI_Aint& place : bytes) place *= 4;
    IN_FORM(form, graph, Neighbor_alltoallw, neighbor_alltoallw, mine.data(), counts, nowhere, out_types, in.data(), in_counts.data(),
            bytes.data(), in_types.data());
    EXPECT_EQ(in, expected);
  }
  MPI_Comm_free(&graph);
  const ReturnErrors returned;
  int value = 0;
  EXPECT_EQ(MPI_Neighbor_allgather(&value, 1, MPI_INT, &value, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
}

}  // namespace
}  // namespace neighbours_test
