// Probes. Source: MPI-5.0, 3.8.1.
#include "ranks.hpp"

namespace probe_test {
namespace {

TEST(Probe, TellsSourceTagAndSizeAndLeavesTheMessageToBeReceived) {
  for (size_t size : {size_t{0}, size_t{8}, size_t{9000}, size_t{1} << 20}) {
    const Bytes mine = message(rank(), 1, size), theirs = message(left(), 1, size);
    MPI_Request request = isend(mine, right(), 17);
    MPI_Status status;
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(MPI_Probe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &status), MPI_SUCCESS);
      EXPECT_EQ(status.MPI_SOURCE, left());
      EXPECT_EQ(status.MPI_TAG, 17);
      EXPECT_EQ(count_of(status), static_cast<int>(size));
    }
    Bytes room = room_for(theirs);
    receive(room, status.MPI_SOURCE, status.MPI_TAG);
    EXPECT_EQ(room, theirs);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

TEST(Probe, WaitsForAMessageThatIsYetToCome) {
  const int other = partner();
  if (other < 0) return;
  for (int i = 0; i < 200; ++i) {  // each waits for the other in turn
    Bytes room(8);
    if (rank() < other) send(message(rank(), i, 8), other, i);
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &status);
    EXPECT_EQ(status.MPI_SOURCE, other);
    receive(room, other, i);
    EXPECT_EQ(room, message(other, i, 8));
    if (rank() > other) send(message(rank(), i, 8), other, i);
  }
}

TEST(Probe, IprobeFindsNothingUntilSomethingHasCome) {
  int flag = 1;
  EXPECT_EQ(MPI_Iprobe(left(), 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  barrier();
  send(message(rank(), 0, 4), right(), 6);
  send(message(rank(), 1, 4), right(), 5);
  MPI_Status status;
  while (!flag) MPI_Iprobe(left(), 5, MPI_COMM_WORLD, &flag, &status);
  EXPECT_EQ(status.MPI_TAG, 5);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(status.MPI_TAG, 6);  // came first
  Bytes room(4);
  receive(room, left(), 5);
  EXPECT_EQ(room, message(left(), 1, 4));
  receive(room, left(), 6);
  EXPECT_EQ(room, message(left(), 0, 4));
  MPI_Iprobe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(flag, 0);
}

TEST(Probe, DoesNotSeeWhatAPostedReceiveTook) {
  Bytes room(4);
  MPI_Request request = ireceive(room, left(), 1);
  barrier();
  send(message(rank(), 0, 4), right(), 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int flag = 1;
  MPI_Iprobe(left(), 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(flag, 0);
}

TEST(Probe, OfTheNullProcessSucceedsAtOnce) {
  MPI_Status status;
  EXPECT_EQ(MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  int flag = 0;
  EXPECT_EQ(MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
}

}  // namespace
}  // namespace probe_test
