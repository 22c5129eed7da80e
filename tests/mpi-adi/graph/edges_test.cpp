// A graph's operations wait for what the program had waited for before them, for gates, and for nothing else. Runs, and graphs that come
// and go.
#include <numeric>
#include <string>

#include "graphs.hpp"
#include "tests/support/thorough.hpp"

namespace edges_test {
namespace {

#define W MPI_COMM_WORLD

// Each rank adds its number to what goes around, and waits for nothing but the graph.
TEST(GraphEdges, AChainOfMessagesIsOneRun) {
  constexpr int kRounds = 4;
  int value = 0, mine = rank();
  MPIX_Graph graph = capture([&] {
    for (int i = 0; i < kRounds; ++i) {
      if (rank() != 0 || i > 0) MPI_Recv(&value, 1, MPI_INT, left(), 0, W, MPI_STATUS_IGNORE);
      MPI_Reduce_local(&mine, &value, 1, MPI_INT, MPI_SUM);
      MPI_Send(&value, 1, MPI_INT, right(), 0, W);
    }
    if (rank() == 0) MPI_Recv(&value, 1, MPI_INT, left(), 0, W, MPI_STATUS_IGNORE);
  });
  for (int i = 0; i < 300; ++i) {  // more than GOAL tells apart
    value = 0;
    run(graph);
    if (rank() == 0) {
      ASSERT_EQ(value, kRounds * ranks() * (ranks() - 1) / 2);
    }
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// A rank that only sends cannot get ahead of its receivers by more than GOAL tells apart.
TEST(GraphEdges, OneWayMessagesKeepTheirRuns) {
  constexpr int kRuns = 1000;
  int value = -1;
  MPIX_Graph graph = capture([&] {
    if (rank() == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, W);
    if (rank() == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, W, MPI_STATUS_IGNORE);
  });
  for (int i = 0; i < kRuns; ++i) {
    if (rank() == 0) value = i;
    run(graph);
    ASSERT_EQ(value, rank() < 2 ? i : -1);
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// Memory that a message or a collective brings behind a gate is the program's until it opens the gate, also when the message is there.
TEST(GraphEdges, MemoryBehindAGateIsTheProgramsUntilItOpens) {
  if (ranks() < 2) return;
  for (const bool by_collective : {false, true}) {
    int first = 0, second = 0, sent[2] = {};
    MPIX_Graph graph = capture([&] {
      const auto bring_first = [&] {
        if (by_collective) MPI_Bcast(rank() == 0 ? &sent[0] : &first, 1, MPI_INT, 0, W);
        else if (rank() == 0) MPI_Send(&sent[0], 1, MPI_INT, 1, 3, W);
        else if (rank() == 1) MPI_Recv(&first, 1, MPI_INT, 0, 3, W, MPI_STATUS_IGNORE);
      };
      if (rank() == 0) {
        bring_first();
        for (int to = 1; to < ranks(); ++to) MPI_Send(&sent[1], 1, MPI_INT, to, 4, W);
      } else {
        MPI_Recv(&second, 1, MPI_INT, 0, 4, W, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPIX_Graph_signal(0), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Graph_gate(0), MPI_SUCCESS);
        bring_first();
      }
    });
    for (int i = 1; i <= 20; ++i) {
      sent[0] = i, sent[1] = -i, first = 1000 + i;
      MPI_Request run;
      ASSERT_EQ(MPIX_Graph_start(graph, &run), MPI_SUCCESS);
      if (rank() != 0) {
        for (int passed = 0; !passed;) EXPECT_EQ(MPIX_Graph_passed(graph, 0, &passed), MPI_SUCCESS);
        EXPECT_EQ(second, -i);
        EXPECT_EQ(first, 1000 + i) << "by a collective: " << by_collective;
        EXPECT_EQ(MPIX_Graph_open(graph, 0), MPI_SUCCESS);
      }
      EXPECT_EQ(MPI_Wait(&run, MPI_STATUS_IGNORE), MPI_SUCCESS);
      if (rank() != 0 && (by_collective || rank() == 1)) {
        EXPECT_EQ(first, i);
      }
    }
    EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
  }
}

// An operation before which nothing was waited for goes on while those before it cannot.
TEST(GraphEdges, WhatWasNotWaitedForHoldsNobodyUp) {
  int late = 0, early = 0, one = 1, two = 2;
  MPIX_Graph graph = capture([&] {
    MPI_Request requests[4];
    MPI_Irecv(&late, 1, MPI_INT, left(), 1, W, &requests[0]);
    MPI_Irecv(&early, 1, MPI_INT, left(), 2, W, &requests[1]);
    MPI_Isend(&two, 1, MPI_INT, right(), 2, W, &requests[2]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    EXPECT_EQ(MPIX_Graph_signal(0), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Graph_gate(5), MPI_SUCCESS);
    MPI_Isend(&one, 1, MPI_INT, right(), 1, W, &requests[3]);
    EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  });
  for (int i = 0; i < 5; ++i) {
    late = early = 0;
    MPI_Request request = start(graph);
    for (int passed = 0; !passed;) EXPECT_EQ(MPIX_Graph_passed(graph, 0, &passed), MPI_SUCCESS);
    EXPECT_EQ(early, 2);
    int done = 1;
    barrier();
    EXPECT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_FALSE(done) << "no gate is open";
    EXPECT_EQ(late, 0);
    barrier();
    EXPECT_EQ(MPIX_Graph_open(graph, 5), MPI_SUCCESS);
    wait(request);
    EXPECT_EQ(late, 1);
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// A call that blocks is an edge: the send that follows a receive has what was received.
TEST(GraphEdges, WhatBlocksComesBeforeWhatFollows) {
  std::vector<int> data(20000), sums(data.size());
  MPIX_Graph graph = capture([&] {
    MPI_Allreduce(data.data(), sums.data(), static_cast<int>(sums.size()), MPI_INT, MPI_SUM, W);
    MPI_Sendrecv(sums.data(), 1, MPI_INT, right(), 0, &data[1], 1, MPI_INT, left(), 0, W, MPI_STATUS_IGNORE);
    MPI_Bcast(data.data(), 2, MPI_INT, 0, W);
    MPI_Barrier(W);
  });
  for (int i = 1; i < 50; ++i) {
    data.assign(data.size(), i);
    run(graph);
    ASSERT_EQ(sums[0], i * ranks());
    ASSERT_EQ(data[1], i * ranks());
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// Ordinary messages with the same source and tag never meet the graph's.
TEST(GraphEdges, MessagesStayInTheirGraph) {
  int in = 1, out = 0, other_in = 2, other_out = 0;
  const auto exchange = [](int* from, int* to) {
    MPI_Request requests[2];
    MPI_Irecv(to, 1, MPI_INT, left(), 4, W, &requests[0]);
    MPI_Isend(from, 1, MPI_INT, right(), 4, W, &requests[1]);
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  };
  MPIX_Graph one = capture([&] { exchange(&in, &out); }), other = capture([&] { exchange(&other_in, &other_out); });
  int plain_in = 3, plain_out = 0;
  MPI_Request plain, second = MPI_REQUEST_NULL;
  MPI_Irecv(&plain_out, 1, MPI_INT, left(), 4, W, &plain);
  MPI_Request requests[2] = {start(rank() % 2 ? one : other), start(rank() % 2 ? other : one)};
  EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  MPI_Isend(&plain_in, 1, MPI_INT, right(), 4, W, &second);
  wait(plain);
  wait(second);
  EXPECT_EQ(out, 1);
  EXPECT_EQ(other_out, 2);
  EXPECT_EQ(plain_out, 3);
  EXPECT_EQ(MPIX_Graph_free(&one), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Graph_free(&other), MPI_SUCCESS);
}

TEST(GraphEdges, AGraphOutlivesItsCommunicator) {
  MPI_Comm comm;
  MPI_Comm_split(W, rank() % 2, -rank(), &comm);
  int sum = 0, one = 1, size;
  MPI_Comm_size(comm, &size);
  MPIX_Graph graph;
  EXPECT_EQ(MPIX_Graph_begin(comm, MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  EXPECT_EQ(MPIX_Graph_end(comm, &graph), MPI_SUCCESS);
  MPI_Comm_free(&comm);
  run(graph);
  EXPECT_EQ(sum, size);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

TEST(GraphEdges, AnEmptyGraphRuns) {
  int flag = 1;
  EXPECT_EQ(MPIX_Graph_capturing(&flag), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  MPIX_Graph graph = capture([&] { EXPECT_EQ(MPIX_Graph_capturing(&flag), MPI_SUCCESS); });
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(MPIX_Graph_fromint(MPIX_Graph_toint(graph)), graph);
  EXPECT_EQ(MPIX_Graph_fromint(0), MPIX_GRAPH_NULL);
  for (int i = 0; i < 3; ++i) run(graph);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// The run of a freed request ends by itself, also where a thread of the library finds that it has.
TEST(GraphEdges, ARunWhoseRequestIsFreedEndsAndIsFollowedByOthers) {
  const Returning errors;
  MPI_Request watched, never;
  int fd = -1, room = 0, in = 0, out = 0;
  EXPECT_EQ(MPIX_Continue_init(-1, 0, &watched, MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Continue_get_fd(watched, &fd), MPI_SUCCESS);
  MPI_Irecv(&room, 1, MPI_INT, left(), 9, W, &never);
  EXPECT_EQ(MPIX_Continue(
                &never, [](int, void*) { return int{MPI_SUCCESS}; }, nullptr, 0, MPI_STATUS_IGNORE, watched),
            MPI_SUCCESS);
  MPIX_Graph graph = capture([&] {
    MPIX_Graph_gate(0);
    MPI_Sendrecv(&in, 1, MPI_INT, right(), 0, &out, 1, MPI_INT, left(), 0, W, MPI_STATUS_IGNORE);
  });
  for (int i = 1; i < 300; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    int error;
    while ((error = MPIX_Graph_start(graph, &request)) != MPI_SUCCESS) EXPECT_EQ(class_of(error), MPI_ERR_REQUEST);
    EXPECT_TRUE(out == i - 1 || out == i) << out << " in run " << i;  // the next one's message may have come
    in = i;
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Graph_open(graph, 0), MPI_SUCCESS);
  }
  while (graph != MPIX_GRAPH_NULL && class_of(MPIX_Graph_free(&graph)) == MPI_ERR_REQUEST) continue;
  EXPECT_EQ(graph, MPIX_GRAPH_NULL);
  barrier();
  MPI_Send(&room, 1, MPI_INT, right(), 9, W);
  wait(watched);
  MPI_Request_free(&watched);
}

// Whatever else a call completes that waits for a persistent request of the capture, it is an edge, and the request can be started again.
TEST(GraphEdges, APersistentRequestIsAnEdgeAlsoBehindAFailure) {
  const Returning errors;
  int in = -1, out = -1, start_value = rank(), text[2] = {}, more[2] = {};
  MPI_Request persistent, short_one;
  MPI_Recv_init(&in, 1, MPI_INT, left(), 0, W, &persistent);
  MPIX_Graph graph = capture([&] {
    for (int i = 0; i < 2; ++i) {
      MPI_Irecv(text, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &short_one);
      MPI_Send(more, 2, MPI_INT, 0, 0, MPI_COMM_SELF);
      EXPECT_EQ(MPI_Start(&persistent), MPI_SUCCESS);
      MPI_Request both[2] = {short_one, persistent}, send;
      MPI_Status statuses[2];
      if (i == 0) {
        MPIX_Graph_gate(0);
        MPI_Isend(&start_value, 1, MPI_INT, right(), 0, W, &send);
      } else {
        MPI_Isend(&in, 1, MPI_INT, right(), 0, W, &send);
      }
      EXPECT_EQ(MPI_Waitall(2, both, statuses), MPI_ERR_IN_STATUS);
      EXPECT_EQ(class_of(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
      EXPECT_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
      EXPECT_EQ(both[1], persistent);
      MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(&in, 1, MPI_INT, right(), 5, &out, 1, MPI_INT, left(), 5, W, MPI_STATUS_IGNORE);
  });
  for (int i = 0; i < 3; ++i) {
    in = out = -1;
    MPI_Request request = start(graph);
    barrier();
    EXPECT_EQ(in, -1);
    barrier();
    EXPECT_EQ(MPIX_Graph_open(graph, 0), MPI_SUCCESS);
    wait(request);
    EXPECT_EQ(in, (rank() + 2 * ranks() - 2) % ranks());
    EXPECT_EQ(out, (rank() + 3 * ranks() - 3) % ranks());
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
}

long resident_pages() {
  long size = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  EXPECT_EQ(std::fscanf(file, "%ld %ld", &size, &resident), 2);
  std::fclose(file);
  return resident;
}

TEST(GraphEdges, GraphsThatComeAndGoLeaveNothing) {
  int in = rank(), out = 0;
  const auto once = [&] {
    MPIX_Graph graph = capture([&] {
      MPI_Sendrecv(&in, 1, MPI_INT, right(), 0, &out, 1, MPI_INT, left(), 0, W, MPI_STATUS_IGNORE);
      MPIX_Graph_gate(0);
      MPI_Barrier(W);
    });
    MPI_Request request = start(graph);
    EXPECT_EQ(MPIX_Graph_open(graph, 0), MPI_SUCCESS);
    wait(request);
    EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
  };
  for (int i = 0; i < 100; ++i) once();
  const long before = resident_pages();
  for (int i = 0; i < 300; ++i) once();
  if (!portunus::test::kSanitized) {
    EXPECT_LT(resident_pages() - before, 250);
  }  // 1 MB; sanitizers keep what is freed
}

}  // namespace
}  // namespace edges_test
