// One-sided accesses in graphs: each does in each run what it does alone, in windows of all flavors; flushes are edges; accumulates keep
// their order; and what no graph can do with a window is an error.
#include <numeric>
#include <string>

#include "graphs.hpp"

namespace windows_test {
namespace {

#define W MPI_COMM_WORLD

constexpr int kInts = 20000;

// A window of so many integers on each rank, in a passive epoch.
class IntWindow {
 public:
  explicit IntWindow(int flavor) : flavor_(flavor) {
    void* base = nullptr;
    if (flavor == MPI_WIN_FLAVOR_ALLOCATE) {
      MPI_Win_allocate(kInts * 4, 4, MPI_INFO_NULL, W, &base, &win);
      at = static_cast<int*>(base);
    } else {
      own_.resize(kInts);
      at = own_.data();
      if (flavor == MPI_WIN_FLAVOR_CREATE) {
        MPI_Win_create(at, kInts * 4, 4, MPI_INFO_NULL, W, &win);
      } else {
        MPI_Win_create_dynamic(MPI_INFO_NULL, W, &win);
        MPI_Win_attach(win, at, kInts * 4);
      }
    }
    MPI_Aint mine;
    MPI_Get_address(at, &mine);
    bases_.resize(static_cast<size_t>(ranks()));
    MPI_Allgather(&mine, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, W);
    EXPECT_EQ(MPI_Win_lock_all(0, win), MPI_SUCCESS);
  }
  ~IntWindow() {
    if (win == MPI_WIN_NULL) return;
    EXPECT_EQ(MPI_Win_unlock_all(win), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  }
  IntWindow(const IntWindow&) = delete;
  IntWindow& operator=(const IntWindow&) = delete;

  // The displacement of an element of a rank.
  MPI_Aint of(int rank, int element) const {
    return flavor_ == MPI_WIN_FLAVOR_DYNAMIC ? bases_[static_cast<size_t>(rank)] + 4 * element : element;
  }

  MPI_Win win = MPI_WIN_NULL;
  int* at = nullptr;

 private:
  int flavor_;
  std::vector<int> own_;
  std::vector<MPI_Aint> bases_;
};

struct Memory {
  explicit Memory(int flavor) : window(flavor), in(kInts), out(kInts) {}
  void fill(int run) {
    for (int i = 0; i < kInts; ++i) {
      window.at[i] = (rank() * 7919 + i * 31 + run * 101) % 997;
      in[static_cast<size_t>(i)] = (rank() * 104729 + i * 37 + run * 11) % 991 - 400;
    }
    std::fill(out.begin(), out.end(), -1 - run);
    barrier();
  }
  IntWindow window;
  std::vector<int> in, out;
};

struct Row {
  std::string name;
  std::function<int(Memory&, int count)> call;  // changes and reads memory of the rank on the right
};

int wait_after(int error, MPI_Request& request) {
  EXPECT_EQ(error, MPI_SUCCESS);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#define AT(element) right(), m.window.of(right(), element)
#define GIVEN(count) m.in.data() + 3, count, MPI_INT
#define TAKEN(count) m.out.data() + 1, count, MPI_INT
#define WIN m.window.win

std::vector<Row> rows() {
  return {
      {"MPI_Put", [](Memory& m, int count) { return MPI_Put(GIVEN(count), AT(5), count, MPI_INT, WIN); }},
      {"MPI_Get", [](Memory& m, int count) { return MPI_Get(TAKEN(count), AT(7), count, MPI_INT, WIN); }},
      {"MPI_Accumulate", [](Memory& m, int count) { return MPI_Accumulate(GIVEN(count), AT(9), count, MPI_INT, MPI_SUM, WIN); }},
      {"MPI_Accumulate that replaces",
       [](Memory& m, int count) { return MPI_Accumulate(GIVEN(count), AT(9), count, MPI_INT, MPI_REPLACE, WIN); }},
      {"MPI_Get_accumulate",
       [](Memory& m, int count) { return MPI_Get_accumulate(GIVEN(count), TAKEN(count), AT(4), count, MPI_INT, MPI_MAX, WIN); }},
      {"MPI_Get_accumulate that replaces",
       [](Memory& m, int count) { return MPI_Get_accumulate(GIVEN(count), TAKEN(count), AT(4), count, MPI_INT, MPI_REPLACE, WIN); }},
      {"MPI_Get_accumulate that only gets",
       [](Memory& m, int count) { return MPI_Get_accumulate(nullptr, 0, MPI_INT, TAKEN(count), AT(4), count, MPI_INT, MPI_NO_OP, WIN); }},
      {"MPI_Fetch_and_op", [](Memory& m, int) { return MPI_Fetch_and_op(&m.in[1], &m.out[1], MPI_INT, AT(1), MPI_SUM, WIN); }},
      {"MPI_Rput",
       [](Memory& m, int count) {
         MPI_Request request;
         return wait_after(MPI_Rput(GIVEN(count), AT(5), count, MPI_INT, WIN, &request), request);
       }},
      {"MPI_Rget",
       [](Memory& m, int count) {
         MPI_Request request;
         return wait_after(MPI_Rget(TAKEN(count), AT(7), count, MPI_INT, WIN, &request), request);
       }},
      {"MPI_Raccumulate",
       [](Memory& m, int count) {
         MPI_Request request;
         return wait_after(MPI_Raccumulate(GIVEN(count), AT(5), count, MPI_INT, MPI_BXOR, WIN, &request), request);
       }},
      {"MPI_Rget_accumulate",
       [](Memory& m, int count) {
         MPI_Request request;
         return wait_after(MPI_Rget_accumulate(GIVEN(count), TAKEN(count), AT(4), count, MPI_INT, MPI_MIN, WIN, &request), request);
       }},
      {"MPI_Rput to nobody",
       [](Memory& m, int count) {
         MPI_Request request;
         return wait_after(MPI_Rput(GIVEN(count), MPI_PROC_NULL, 0, count, MPI_INT, WIN, &request), request);
       }},
      {"MPI_Put to oneself",
       [](Memory& m, int count) { return MPI_Put(GIVEN(count), rank(), m.window.of(rank(), 14), count, MPI_INT, WIN); }}};
}

void compare(const Row& row, int flavor, int count) {
  Memory plain(flavor), captured(flavor);
  MPIX_Graph graph = capture([&] { EXPECT_EQ(row.call(captured, count), MPI_SUCCESS) << row.name; });
  for (int i = 0; i < 2; ++i) {
    plain.fill(i);
    captured.fill(i);
    EXPECT_EQ(row.call(plain, count), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush_all(plain.window.win), MPI_SUCCESS);
    run(graph);
    barrier();
    EXPECT_TRUE(std::equal(captured.window.at, captured.window.at + kInts, plain.window.at))
        << row.name << " of " << count << ", run " << i;
    EXPECT_TRUE(captured.out == plain.out) << row.name << " of " << count << ", run " << i;
    barrier();
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

TEST(GraphWindows, AccessesDoWhatTheyDoAlone) {
  for (const int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC})
    for (const Row& row : rows())
      for (const int count : {0, 3, 17000}) compare(row, flavor, count);
}

TEST(GraphWindows, AccessesTakeDerivedDatatypes) {
  MPI_Datatype column;
  MPI_Type_vector(50, 3, 7, MPI_INT, &column);
  MPI_Type_commit(&column);
  const std::vector<Row> rows = {
      {"MPI_Put of a vector", [&](Memory& m, int) { return MPI_Put(m.in.data(), 1, column, AT(5), 150, MPI_INT, WIN); }},
      {"MPI_Put into a vector", [&](Memory& m, int) { return MPI_Put(GIVEN(150), AT(5), 1, column, WIN); }},
      {"MPI_Get of a vector", [&](Memory& m, int) { return MPI_Get(m.out.data(), 1, column, AT(5), 150, MPI_INT, WIN); }},
      {"MPI_Accumulate into a vector", [&](Memory& m, int) { return MPI_Accumulate(GIVEN(150), AT(5), 1, column, MPI_SUM, WIN); }}};
  for (const int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE})
    for (const Row& row : rows) compare(row, flavor, 0);
  MPI_Type_free(&column);
}

// A number goes around in windows: each rank adds one to it, and tells the next one when it is there. More runs than GOAL tells apart.
TEST(GraphWindows, FlushesAreEdges) {
  for (const int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE}) {
    IntWindow window(flavor);
    int value = 0, one = 1, runs = 0, counted = 0;
    MPIX_Graph graph = capture([&] {
      if (rank() != 0) MPI_Recv(nullptr, 0, MPI_INT, left(), 0, W, MPI_STATUS_IGNORE);
      EXPECT_EQ(MPI_Get(&value, 1, MPI_INT, rank(), window.of(rank(), 0), 1, MPI_INT, window.win), MPI_SUCCESS);
      EXPECT_EQ(MPI_Win_flush(rank(), window.win), MPI_SUCCESS);
      MPI_Reduce_local(&one, &value, 1, MPI_INT, MPI_SUM);
      EXPECT_EQ(MPI_Put(&value, 1, MPI_INT, right(), window.of(right(), 0), 1, MPI_INT, window.win), MPI_SUCCESS);
      EXPECT_EQ(MPI_Accumulate(&one, 1, MPI_INT, right(), window.of(right(), 1), 1, MPI_INT, MPI_SUM, window.win), MPI_SUCCESS);
      EXPECT_EQ(MPI_Win_flush_all(window.win), MPI_SUCCESS);
      MPI_Send(nullptr, 0, MPI_INT, right(), 0, W);
      if (rank() == 0) {
        MPI_Recv(nullptr, 0, MPI_INT, left(), 0, W, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPI_Get(&counted, 1, MPI_INT, 0, window.of(0, 1), 1, MPI_INT, window.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_flush_local(0, window.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_flush_local_all(window.win), MPI_SUCCESS);
      }
    });
    window.at[0] = window.at[1] = 0;
    barrier();
    for (; runs < 300; ++runs) {
      run(graph);
      if (rank() == 0) {
        ASSERT_EQ(window.at[0], (runs + 1) * ranks());
        ASSERT_EQ(counted, runs + 1);
      }
    }
    EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
    barrier();
  }
}

// Sums and replacements of the same bytes take effect in the order of the calls, long ones behind short ones.
TEST(GraphWindows, AccumulatesKeepTheirOrder) {
  IntWindow window(MPI_WIN_FLAVOR_CREATE);
  std::vector<int> sevens(kInts, 7), ones(kInts, 1), found(kInts);
  const auto add = [&](std::vector<int>& from, int first, int count, MPI_Op op) {
    EXPECT_EQ(MPI_Accumulate(from.data(), count, MPI_INT, right(), window.of(right(), first), count, MPI_INT, op, window.win), MPI_SUCCESS);
  };
  MPIX_Graph graph = capture([&] {
    add(sevens, 0, kInts, MPI_REPLACE);
    for (int i = 0; i < 10; ++i) add(ones, 100 * i, 50, MPI_SUM);
    EXPECT_EQ(MPI_Get_accumulate(ones.data(), kInts, MPI_INT, found.data(), kInts, MPI_INT, right(), window.of(right(), 0), kInts, MPI_INT,
                                 MPI_PROD, window.win),
              MPI_SUCCESS);
    add(ones, 0, kInts, MPI_SUM);
  });
  for (int i = 0; i < 20; ++i) {
    run(graph);
    barrier();
    for (int k = 0; k < kInts; ++k) {
      const int expected = k < 1000 && k % 100 < 50 ? 8 : 7;
      ASSERT_EQ(found[static_cast<size_t>(k)], expected) << k;
      ASSERT_EQ(window.at[k], expected + 1) << k;
    }
    barrier();
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// A message for memory of a window does not come before what another rank has put there before the receive was called.
TEST(GraphWindows, MessagesDoNotOvertakeAccesses) {
  if (ranks() < 2) return;
  IntWindow window(MPI_WIN_FLAVOR_CREATE);
  std::vector<int> many(kInts, 4);
  int early = 9;
  MPIX_Graph graph = capture([&] {
    if (rank() == 0) {
      MPIX_Graph_gate(0);
      MPI_Put(many.data(), kInts, MPI_INT, 1, window.of(1, 0), kInts, MPI_INT, window.win);
      MPI_Win_flush(1, window.win);
      MPI_Send(nullptr, 0, MPI_INT, 1, 0, W);
    }
    if (rank() == ranks() - 1) {
      MPI_Request request;
      MPI_Isend(&early, 1, MPI_INT, 1, 1, W, &request);
      MPI_Request_free(&request);
    }
    if (rank() == 1) {
      MPI_Recv(nullptr, 0, MPI_INT, 0, 0, W, MPI_STATUS_IGNORE);
      MPI_Recv(&window.at[50], 1, MPI_INT, ranks() - 1, 1, W, MPI_STATUS_IGNORE);
    }
  });
  for (int i = 0; i < 20; ++i) {
    MPI_Request request = start(graph);
    if (rank() != 0) barrier();
    if (rank() == 0) {
      barrier();
      EXPECT_EQ(MPIX_Graph_open(graph, 0), MPI_SUCCESS);
    }
    wait(request);
    if (rank() == 1) {
      ASSERT_EQ(window.at[49], 4);
      ASSERT_EQ(window.at[50], 9);
      window.at[50] = 0;
    }
    barrier();
  }
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

TEST(GraphWindows, WhatAGraphCannotDoWithAWindowMakesTheCaptureVoid) {
  const Returning errors;
  IntWindow window(MPI_WIN_FLAVOR_CREATE);
  MPI_Win& win = window.win;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  int value = 0, other = 0, result = 0;
  MPI_Group everybody;
  MPI_Comm_group(W, &everybody);
  const std::pair<const char*, std::function<int()>> calls[] = {
      {"Win_fence", [&] { return MPI_Win_fence(0, win); }},
      {"Win_post", [&] { return MPI_Win_post(everybody, 0, win); }},
      {"Win_start", [&] { return MPI_Win_start(everybody, 0, win); }},
      {"Win_complete", [&] { return MPI_Win_complete(win); }},
      {"Win_wait", [&] { return MPI_Win_wait(win); }},
      {"Win_test", [&] { return MPI_Win_test(win, &value); }},
      {"Win_lock", [&] { return MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); }},
      {"Win_unlock", [&] { return MPI_Win_unlock(0, win); }},
      {"Win_lock_all", [&] { return MPI_Win_lock_all(0, win); }},
      {"Win_unlock_all", [&] { return MPI_Win_unlock_all(win); }},
      {"Win_free", [&] { return MPI_Win_free(&win); }},
      {"Win_create_notify", [&] { return MPIX_Win_create_notify(win, 1); }},
      {"Put_notify", [&] { return MPIX_Put_notify(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, 0); }},
      {"Win_wait_notify", [&] { return MPIX_Win_wait_notify(win, 0, 1); }},
      {"Compare_and_swap", [&] { return MPI_Compare_and_swap(&value, &other, &result, MPI_INT, 0, 0, win); }},
      {"Accumulate of pairs", [&] { return MPI_Accumulate(window.at, 1, MPI_2INT, 0, 0, 1, MPI_2INT, MPI_MAXLOC, win); }},
  };
  for (const auto& [name, call] : calls) {
    MPIX_Graph graph;
    ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
    EXPECT_EQ(class_of(call()), MPI_ERR_UNSUPPORTED_OPERATION) << name;
    EXPECT_EQ(class_of(MPIX_Graph_end(W, &graph)), MPI_ERR_UNSUPPORTED_OPERATION) << name;
    EXPECT_EQ(graph, MPIX_GRAPH_NULL) << name;
    barrier();
  }
  MPI_Group_free(&everybody);
}

// A graph keeps neither epoch nor window, and the call that ends one of them while it runs, or before it runs again, is told.
TEST(GraphWindows, RunsNeedTheirWindowsAndEpochs) {
  const Returning errors;
  int value = 3;
  MPI_Win win;
  MPIX_Graph graph = MPIX_GRAPH_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int memory[4] = {};
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, W, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Put(&value, 1, MPI_INT, right(), 0, 1, MPI_INT, win)), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(class_of(MPIX_Graph_end(W, &graph)), MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  EXPECT_EQ(MPI_Win_lock_all(0, win), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Graph_begin(W, MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Put(&value, 1, MPI_INT, right(), 4, 1, MPI_INT, win)), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(MPIX_Graph_gate(0), MPI_SUCCESS);
  EXPECT_EQ(MPI_Put(&value, 1, MPI_INT, right(), 2, 1, MPI_INT, win), MPI_SUCCESS);
  ASSERT_EQ(MPIX_Graph_end(W, &graph), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Graph_start(graph, &request), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Win_unlock_all(win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_unlock(right(), win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(class_of(MPI_Win_free(&win)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPIX_Graph_open(graph, 0), MPI_SUCCESS);
  wait(request);
  barrier();
  EXPECT_EQ(memory[2], 3);
  EXPECT_EQ(class_of(MPIX_Graph_export(graph, "/dev/null")), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(MPI_Win_unlock_all(win), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_Graph_start(graph, &request)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_Graph_start(graph, &request)), MPI_ERR_WIN);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

// Accesses to windows of other ranks are executed, as are messages of other communicators.
TEST(GraphWindows, OtherWindowsAreNotCaptured) {
  int memory = 0, value = 8;
  MPI_Win own;
  MPI_Win_create(&memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_SELF, &own);
  MPI_Win_lock_all(0, own);
  MPIX_Graph graph = capture([&] {
    EXPECT_EQ(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, own), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(0, own), MPI_SUCCESS);
    if (ranks() > 1) {
      EXPECT_EQ(memory, 8);
    }
  });
  MPI_Win_unlock_all(own);
  MPI_Win_free(&own);
  run(graph);
  EXPECT_EQ(MPIX_Graph_free(&graph), MPI_SUCCESS);
}

}  // namespace
}  // namespace windows_test
