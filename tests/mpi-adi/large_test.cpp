// The forms with large counts: they do what those with int do, with arrays of MPI_Count. Source: MPI-5.0, 2.5.8, 6.1.
#include "collectives.hpp"

namespace {

const MPI_Comm comm = MPI_COMM_WORLD;

// Rank r has r + 1 elements, which lie backwards.
struct WideParts {
  WideParts() : counts(static_cast<size_t>(ranks())), places(counts.size()) {
    for (size_t r = counts.size(); r-- > 0;) {
      counts[r] = static_cast<MPI_Count>(r) + 1;
      places[r] = total;
      total += counts[r];
    }
  }
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> places;
  MPI_Count total = 0;
};

TEST(LargeCounts, OfCollectivesAreCountsOfElementsLikeSmallOnes) {
  const MPI_Count n = 3;
  const std::vector<int> mine = vector_of<int>(rank(), 3);
  for (const Form form : kForms) {
    std::vector<int> word = rank() == 0 ? mine : std::vector<int>(3, -1), sums(3, -1), all(static_cast<size_t>(ranks()) * 3, -1), again(all);
    IN_LARGE_FORM(form, comm, Bcast, bcast, word.data(), n, MPI_INT, 0);
    EXPECT_EQ(word, vector_of<int>(0, 3));
    IN_LARGE_FORM(form, comm, Allreduce, allreduce, mine.data(), sums.data(), n, MPI_INT, MPI_MAX);
    EXPECT_GE(sums, mine);
    IN_LARGE_FORM(form, comm, Allgather, allgather, mine.data(), n, MPI_INT, all.data(), n, MPI_INT);
    for (int r = 0; r < ranks(); ++r) EXPECT_TRUE(std::equal(all.begin() + 3 * r, all.begin() + 3 * (r + 1), vector_of<int>(r, 3).begin()));
    IN_LARGE_FORM(form, comm, Alltoall, alltoall, all.data(), n, MPI_INT, again.data(), n, MPI_INT);
    for (int r = 0; r < ranks(); ++r) EXPECT_TRUE(std::equal(again.begin() + 3 * r, again.begin() + 3 * (r + 1), vector_of<int>(rank(), 3).begin()));
  }
}

TEST(LargeCounts, OfVectorCollectivesAreArraysOfMpiCountAndMpiAint) {
  const WideParts parts;
  const size_t own = static_cast<size_t>(rank()) + 1;
  const std::vector<int> mine = vector_of<int>(rank(), own);
  std::vector<int> expected(static_cast<size_t>(parts.total));
  for (size_t r = 0; r < parts.counts.size(); ++r) {
    const std::vector<int> part = vector_of<int>(static_cast<int>(r), r + 1);
    std::copy(part.begin(), part.end(), expected.begin() + parts.places[r]);
  }
  for (const Form form : kForms) {
    std::vector<int> all(expected.size(), -1), back(own, -1), sums(own, -1);
    const MPI_Count count = static_cast<MPI_Count>(own);
    IN_LARGE_FORM(form, comm, Allgatherv, allgatherv, mine.data(), count, MPI_INT, all.data(), parts.counts.data(), parts.places.data(), MPI_INT);
    EXPECT_EQ(all, expected);
    IN_LARGE_FORM(form, comm, Scatterv, scatterv, all.data(), parts.counts.data(), parts.places.data(), MPI_INT, back.data(), count, MPI_INT, 0);
    EXPECT_EQ(back, mine);
    all.assign(expected.size(), -1);
    IN_LARGE_FORM(form, comm, Gatherv, gatherv, mine.data(), count, MPI_INT, all.data(), parts.counts.data(), parts.places.data(), MPI_INT, 0);
    if (rank() == 0) {
      EXPECT_EQ(all, expected);
    }
    const std::vector<int> ones(expected.size(), 1);
    IN_LARGE_FORM(form, comm, Reduce_scatter, reduce_scatter, ones.data(), sums.data(), parts.counts.data(), MPI_INT, MPI_SUM);
    EXPECT_EQ(sums, std::vector<int>(own, ranks()));
  }
}

TEST(LargeCounts, BeyondWhatMemoryCanHoldAreRefused) {
  const ReturnErrors returned;
  int value = 0;
  EXPECT_EQ(MPI_Bcast_c(&value, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Bcast_c(&value, MPI_Count{1} << 60, MPI_INT, 0, comm), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Send_c(&value, MPI_Count{1} << 60, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
}

}  // namespace
