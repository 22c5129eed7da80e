// Collectives that move data. Source: MPI-5.0, 6.4-6.8, 6.12, 6.13.
#include "collectives.hpp"

#include <algorithm>
#include <numeric>

namespace collectives_test {
namespace {

const MPI_Comm comm = MPI_COMM_WORLD;

TEST(Bcast, GivesAllRanksWhatTheRootHas) {
  for (const Form form : kForms)
    for (const size_t n : kSizes) {
      const int root = next_root(comm);
      std::vector<double> data = rank() == root ? vector_of<double>(root, n) : std::vector<double>(n, -1);
      IN_FORM(form, comm, Bcast, bcast, data.data(), static_cast<int>(n), MPI_DOUBLE, root);
      EXPECT_EQ(data, vector_of<double>(root, n));
    }
}

TEST(Gather, PutsThePartsInTheOrderOfTheRanksAtTheRootAndScatterTakesThemApart) {
  for (const Form form : kForms)
    for (const size_t n : kSizes)
      for (const bool in_place : {false, true}) {
        const int root = next_root(comm), count = static_cast<int>(n);
        const bool is_root = rank() == root;
        std::vector<int> mine = vector_of<int>(rank(), n), all(is_root ? n * static_cast<size_t>(ranks()) : 0, -1);
        if (is_root && in_place) std::copy(mine.begin(), mine.end(), all.begin() + static_cast<ptrdiff_t>(n) * root);
        const void* from = is_root && in_place ? MPI_IN_PLACE : mine.data();
        IN_FORM(form, comm, Gather, gather, from, count, MPI_INT, all.data(), count, MPI_INT, root);
        for (int r = 0; is_root && r < ranks(); ++r)
          EXPECT_TRUE(std::equal(all.begin() + static_cast<ptrdiff_t>(n) * r, all.begin() + static_cast<ptrdiff_t>(n) * (r + 1),
                                 vector_of<int>(r, n).begin()));
        std::vector<int> back(n, -1);
        void* to = is_root && in_place ? MPI_IN_PLACE : back.data();
        IN_FORM(form, comm, Scatter, scatter, all.data(), count, MPI_INT, to, count, MPI_INT, root);
        if (to == back.data()) {
          EXPECT_EQ(back, mine);
        }
      }
}

TEST(Allgather, GivesAllRanksThePartsOfAll) {
  for (const Form form : kForms)
    for (const size_t n : kSizes)
      for (const bool in_place : {false, true}) {
        const int count = static_cast<int>(n);
        const std::vector<short> mine = vector_of<short>(rank(), n);
        std::vector<short> all(n * static_cast<size_t>(ranks()), -1), expected;
        for (int r = 0; r < ranks(); ++r)
          for (const short value : vector_of<short>(r, n)) expected.push_back(value);
        if (in_place) std::copy(mine.begin(), mine.end(), all.begin() + static_cast<ptrdiff_t>(n) * rank());
        IN_FORM(form, comm, Allgather, allgather, in_place ? MPI_IN_PLACE : mine.data(), count, MPI_SHORT, all.data(), count, MPI_SHORT);
        EXPECT_EQ(all, expected);
      }
}

TEST(Alltoall, GivesEachRankThePartsThatAreForIt) {
  for (const Form form : kForms)
    for (const size_t n : {size_t{0}, size_t{1}, size_t{90}, size_t{20'000}})
      for (const bool in_place : {false, true}) {
        const int count = static_cast<int>(n);
        std::vector<long> out, expected;
        for (int r = 0; r < ranks(); ++r) {
          for (const long value : vector_of<long>(rank(), n, r)) out.push_back(value);
          for (const long value : vector_of<long>(r, n, rank())) expected.push_back(value);
        }
        std::vector<long> in = in_place ? out : std::vector<long>(out.size(), -1);
        IN_FORM(form, comm, Alltoall, alltoall, in_place ? MPI_IN_PLACE : out.data(), count, MPI_LONG, in.data(), count, MPI_LONG);
        EXPECT_EQ(in, expected);
      }
}

// Rank r has r * step elements, none at first; they lie backwards, with a gap before each part.
struct Uneven {
  explicit Uneven(int step) {
    for (int r = 0; r < ranks(); ++r) counts.push_back(r * step);
    displacements.resize(counts.size());
    int at = 0;
    for (int r = ranks(); r-- > 0;) {
      displacements[static_cast<size_t>(r)] = ++at;
      at += counts[static_cast<size_t>(r)];
    }
    total = static_cast<size_t>(at);
  }
  // The elements there when rank r's part came from rank r, or was given to it by `giver`; -1 in the gaps.
  std::vector<int> content(int giver = -1) const {
    std::vector<int> all(total, -1);
    for (int r = 0; r < ranks(); ++r) {
      const std::vector<int> part = giver < 0 ? vector_of<int>(r, count(r)) : vector_of<int>(giver, count(r), r);
      std::copy(part.begin(), part.end(), all.begin() + displacements[static_cast<size_t>(r)]);
    }
    return all;
  }
  size_t count(int r) const { return static_cast<size_t>(counts[static_cast<size_t>(r)]); }
  std::vector<int> counts, displacements;
  size_t total = 0;
};

TEST(VectorCollectives, MovePartsOfAnySizeToAndFromAnyPlace) {
  for (const Form form : kForms)
    for (const int step : {0, 1, 3000}) {
      const Uneven parts(step);
      const int root = next_root(comm), own = static_cast<int>(parts.count(rank()));
      const bool is_root = rank() == root;
      const std::vector<int> mine = vector_of<int>(rank(), parts.count(rank()));
      std::vector<int> all(parts.total, -1);
      IN_FORM(form, comm, Gatherv, gatherv, mine.data(), own, MPI_INT, all.data(), parts.counts.data(), parts.displacements.data(), MPI_INT,
              root);
      EXPECT_EQ(all, is_root ? parts.content() : std::vector<int>(parts.total, -1));
      std::vector<int> back(mine.size(), -1);
      IN_FORM(form, comm, Scatterv, scatterv, all.data(), parts.counts.data(), parts.displacements.data(), MPI_INT, back.data(), own,
              MPI_INT, root);
      EXPECT_EQ(back, mine);
      all.assign(parts.total, -1);
      IN_FORM(form, comm, Allgatherv, allgatherv, mine.data(), own, MPI_INT, all.data(), parts.counts.data(), parts.displacements.data(),
              MPI_INT);
      EXPECT_EQ(all, parts.content());
      all.assign(parts.total, -1);
      std::copy(mine.begin(), mine.end(), all.begin() + parts.displacements[static_cast<size_t>(rank())]);
      IN_FORM(form, comm, Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_INT, all.data(), parts.counts.data(), parts.displacements.data(),
              MPI_INT);
      EXPECT_EQ(all, parts.content());
    }
}

TEST(VectorCollectives, AlltoallvAndAlltoallwMoveAsMuchAsEachPairAgreesOn) {
  for (const Form form : kForms)
    for (const int step : {0, 1, 2000}) {
      // To rank r go r * step elements, from everyone.
      const Uneven out(step);
      const int own = rank() * step, n = ranks();
      std::vector<int> in_counts = each(own, n), in_places(in_counts.size()), expected;
      for (int r = 0; r < n; ++r) {
        in_places[static_cast<size_t>(r)] = r * own;
        for (const int value : vector_of<int>(r, static_cast<size_t>(own), rank())) expected.push_back(value);
      }
      const std::vector<int> from = out.content(rank());
      std::vector<int> to(expected.size(), -1);
      IN_FORM(form, comm, Alltoallv, alltoallv, from.data(), out.counts.data(), out.displacements.data(), MPI_INT, to.data(),
              in_counts.data(), in_places.data(), MPI_INT);
      EXPECT_EQ(to, expected);
      to.assign(expected.size(), -1);
      const std::vector<MPI_Datatype> types(static_cast<size_t>(n), MPI_INT);
      std::vector<int> out_bytes = out.displacements, in_bytes = in_places;
      for (int& place : out_bytes) place *= 4;
      for (int& place : in_bytes) place *= 4;
      IN_FORM(form, comm, Alltoallw, alltoallw, from.data(), out.counts.data(), out_bytes.data(), types.data(), to.data(), in_counts.data(),
              in_bytes.data(), types.data());
      EXPECT_EQ(to, expected);
    }
}

TEST(Collectives, PackAndUnpackTypesWithGaps) {
  // Columns of a matrix of 6 rows: column r goes to rank r, and becomes a row there.
  const int rows = 6, n = ranks();
  MPI_Datatype column, resized;
  MPI_Type_vector(rows, 1, n, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &resized);
  MPI_Type_commit(&resized);
  std::vector<int> matrix(static_cast<size_t>(rows * n)), in(static_cast<size_t>(rows * n), -1), back(in);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = rank() * 1000 + static_cast<int>(i);
  for (const Form form : kForms) {
    IN_FORM(form, comm, Alltoall, alltoall, matrix.data(), 1, resized, in.data(), rows, MPI_INT);
    for (int r = 0; r < n; ++r)
      for (int i = 0; i < rows; ++i) EXPECT_EQ(in[static_cast<size_t>(r * rows + i)], r * 1000 + i * n + rank());
    IN_FORM(form, comm, Alltoall, alltoall, in.data(), rows, MPI_INT, back.data(), 1, resized);
    EXPECT_EQ(back, matrix);
    std::vector<int> cast = rank() == 0 ? matrix : std::vector<int>(matrix.size(), -1);
    IN_FORM(form, comm, Bcast, bcast, cast.data(), 1, resized, 0);
    for (int i = 0; i < rows * n; ++i) EXPECT_EQ(cast[static_cast<size_t>(i)], i % n == 0 || rank() == 0 ? i : -1);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&resized);
}

// Each rank completes them in another order, and some while others still start theirs.
TEST(Collectives, NonblockingOnesOfOneShapeMayBeUnderWayInAnyNumber) {
  for (const int count : {3, 7, 30, 900}) {
    std::vector<int> in(static_cast<size_t>(count)), sums(in.size(), -1), cast(in.size(), -1);
    std::vector<MPI_Request> reductions(in.size(), MPI_REQUEST_NULL), casts(reductions);
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      in[at] = rank() + i;
      if (rank() == 0) cast[at] = 3 * i;
      EXPECT_EQ(MPI_Iallreduce(&in[at], &sums[at], 1, MPI_INT, MPI_SUM, comm, &reductions[at]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Ibcast(&cast[at], 1, MPI_INT, 0, comm, &casts[at]), MPI_SUCCESS);
      if (rank() % 2 == 1 && i % 3 == 0) {
        EXPECT_EQ(MPI_Wait(&reductions[at], MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
    }
    if (rank() % 3 == 0) std::reverse(reductions.begin(), reductions.end());
    EXPECT_EQ(MPI_Waitall(count, casts.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(count, reductions.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(sums[static_cast<size_t>(i)], ranks() * (ranks() - 1) / 2 + ranks() * i);
      EXPECT_EQ(cast[static_cast<size_t>(i)], 3 * i);
    }
  }
}

// Schedules of 64 KiB stay on the memory that they were made for; which that is differs from rank to rank, and so do the types.
TEST(Collectives, OfSomeSizeMayWorkOnOtherMemoryAtEachCallAndOnEachRank) {
  constexpr int kCount = 16 * 1024, kBuffers = 3, kDeep = 10;
  MPI_Datatype gapped;
  MPI_Type_vector(kCount, 1, 2, MPI_INT, &gapped);
  MPI_Type_commit(&gapped);
  std::vector<std::vector<int>> data(kBuffers * kDeep, std::vector<int>(2 * kCount));
  for (int call = 0; call < 16; ++call) {
    const int under_way = call % 4 == 3 ? kDeep : 1;
    std::vector<MPI_Request> requests(static_cast<size_t>(under_way), MPI_REQUEST_NULL);
    const auto buffer = [&](int i) -> std::vector<int>& {
      return data[static_cast<size_t>(i * kBuffers + (call / (1 + rank())) % kBuffers)];
    };
    const bool gaps = (call + rank()) % 5 == 0, blocks = call % 7 == 6 && under_way == 1;
    for (int i = 0; i < under_way; ++i) {
      std::vector<int>& ints = buffer(i);
      for (int k = 0; k < 2 * kCount; ++k) ints[static_cast<size_t>(k)] = rank() == ranks() - 1 ? call * 1000 + i + k / (gaps ? 2 : 1) : -1;
      if (blocks) MPI_Bcast(ints.data(), gaps ? 1 : kCount, gaps ? gapped : MPI_INT, ranks() - 1, comm);
      else MPI_Ibcast(ints.data(), gaps ? 1 : kCount, gaps ? gapped : MPI_INT, ranks() - 1, comm, &requests[static_cast<size_t>(i)]);
    }
    MPI_Waitall(under_way, requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < under_way; ++i)
      for (int k = 0; k < kCount; ++k) ASSERT_EQ(buffer(i)[static_cast<size_t>(gaps ? 2 * k : k)], call * 1000 + i + k) << "call " << call;
  }
  for (int call = 0; call < 12; ++call) {  // in place or not, as each rank likes
    std::vector<int>&in = data[static_cast<size_t>(call % 3)], &out = data[static_cast<size_t>(3 + (call + rank()) % 3)];
    const bool in_place = (call / 2) % 2 == 1;
    std::vector<int>& from = in_place ? out : in;
    for (int k = 0; k < kCount; ++k) from[static_cast<size_t>(k)] = rank() + k + call;
    MPI_Request request;
    MPI_Iallreduce(in_place ? MPI_IN_PLACE : in.data(), out.data(), kCount, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < kCount; ++k) ASSERT_EQ(out[static_cast<size_t>(k)], ranks() * (ranks() - 1) / 2 + ranks() * (k + call));
  }
  MPI_Type_free(&gapped);
}

TEST(Collectives, UnderWayOutliveTheirCommunicatorsHandle) {
  MPI_Comm other;
  MPI_Comm_dup(comm, &other);
  int one = 1, all[6] = {};
  MPI_Request requests[6];
  for (int i = 0; i < 6; ++i) MPI_Iallreduce(&one, &all[i], 1, MPI_INT, MPI_SUM, other, &requests[i]);
  MPI_Comm_free(&other);
  EXPECT_EQ(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (const int sum : all) EXPECT_EQ(sum, ranks());
}

TEST(Collectives, OnOtherCommunicatorsDoNotMeetThoseOfTheWorld) {
  MPI_Comm half, turned;
  MPI_Comm_split(comm, rank() % 2, -rank(), &half);
  MPI_Comm_split(comm, 0, -rank(), &turned);
  int one = 1, members = 0, first = me(turned) == 0 ? rank() : -1;
  MPI_Request requests[2];
  MPI_Iallreduce(&one, &members, 1, MPI_INT, MPI_SUM, half, &requests[0]);
  MPI_Ibcast(&first, 1, MPI_INT, 0, turned, &requests[1]);
  int all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT_EQ(all, ranks());
  EXPECT_EQ(members, size_of(half));
  EXPECT_EQ(first, ranks() - 1);
  EXPECT_EQ(MPI_Barrier(half), MPI_SUCCESS);
  MPI_Comm_free(&half);
  MPI_Comm_free(&turned);
}

TEST(Collectives, OfEveryKindOnOneselfWork) {
  int in = 7, out = -1;
  EXPECT_EQ(MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(out, 7);
  MPI_Request request;
  out = -1;
  EXPECT_EQ(MPI_Igather(&in, 1, MPI_INT, &out, 1, MPI_INT, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(out, 7);
}

TEST(Collectives, ManyRootsAheadOfTheOthersLoseNothing) {
  // Nobody waits for anybody here: rank 0 runs far ahead, through more epochs than match bits tell apart.
  for (int i = 0; i < 2000; ++i) {
    int value = rank() == 0 ? i : -1;
    ASSERT_EQ(MPI_Bcast(&value, 1, MPI_INT, 0, comm), MPI_SUCCESS);
    ASSERT_EQ(value, i);
  }
}

// One small collective: `kind` in so many parts, with the given root; what comes out is checked.
void run_small(MPI_Comm on, unsigned kind, int count, int root) {
  const int n = size_of(on), self = me(on);
  const size_t part = static_cast<size_t>(count), all = part * static_cast<size_t>(n);
  const auto parts_for = [&](int to) {
    std::vector<int> parts;
    for (int r = 0; r < n; ++r)
      for (const int value : vector_of<int>(r, part, to)) parts.push_back(value);
    return parts;
  };
  std::vector<int> mine = vector_of<int>(self, part), out(all, -1), expected(part, 0);
  for (int r = 0; r < n; ++r)
    for (size_t i = 0; i < part; ++i) expected[i] += given(r, i);
  std::vector<int> sum(part, -1), for_each;
  for (int r = 0; r < n; ++r)
    for (const int value : vector_of<int>(self, part, r)) for_each.push_back(value);
  switch (kind) {
    case 0: {
      EXPECT_EQ(MPI_Bcast(mine.data(), count, MPI_INT, root, on), MPI_SUCCESS);
      EXPECT_EQ(mine, vector_of<int>(root, part));
      return;
    }
    case 1: {
      EXPECT_EQ(MPI_Reduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, root, on), MPI_SUCCESS);
      EXPECT_EQ(sum, self == root ? expected : std::vector<int>(part, -1));
      return;
    }
    case 2: {
      EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, mine.data(), count, MPI_INT, MPI_SUM, on), MPI_SUCCESS);
      EXPECT_EQ(mine, expected);
      return;
    }
    case 3: {
      EXPECT_EQ(MPI_Gather(mine.data(), count, MPI_INT, out.data(), count, MPI_INT, root, on), MPI_SUCCESS);
      EXPECT_EQ(out, self == root ? parts_for(0) : std::vector<int>(all, -1));
      return;
    }
    case 4: {
      EXPECT_EQ(MPI_Scatter(for_each.data(), count, MPI_INT, sum.data(), count, MPI_INT, root, on), MPI_SUCCESS);
      EXPECT_EQ(sum, vector_of<int>(root, part, self));
      return;
    }
    case 5: {
      EXPECT_EQ(MPI_Allgather(mine.data(), count, MPI_INT, out.data(), count, MPI_INT, on), MPI_SUCCESS);
      EXPECT_EQ(out, parts_for(0));
      return;
    }
    case 6: {
      EXPECT_EQ(MPI_Alltoall(for_each.data(), count, MPI_INT, out.data(), count, MPI_INT, on), MPI_SUCCESS);
      EXPECT_EQ(out, parts_for(self));
      return;
    }
    default: EXPECT_EQ(MPI_Barrier(on), MPI_SUCCESS);
  }
}

TEST(Collectives, SmallOnesOfAllKindsAndRootsFollowEachOtherInAnyOrder) {
  MPI_Comm half;
  MPI_Comm_split(comm, rank() % 2, -rank(), &half);
  uint32_t state = 99;
  const auto draw = [&](unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
  };
  for (int i = 0; i < 400; ++i) {
    constexpr int kCounts[] = {0, 1, 2, 31, 32, 127, 254, 255};
    const MPI_Comm on = draw(4) == 0 ? half : comm;
    const unsigned kind = draw(8), count = draw(8), root = draw(100) % static_cast<unsigned>(size_of(on));
    run_small(on, kind, kCounts[count], static_cast<int>(root));
  }
  MPI_Comm_free(&half);
}

TEST(Collectives, OfMoreShapesThanStayResidentTakeTurns) {
  for (int round = 0; round < 2; ++round)
    for (int n = 1; n <= 80; ++n) {
      std::vector<int> data(static_cast<size_t>(n), rank() == n % ranks() ? n : -1);
      MPI_Bcast(data.data(), n, MPI_INT, n % ranks(), comm);
      ASSERT_EQ(data, std::vector<int>(static_cast<size_t>(n), n));
    }
}

TEST(NonblockingCollectives, SeveralInFlightCompleteInAnyOrder) {
  constexpr int kMany = 40;
  std::vector<std::vector<int>> in(kMany), out(kMany);
  std::vector<MPI_Request> requests(kMany);
  for (size_t k = 0; k < kMany; ++k) {
    const size_t n = k * 50 + 1;
    in[k] = vector_of<int>(rank(), n, static_cast<int>(k));
    out[k].assign(k % 2 == 0 ? n : n * static_cast<size_t>(ranks()), -1);
    if (k % 2 == 0) MPI_Iallreduce(in[k].data(), out[k].data(), static_cast<int>(n), MPI_INT, MPI_SUM, comm, &requests[k]);
    else MPI_Iallgather(in[k].data(), static_cast<int>(n), MPI_INT, out[k].data(), static_cast<int>(n), MPI_INT, comm, &requests[k]);
  }
  int between = rank() == 0 ? 5 : -1;
  MPI_Bcast(&between, 1, MPI_INT, 0, comm);
  EXPECT_EQ(between, 5);
  for (int k = 0; k < kMany; k += 2) {  // from both ends, by different calls
    int index;
    EXPECT_EQ(MPI_Wait(&requests[static_cast<size_t>(kMany - 1 - k)], MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitany(kMany, requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE);
  for (size_t k = 0; k < kMany; ++k) {
    std::vector<int> expected;
    for (int r = 0; r < ranks(); ++r) {
      const std::vector<int> part = vector_of<int>(r, k * 50 + 1, static_cast<int>(k));
      if (k % 2 != 0) expected.insert(expected.end(), part.begin(), part.end());
      else if (r == 0) expected = part;
      else std::transform(expected.begin(), expected.end(), part.begin(), expected.begin(), std::plus<>());
    }
    EXPECT_EQ(out[k], expected) << k;
  }
}

TEST(NonblockingCollectives, ProceedWithoutACallOfThisRank) {
  // Rank 0's barrier ends although the others make no call of MPI after theirs, until its message comes.
  MPI_Request request;
  EXPECT_EQ(MPI_Ibarrier(comm, &request), MPI_SUCCESS);
  int token = 0;
  if (rank() == 0) {
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int r = 1; r < ranks(); ++r) MPI_Send(&token, 1, MPI_INT, r, 77, comm);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 77, comm, MPI_STATUS_IGNORE);
    int done = 0;
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  }
}

TEST(NonblockingCollectives, MixWithMessagesInOneWait) {
  int in = rank() + 1, sum = -1, got = -1;
  MPI_Request requests[3];
  MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Irecv(&got, 1, MPI_INT, left(), 5, comm, &requests[1]);
  MPI_Isend(&in, 1, MPI_INT, right(), 5, comm, &requests[2]);
  EXPECT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sum, ranks() * (ranks() + 1) / 2);
  EXPECT_EQ(got, left() + 1);
}

// More are started than there is room for, in the lengths that go through memory.
constexpr int kMany = 120;
void meet_until_there_is_memory(int length) {
  std::vector<int> some(static_cast<size_t>(length));
  for (int i = 0; i < 5; ++i) {
    MPI_Request early;
    MPI_Ibcast(some.data(), length, MPI_INT, 0, comm, &early);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
  }
}

TEST(NonblockingCollectives, StartsWaitForNoOtherRankHoweverMany) {
  for (const int length : {2, 3000}) {
    meet_until_there_is_memory(length);
    std::vector<std::vector<int>> data;
    for (int i = 0; i < kMany; ++i)
      data.push_back(rank() == 0 ? vector_of<int>(i, static_cast<size_t>(length)) : std::vector<int>(static_cast<size_t>(length)));
    std::vector<MPI_Request> requests(kMany);
    if (rank() != 0) MPI_Recv(nullptr, 0, MPI_INT, 0, 5, comm, MPI_STATUS_IGNORE);  // the others begin when all have been started here
    for (int i = 0; i < kMany; ++i)
      MPI_Ibcast(data[static_cast<size_t>(i)].data(), length, MPI_INT, 0, comm, &requests[static_cast<size_t>(i)]);
    for (int r = 1; rank() == 0 && r < ranks(); ++r) MPI_Send(nullptr, 0, MPI_INT, r, 5, comm);
    MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < kMany; ++i) EXPECT_EQ(data[static_cast<size_t>(i)], vector_of<int>(i, static_cast<size_t>(length)));
  }
}

TEST(NonblockingCollectives, GoOnWhileARankWaitsForAMessageOrProbes) {
  for (const int length : {2, 3000}) {
    meet_until_there_is_memory(length);
    const std::vector<int> ones(static_cast<size_t>(length), 1);
    std::vector<std::vector<int>> sums(kMany, std::vector<int>(static_cast<size_t>(length)));
    std::vector<MPI_Request> requests(kMany);
    for (int i = 0; i < kMany; ++i)
      MPI_Iallreduce(ones.data(), sums[static_cast<size_t>(i)].data(), length, MPI_INT, MPI_SUM, comm, &requests[static_cast<size_t>(i)]);
    if (rank() != 0) {  // this one completes what it has started only after that message
      if (rank() % 2 == 0) MPI_Probe(0, 6, comm, MPI_STATUS_IGNORE);
      MPI_Recv(nullptr, 0, MPI_INT, 0, 6, comm, MPI_STATUS_IGNORE);
    }
    for (int left = kMany, index; rank() == 0 && left > 0; --left) MPI_Waitany(kMany, requests.data(), &index, MPI_STATUS_IGNORE);
    for (int r = 1; rank() == 0 && r < ranks(); ++r) MPI_Send(nullptr, 0, MPI_INT, r, 6, comm);
    for (int flag = 0; flag == 0;) MPI_Testall(kMany, requests.data(), &flag, MPI_STATUSES_IGNORE);
    for (const std::vector<int>& sum : sums) EXPECT_EQ(sum, std::vector<int>(static_cast<size_t>(length), ranks()));
  }
}

TEST(PersistentCollectives, RunAgainWithWhatTheBuffersHoldThen) {
  int in = 0, sum = 0;
  std::vector<int> word(3, 0);
  MPI_Request requests[2];
  MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(word.data(), 3, MPI_INT, ranks() - 1, comm, MPI_INFO_NULL, &requests[1]);
  for (int i = 0; i < 280; ++i) {
    in = rank() + i;
    if (rank() == ranks() - 1) word.assign(3, i);
    ASSERT_EQ(MPI_Startall(2, requests), MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(sum, ranks() * (ranks() - 1) / 2 + ranks() * i);
    ASSERT_EQ(word, std::vector<int>(3, i));
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

TEST(Collectives, ReportBadArguments) {
  const ReturnErrors returned;
  int value = 0;
  EXPECT_EQ(MPI_Bcast(&value, 1, MPI_INT, ranks(), comm), MPI_ERR_ROOT);
  EXPECT_EQ(MPI_Bcast(&value, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Bcast(nullptr, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
  EXPECT_EQ(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP);
  EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
  EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_REPLACE, comm), MPI_ERR_OP);
  EXPECT_EQ(MPI_Ibcast(&value, 1, MPI_INT, 0, comm, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Allgatherv(&value, 1, MPI_INT, &value, nullptr, nullptr, MPI_INT, comm), MPI_ERR_ARG);
}

}  // namespace
}  // namespace collectives_test
