// Several threads per rank, with MPI_THREAD_MULTIPLE. Source: MPI-5.0, 11.6.
#include <atomic>
#include <thread>

#include "ranks.hpp"

namespace {

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    int level;
    MPI_Query_thread(&level);
    ASSERT_EQ(level, MPI_THREAD_MULTIPLE);
  }
  template <class Work>
  void on_threads(int count, Work work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(Threads, EachExchangeMessagesOfTheirOwn) {
  on_threads(3, [](int thread) {
    for (int i = 0; i < 100; ++i) {
      const size_t size = i % 4 == 3 ? 50'000 : 8;
      const Bytes mine = message(rank(), thread * 1000 + i, size), theirs = message(left(), thread * 1000 + i, size);
      Bytes room = room_for(theirs);
      MPI_Request request = isend(mine, right(), thread);
      receive(room, left(), thread);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(room, theirs);
    }
  });
  barrier();
}

void add_all(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

// Short ones are resident, long ones take a step in between, which whichever thread takes events makes.
TEST_F(Threads, EachRunCollectivesOnACommunicatorOfTheirOwn) {
  constexpr int kThreads = 3;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Op op;
  MPI_Op_create(add_all, 1, &op);
  on_threads(kThreads, [&](int thread) {
    std::vector<int> mine(50'000, rank() + thread), sums(mine.size());
    for (int i = 0; i < 15; ++i) {
      int last = -1;
      MPI_Request requests[2];
      MPI_Iallreduce(mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_INT, op, comms[thread], &requests[0]);
      MPI_Iallreduce(&i, &last, 1, MPI_INT, MPI_MAX, comms[thread], &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      EXPECT_EQ(last, i);
      EXPECT_EQ(sums, std::vector<int>(mine.size(), ranks() * (ranks() - 1) / 2 + ranks() * thread));
    }
  });
  MPI_Op_free(&op);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

TEST_F(Threads, OneThatSleepsForAMessageIsWokenWhicheverThreadTakesItsEvent) {
  // The threads of a rank wait at the same time for messages that come one by one, in an order of the sender's.
  constexpr int kThreads = 4, kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> received{0};
    std::vector<std::thread> waiting;
    for (int thread = 0; thread < kThreads; ++thread)
      waiting.emplace_back([&, thread] {
        Bytes room(8);
        receive(room, left(), thread);
        EXPECT_EQ(room, message(left(), thread, 8));
        received.fetch_add(1);
      });
    for (int i = 0; i < kThreads; ++i) {
      const int thread = (round + i * 3) % kThreads;
      send(message(rank(), thread, 8), right(), thread);
    }
    for (std::thread& thread : waiting) thread.join();
    EXPECT_EQ(received.load(), kThreads);
  }
  barrier();
}

TEST_F(Threads, TestingAndProbingGoOnWhileAnotherWaits) {
  constexpr int kLast = 99;
  std::thread waiter([] {
    Bytes room(8);
    receive(room, left(), kLast);
    EXPECT_EQ(room, message(left(), kLast, 8));
  });
  for (int i = 0; i < 15; ++i) {
    Bytes room(8);
    MPI_Request request = ireceive(room, left(), 1);
    send(message(rank(), i, 8), right(), 1);
    int flag = 0;
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(room, message(left(), i, 8));
    send(message(rank(), i, 8), right(), 2);
    MPI_Status status;
    MPI_Probe(left(), 2, MPI_COMM_WORLD, &status);
    receive(room, left(), 2);
    EXPECT_EQ(room, message(left(), i, 8));
  }
  send(message(rank(), kLast, 8), right(), kLast);
  waiter.join();
  barrier();
}

TEST_F(Threads, OtherThanTheFirstAreNotTheMainThread) {
  std::thread([] {
    int flag = 1;
    MPI_Is_thread_main(&flag);
    EXPECT_FALSE(flag);
  }).join();
}

}  // namespace
