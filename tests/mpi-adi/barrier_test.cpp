// Barriers. Source: MPI-5.0, 6.3.
#include <algorithm>

#include "ranks.hpp"

namespace barrier_test {
namespace {

TEST(Barrier, IsLeftByNobodyBeforeAllHaveEnteredIt) {
  // All ranks of a machine read the same clock.
  for (int i = 0; i < 50; ++i) {
    double times[2] = {MPI_Wtime(), 0};
    barrier();
    times[1] = MPI_Wtime();
    if (rank() != 0) {
      MPI_Send(times, 2, MPI_DOUBLE, 0, i, MPI_COMM_WORLD);
      continue;
    }
    double last_entry = times[0], first_exit = times[1];
    for (int other = 1; other < ranks(); ++other) {
      MPI_Recv(times, 2, MPI_DOUBLE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      last_entry = std::max(last_entry, times[0]);
      first_exit = std::min(first_exit, times[1]);
    }
    EXPECT_LE(last_entry, first_exit);
  }
}

TEST(Barrier, ManyTimesInARowKeepsTheRanksInStep) {
  for (int i = 0; i < 2000; ++i) barrier();
  // Without the barrier the message of round i + 1 could meet the receive of round i.
  for (int i = 0; i < 200; ++i) {
    const int round = i;
    int got = -1;
    if (rank() == i % ranks()) MPI_Send(&round, 1, MPI_INT, right(), 1, MPI_COMM_WORLD);
    if (left() == i % ranks()) MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (left() == i % ranks()) {
      EXPECT_EQ(got, i);
    }
    barrier();
  }
}

TEST(Barrier, WithReceivesPendingAndMessagesUnderWay) {
  const size_t kSize = 300'000;
  const Bytes mine = message(rank(), 0, kSize), theirs = message(left(), 0, kSize);
  Bytes room = room_for(theirs);
  MPI_Request requests[2] = {ireceive(room, left()), isend(mine, right())};
  for (int i = 0; i < 10; ++i) barrier();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT_EQ(room, theirs);
}

TEST(Barrier, OfOneselfReturnsAtOnce) { EXPECT_EQ(MPI_Barrier(MPI_COMM_SELF), MPI_SUCCESS); }

}  // namespace
}  // namespace barrier_test
