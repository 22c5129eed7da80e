// New in MPI-4: messages whose partitions become ready one by one, and sessions. Source: MPI-5.0, 4, 11.3.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "ranks.hpp"

namespace partitioned_and_sessions_test {
namespace {

const MPI_Comm comm = MPI_COMM_WORLD;

TEST(Partitioned, MessagesArriveWhenAllPartitionsAreReadyHoweverTheReceiverDividesThem) {
  std::vector<int> out(24), in(24);
  MPI_Request requests[2];
  EXPECT_EQ(MPI_Psend_init(out.data(), 6, 4, MPI_INT, right(), 5, comm, MPI_INFO_NULL, &requests[0]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Precv_init(in.data(), 3, 8, MPI_INT, left(), 5, comm, MPI_INFO_NULL, &requests[1]), MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(MPI_Startall(2, requests), MPI_SUCCESS);
    std::iota(out.begin(), out.end(), rank() * 1000 + round);
    const int list[] = {5, 0};
    int arrived = -1;
    EXPECT_EQ(MPI_Pready(2, requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Pready_list(2, list, requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Pready(1, requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Pready_range(3, 4, requests[0]), MPI_SUCCESS);
    while (arrived != 1) ASSERT_EQ(MPI_Parrived(requests[1], 2, &arrived), MPI_SUCCESS);
    MPI_Status statuses[2];
    EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_SOURCE, left());
    EXPECT_EQ(statuses[1].MPI_TAG, 5);
    EXPECT_EQ(count_of(statuses[1], MPI_INT), 24);
    for (int i = 0; i < 24; ++i) EXPECT_EQ(in[static_cast<size_t>(i)], left() * 1000 + round + i);
    EXPECT_EQ(MPI_Parrived(requests[1], 0, &arrived), MPI_SUCCESS);  // inactive
    EXPECT_EQ(arrived, 1);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

TEST(Partitioned, MessagesMeetInTheOrderOfTheirInitCallsAndNoOthers) {
  int out[2] = {rank() * 10, rank() * 10 + 1}, in[2] = {-1, -1}, plain = -1;
  MPI_Request sends[2], receives[2], request;
  for (int i : {0, 1}) {
    EXPECT_EQ(MPI_Psend_init(&out[i], 1, 1, MPI_INT, right(), 6, comm, MPI_INFO_NULL, &sends[i]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Precv_init(&in[i], 1, 1, MPI_INT, left(), 6, comm, MPI_INFO_NULL, &receives[i]), MPI_SUCCESS);
  }
  MPI_Irecv(&plain, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
  MPI_Startall(2, receives);
  for (int i : {1, 0}) {  // the second first
    MPI_Start(&sends[i]);
    MPI_Pready(0, sends[i]);
  }
  const int seven = 7;
  MPI_Send(&seven, 1, MPI_INT, right(), 6, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  EXPECT_EQ(plain, 7);
  EXPECT_EQ(in[0], left() * 10);
  EXPECT_EQ(in[1], left() * 10 + 1);
  for (MPI_Request* each : {&sends[0], &sends[1], &receives[0], &receives[1]}) MPI_Request_free(each);
}

// Bytes of a message that travels in pieces, each rank's own.
std::vector<int> pattern_of(int sender, int round, size_t count) {
  std::vector<int> data(count);
  std::iota(data.begin(), data.end(), sender * 1000000 + round * 7);
  return data;
}

TEST(Partitioned, APartitionArrivesBeforeTheOthersAreReady) {
  constexpr int kParts = 8, kOfOne = 1 << 14;
  std::vector<int> in(kParts * kOfOne, -1);
  MPI_Request requests[2];
  std::vector<int> out(in.size());
  MPI_Psend_init(out.data(), kParts, kOfOne, MPI_INT, right(), 11, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in.data(), kParts, kOfOne, MPI_INT, left(), 11, comm, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    const std::vector<int> mine = pattern_of(rank(), round, out.size()), theirs = pattern_of(left(), round, in.size());
    MPI_Startall(2, requests);
    for (int each = 0; each < kParts; ++each) {
      const int part = (each * 5 + 3) % kParts;
      std::copy_n(mine.begin() + part * kOfOne, kOfOne, out.begin() + part * kOfOne);
      EXPECT_EQ(MPI_Pready(part, requests[0]), MPI_SUCCESS);
      int arrived = 0;
      while (!arrived) ASSERT_EQ(MPI_Parrived(requests[1], part, &arrived), MPI_SUCCESS);
      EXPECT_TRUE(std::equal(in.begin() + part * kOfOne, in.begin() + (part + 1) * kOfOne, theirs.begin() + part * kOfOne));
      if (each + 1 < kParts) {
        MPI_Parrived(requests[1], ((each + 1) * 5 + 3) % kParts, &arrived);
        MPI_Barrier(comm);  // nobody says that the next is ready before all have looked
      }
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(in, theirs);
    MPI_Barrier(comm);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

TEST(Partitioned, SidesMayDivideAMessageAsTheyLike) {
  struct Case {
    int sent, received, total;
  };
  for (const Case& each :
       {Case{1, 1, 0}, Case{3, 1, 3}, Case{10000, 7, 70000}, Case{6, 10000, 60000}, Case{9, 5, 45 * 9973}, Case{64, 1, 1 << 20}}) {
    std::vector<int> in(static_cast<size_t>(each.total), -1), out(in);
    MPI_Request requests[2];
    MPI_Psend_init(out.data(), each.sent, each.total / each.sent, MPI_INT, right(), 12, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in.data(), each.received, each.total / each.received, MPI_INT, left(), 12, comm, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 3; ++round) {
      std::fill(in.begin(), in.end(), -1);
      const std::vector<int> mine = pattern_of(rank(), round, out.size());
      MPI_Startall(2, requests);
      std::copy(mine.begin(), mine.end(), out.begin());
      for (int part = each.sent - 1; part >= 0; --part) ASSERT_EQ(MPI_Pready(part, requests[0]), MPI_SUCCESS);
      MPI_Status statuses[2];
      EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
      EXPECT_EQ(count_of(statuses[1], MPI_INT), each.total);
      EXPECT_EQ(in, pattern_of(left(), round, in.size()));
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
}

TEST(Partitioned, LengthsThatDifferAreToldAndDoNotHang) {
  const ReturnErrors returned;
  struct Case {
    int sent, received, error;
  };
  for (const Case& each :
       {Case{4000, 4000, MPI_SUCCESS}, Case{100, 90, MPI_ERR_TRUNCATE}, Case{90, 100, MPI_SUCCESS}, Case{50000, 200000, MPI_SUCCESS},
        Case{10, 200000, MPI_SUCCESS}, Case{500000, 1000000, MPI_SUCCESS}, Case{1000000, 500000, MPI_ERR_TRUNCATE},
        Case{2000000, 4000000, MPI_ERR_COUNT}, Case{4000000, 2000000, MPI_ERR_TRUNCATE}}) {
    std::vector<int> in(static_cast<size_t>(each.received), -1), out(static_cast<size_t>(each.sent), 3);
    MPI_Comm apart;  // what is not received goes with it
    MPI_Comm_dup(comm, &apart);
    MPI_Comm_set_errhandler(apart, MPI_ERRORS_RETURN);
    MPI_Request requests[2];
    MPI_Psend_init(out.data(), 10, each.sent / 10, MPI_INT, right(), 13, apart, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in.data(), 5, each.received / 5, MPI_INT, left(), 13, apart, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 9, requests[0]);
    MPI_Status status;
    const int error = MPI_Wait(&requests[1], &status);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(error, &error_class);
    EXPECT_EQ(error_class, each.error) << each.sent << ", " << each.received;
    if (each.error == MPI_SUCCESS) {
      EXPECT_EQ(count_of(status, MPI_INT), each.sent);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Barrier(comm);
    MPI_Comm_free(&apart);
  }
}

TEST(Partitioned, DataOfTypesWithGapsArePackedAndUnpacked) {
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  std::vector<int> out(4 * 3), in(4 * 3, -1);
  std::iota(out.begin(), out.end(), rank() * 100);
  MPI_Request requests[2];
  EXPECT_EQ(MPI_Psend_init(out.data(), 4, 1, pair, right(), 7, comm, MPI_INFO_NULL, &requests[0]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Precv_init(in.data(), 4, 1, pair, left(), 7, comm, MPI_INFO_NULL, &requests[1]), MPI_SUCCESS);
  MPI_Type_free(&pair);
  MPI_Startall(2, requests);
  MPI_Pready_range(0, 3, requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(in[static_cast<size_t>(i)], i % 3 == 1 ? -1 : left() * 100 + i);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

TEST(Partitioned, MistakesAreReported) {
  const ReturnErrors returned;
  int value = 0;
  MPI_Request send, receive, plain;
  EXPECT_EQ(MPI_Psend_init(&value, -1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_INFO_NULL, &receive), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Precv_init(&value, 1, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_INFO_NULL, &receive), MPI_ERR_TAG);
  EXPECT_EQ(MPI_Psend_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_INFO_NULL, &send), MPI_SUCCESS);
  EXPECT_EQ(MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_INFO_NULL, &receive), MPI_SUCCESS);
  EXPECT_EQ(MPI_Pready(0, send), MPI_ERR_REQUEST);  // not started
  MPI_Start(&send);
  MPI_Start(&receive);
  EXPECT_EQ(MPI_Pready(1, send), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Pready(0, receive), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Parrived(receive, 0, nullptr), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Parrived(send, 0, &value), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Pready(0, send), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &plain);
  EXPECT_EQ(MPI_Pready(0, plain), MPI_ERR_REQUEST);
  MPI_Request_free(&plain);
}

TEST(Sessions, NameSetsOfProcessesWhoseGroupsMakeCommunicators) {
  MPI_Session session;
  EXPECT_EQ(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
  int sets = 0, length = 0;
  EXPECT_EQ(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets), MPI_SUCCESS);
  EXPECT_GE(sets, 2);
  EXPECT_EQ(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr), MPI_SUCCESS);
  std::string name(static_cast<size_t>(length), 'x');
  EXPECT_EQ(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name.data()), MPI_SUCCESS);
  EXPECT_STREQ(name.c_str(), "mpi://WORLD");
  MPI_Info info;
  EXPECT_EQ(MPI_Session_get_pset_info(session, "mpi://WORLD", &info), MPI_SUCCESS);
  char value[16];
  int room = sizeof value, flag = 0;
  MPI_Info_get_string(info, "mpi_size", &room, value, &flag);
  EXPECT_TRUE(flag);
  EXPECT_EQ(std::atoi(value), ranks());
  MPI_Info_free(&info);
  EXPECT_EQ(MPI_Session_get_info(session, &info), MPI_SUCCESS);
  MPI_Info_free(&info);
  MPI_Group all, own;
  EXPECT_EQ(MPI_Group_from_session_pset(session, "mpi://WORLD", &all), MPI_SUCCESS);
  EXPECT_EQ(MPI_Group_from_session_pset(session, "mpi://SELF", &own), MPI_SUCCESS);
  EXPECT_EQ(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &own), MPI_ERR_ARG);
  MPI_Comm made, alone;
  EXPECT_EQ(MPI_Comm_create_from_group(all, "sessions-test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_create_from_group(own, "sessions-test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &alone), MPI_SUCCESS);
  int one = 1, sum = 0;
  EXPECT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made), MPI_SUCCESS);
  EXPECT_EQ(sum, ranks());
  EXPECT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, alone), MPI_SUCCESS);
  EXPECT_EQ(sum, 1);
  MPI_Comm_free(&made);
  MPI_Comm_free(&alone);
  MPI_Group_free(&all);
  MPI_Group_free(&own);
  EXPECT_EQ(MPI_Session_finalize(&session), MPI_SUCCESS);
  EXPECT_EQ(session, MPI_SESSION_NULL);
}

TEST(Sessions, GroupsMakeIntercommunicators) {
  if (ranks() < 2) GTEST_SKIP() << "one rank is not two groups";
  MPI_Group all, side, other;
  MPI_Comm_group(comm, &all);
  const int half = ranks() / 2;
  int low[1][3] = {{0, half - 1, 1}}, high[1][3] = {{half, ranks() - 1, 1}};
  MPI_Group_range_incl(all, 1, rank() < half ? low : high, &side);
  MPI_Group_range_incl(all, 1, rank() < half ? high : low, &other);
  MPI_Comm between;
  EXPECT_EQ(MPI_Intercomm_create_from_groups(side, 0, other, 0, "between", MPI_INFO_NULL, MPI_ERRORS_RETURN, &between), MPI_SUCCESS);
  int size = 0;
  MPI_Comm_remote_size(between, &size);
  EXPECT_EQ(size, rank() < half ? ranks() - half : half);
  EXPECT_EQ(MPI_Barrier(between), MPI_SUCCESS);
  MPI_Comm_free(&between);
  for (MPI_Group* each : {&all, &side, &other}) MPI_Group_free(each);
}

void count_call(MPI_Session*, int* error, ...) { *error = MPI_SUCCESS; }

TEST(Sessions, HaveErrorHandlers) {
  MPI_Session session, none = MPI_SESSION_NULL;
  MPI_Errhandler handler, found;
  EXPECT_EQ(MPI_Session_create_errhandler(&count_call, &handler), MPI_SUCCESS);
  EXPECT_EQ(MPI_Session_init(MPI_INFO_NULL, handler, &session), MPI_SUCCESS);
  EXPECT_EQ(MPI_Session_get_errhandler(session, &found), MPI_SUCCESS);
  EXPECT_EQ(found, handler);
  EXPECT_EQ(MPI_Session_call_errhandler(session, MPI_ERR_OTHER), MPI_SUCCESS);
  EXPECT_EQ(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN), MPI_SUCCESS);
  MPI_Group group;
  EXPECT_EQ(MPI_Group_from_session_pset(session, nullptr, &group), MPI_ERR_ARG);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);
  EXPECT_EQ(MPI_Session_finalize(&session), MPI_SUCCESS);
  const ReturnErrors returned;
  EXPECT_EQ(MPI_Session_finalize(&none), MPI_ERR_SESSION);
}

}  // namespace
}  // namespace partitioned_and_sessions_test
