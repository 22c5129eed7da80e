// The forms with large counts: they do what those with int do, with arrays of MPI_Count. Source: MPI-5.0, 2.5.8, 6.1.
#include "collectives.hpp"

namespace large_test {
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
    std::vector<int> word = rank() == 0 ? mine : std::vector<int>(3, -1), sums(3, -1), all(static_cast<size_t>(ranks()) * 3, -1),
                     again(all);
    IN_LARGE_FORM(form, comm, Bcast, bcast, word.data(), n, MPI_INT, 0);
    EXPECT_EQ(word, vector_of<int>(0, 3));
    IN_LARGE_FORM(form, comm, Allreduce, allreduce, mine.data(), sums.data(), n, MPI_INT, MPI_MAX);
    EXPECT_GE(sums, mine);
    IN_LARGE_FORM(form, comm, Allgather, allgather, mine.data(), n, MPI_INT, all.data(), n, MPI_INT);
    for (int r = 0; r < ranks(); ++r) EXPECT_TRUE(std::equal(all.begin() + 3 * r, all.begin() + 3 * (r + 1), vector_of<int>(r, 3).begin()));
    IN_LARGE_FORM(form, comm, Alltoall, alltoall, all.data(), n, MPI_INT, again.data(), n, MPI_INT);
    for (int r = 0; r < ranks(); ++r)
      EXPECT_TRUE(std::equal(again.begin() + 3 * r, again.begin() + 3 * (r + 1), vector_of<int>(rank(), 3).begin()));
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
    IN_LARGE_FORM(form, comm, Allgatherv, allgatherv, mine.data(), count, MPI_INT, all.data(), parts.counts.data(), parts.places.data(),
                  MPI_INT);
    EXPECT_EQ(all, expected);
    IN_LARGE_FORM(form, comm, Scatterv, scatterv, all.data(), parts.counts.data(), parts.places.data(), MPI_INT, back.data(), count,
                  MPI_INT, 0);
    EXPECT_EQ(back, mine);
    all.assign(expected.size(), -1);
    IN_LARGE_FORM(form, comm, Gatherv, gatherv, mine.data(), count, MPI_INT, all.data(), parts.counts.data(), parts.places.data(), MPI_INT,
                  0);
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

// The arguments that a type was made of, and where its data lie, by both kinds of constructors.
TEST(LargeCounts, OfDatatypesMakeTheSameTypesAndAreToldApart) {
  const MPI_Count lengths[] = {2, 1}, places[] = {4, 0};
  const int narrow_lengths[] = {2, 1}, narrow_places[] = {4, 0};
  MPI_Datatype wide, narrow;
  EXPECT_EQ(MPI_Type_indexed_c(2, lengths, places, MPI_INT, &wide), MPI_SUCCESS);
  EXPECT_EQ(MPI_Type_indexed(2, narrow_lengths, narrow_places, MPI_INT, &narrow), MPI_SUCCESS);
  MPI_Count integers, addresses, large, types, size, lb, extent, narrow_lb, narrow_extent;
  int combiner, few, fewer, least;
  EXPECT_EQ(MPI_Type_get_envelope_c(wide, &integers, &addresses, &large, &types, &combiner), MPI_SUCCESS);
  EXPECT_EQ(combiner, MPI_COMBINER_INDEXED);
  EXPECT_EQ(integers, 0);
  EXPECT_EQ(addresses, 0);
  EXPECT_EQ(large, 5);
  EXPECT_EQ(types, 1);
  MPI_Count contents[5];
  MPI_Datatype of[1];
  EXPECT_EQ(MPI_Type_get_contents_c(wide, 0, 0, 5, 1, nullptr, nullptr, contents, of), MPI_SUCCESS);
  EXPECT_EQ(std::vector<MPI_Count>(contents, contents + 5), (std::vector<MPI_Count>{2, 2, 1, 4, 0}));
  EXPECT_EQ(of[0], MPI_INT);
  EXPECT_EQ(MPI_Type_get_envelope_c(narrow, &integers, &addresses, &large, &types, &combiner), MPI_SUCCESS);
  EXPECT_EQ(integers, 5);
  EXPECT_EQ(large, 0);
  EXPECT_EQ(MPI_Type_size_c(wide, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 12);
  EXPECT_EQ(MPI_Type_get_extent_c(wide, &lb, &extent), MPI_SUCCESS);
  EXPECT_EQ(MPI_Type_get_extent_c(narrow, &narrow_lb, &narrow_extent), MPI_SUCCESS);
  EXPECT_EQ(lb, narrow_lb);
  EXPECT_EQ(extent, narrow_extent);
  const ReturnErrors returned;
  EXPECT_EQ(MPI_Type_get_envelope(wide, &few, &fewer, &least, &combiner), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Type_get_contents_c(wide, 0, 0, 4, 1, nullptr, nullptr, contents, of), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Type_contiguous_c(-1, MPI_INT, &wide), MPI_ERR_COUNT);
  MPI_Type_free(&wide);
  MPI_Type_free(&narrow);
}

TEST(LargeCounts, OfConstructorsPackAsWithInt) {
  const MPI_Count sizes[] = {4, 6}, parts[] = {2, 3}, starts[] = {1, 2}, lengths[] = {1, 2}, places[] = {0, 8};
  const MPI_Datatype of[] = {MPI_INT, MPI_INT};
  MPI_Datatype types[4];
  MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &types[0]);
  MPI_Type_vector_c(3, 1, 2, MPI_INT, &types[1]);
  MPI_Type_create_struct_c(2, lengths, places, of, &types[2]);
  MPI_Type_create_resized_c(MPI_INT, 0, 12, &types[3]);
  std::vector<int> in(64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  const std::vector<int> expected[] = {{8, 9, 10, 14, 15, 16}, {0, 2, 4}, {0, 2, 3}, {0}};
  for (int i = 0; i < 4; ++i) {
    MPI_Type_commit(&types[i]);
    MPI_Count room = 0, position = 0;
    EXPECT_EQ(MPI_Pack_size_c(1, types[i], comm, &room), MPI_SUCCESS);
    std::vector<int> packed(static_cast<size_t>(room) / 4);
    EXPECT_EQ(MPI_Pack_c(in.data(), 1, types[i], packed.data(), room, &position, comm), MPI_SUCCESS);
    EXPECT_EQ(position, room);
    EXPECT_EQ(packed, expected[i]);
    MPI_Count outside = 0;
    EXPECT_EQ(MPI_Pack_external_size_c("external32", 1, types[i], &outside), MPI_SUCCESS);
    EXPECT_EQ(outside, room);
    MPI_Type_free(&types[i]);
  }
}

TEST(LargeCounts, OfBytesBeyondAnIntAreReceivedAndCounted) {
  MPI_Datatype block;  // 2^20 bytes of which one is data
  MPI_Type_create_resized_c(MPI_BYTE, 0, MPI_Count{1} << 20, &block);
  MPI_Type_commit(&block);
  MPI_Status status;
  MPI_Status_set_elements_c(&status, MPI_BYTE, MPI_Count{3} << 31);
  int narrow = 0;
  MPI_Count wide = 0;
  EXPECT_EQ(MPI_Get_count(&status, MPI_BYTE, &narrow), MPI_SUCCESS);
  EXPECT_EQ(narrow, MPI_UNDEFINED);
  EXPECT_EQ(MPI_Get_count_c(&status, MPI_BYTE, &wide), MPI_SUCCESS);
  EXPECT_EQ(wide, MPI_Count{3} << 31);
  EXPECT_EQ(MPI_Get_elements_c(&status, block, &wide), MPI_SUCCESS);
  EXPECT_EQ(wide, MPI_Count{3} << 31);
  MPI_Type_free(&block);
}

void add_wide(void* in, void* inout, MPI_Count* length, MPI_Datatype*) {
  for (MPI_Count i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

TEST(LargeCounts, AreWhatLargeOperationsGet) {
  MPI_Op op;
  EXPECT_EQ(MPI_Op_create_c(&add_wide, 1, &op), MPI_SUCCESS);
  int in[2] = {rank(), 1}, sum[2] = {0, 0};
  EXPECT_EQ(MPI_Allreduce_c(in, sum, 2, MPI_INT, op, comm), MPI_SUCCESS);
  EXPECT_EQ(sum[0], ranks() * (ranks() - 1) / 2);
  EXPECT_EQ(sum[1], ranks());
  EXPECT_EQ(MPI_Reduce_local_c(in, sum, 2, MPI_INT, op), MPI_SUCCESS);
  EXPECT_EQ(sum[1], ranks() + 1);
  EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
}

TEST(LargeCounts, OfAccessesToWindowsAndTheirUnits) {
  long* memory;
  MPI_Win win;
  EXPECT_EQ(MPI_Win_allocate_c(4 * sizeof(long), MPI_Aint{sizeof(long)}, MPI_INFO_NULL, comm, &memory, &win), MPI_SUCCESS);
  for (int i = 0; i < 4; ++i) memory[i] = 0;
  const long mine[2] = {rank() + 1L, 5};
  long got[2] = {0, 0}, old = -1;
  MPI_Win_fence(0, win);
  EXPECT_EQ(MPI_Put_c(mine, 2, MPI_LONG, right(), 1, 2, MPI_LONG, win), MPI_SUCCESS);
  MPI_Win_fence(0, win);
  EXPECT_EQ(memory[1], left() + 1);
  EXPECT_EQ(MPI_Get_c(got, 2, MPI_LONG, right(), 1, 2, MPI_LONG, win), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate_c(mine, 1, MPI_LONG, right(), 3, 1, MPI_LONG, MPI_SUM, win), MPI_SUCCESS);
  MPI_Win_fence(0, win);
  EXPECT_EQ(got[0], rank() + 1);
  EXPECT_EQ(memory[3], left() + 1);
  MPI_Request request;
  EXPECT_EQ(MPI_Win_lock_all(0, win), MPI_SUCCESS);
  EXPECT_EQ(MPI_Rget_accumulate_c(mine, 1, MPI_LONG, &old, 1, MPI_LONG, right(), 3, 1, MPI_LONG, MPI_NO_OP, win, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(old, rank() + 1);
  EXPECT_EQ(MPI_Win_unlock_all(win), MPI_SUCCESS);
  MPI_Win_free(&win);
}

}  // namespace
}  // namespace large_test
