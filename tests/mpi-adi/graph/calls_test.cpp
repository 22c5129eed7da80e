// Each call that a graph can have does in each run what it does alone; by memory of 0 bytes to more than is sent eagerly.
#include <algorithm>
#include <numeric>
#include <string>

#include "graphs.hpp"

namespace calls_test {
namespace {

// The memory that a call works on. Plain calls and graphs get two that begin alike.
struct Memory {
  explicit Memory(int each) : n(ranks()), count(each), in(static_cast<size_t>(4 * n * each + 8)), out(in.size(), -1), packed(in.size()) {
    fill(0);
    for (int i = 0; i < 2 * n; ++i) {
      counts.push_back(each);
      places.push_back(i * (each + 1));
      bytes.push_back(i * (each + 1) * 4);
      types.push_back(MPI_INT);
    }
  }
  void fill(int run) {
    for (size_t i = 0; i < in.size(); ++i) in[i] = (rank() * 7919 + static_cast<int>(i) * 31 + run * 101) % 997 - 400;
    std::fill(out.begin(), out.end(), -1 - run);
  }
  int n, count;
  std::vector<int> in, out, packed, counts, places, bytes;
  std::vector<MPI_Datatype> types;
};

struct Row {
  std::string name;
  std::function<int(Memory&)> call;
};

int wait_after(int error, MPI_Request& request) {
  EXPECT_EQ(error, MPI_SUCCESS);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#define W MPI_COMM_WORLD
#define IN m.in.data(), m.count, MPI_INT
#define OUT m.out.data(), m.count, MPI_INT
#define IN_V m.in.data(), m.counts.data(), m.places.data(), MPI_INT
#define OUT_V m.out.data(), m.counts.data(), m.places.data(), MPI_INT
#define REDUCED m.in.data(), m.out.data(), m.count, MPI_INT
#define BOTH(Name, name, ...)                                             \
  {"MPI_" #Name, [](Memory& m) { return MPI_##Name(__VA_ARGS__, W); }}, { \
    "MPI_I" #name, [](Memory& m) {                                        \
      MPI_Request request;                                                \
      return wait_after(MPI_I##name(__VA_ARGS__, W, &request), request);  \
    }                                                                     \
  }

std::vector<Row> collectives() {
  return {
      {"MPI_Barrier", [](Memory&) { return MPI_Barrier(W); }},
      {"MPI_Ibarrier",
       [](Memory&) {
         MPI_Request request;
         return wait_after(MPI_Ibarrier(W, &request), request);
       }},
      BOTH(Bcast, bcast, m.in.data(), m.count, MPI_INT, 1),
      BOTH(Gather, gather, IN, OUT, 1),
      BOTH(Gatherv, gatherv, IN, OUT_V, 0),
      BOTH(Scatter, scatter, IN, OUT, 1),
      BOTH(Scatterv, scatterv, IN_V, OUT, 0),
      BOTH(Allgather, allgather, IN, OUT),
      BOTH(Allgatherv, allgatherv, IN, OUT_V),
      BOTH(Alltoall, alltoall, IN, OUT),
      BOTH(Alltoallv, alltoallv, IN_V, OUT_V),
      BOTH(Alltoallw, alltoallw, m.in.data(), m.counts.data(), m.bytes.data(), m.types.data(), m.out.data(), m.counts.data(),
           m.bytes.data(), m.types.data()),
      BOTH(Reduce, reduce, REDUCED, MPI_SUM, 1),
      BOTH(Allreduce, allreduce, REDUCED, MPI_MAX),
      BOTH(Reduce_scatter, reduce_scatter, m.in.data(), m.out.data(), m.counts.data(), MPI_INT, MPI_SUM),
      BOTH(Reduce_scatter_block, reduce_scatter_block, REDUCED, MPI_BXOR),
      BOTH(Scan, scan, REDUCED, MPI_SUM),
      BOTH(Exscan, exscan, REDUCED, MPI_SUM),
      {"MPI_Allreduce in place", [](Memory& m) { return MPI_Allreduce(MPI_IN_PLACE, m.in.data(), m.count, MPI_INT, MPI_MIN, W); }},
      {"MPI_Reduce_local of ints at odd places",
       [](Memory& m) { return MPI_Reduce_local(m.in.data() + 1, m.out.data() + 1, m.count, MPI_INT, MPI_SUM); }},
      {"MPI_Alltoall in place", [](Memory& m) { return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, m.in.data(), m.count, MPI_INT, W); }},
      {"MPI_Reduce_scatter_block in place",
       [](Memory& m) { return MPI_Reduce_scatter_block(MPI_IN_PLACE, m.in.data(), m.count, MPI_INT, MPI_SUM, W); }},
      {"MPI_Allgather in place", [](Memory& m) { return MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, m.in.data(), m.count, MPI_INT, W); }},
      {"MPI_Gather in place",
       [](Memory& m) {
         return rank() == 0 ? MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, m.in.data(), m.count, MPI_INT, 0, W)
                            : MPI_Gather(IN, nullptr, 0, MPI_INT, 0, W);
       }},
      {"MPI_Allreduce of truths", [](Memory& m) { return MPI_Allreduce(REDUCED, MPI_LAND, W); }},
      {"MPI_Reduce of truths", [](Memory& m) { return MPI_Reduce(REDUCED, MPI_LXOR, 0, W); }},
      {"MPI_Allreduce of pairs", [](Memory& m) { return MPI_Allreduce(m.in.data(), m.out.data(), m.count / 2, MPI_2INT, MPI_MAXLOC, W); }},
      {"MPI_Pack and MPI_Unpack",
       [](Memory& m) {
         const int half = m.count / 2, bytes = static_cast<int>(m.packed.size() * sizeof(int));
         int written = 4, read = 4;
         EXPECT_EQ(MPI_Pack(m.in.data(), half, MPI_INT, m.packed.data(), bytes, &written, W), MPI_SUCCESS);
         EXPECT_EQ(MPI_Pack(m.in.data() + half, m.count - half, MPI_INT, m.packed.data(), bytes, &written, W), MPI_SUCCESS);
         EXPECT_EQ(written, 4 + 4 * m.count);
         EXPECT_EQ(MPI_Unpack(m.packed.data(), bytes, &read, m.out.data() + 1, m.count, MPI_INT, W), MPI_SUCCESS);
         EXPECT_EQ(read, written);
         return MPI_SUCCESS;
       }},
      {"MPI_Reduce_local", [](Memory& m) { return MPI_Reduce_local(m.in.data(), m.out.data(), m.count, MPI_INT, MPI_PROD); }},
      {"MPI_Reduce_local of truths", [](Memory& m) { return MPI_Reduce_local(m.in.data(), m.out.data(), m.count, MPI_INT, MPI_LOR); }}};
}

#define SENT m.in.data(), m.count, MPI_INT, right(), 7, W
#define GOT m.out.data(), m.count, MPI_INT, left(), 7, W
template <class Send>
int exchange(Memory& m, Send&& send) {
  MPI_Request receive;
  EXPECT_EQ(MPI_Irecv(GOT, &receive), MPI_SUCCESS);
  EXPECT_EQ(send(m), MPI_SUCCESS);
  return MPI_Wait(&receive, MPI_STATUS_IGNORE);
}
template <class Send>
int exchange_started(Memory& m, Send&& send) {
  MPI_Request both[2];
  EXPECT_EQ(MPI_Irecv(GOT, &both[0]), MPI_SUCCESS);
  EXPECT_EQ(send(m, &both[1]), MPI_SUCCESS);
  return MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}
#define SENDS(Name, name)                                                                                                         \
  {"MPI_" #Name, [](Memory& m) { return exchange(m, [](Memory& m) { return MPI_##Name(SENT); }); }}, {                            \
    "MPI_I" #name,                                                                                                                \
        [](Memory& m) { return exchange_started(m, [](Memory& m, MPI_Request* request) { return MPI_I##name(SENT, request); }); } \
  }

std::vector<Row> messages() {
  return {SENDS(Send, send),
          SENDS(Ssend, ssend),
          SENDS(Rsend, rsend),
          SENDS(Bsend, bsend),
          {"MPI_Recv",
           [](Memory& m) {
             MPI_Request request;
             EXPECT_EQ(MPI_Isend(SENT, &request), MPI_SUCCESS);
             EXPECT_EQ(MPI_Recv(GOT, MPI_STATUS_IGNORE), MPI_SUCCESS);
             return MPI_Wait(&request, MPI_STATUS_IGNORE);
           }},
          {"MPI_Recv with any tag",
           [](Memory& m) {
             MPI_Request request;
             EXPECT_EQ(MPI_Isend(SENT, &request), MPI_SUCCESS);
             EXPECT_EQ(MPI_Recv(m.out.data(), m.count + 3, MPI_INT, left(), MPI_ANY_TAG, W, MPI_STATUS_IGNORE), MPI_SUCCESS);
             return MPI_Wait(&request, MPI_STATUS_IGNORE);
           }},
          {"MPI_Sendrecv",
           [](Memory& m) {
             return MPI_Sendrecv(m.in.data(), m.count, MPI_INT, right(), 1, m.out.data(), m.count, MPI_INT, left(), 1, W,
                                 MPI_STATUS_IGNORE);
           }},
          {"MPI_Sendrecv with nobody",
           [](Memory& m) {
             return MPI_Sendrecv(m.in.data(), m.count, MPI_INT, MPI_PROC_NULL, 1, m.out.data(), m.count, MPI_INT, MPI_PROC_NULL, 1, W,
                                 MPI_STATUS_IGNORE);
           }},
          {"MPI_Sendrecv_replace",
           [](Memory& m) { return MPI_Sendrecv_replace(m.out.data(), m.count, MPI_INT, right(), 1, left(), 1, W, MPI_STATUS_IGNORE); }},
          {"MPI_Isendrecv",
           [](Memory& m) {
             MPI_Request request;
             return wait_after(
                 MPI_Isendrecv(m.in.data(), m.count, MPI_INT, right(), 1, m.out.data(), m.count, MPI_INT, left(), 1, W, &request), request);
           }},
          {"MPI_Isendrecv_replace",
           [](Memory& m) {
             MPI_Request request;
             return wait_after(MPI_Isendrecv_replace(m.out.data(), m.count, MPI_INT, right(), 1, left(), 1, W, &request), request);
           }},
          {"messages to oneself", [](Memory& m) {
             MPI_Request request;
             EXPECT_EQ(MPI_Irecv(m.out.data(), m.count, MPI_INT, rank(), 3, W, &request), MPI_SUCCESS);
             EXPECT_EQ(MPI_Send(m.in.data(), m.count, MPI_INT, rank(), 3, W), MPI_SUCCESS);
             return MPI_Wait(&request, MPI_STATUS_IGNORE);
           }}};
}

void compare(const Row& row, int each) {
  Memory plain(each), captured(each);
  MPIX_Graph graph = capture([&] { EXPECT_EQ(row.call(captured), MPI_SUCCESS) << row.name; });
  for (int i = 0; i < 2; ++i) {
    plain.fill(i);
    captured.fill(i);
    EXPECT_TRUE(captured.in == plain.in && captured.out == plain.out);
    EXPECT_EQ(row.call(plain), MPI_SUCCESS);
    run(graph);
    EXPECT_TRUE(captured.in == plain.in) << row.name << " of " << each << " elements, run " << i;
    EXPECT_TRUE(captured.out == plain.out) << row.name << " of " << each << " elements, run " << i;
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
  EXPECT_EQ(graph, MPIX_GRAPH_NULL);
}

constexpr int kLengths[] = {0, 3, 9000};

TEST(GraphCalls, DoWhatTheyDoAlone) {
  std::vector<char> buffer(1 << 20);
  ASSERT_EQ(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())), MPI_SUCCESS);
  for (const std::vector<Row>& rows : {messages(), collectives()})
    for (const Row& row : rows)
      for (const int each : kLengths) compare(row, each);
  void* memory;
  int bytes;
  ASSERT_EQ(MPI_Buffer_detach(&memory, &bytes), MPI_SUCCESS);
}

TEST(GraphCalls, TakeDerivedDatatypes) {
  MPI_Datatype column, spaced;
  MPI_Type_vector(20, 3, 7, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Type_create_resized(column, 0, 600, &spaced);
  MPI_Type_commit(&spaced);
  const std::vector<Row> rows = {
      {"MPI_Sendrecv of a vector",
       [&](Memory& m) {
         return MPI_Sendrecv(m.in.data(), 2, spaced, right(), 1, m.out.data(), 120, MPI_INT, left(), 1, W, MPI_STATUS_IGNORE);
       }},
      {"MPI_Sendrecv into a vector",
       [&](Memory& m) {
         return MPI_Sendrecv(m.in.data(), 120, MPI_INT, right(), 1, m.out.data(), 2, spaced, left(), 1, W, MPI_STATUS_IGNORE);
       }},
      {"MPI_Sendrecv_replace of a vector",
       [&](Memory& m) { return MPI_Sendrecv_replace(m.out.data(), 2, spaced, right(), 1, left(), 1, W, MPI_STATUS_IGNORE); }},
      {"MPI_Pack and MPI_Unpack of a vector",
       [&](Memory& m) {
         int written = 0, read = 0;
         EXPECT_EQ(MPI_Pack(m.in.data(), 2, spaced, m.packed.data(), 480, &written, W), MPI_SUCCESS);
         return MPI_Unpack(m.packed.data(), 480, &read, m.out.data(), 1, spaced, W);
       }},
      {"MPI_Bcast of a vector", [&](Memory& m) { return MPI_Bcast(m.in.data(), 2, spaced, 0, W); }},
      {"MPI_Allgather of vectors", [&](Memory& m) { return MPI_Allgather(m.in.data(), 1, spaced, m.out.data(), 1, spaced, W); }},
      {"MPI_Alltoall of vectors", [&](Memory& m) { return MPI_Alltoall(m.in.data(), 1, spaced, m.out.data(), 1, spaced, W); }},
  };
  for (const Row& row : rows) compare(row, 1000);
  MPI_Type_free(&column);
  MPI_Type_free(&spaced);
}

TEST(GraphCalls, TakePersistentRequests) {
  Memory m(500);
  MPI_Request both[2], sum;
  int total = 0;
  MPI_Send_init(SENT, &both[0]);
  MPI_Recv_init(GOT, &both[1]);
  MPI_Allreduce_init(&m.out[3], &total, 1, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &sum);
  MPIX_Graph graph = capture([&] {
    EXPECT_EQ(MPI_Startall(2, both), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&sum), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&sum, MPI_STATUS_IGNORE), MPI_SUCCESS);
  });
  run(graph);
  int expected = 0;
  for (int i = 0; i < ranks(); ++i) expected += (i * 7919 + 3 * 31) % 997 - 400;
  EXPECT_EQ(total, expected);
  // They are inactive, and as good as before.
  m.fill(1);
  EXPECT_EQ(MPI_Startall(2, both), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(m.out[0], (left() * 7919 + 101) % 997 - 400);
  for (MPI_Request* request : {&both[0], &both[1], &sum}) EXPECT_EQ(MPI_Request_free(request), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

TEST(GraphCalls, ReceiveWithAnyTagWhatTheyWouldInMpi) {
  int in[4] = {10 + rank(), 20 + rank(), 30 + rank(), 40 + rank()}, out[4] = {};
  MPIX_Graph graph = capture([&] {
    MPI_Request requests[8];
    const int tags[4] = {MPI_ANY_TAG, 8, MPI_ANY_TAG, 9}, sent[4] = {6, 5, 8, 9};
    for (int i = 0; i < 4; ++i) MPI_Irecv(&out[i], 1, MPI_INT, left(), tags[i], W, &requests[i]);
    for (int i = 0; i < 4; ++i) MPI_Isend(&in[i], 1, MPI_INT, right(), sent[i], W, &requests[4 + i]);
    EXPECT_EQ(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  });
  run(graph);
  EXPECT_EQ(out[0], 10 + left());
  EXPECT_EQ(out[1], 30 + left());
  EXPECT_EQ(out[2], 20 + left());
  EXPECT_EQ(out[3], 40 + left());
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

}  // namespace
}  // namespace calls_test
