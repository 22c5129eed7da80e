// Collectives of intercommunicators. Source: MPI-5.0, 6.2.3.
#include "collectives.hpp"

#include <numeric>

namespace inter_test {
namespace {

// The lower and the upper half of the ranks.
struct Halves {
  Halves() {
    upper = rank() >= ranks() / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, upper ? 0 : ranks() / 2, 3, &both);
    MPI_Comm_remote_size(both, &others);
    first = upper ? 0 : ranks() / 2;
  }
  ~Halves() {
    MPI_Comm_free(&both);
    MPI_Comm_free(&side);
  }
  bool upper = false;
  MPI_Comm side = MPI_COMM_NULL, both = MPI_COMM_NULL;
  int others = 0, first = 0;  // of the other half: how many, and the lowest rank of the world
  // The root is rank 0 of the lower half, or of the upper one.
  int root(bool of_upper) const { return upper != of_upper ? 0 : me(side) == 0 ? MPI_ROOT : MPI_PROC_NULL; }
};

TEST(Intercommunicators, CollectivesCarryDataFromOneGroupToTheOther) {
  if (ranks() < 2) return;  // there is no other group
  const Halves halves;
  const MPI_Comm both = halves.both;
  const int n = halves.others, half = size_of(halves.side);
  EXPECT_EQ(MPI_Barrier(both), MPI_SUCCESS);
  const auto number = [](int world_rank) { return world_rank * 10 + 1; };
  const int mine = number(rank());
  for (const Form form : kForms) {
    std::vector<int> from_all(static_cast<size_t>(n), -1), expected;
    for (int i = 0; i < n; ++i) expected.push_back(number(halves.first + i));
    IN_FORM(form, both, Allgather, allgather, &mine, 1, MPI_INT, from_all.data(), 1, MPI_INT);
    EXPECT_EQ(from_all, expected);
    const std::vector<int> out(static_cast<size_t>(n), mine);
    from_all.assign(static_cast<size_t>(n), -1);
    IN_FORM(form, both, Alltoall, alltoall, out.data(), 1, MPI_INT, from_all.data(), 1, MPI_INT);
    EXPECT_EQ(from_all, expected);
    const int sum = std::accumulate(expected.begin(), expected.end(), 0);
    int got = -1;
    IN_FORM(form, both, Allreduce, allreduce, &mine, &got, 1, MPI_INT, MPI_SUM);
    EXPECT_EQ(got, sum);
    // Both groups have as many elements in all, divided among fewer or more ranks.
    const std::vector<int> vector(static_cast<size_t>(half * n), mine);
    std::vector<int> part(static_cast<size_t>(n), -1);
    IN_FORM(form, both, Reduce_scatter_block, reduce_scatter_block, vector.data(), part.data(), n, MPI_INT, MPI_SUM);
    EXPECT_EQ(part, std::vector<int>(static_cast<size_t>(n), sum));
    for (const bool of_upper : {false, true}) {
      const int root = halves.root(of_upper);
      int word = root == MPI_ROOT ? 77 : -1;
      IN_FORM(form, both, Bcast, bcast, &word, 1, MPI_INT, root);
      EXPECT_EQ(word, root == MPI_PROC_NULL ? -1 : 77);
      from_all.assign(static_cast<size_t>(n), -1);
      IN_FORM(form, both, Gather, gather, &mine, 1, MPI_INT, from_all.data(), 1, MPI_INT, root);
      if (root == MPI_ROOT) {
        EXPECT_EQ(from_all, expected);
      }
      got = -1;
      IN_FORM(form, both, Scatter, scatter, expected.data(), 1, MPI_INT, &got, 1, MPI_INT, root);
      if (root == 0) {
        EXPECT_EQ(got, mine);
      }
      got = -1;
      IN_FORM(form, both, Reduce, reduce, &mine, &got, 1, MPI_INT, MPI_MAX, root);
      if (root == MPI_ROOT) {
        EXPECT_EQ(got, expected.back());
      }
    }
  }
  const ReturnErrors returned;
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  int word = 0;
  EXPECT_EQ(MPI_Bcast(&word, 1, MPI_INT, n, both), MPI_ERR_ROOT);
  EXPECT_EQ(MPI_Scan(&mine, &word, 1, MPI_INT, MPI_SUM, both), MPI_ERR_COMM);
}

}  // namespace
}  // namespace inter_test
