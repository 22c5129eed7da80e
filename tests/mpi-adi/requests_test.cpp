// Completing requests. Source: MPI-5.0, 3.4 (modes), 3.7.3, 3.7.5.
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "ranks.hpp"
#include "tests/support/thorough.hpp"

namespace requests_test {
namespace {

TEST(Requests, InThousandsCompleteWhateverTheOrderOfWaiting) {
  const auto kMessages = static_cast<int>(portunus::test::runs(3000));
  const auto size_of = [](int i) { return static_cast<size_t>(i % 5 == 0 ? 40'000 : i % 64); };
  std::vector<Bytes> out, in, expected;
  for (int i = 0; i < kMessages; ++i) {
    out.push_back(message(rank(), i, size_of(i)));
    expected.push_back(message(left(), i, size_of(i)));
    in.push_back(room_for(expected.back()));
  }
  std::vector<MPI_Request> requests(2 * kMessages);
  for (int i = 0; i < kMessages; ++i) {  // half of the receives come after their messages may have arrived
    if (i % 2) requests[static_cast<size_t>(i)] = ireceive(in[static_cast<size_t>(i)], left(), i);
  }
  for (int i = 0; i < kMessages; ++i) requests[static_cast<size_t>(kMessages + i)] = isend(out[static_cast<size_t>(i)], right(), i);
  for (int i = 0; i < kMessages; i += 2) requests[static_cast<size_t>(i)] = ireceive(in[static_cast<size_t>(i)], left(), i);
  std::reverse(requests.begin(), requests.end());
  std::rotate(requests.begin(), requests.begin() + kMessages / 3, requests.end());
  std::vector<MPI_Status> statuses(requests.size());
  EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()), MPI_SUCCESS);
  EXPECT_TRUE(std::all_of(requests.begin(), requests.end(), [](MPI_Request each) { return each == MPI_REQUEST_NULL; }));
  EXPECT_TRUE(std::all_of(statuses.begin(), statuses.end(), [](const MPI_Status& each) { return each.MPI_ERROR == MPI_SUCCESS; }));
  EXPECT_TRUE(in == expected);
}

TEST(Requests, TestSaysWhetherOneIsCompleteAndMakesProgress) {
  Bytes room(100'000);
  MPI_Request request = ireceive(room, left(), 1);
  int flag = 1;
  MPI_Status status;
  EXPECT_EQ(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  EXPECT_NE(request, MPI_REQUEST_NULL);
  barrier();  // nobody has sent before
  const Bytes mine = message(rank(), 0, room.size());
  MPI_Request sending = isend(mine, right(), 1);
  while (!flag) MPI_Test(&request, &flag, &status);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(status.MPI_SOURCE, left());
  EXPECT_EQ(room, message(left(), 0, room.size()));
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

TEST(Requests, TestallCompletesAllOrNone) {
  Bytes first(8), second(8);
  MPI_Request requests[2] = {ireceive(first, left(), 1), ireceive(second, left(), 2)};
  MPI_Status statuses[2];
  barrier();
  send(message(rank(), 1, 8), right(), 1);
  Bytes marker;
  send(marker, right(), 3);
  receive(marker, left(), 3);
  int flag = 1;
  MPI_Testall(2, requests, &flag, statuses);
  EXPECT_EQ(flag, 0);
  EXPECT_NE(requests[0], MPI_REQUEST_NULL);
  barrier();
  send(message(rank(), 2, 8), right(), 2);
  while (!flag) MPI_Testall(2, requests, &flag, statuses);
  EXPECT_EQ(first, message(left(), 1, 8));
  EXPECT_EQ(second, message(left(), 2, 8));
  EXPECT_EQ(statuses[1].MPI_TAG, 2);
}

TEST(Requests, WaitanyReturnsEachCompleteOneOnce) {
  const int kMessages = 30;
  std::vector<Bytes> in(kMessages, Bytes(40'000));
  std::vector<MPI_Request> requests;
  for (int i = 0; i < kMessages; ++i) requests.push_back(ireceive(in[static_cast<size_t>(i)], left(), i));
  std::vector<Bytes> out;
  std::vector<MPI_Request> sends;
  for (int i = 0; i < kMessages; ++i) out.push_back(message(rank(), i, 40'000));
  for (int i = kMessages - 1; i >= 0; --i) sends.push_back(isend(out[static_cast<size_t>(i)], right(), i));
  std::vector<bool> seen(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    int index = -1;
    MPI_Status status;
    EXPECT_EQ(MPI_Waitany(kMessages, requests.data(), &index, &status), MPI_SUCCESS);
    ASSERT_TRUE(index >= 0 && index < kMessages);
    EXPECT_FALSE(seen[static_cast<size_t>(index)]);
    seen[static_cast<size_t>(index)] = true;
    EXPECT_EQ(status.MPI_TAG, index);
    EXPECT_EQ(in[static_cast<size_t>(index)], message(left(), index, 40'000));
  }
  int index = 0;
  MPI_Waitany(kMessages, requests.data(), &index, MPI_STATUS_IGNORE);
  EXPECT_EQ(index, MPI_UNDEFINED);
  MPI_Waitall(kMessages, sends.data(), MPI_STATUSES_IGNORE);
}

TEST(Requests, ASynchronousSendCompletesOnlyAfterItsReceiveWasPosted) {
  for (size_t size : {size_t{0}, size_t{8}, size_t{500'000}}) {
    const Bytes mine = message(rank(), 5, size), theirs = message(left(), 5, size);
    MPI_Request request;
    MPI_Issend(mine.data(), static_cast<int>(size), MPI_BYTE, right(), 1, MPI_COMM_WORLD, &request);
    Bytes marker;  // after it our neighbours have our message, and nobody has posted its receive
    MPI_Request marker_request = isend(marker, right(), 2);
    receive(marker, left(), 2);
    MPI_Wait(&marker_request, MPI_STATUS_IGNORE);
    int flag = 0;
    for (int i = 0; i < 100; ++i) {
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      EXPECT_EQ(flag, 0);
    }
    barrier();
    Bytes room = room_for(theirs);
    receive(room, left(), 1);
    EXPECT_EQ(room, theirs);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

TEST(Requests, SsendReturnsWhenTheMessageIsMatched) {
  const int other = partner();
  if (other < 0) return;
  for (size_t size : {size_t{8}, size_t{200'000}}) {
    const Bytes mine = message(rank(), 6, size), theirs = message(other, 6, size);
    Bytes room = room_for(theirs);
    MPI_Request request = ireceive(room, other, 1);
    EXPECT_EQ(MPI_Ssend(mine.data(), static_cast<int>(size), MPI_BYTE, other, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(room, theirs);
  }
}

TEST(Requests, AFreedSendIsDeliveredAllTheSame) {
  for (size_t size : {size_t{8}, size_t{400'000}}) {
    static Bytes mine;
    mine = message(rank(), 8, size);
    MPI_Request request = isend(mine, right(), 1);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    const Bytes theirs = message(left(), 8, size);
    Bytes room = room_for(theirs);
    receive(room, left(), 1);
    EXPECT_EQ(room, theirs);
    barrier();
  }
}

TEST(Requests, AFreedReceiveStillTakesItsMessage) {
  static Bytes room;
  room = Bytes(8);
  MPI_Request request = ireceive(room, left(), 1);
  MPI_Request_free(&request);
  barrier();
  send(message(rank(), 1, 8), right(), 1);
  send(message(rank(), 2, 8), right(), 1);
  Bytes second(8);
  receive(second, left(), 1);
  EXPECT_EQ(room, message(left(), 1, 8));
  EXPECT_EQ(second, message(left(), 2, 8));
}

// The last datatype has gaps, so that the receive is laid out by MPI.
TEST(Requests, FreedReceivesAreGivenBackWhateverTheirDatatype) {
  constexpr int kTimes = 20'000, kMostHandles = 1000;
  MPI_Datatype gaps;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  const int sent[2] = {1, 2};
  int got[4] = {};
  for (const auto& [type, count] : {std::pair(MPI_INT, 2), std::pair(gaps, 1)}) {
    std::set<MPI_Request> handles;
    for (int i = 0; i < kTimes; ++i) {
      MPI_Request request;
      int found;
      ASSERT_EQ(MPI_Irecv(got, count, type, rank(), 3, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      handles.insert(request);
      ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      ASSERT_EQ(MPI_Send(sent, 2, MPI_INT, rank(), 3, MPI_COMM_WORLD), MPI_SUCCESS);
      ASSERT_EQ(MPI_Iprobe(rank(), 4, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE), MPI_SUCCESS);  // which completes what has come
    }
    EXPECT_LT(handles.size(), size_t{kMostHandles}) << (type == gaps ? "with gaps" : "without gaps");
  }
  MPI_Type_free(&gaps);
}

TEST(Requests, TheNullRequestIsCompleteAndItsStatusEmpty) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(count_of(status), 0);
  int flag = 0;
  EXPECT_EQ(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
}

}  // namespace
}  // namespace requests_test
