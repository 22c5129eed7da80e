// Calls that a graph cannot have, and captures of the ranks that do not fit, are errors with a class; and the program goes on.
#include <string>
#include <thread>

#include "graphs.hpp"

namespace refusals_test {
namespace {

#define W MPI_COMM_WORLD

struct Row {
  const char* name;
  std::function<int()> call;
};

int value = 0, other = 0, number = 0, flag = 0;
MPI_Request request = MPI_REQUEST_NULL;
MPI_Comm made = MPI_COMM_NULL;
MPI_Message matched;

int begin_receive() { return MPI_Irecv(&value, 1, MPI_INT, left(), 0, W, &request); }
void add(void* in, void* inout, int*, MPI_Datatype*) { *static_cast<int*>(inout) += *static_cast<int*>(in); }

std::vector<Row> rows() {
  const auto with_request = [](auto call) { return [call] { return begin_receive() == MPI_SUCCESS ? call() : -1; }; };
  return {{"Test", with_request([] { return MPI_Test(&request, &flag, MPI_STATUS_IGNORE); })},
          {"Testall", with_request([] { return MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE); })},
          {"Testany", with_request([] { return MPI_Testany(1, &request, &number, &flag, MPI_STATUS_IGNORE); })},
          {"Testsome", with_request([] { return MPI_Testsome(1, &request, &number, &flag, MPI_STATUSES_IGNORE); })},
          {"Waitany", with_request([] { return MPI_Waitany(1, &request, &number, MPI_STATUS_IGNORE); })},
          {"Waitsome", with_request([] { return MPI_Waitsome(1, &request, &number, &flag, MPI_STATUSES_IGNORE); })},
          {"Cancel", with_request([] { return MPI_Cancel(&request); })},
          {"Request_get_status", with_request([] { return MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE); })},
          {"Probe", [] { return MPI_Probe(left(), 0, W, MPI_STATUS_IGNORE); }},
          {"Iprobe", [] { return MPI_Iprobe(left(), 0, W, &flag, MPI_STATUS_IGNORE); }},
          {"Mprobe", [] { return MPI_Mprobe(left(), 0, W, &matched, MPI_STATUS_IGNORE); }},
          {"Improbe", [] { return MPI_Improbe(left(), 0, W, &flag, &matched, MPI_STATUS_IGNORE); }},
          {"Recv from anybody", [] { return MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, MPI_STATUS_IGNORE); }},
          {"Irecv from anybody", [] { return MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, &request); }},
          {"Allreduce by the user's operation",
           [] {
             MPI_Op op;
             MPI_Op_create(add, 1, &op);
             const int error = MPI_Allreduce(&value, &other, 1, MPI_INT, op, W);
             MPI_Op_free(&op);
             return error;
           }},
          {"Start of a partitioned message",
           [] {
             MPI_Request parts;
             MPI_Psend_init(&value, 1, 1, MPI_INT, right(), 0, W, MPI_INFO_NULL, &parts);
             const int error = MPI_Start(&parts);
             MPI_Request_free(&parts);
             return error;
           }},
          {"Pack_external",
           [] {
             MPI_Aint position = 0;
             return MPI_Pack_external("external32", &value, 1, MPI_INT, &other, sizeof other, &position);
           }},
          {"Unpack_external",
           [] {
             MPI_Aint position = 0;
             return MPI_Unpack_external("external32", &value, sizeof value, &position, &other, 1, MPI_INT);
           }},
          {"Comm_dup", [] { return MPI_Comm_dup(W, &made); }},
          {"Comm_idup", [] { return MPI_Comm_idup(W, &made, &request); }},
          {"Comm_split", [] { return MPI_Comm_split(W, 0, 0, &made); }},
          {"Win_create", [] {
             MPI_Win window;
             return MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, W, &window);
           }}};
}

TEST(GraphRefusals, WhatDecidesWhatComesNextMakesTheCaptureVoid) {
  const Returning errors;
  for (const Row& row : rows()) {
    MPIX_Graph graph;
    ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(class_of(row.call()), MPI_ERR_UNSUPPORTED_OPERATION) << row.name;
    EXPECT_EQ(class_of(MPIX_Graph_end(W, &graph)), MPI_ERR_UNSUPPORTED_OPERATION) << row.name;
    EXPECT_EQ(graph, MPIX_GRAPH_NULL) << row.name;
    barrier();  // the program goes on
  }
}

// A persistent request that the capture has started, asked by itself and behind one that has failed, in all calls but MPI_Wait and
// MPI_Waitall.
TEST(GraphRefusals, AskingForAPersistentRequestMakesTheCaptureVoid) {
  const Returning errors;
  MPI_Request persistent, both[2];
  MPI_Status statuses[2];
  int indices[2];
  MPI_Recv_init(&value, 1, MPI_INT, left(), 0, W, &persistent);
  const std::vector<Row> asking = {
      {"Test", [&] { return MPI_Test(&both[1], &flag, statuses); }},
      {"Testall", [&] { return MPI_Testall(2, both, &flag, statuses); }},
      {"Testany", [&] { return MPI_Testany(1, both + 1, &number, &flag, statuses); }},
      {"Testsome", [&] { return MPI_Testsome(2, both, &number, indices, statuses); }},
      {"Waitany", [&] { return MPI_Waitany(1, both + 1, &number, statuses); }},
      {"Waitsome", [&] { return MPI_Waitsome(2, both, &number, indices, statuses); }},
      {"Request_get_status", [&] { return MPI_Request_get_status(both[1], &flag, statuses); }},
      {"Request_get_status_all", [&] { return MPI_Request_get_status_all(1, both + 1, &flag, statuses); }},
      {"Request_get_status_any", [&] { return MPI_Request_get_status_any(1, both + 1, &number, &flag, statuses); }},
      {"Request_get_status_some", [&] { return MPI_Request_get_status_some(1, both + 1, &number, indices, statuses); }}};
  for (const Row& row : asking) {
    int two[2] = {}, one;
    MPIX_Graph graph;
    ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
    MPI_Irecv(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &both[0]);
    MPI_Send(two, 2, MPI_INT, 0, 0, MPI_COMM_SELF);
    for (flag = 0; !flag;) MPI_Request_get_status(both[0], &flag, MPI_STATUS_IGNORE);
    ASSERT_EQ(MPI_Start(&persistent), MPI_SUCCESS) << row.name;
    both[1] = persistent;
    const int error = row.call();
    if (error == MPI_ERR_IN_STATUS) {
      EXPECT_EQ(class_of(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE) << row.name;
      EXPECT_EQ(class_of(statuses[1].MPI_ERROR), MPI_ERR_UNSUPPORTED_OPERATION) << row.name;
    } else {
      EXPECT_EQ(class_of(error), MPI_ERR_UNSUPPORTED_OPERATION) << row.name;
    }
    EXPECT_EQ(class_of(MPIX_Graph_end(W, &graph)), MPI_ERR_UNSUPPORTED_OPERATION) << row.name;
    if (both[0] != MPI_REQUEST_NULL) MPI_Wait(&both[0], MPI_STATUS_IGNORE);
  }
  EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
  barrier();
}

// A thread that ends gives up what it captures: calls are executed again, requests are inactive, and others may capture.
TEST(Threads, ACaptureEndsWithItsThread) {
  const Returning errors;
  MPI_Request persistent;
  MPI_Recv_init(&value, 1, MPI_INT, rank(), 0, W, &persistent);
  std::thread([&] {
    EXPECT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&persistent), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(&other, 1, MPI_INT, right(), 0, W), MPI_SUCCESS);
  }).join();
  barrier();
  EXPECT_EQ(MPI_Start(&persistent), MPI_SUCCESS);
  MPI_Send(&other, 1, MPI_INT, rank(), 0, W);
  wait(persistent);
  MPIX_Graph graph = capture([] { MPI_Barrier(W); });
  run(graph);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
}

TEST(Threads, ACommunicatorThatAnotherThreadCapturesIsNotFreed) {
  const Returning errors;
  MPI_Comm comm;
  MPI_Comm_dup(W, &comm);
  std::thread([&] {
    EXPECT_EQ(MPIX_Graph_begin(comm, MPI_INFO_NULL), MPI_SUCCESS);
    std::thread([&] {
      MPI_Comm same = comm;
      EXPECT_EQ(class_of(MPI_Comm_free(&same)), MPI_ERR_COMM);
      EXPECT_EQ(class_of(MPIX_Graph_begin(comm, MPI_INFO_NULL)), MPI_ERR_ARG);
    }).join();
  }).join();
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  barrier();
}

TEST(GraphRefusals, OneRanksFaultIsToldToAll) {
  const Returning errors;
  MPIX_Graph graph;
  ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
  if (rank() == 1) {
    EXPECT_EQ(class_of(MPI_Iprobe(0, 0, W, &flag, MPI_STATUS_IGNORE)), MPI_ERR_UNSUPPORTED_OPERATION);
  }
  EXPECT_EQ(class_of(MPIX_Graph_end(W, &graph)), MPI_ERR_UNSUPPORTED_OPERATION);
  barrier();
}

TEST(GraphRefusals, CallsOutOfPlaceAreErrors) {
  const Returning errors;
  MPIX_Graph graph = MPIX_GRAPH_NULL;
  EXPECT_EQ(class_of(MPIX_Graph_end(W, &graph)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_gate(0)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_capturing(nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_signal(0)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_start(graph, &request)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_free(&graph)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_begin(MPI_COMM_NULL, MPI_INFO_NULL)), MPI_ERR_COMM);
  ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_Graph_begin(W, MPI_INFO_NULL)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_begin(MPI_COMM_SELF, MPI_INFO_NULL)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_end(MPI_COMM_SELF, &graph)), MPI_ERR_ARG);
  EXPECT_EQ(MPIX_Graph_gate(3), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_Graph_gate(3)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_gate(-1)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPI_Send(&value, -1, MPI_INT, 0, 0, W)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_INT, -1, W)), MPI_ERR_ROOT);
  EXPECT_EQ(MPI_Barrier(W), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Graph_end(W, &graph), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_Graph_open(graph, 3)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Graph_open(graph, 4)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_Graph_passed(graph, 3, &flag)), MPI_ERR_ARG);
  MPI_Request runs = start(graph), again;
  EXPECT_EQ(class_of(MPIX_Graph_start(graph, &again)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_Graph_free(&graph)), MPI_ERR_REQUEST);
  EXPECT_EQ(MPIX_Graph_open(graph, 3), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_Graph_open(graph, 3)), MPI_ERR_REQUEST);
  wait(runs);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// Each rank captures as its number says; what does not fit is found by all ranks when they end the capture.
TEST(GraphRefusals, RanksThatDoNotFitAreTold) {
  const Returning errors;
  const std::vector<std::function<void()>> pairs[] = {
      {[] { MPI_Barrier(W); }, [] { MPI_Bcast(&value, 1, MPI_INT, 0, W); }},
      {[] { MPI_Bcast(&value, 1, MPI_INT, 0, W); }, [] { MPI_Bcast(&value, 1, MPI_INT, 1, W); }},
      {[] { MPI_Allreduce(&value, &other, 1, MPI_INT, MPI_SUM, W); }, [] { MPI_Allreduce(&value, &other, 1, MPI_INT, MPI_MAX, W); }},
      {[] { MPI_Barrier(W); }, [] {}},
      {[] { MPI_Send(&value, 1, MPI_INT, 1, 3, W); }, [] {}},
      {[] {}, [] { MPI_Recv(&value, 1, MPI_INT, 0, 3, W, MPI_STATUS_IGNORE); }},
      {[] { MPI_Send(&value, 1, MPI_INT, 1, 3, W); }, [] { MPI_Recv(&value, 1, MPI_INT, 0, 4, W, MPI_STATUS_IGNORE); }},
  };
  for (const auto& pair : pairs) {
    MPIX_Graph graph;
    ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
    pair[rank() == 1]();
    EXPECT_EQ(class_of(MPIX_Graph_end(W, &graph)), MPI_ERR_ARG) << "pair " << &pair - pairs;
    EXPECT_EQ(graph, MPIX_GRAPH_NULL);
    barrier();
  }
}

// A message that has no room is an error of each run, and the graph runs again.
TEST(GraphRefusals, AMessageThatIsTooLongIsTheRunsError) {
  const Returning errors;
  int in[4] = {1, 2, 3, 4}, out[4] = {};
  MPIX_Graph graph = capture([&] {
    if (rank() == 0) MPI_Send(in, 4, MPI_INT, 1, 0, W);
    if (rank() == 1) MPI_Recv(out, 2, MPI_INT, 0, 0, W, MPI_STATUS_IGNORE);
  });
  for (int i = 0; i < 2; ++i) {
    MPI_Request runs = start(graph);
    EXPECT_EQ(class_of(MPI_Wait(&runs, MPI_STATUS_IGNORE)), rank() == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  }
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

TEST(GraphRefusals, ARevokedCommunicatorEndsRunsOfItsGraphs) {
  MPI_Comm comm;
  MPI_Comm_dup(W, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPIX_Graph graph;
  ASSERT_EQ(MPIX_Graph_begin(comm, MPI_INFO_NULL), MPI_SUCCESS);
  if (rank() == 0) MPIX_Graph_gate(0);
  MPI_Barrier(comm);
  ASSERT_EQ(MPIX_Graph_end(comm, &graph), MPI_SUCCESS);
  MPI_Request runs = start(graph);
  barrier();
  if (rank() == 1) {
    EXPECT_EQ(MPIX_Comm_revoke(comm), MPI_SUCCESS);
  }
  EXPECT_EQ(class_of(MPI_Wait(&runs, MPI_STATUS_IGNORE)), MPIX_ERR_REVOKED);
  const Returning errors;  // those of a graph whose communicator was freed
  EXPECT_NE(MPIX_Graph_start(graph, &runs), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
  MPI_Comm_free(&comm);
  barrier();
}

}  // namespace
}  // namespace refusals_test
