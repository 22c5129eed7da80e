// Completing some of many requests, looking without completing, cancelling, matched probes, requests of the user.
// Source: MPI-5.0, 3.7.5, 3.7.6, 3.8, 13.2.
#include <algorithm>

#include "ranks.hpp"

namespace completion_test {
namespace {

TEST(Completion, WaitsomeReturnsEachCompleteOneOnce) {
  const int kMessages = 40;
  std::vector<Bytes> in(kMessages, Bytes(40'000)), out;
  std::vector<MPI_Request> requests, sends;
  for (int i = 0; i < kMessages; ++i) requests.push_back(ireceive(in[static_cast<size_t>(i)], left(), i));
  for (int i = 0; i < kMessages; ++i) out.push_back(message(rank(), i, 40'000));
  for (int i = kMessages - 1; i >= 0; --i) sends.push_back(isend(out[static_cast<size_t>(i)], right(), i));
  int left_over = kMessages, rounds = 0;
  while (left_over > 0) {
    int done = -1, indices[kMessages];
    MPI_Status statuses[kMessages];
    const auto some = rounds++ % 2 ? MPI_Testsome : MPI_Waitsome;
    EXPECT_EQ(some(kMessages, requests.data(), &done, indices, statuses), MPI_SUCCESS);
    ASSERT_TRUE(done >= 0 && done <= left_over);
    left_over -= done;
    for (int i = 0; i < done; ++i) {
      EXPECT_EQ(statuses[i].MPI_TAG, indices[i]);
      EXPECT_EQ(in[static_cast<size_t>(indices[i])], message(left(), indices[i], 40'000));
    }
  }
  int done = 0, index = 0, flag = 0;
  EXPECT_EQ(MPI_Waitsome(kMessages, requests.data(), &done, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(done, MPI_UNDEFINED);
  EXPECT_EQ(MPI_Testany(kMessages, requests.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  EXPECT_EQ(index, MPI_UNDEFINED);
  MPI_Waitall(kMessages, sends.data(), MPI_STATUSES_IGNORE);
}

TEST(Completion, TestanyPicksTheCompleteOne) {
  Bytes first(8), second(8);
  MPI_Request requests[2] = {ireceive(first, left(), 1), ireceive(second, left(), 2)};
  int index = 0, flag = 1;
  EXPECT_EQ(MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  barrier();
  send(message(rank(), 2, 8), right(), 2);
  MPI_Status status;
  while (!flag) MPI_Testany(2, requests, &index, &flag, &status);
  EXPECT_EQ(index, 1);
  EXPECT_EQ(status.MPI_TAG, 2);
  EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
  barrier();
  send(message(rank(), 1, 8), right(), 1);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  EXPECT_EQ(first, message(left(), 1, 8));
}

TEST(Completion, ALookAtARequestLeavesItToBeCompleted) {
  Bytes room(60'000);
  MPI_Request request = ireceive(room, left(), 1);
  barrier();
  const Bytes mine = message(rank(), 1, room.size());
  MPI_Request sending = isend(mine, right(), 1);
  int flag = 0, index = -1, some = 0, indices[1];
  MPI_Status status;
  while (!flag) EXPECT_EQ(MPI_Request_get_status(request, &flag, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, left());
  EXPECT_EQ(count_of(status), 60'000);
  EXPECT_EQ(MPI_Request_get_status_any(1, &request, &index, &flag, &status), MPI_SUCCESS);
  EXPECT_TRUE(flag && index == 0);
  EXPECT_EQ(MPI_Request_get_status_some(1, &request, &some, indices, &status), MPI_SUCCESS);
  EXPECT_EQ(some, 1);
  EXPECT_NE(request, MPI_REQUEST_NULL);
  MPI_Wait(&request, &status);
  EXPECT_EQ(room, message(left(), 1, room.size()));
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  EXPECT_EQ(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status), MPI_SUCCESS);
  EXPECT_TRUE(flag);
}

TEST(Completion, ACancelledReceiveTakesNoMessage) {
  Bytes cancelled(8, 1), room(8);
  MPI_Request request = ireceive(cancelled, left(), 1);
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  MPI_Status status;
  int flag = 0;
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  MPI_Test_cancelled(&status, &flag);
  EXPECT_TRUE(flag);
  barrier();
  send(message(rank(), 1, 8), right(), 1);
  receive(room, left(), 1, &status);
  MPI_Test_cancelled(&status, &flag);
  EXPECT_FALSE(flag);
  EXPECT_EQ(room, message(left(), 1, 8));
  EXPECT_EQ(cancelled, Bytes(8, 1));
}

TEST(Completion, WhatHasBeenMatchedIsNotCancelled) {
  Bytes room(8);
  MPI_Request request = ireceive(room, left(), 1);
  barrier();
  send(message(rank(), 1, 8), right(), 1);
  Bytes marker;
  send(marker, right(), 2);
  receive(marker, left(), 2);  // so that the first one has been matched
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  MPI_Status status;
  int flag = 1;
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  EXPECT_FALSE(flag);
  EXPECT_EQ(room, message(left(), 1, 8));
}

TEST(Matched, AMessageFoundIsReceivedByNobodyElse) {
  for (size_t size : {size_t{0}, size_t{8}, size_t{3000}, size_t{200'000}}) {
    const Bytes one = message(rank(), 1, size), two = message(rank(), 2, size);
    MPI_Request sends[2] = {isend(one, right(), 4), isend(two, right(), 4)};
    MPI_Message found = MPI_MESSAGE_NULL;
    MPI_Status status;
    EXPECT_EQ(MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &found, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, left());
    EXPECT_EQ(count_of(status), static_cast<int>(size));
    Bytes second = room_for(two), first = room_for(one);
    EXPECT_EQ(receive(second, left(), 4), MPI_SUCCESS);  // the one that was sent later
    EXPECT_EQ(second, message(left(), 2, size));
    int flag = 1;
    EXPECT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_FALSE(flag);
    EXPECT_EQ(MPI_Mrecv(first.data(), static_cast<int>(size), MPI_BYTE, &found, &status), MPI_SUCCESS);
    EXPECT_EQ(found, MPI_MESSAGE_NULL);
    EXPECT_EQ(first, message(left(), 1, size));
    EXPECT_EQ(status.MPI_SOURCE, left());
    EXPECT_EQ(status.MPI_TAG, 4);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    barrier();
  }
}

TEST(Matched, ImprobeAndImrecvDoNotWait) {
  int flag = 1;
  MPI_Message found = MPI_MESSAGE_NULL;
  EXPECT_EQ(MPI_Improbe(left(), 5, MPI_COMM_WORLD, &flag, &found, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  barrier();
  const Bytes mine = message(rank(), 3, 100'000), theirs = message(left(), 3, 100'000);
  MPI_Request sending = isend(mine, right(), 5), receiving;
  MPI_Status status;
  while (!flag) MPI_Improbe(left(), 5, MPI_COMM_WORLD, &flag, &found, &status);
  Bytes room = room_for(theirs);
  EXPECT_EQ(MPI_Imrecv(room.data(), 100'000, MPI_BYTE, &found, &receiving), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&receiving, &status), MPI_SUCCESS);
  EXPECT_EQ(room, theirs);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

TEST(Matched, TheNullProcessHasAMessageOfItsOwnAndBadHandlesAreErrors) {
  MPI_Message found = MPI_MESSAGE_NULL;
  MPI_Status status;
  EXPECT_EQ(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &found, &status), MPI_SUCCESS);
  EXPECT_EQ(found, MPI_MESSAGE_NO_PROC);
  int value = 5;
  EXPECT_EQ(MPI_Mrecv(&value, 1, MPI_INT, &found, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(value, 5);
  ReturnErrors guard;
  EXPECT_EQ(MPI_Mrecv(&value, 1, MPI_INT, &found, &status), MPI_ERR_REQUEST);
  found = reinterpret_cast<MPI_Message>(&value);
  EXPECT_EQ(MPI_Mrecv(&value, 1, MPI_INT, &found, &status), MPI_ERR_REQUEST);
}

struct Calls {
  int queried = 0, freed = 0, cancelled = 0;
};
int on_query(void* state, MPI_Status* status) {
  ++static_cast<Calls*>(state)->queried;
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 77;
  return MPI_SUCCESS;
}
int on_free(void* state) { return ++static_cast<Calls*>(state)->freed, MPI_SUCCESS; }
int on_cancel(void* state, int) { return ++static_cast<Calls*>(state)->cancelled, MPI_SUCCESS; }

TEST(Generalized, RequestsCompleteWhenTheUserSaysSo) {
  Calls calls;
  MPI_Request request;
  EXPECT_EQ(MPI_Grequest_start(on_query, on_free, on_cancel, &calls, &request), MPI_SUCCESS);
  int flag = 1;
  MPI_Status status;
  EXPECT_EQ(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(calls.cancelled, 1);
  EXPECT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, 77);
  EXPECT_EQ(calls.queried, 1);
  EXPECT_EQ(calls.freed, 1);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  ReturnErrors guard;
  EXPECT_EQ(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
}

}  // namespace
}  // namespace completion_test

// A look at a request that does not complete it finds the data there, with or without a status, and may let go of the request then.
TEST(Completion, ACollectiveThatIsSaidToBeDoneHasBroughtItsData) {
  for (int i = 0; i < 24; ++i) {
    int mine = rank() + i, sum = -1, flag = 0;
    MPI_Request request;
    ASSERT_EQ(MPI_Ireduce(&mine, &sum, 1, MPI_INT, MPI_SUM, i % ranks(), MPI_COMM_WORLD, &request), MPI_SUCCESS);
    while (!flag) {
      MPI_Request requests[] = {request};
      int count = 0, index;
      if (i % 2 == 0) {
        EXPECT_EQ(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      } else {
        EXPECT_EQ(MPI_Request_get_status_some(1, requests, &count, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      }
      flag = flag || count == 1;
    }
    if (rank() == i % ranks()) {
      EXPECT_EQ(sum, ranks() * (ranks() - 1) / 2 + i * ranks());
    }
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  }
  barrier();
}
