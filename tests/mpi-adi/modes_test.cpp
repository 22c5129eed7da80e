// Send modes, persistent requests, sends and receives in one call. Source: MPI-5.0, 3.4, 3.6, 3.9, 3.10.
#include <algorithm>
#include <set>

#include "ranks.hpp"

namespace modes_test {
namespace {

constexpr size_t kSizes[] = {0, 8, 5000, 60'000, 300'000};

// Persistent requests know their buffer by its address.
void fill(Bytes& buffer, const Bytes& with) { std::copy(with.begin(), with.end(), buffer.begin()); }

TEST(Modes, AReadySendReachesItsPostedReceive) {
  for (size_t size : kSizes) {
    const Bytes mine = message(rank(), 1, size), theirs = message(left(), 1, size);
    Bytes room = room_for(theirs);
    MPI_Request receiving = ireceive(room, left(), 3), sending;
    barrier();
    if (rank() % 2) {
      EXPECT_EQ(MPI_Rsend(mine.data(), static_cast<int>(size), MPI_BYTE, right(), 3, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Irsend(mine.data(), static_cast<int>(size), MPI_BYTE, right(), 3, MPI_COMM_WORLD, &sending), MPI_SUCCESS);
      MPI_Wait(&sending, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
    EXPECT_EQ(room, theirs);
  }
}

// All send to the right before anybody receives, and overwrite what they sent at once.
void exchange_buffered(int messages, size_t size) {
  for (int i = 0; i < messages; ++i) {
    Bytes mine = message(rank(), i, size);
    if (i % 2) {
      EXPECT_EQ(MPI_Bsend(mine.data(), static_cast<int>(size), MPI_BYTE, right(), 4, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      MPI_Request request;
      EXPECT_EQ(MPI_Ibsend(mine.data(), static_cast<int>(size), MPI_BYTE, right(), 4, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    std::fill(mine.begin(), mine.end(), static_cast<unsigned char>(0xdd));
  }
  barrier();
  for (int i = 0; i < messages; ++i) {
    const Bytes theirs = message(left(), i, size);
    Bytes room = room_for(theirs);
    receive(room, left(), 4);
    EXPECT_EQ(room, theirs);
  }
}

TEST(Modes, ABufferedSendIsCompleteBeforeItsReceiveAndItsDataCopied) {
  const int kMessages = 6;
  const size_t kSize = 70'000;
  Bytes buffer(kMessages * (kSize + MPI_BSEND_OVERHEAD));
  EXPECT_EQ(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())), MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    exchange_buffered(kMessages, kSize);
    EXPECT_EQ(MPI_Buffer_flush(), MPI_SUCCESS);  // so that the next round finds all of it free
  }
  void* was = nullptr;
  int size = 0;
  EXPECT_EQ(MPI_Buffer_detach(static_cast<void*>(&was), &size), MPI_SUCCESS);
  EXPECT_EQ(was, buffer.data());
  EXPECT_EQ(size, static_cast<int>(buffer.size()));
}

TEST(Modes, ABufferThatIsTooSmallIsAnError) {
  ReturnErrors guard;
  Bytes mine(100'000), buffer(50'000);
  const auto bsend = [&] { return MPI_Bsend(mine.data(), 100'000, MPI_BYTE, right(), 5, MPI_COMM_WORLD); };
  EXPECT_EQ(bsend(), MPI_ERR_BUFFER);
  EXPECT_EQ(MPI_Buffer_attach(buffer.data(), 50'000), MPI_SUCCESS);
  EXPECT_EQ(bsend(), MPI_ERR_BUFFER);
  EXPECT_EQ(MPI_Buffer_attach(buffer.data(), 50'000), MPI_ERR_BUFFER);
  void* was;
  int size;
  MPI_Buffer_detach(static_cast<void*>(&was), &size);
}

TEST(Modes, AnAutomaticBufferTakesWhatComes) {
  EXPECT_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
  exchange_buffered(10, 200'000);
  void* was = nullptr;
  int size = -1;
  EXPECT_EQ(MPI_Buffer_detach(static_cast<void*>(&was), &size), MPI_SUCCESS);
  EXPECT_EQ(was, MPI_BUFFER_AUTOMATIC);
}

TEST(Modes, LargeCountFormsMoveTheSameBytes) {
  const MPI_Count size = 40'000;
  const Bytes mine = message(rank(), 2, 40'000), theirs = message(left(), 2, 40'000);
  Bytes room = room_for(theirs);
  MPI_Request requests[2];
  MPI_Irecv_c(room.data(), size, MPI_BYTE, left(), 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend_c(mine.data(), size, MPI_BYTE, right(), 6, MPI_COMM_WORLD, &requests[1]);
  EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(room, theirs);
  ReturnErrors guard;
  EXPECT_EQ(MPI_Send_c(mine.data(), MPI_Count{1} << 62, MPI_BYTE, right(), 6, MPI_COMM_WORLD), MPI_ERR_COUNT);
}

TEST(Persistent, RequestsAreStartedAgainAndAgain) {
  for (size_t size : kSizes) {
    Bytes mine(size), room(size);
    const int bytes = static_cast<int>(size);
    MPI_Request requests[4];
    Bytes room2(size);
    EXPECT_EQ(MPI_Recv_init(room.data(), bytes, MPI_BYTE, left(), 7, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send_init(mine.data(), bytes, MPI_BYTE, right(), 7, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv_init(room2.data(), bytes, MPI_BYTE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &requests[2]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Ssend_init(mine.data(), bytes, MPI_BYTE, right(), 8, MPI_COMM_WORLD, &requests[3]), MPI_SUCCESS);
    for (int round = 0; round < 5; ++round) {
      fill(mine, message(rank(), round, size));
      EXPECT_EQ(MPI_Startall(4, requests), MPI_SUCCESS);
      MPI_Status statuses[4];
      EXPECT_EQ(MPI_Waitall(4, requests, statuses), MPI_SUCCESS);
      EXPECT_EQ(room, message(left(), round, size));
      EXPECT_EQ(room2, room);
      EXPECT_EQ(statuses[2].MPI_SOURCE, left());
      EXPECT_EQ(count_of(statuses[0]), bytes);
      EXPECT_NE(requests[0], MPI_REQUEST_NULL);
    }
    for (MPI_Request& request : requests) {
      EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
    }
  }
}

TEST(Persistent, AnInactiveRequestIsCompleteWithAnEmptyStatus) {
  int value = 0, flag = 0, index = 0;
  MPI_Request request;
  MPI_Recv_init(&value, 1, MPI_INT, left(), 9, MPI_COMM_WORLD, &request);
  MPI_Status status;
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  EXPECT_EQ(MPI_Waitany(1, &request, &index, &status), MPI_SUCCESS);
  EXPECT_EQ(index, MPI_UNDEFINED);
  EXPECT_EQ(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  ReturnErrors guard;
  EXPECT_EQ(MPI_Cancel(&request), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Start(&request), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  MPI_Request_free(&request);
}

// A send of whatever length; and one that was received ends as usual.
TEST(Cancel, ASendThatNobodyHasReceivedIsTakenBackAndNeverSeen) {
  for (const int count : {1, 1'000'000}) {
    std::vector<int> out(static_cast<size_t>(count), 7), in(out.size());
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Issend(out.data(), count, MPI_INT, right(), 11, MPI_COMM_WORLD, &request);
    EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_TRUE(flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EXPECT_FALSE(flag);
    MPI_Issend(out.data(), count, MPI_INT, right(), 12, MPI_COMM_WORLD, &request);
    EXPECT_EQ(MPI_Recv(in.data(), count, MPI_INT, left(), 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(in, out);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_FALSE(flag);
  }
}

TEST(Persistent, WithTheNullProcessCompletesAtOnce) {
  int value = 3;
  MPI_Request requests[2];
  MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Status statuses[2];
  EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
  EXPECT_EQ(statuses[0].MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(value, 3);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

TEST(Persistent, ABufferedOneSendsFromTheBuffer) {
  EXPECT_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
  Bytes mine(50'000);
  MPI_Request request;
  MPI_Bsend_init(mine.data(), 50'000, MPI_BYTE, right(), 2, MPI_COMM_WORLD, &request);
  for (int round = 0; round < 3; ++round) {
    fill(mine, message(rank(), round, mine.size()));
    EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::fill(mine.begin(), mine.end(), static_cast<unsigned char>(0));
  }
  Bytes room(mine.size());
  for (int round = 0; round < 3; ++round) {
    receive(room, left(), 2);
    EXPECT_EQ(room, message(left(), round, room.size()));
  }
  MPI_Request_free(&request);
  void* was;
  int size;
  MPI_Buffer_detach(static_cast<void*>(&was), &size);
}

TEST(Freed, ReceivesTakePlaceAndTheirRequestsServeAgain) {
  if (rank() != 0) return;
  constexpr int kMany = 20'000;
  ReturnErrors guard;
  std::set<MPI_Request> used;
  int room = -1;
  for (int i = 0; i < kMany; ++i) {
    MPI_Request request;
    ASSERT_EQ(MPI_Irecv(&room, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request), MPI_SUCCESS) << i;
    used.insert(request);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Send(&i, 1, MPI_INT, 0, 4, MPI_COMM_WORLD), MPI_SUCCESS);
    int flag;
    ASSERT_EQ(MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);  // a call in which it can come
  }
  int flag;
  while (room != kMany - 1) ASSERT_EQ(MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_LT(used.size(), 1000u);
}

TEST(Exchanges, ReplaceWhatTheySend) {
  for (size_t size : kSizes) {
    const int bytes = static_cast<int>(size);
    Bytes buffer = message(rank(), 1, size);
    MPI_Status status;
    EXPECT_EQ(MPI_Sendrecv_replace(buffer.data(), bytes, MPI_BYTE, right(), 1, left(), 1, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    EXPECT_EQ(buffer, message(left(), 1, size));
    EXPECT_EQ(status.MPI_SOURCE, left());
    MPI_Request request;
    EXPECT_EQ(MPI_Isendrecv_replace(buffer.data(), bytes, MPI_BYTE, left(), 2, right(), 2, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(buffer, message(rank(), 1, size));  // there and back
    EXPECT_EQ(count_of(status), bytes);
  }
}

TEST(Exchanges, WithoutWaitingCompleteWhenBothPartsAre) {
  for (size_t size : kSizes) {
    const int bytes = static_cast<int>(size);
    const Bytes mine = message(rank(), 2, size), theirs = message(left(), 2, size);
    Bytes room = room_for(theirs);
    MPI_Request request;
    MPI_Status status;
    EXPECT_EQ(MPI_Isendrecv(mine.data(), bytes, MPI_BYTE, right(), 3, room.data(), bytes, MPI_BYTE, left(), 3, MPI_COMM_WORLD, &request),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(room, theirs);
    EXPECT_EQ(status.MPI_SOURCE, left());
    EXPECT_EQ(MPI_Isendrecv(mine.data(), bytes, MPI_BYTE, MPI_PROC_NULL, 3, room.data(), bytes, MPI_BYTE, MPI_PROC_NULL, 3, MPI_COMM_WORLD,
                            &request),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  }
}

}  // namespace
}  // namespace modes_test
