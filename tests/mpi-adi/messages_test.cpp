// Blocking and non-blocking messages. Source: MPI-5.0, 3.2, 3.4, 3.5, 3.7, 3.9.
#include <algorithm>

#include "ranks.hpp"
#include "tests/support/thorough.hpp"

namespace messages_test {
namespace {

constexpr size_t kLargest = 4 << 20;

// 0, and each power of two with its neighbours, up to `largest`.
std::vector<size_t> sizes_up_to(size_t largest) {
  std::vector<size_t> sizes{0};
  for (size_t power = 1; power <= largest; power *= 2)
    for (size_t size : {power - 1, power, power + 1})
      if (size > sizes.back() && size <= largest) sizes.push_back(size);
  return sizes;
}

TEST(Messages, OfEverySizeArriveUnchangedWithTheirSourceTagAndCount) {
  const int other = partner();
  if (other < 0) return;
  int tag = 0;
  for (size_t size : sizes_up_to(kLargest)) {
    const Bytes mine = message(rank(), tag, size), theirs = message(other, tag, size);
    Bytes room = room_for(theirs);
    MPI_Status status;
    if (rank() < other) send(mine, other, tag);
    EXPECT_EQ(receive(room, other, tag, &status), MPI_SUCCESS);
    if (rank() > other) send(mine, other, tag);
    EXPECT_EQ(room, theirs) << size;
    EXPECT_EQ(status.MPI_SOURCE, other);
    EXPECT_EQ(status.MPI_TAG, tag);
    EXPECT_EQ(count_of(status), static_cast<int>(size));
    ++tag;
  }
}

TEST(Messages, LongerThanTheirShortestReceiveLeaveTheRestOfTheBufferAlone) {
  for (size_t size : {size_t{5}, size_t{100'000}}) {
    const Bytes mine = message(rank(), 1, size), theirs = message(left(), 1, size);
    Bytes room(2 * size, 0xa5);
    MPI_Request request = ireceive(room, left());
    send(mine, right());
    MPI_Status status;
    MPI_Wait(&request, &status);
    EXPECT_EQ(count_of(status), static_cast<int>(size));
    EXPECT_TRUE(std::equal(theirs.begin(), theirs.end(), room.begin()));
    EXPECT_TRUE(std::all_of(room.begin() + static_cast<long>(size), room.end(), [](auto byte) { return byte == 0xa5; }));
  }
}

TEST(Messages, WithTheSameSourceAndTagDoNotOvertakeEachOther) {
  const auto kMessages = static_cast<int>(portunus::test::runs(60));
  const auto size_of = [](int i) { return i % 3 == 0 ? size_t{1} << 20 : i % 3 == 1 ? size_t{8} : size_t{40'000}; };
  for (bool receives_first : {true, false}) {
    std::vector<Bytes> out, in, expected;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < kMessages; ++i) {
      out.push_back(message(rank(), i, size_of(i)));
      expected.push_back(message(left(), i, size_of(i)));
      in.push_back(room_for(expected.back()));
    }
    const auto post = [&] {
      for (Bytes& room : in) requests.push_back(ireceive(room, left(), 7));
    };
    if (receives_first) {
      post();
      barrier();
    }
    for (const Bytes& bytes : out) requests.push_back(isend(bytes, right(), 7));
    if (!receives_first) {
      barrier();
      post();
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < kMessages; ++i) EXPECT_EQ(in[static_cast<size_t>(i)], expected[static_cast<size_t>(i)]) << i;
  }
}

TEST(Messages, ArrivingBeforeTheirReceiveAreKeptWhateverTheirSize) {
  for (size_t size : {size_t{0}, size_t{8}, size_t{4000}, size_t{200'000}, kLargest}) {
    const Bytes mine = message(rank(), 2, size), theirs = message(left(), 2, size);
    MPI_Request request = isend(mine, right(), 3);
    const Bytes last;
    MPI_Request marker_request = isend(last, right(), 4);
    Bytes marker;
    receive(marker, left(), 4);  // sent after the message, so that one is here
    Bytes room = room_for(theirs);
    receive(room, left(), 3);
    EXPECT_EQ(room, theirs) << size;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&marker_request, MPI_STATUS_IGNORE);
  }
}

TEST(Messages, AreReceivedByTagNotByOrder) {
  const int kTags = 50;
  std::vector<Bytes> out;
  std::vector<MPI_Request> requests;
  for (int tag = 0; tag < kTags; ++tag) out.push_back(message(rank(), tag, static_cast<size_t>(tag) * 700));
  for (int tag = 0; tag < kTags; ++tag) requests.push_back(isend(out[static_cast<size_t>(tag)], right(), tag));
  for (int tag = kTags - 1; tag >= 0; --tag) {
    const Bytes theirs = message(left(), tag, static_cast<size_t>(tag) * 700);
    Bytes room = room_for(theirs);
    receive(room, left(), tag);
    EXPECT_EQ(room, theirs) << tag;
  }
  MPI_Waitall(kTags, requests.data(), MPI_STATUSES_IGNORE);
}

TEST(Messages, FromAnySourceWithAnyTagTellWhoSentThemAndWithWhichTag) {
  const int kEach = 20;
  if (rank() == 0) {
    std::vector<int> seen(static_cast<size_t>(ranks()), 0);
    for (int i = 0; i < kEach * (ranks() - 1); ++i) {
      Bytes room(70'000);
      MPI_Status status;
      receive(room, MPI_ANY_SOURCE, MPI_ANY_TAG, &status);
      ASSERT_GT(status.MPI_SOURCE, 0);
      int& number = seen[static_cast<size_t>(status.MPI_SOURCE)];
      EXPECT_EQ(status.MPI_TAG, 1000 + number);  // in the order of sending
      const Bytes expected = message(status.MPI_SOURCE, number, number % 2 ? 66'000 : 12);
      EXPECT_EQ(count_of(status), static_cast<int>(expected.size()));
      room.resize(expected.size());
      EXPECT_EQ(room, expected);
      ++number;
    }
  } else {
    for (int i = 0; i < kEach; ++i) send(message(rank(), i, i % 2 ? 66'000 : 12), 0, 1000 + i);
  }
  barrier();
}

TEST(Messages, AWildcardAndAnExactReceiveTakeThemInTheOrderOfPosting) {
  Bytes first(4), second(4), third(4);
  MPI_Request requests[3] = {ireceive(first, MPI_ANY_SOURCE, 5), ireceive(second, left(), 5), ireceive(third, left(), MPI_ANY_TAG)};
  barrier();
  for (int i = 0; i < 3; ++i) send(message(rank(), i, 4), right(), 5);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  EXPECT_EQ(first, message(left(), 0, 4));
  EXPECT_EQ(second, message(left(), 1, 4));
  EXPECT_EQ(third, message(left(), 2, 4));
}

TEST(Messages, ToOneselfArrive) {
  for (size_t size : {size_t{0}, size_t{8}, size_t{5000}, size_t{1} << 20}) {
    const Bytes mine = message(rank(), 9, size);
    Bytes room = room_for(mine);
    MPI_Request request = ireceive(room, rank(), 1);
    send(mine, rank(), 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(room, mine);
    room = room_for(mine);
    request = isend(mine, rank(), 2);
    receive(room, MPI_ANY_SOURCE, 2);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(room, mine);
  }
}

TEST(Messages, OfOneCommunicatorAreNotReceivedInAnother) {
  int in_self = 0, in_world = 0, out_self = 11, out_world = 22;
  MPI_Request requests[4];
  MPI_Irecv(&in_self, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &requests[0]);
  MPI_Irecv(&in_world, 1, MPI_INT, rank(), MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(&out_world, 1, MPI_INT, rank(), 3, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(&out_self, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[3]);
  MPI_Status statuses[4];
  MPI_Waitall(4, requests, statuses);
  EXPECT_EQ(in_self, 11);
  EXPECT_EQ(in_world, 22);
  EXPECT_EQ(statuses[0].MPI_SOURCE, 0);
  EXPECT_EQ(statuses[1].MPI_SOURCE, rank());
}

TEST(Messages, BetweenAllPairsAtOnceAllArrive) {
  for (size_t size : {size_t{8}, size_t{40'000}, size_t{300'000}}) {
    std::vector<Bytes> out, in, expected;
    std::vector<MPI_Request> requests;
    for (int other = 0; other < ranks(); ++other) {
      out.push_back(message(rank(), other, size));
      expected.push_back(message(other, rank(), size));
      in.push_back(room_for(expected.back()));
    }
    for (int other = 0; other < ranks(); ++other) requests.push_back(ireceive(in[static_cast<size_t>(other)], other));
    for (int other = 0; other < ranks(); ++other) requests.push_back(isend(out[static_cast<size_t>(other)], other));
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    EXPECT_EQ(in, expected);
  }
}

TEST(Messages, SendrecvExchangesWithoutDeadlockInARing) {
  for (size_t size : {size_t{8}, size_t{1} << 20}) {
    const Bytes mine = message(rank(), 4, size), theirs = message(left(), 4, size);
    Bytes room = room_for(theirs);
    MPI_Status status;
    EXPECT_EQ(MPI_Sendrecv(mine.data(), static_cast<int>(size), MPI_BYTE, right(), 1, room.data(), static_cast<int>(size), MPI_BYTE, left(),
                           1, MPI_COMM_WORLD, &status),
              MPI_SUCCESS);
    EXPECT_EQ(room, theirs);
    EXPECT_EQ(status.MPI_SOURCE, left());
  }
}

// 3.10: where a line of ranks ends, half of the exchange is with nobody.
TEST(Messages, SendrecvAlongALineIsWithTheNullProcessAtItsEnds) {
  const bool is_first = rank() == 0, is_last = right() == 0;
  const Bytes mine = message(rank(), 4, 8), theirs = message(left(), 4, 8);
  Bytes room(8, 1);
  MPI_Status status;
  EXPECT_EQ(MPI_Sendrecv(mine.data(), 8, MPI_BYTE, is_last ? MPI_PROC_NULL : right(), 1, room.data(), 8, MPI_BYTE,
                         is_first ? MPI_PROC_NULL : left(), 1, MPI_COMM_WORLD, &status),
            MPI_SUCCESS);
  EXPECT_EQ(room, is_first ? Bytes(8, 1) : theirs);
  EXPECT_EQ(status.MPI_SOURCE, is_first ? MPI_PROC_NULL : left());
  EXPECT_EQ(status.MPI_TAG, is_first ? MPI_ANY_TAG : 1);
  EXPECT_EQ(count_of(status), is_first ? 0 : 8);
}

TEST(Messages, ToAndFromTheNullProcessAreEmpty) {
  Bytes room(8, 1);
  MPI_Status status;
  EXPECT_EQ(send(room, MPI_PROC_NULL), MPI_SUCCESS);
  EXPECT_EQ(receive(room, MPI_PROC_NULL, 0, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(count_of(status), 0);
  EXPECT_EQ(room, Bytes(8, 1));
  MPI_Request requests[2] = {isend(room, MPI_PROC_NULL), ireceive(room, MPI_PROC_NULL)};
  MPI_Status statuses[2];
  EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
  EXPECT_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
}

TEST(Messages, OfTypedElementsAreCountedInElements) {
  const long double out[3] = {1.5L, -2.25L, 1e300L};
  long double in[5] = {};
  MPI_Status status;
  MPI_Sendrecv(out, 3, MPI_LONG_DOUBLE, right(), 0, in, 5, MPI_LONG_DOUBLE, left(), 0, MPI_COMM_WORLD, &status);
  EXPECT_EQ(count_of(status, MPI_LONG_DOUBLE), 3);
  EXPECT_EQ(count_of(status, MPI_INT), 12);
  EXPECT_EQ(count_of(status, MPI_BYTE), 48);
  EXPECT_TRUE(std::equal(out, out + 3, in));
  struct Pair {
    double value;
    int index;
  };
  const Pair pairs[2] = {{0.5, 1}, {-0.5, 2}};
  Pair got[2] = {};
  MPI_Sendrecv(pairs, 2, MPI_DOUBLE_INT, right(), 0, got, 2, MPI_DOUBLE_INT, left(), 0, MPI_COMM_WORLD, &status);
  EXPECT_EQ(count_of(status, MPI_DOUBLE_INT), 2);
  EXPECT_EQ(got[1].value, -0.5);
  EXPECT_EQ(got[1].index, 2);
  const Bytes odd(7);
  Bytes room(7);
  MPI_Sendrecv(odd.data(), 7, MPI_BYTE, right(), 0, room.data(), 7, MPI_BYTE, left(), 0, MPI_COMM_WORLD, &status);
  EXPECT_EQ(count_of(status, MPI_INT), MPI_UNDEFINED);
}

}  // namespace
}  // namespace messages_test
