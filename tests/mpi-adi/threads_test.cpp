// Several threads per rank, with MPI_THREAD_MULTIPLE. Source: MPI-5.0, 11.6.
#include <atomic>
#include <thread>

#include "ranks.hpp"

namespace threads_test {
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

// Each thread's messages have one tag: what is sent first is received first, whichever thread carries it out.
TEST_F(Threads, MessagesOfOneThreadDoNotOvertakeEachOther) {
  constexpr int kThreads = 5, kRounds = 12, kAtOnce = 40;
  on_threads(kThreads, [](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      int out[kAtOnce], in[kAtOnce];
      MPI_Request requests[2 * kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) MPI_Irecv(&in[i], 1, MPI_INT, left(), thread, MPI_COMM_WORLD, &requests[i]);
      for (int i = 0; i < kAtOnce; ++i) {
        out[i] = round * kAtOnce + i;
        MPI_Isend(&out[i], 1, MPI_INT, right(), thread, MPI_COMM_WORLD, &requests[kAtOnce + i]);
      }
      MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < kAtOnce; ++i) EXPECT_EQ(in[i], round * kAtOnce + i);
    }
  });
  barrier();
}

// There is room for one message of each thread, and each waits until its message was received before it sends the next.
TEST_F(Threads, FindTheRoomThatABufferHas) {
  constexpr int kThreads = 3, kRounds = 60, kBytes = 40'000;
  std::vector<char> room(kThreads * (kBytes + MPI_BSEND_OVERHEAD));
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  on_threads(kThreads, [](int thread) {
    const Bytes mine(kBytes, static_cast<unsigned char>(thread));
    Bytes theirs(kBytes);
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(MPI_Bsend(mine.data(), kBytes, MPI_BYTE, right(), thread, MPI_COMM_WORLD), MPI_SUCCESS);
      receive(theirs, left(), thread);
      MPI_Send(nullptr, 0, MPI_BYTE, left(), 100 + thread, MPI_COMM_WORLD);
      MPI_Recv(nullptr, 0, MPI_BYTE, right(), 100 + thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  });
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  void* memory;
  int size;
  MPI_Buffer_detach(static_cast<void*>(&memory), &size);
  barrier();
}

void add_all(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

// Short ones are resident, long ones take a step in between, which whichever thread takes events makes.
// Several blocking sends may be under way, too.
TEST_F(Threads, EachSendAndWaitForTheirReceivers) {
  constexpr int kRounds = 30, kBytes = 300'000;
  on_threads(3, [](int thread) {
    const Bytes mine(kBytes, static_cast<unsigned char>(10 * rank() + thread)),
        expected(kBytes, static_cast<unsigned char>(10 * left() + thread));
    for (int round = 0; round < kRounds; ++round) {
      Bytes theirs(kBytes);
      MPI_Request request;
      MPI_Irecv(theirs.data(), kBytes, MPI_BYTE, left(), thread, MPI_COMM_WORLD, &request);
      if (round % 2) MPI_Ssend(mine.data(), kBytes, MPI_BYTE, right(), thread, MPI_COMM_WORLD);
      else MPI_Send(mine.data(), kBytes, MPI_BYTE, right(), thread, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(theirs, expected);
    }
  });
  barrier();
}

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

TEST_F(Threads, HaveCollectivesOfTheirOwnOnCommunicatorsOfTheirOwn) {
  constexpr int kThreads = 3;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& each : comms) MPI_Comm_dup(MPI_COMM_WORLD, &each);
  on_threads(kThreads, [&comms](int thread) {
    const MPI_Comm comm = comms[thread];
    int in = 0, sum = 0, running = -1, word = 0;
    MPI_Request persistent, request;
    MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent);
    for (int i = 0; i < 15; ++i) {
      in = rank() + i + thread;
      MPI_Start(&persistent);
      MPI_Wait(&persistent, MPI_STATUS_IGNORE);
      EXPECT_EQ(sum, ranks() * (ranks() - 1) / 2 + ranks() * (i + thread));
      MPI_Iallreduce(&in, &running, 1, MPI_INT, MPI_MAX, comm, &request);
      word = rank() == i % ranks() ? i : -1;
      MPI_Bcast(&word, 1, MPI_INT, i % ranks(), comm);
      EXPECT_EQ(word, i);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(running, ranks() - 1 + i + thread);
    }
    MPI_Request_free(&persistent);
  });
  for (MPI_Comm& each : comms) MPI_Comm_free(&each);
  barrier();
}

TEST_F(Threads, MakeCommunicatorsAtTheSameTime) {
  constexpr int kThreads = 3;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& each : comms) MPI_Comm_dup(MPI_COMM_WORLD, &each);
  on_threads(kThreads, [&comms](int thread) {
    for (int i = 0; i < 8; ++i) {
      MPI_Comm copies[3];
      MPI_Request requests[2];
      EXPECT_EQ(MPI_Comm_idup(comms[thread], &copies[0], &requests[0]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_idup(comms[thread], &copies[1], &requests[1]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_split(comms[thread], 0, -rank(), &copies[2]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      for (MPI_Comm& copy : copies) {  // each has a context of its own
        int mine = thread * 100 + i, theirs = -1, own;
        MPI_Comm_rank(copy, &own);
        MPI_Sendrecv(&mine, 1, MPI_INT, (own + 1) % ranks(), 0, &theirs, 1, MPI_INT, (own + ranks() - 1) % ranks(), 0, copy,
                     MPI_STATUS_IGNORE);
        EXPECT_EQ(theirs, mine);
        MPI_Comm_free(&copy);
      }
    }
  });
  for (MPI_Comm& each : comms) MPI_Comm_free(&each);
  barrier();
}

TEST_F(Threads, SayEachForItsPartitionThatItIsReady) {
  constexpr int kThreads = 4;
  int out[kThreads], in[kThreads];
  MPI_Request requests[2];
  MPI_Psend_init(out, kThreads, 1, MPI_INT, right(), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, kThreads, 1, MPI_INT, left(), 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 10; ++round) {
    MPI_Startall(2, requests);
    on_threads(kThreads, [&](int thread) {
      out[thread] = rank() * 100 + thread + round;
      EXPECT_EQ(MPI_Pready(thread, requests[0]), MPI_SUCCESS);
      int arrived = 0;
      while (!arrived) MPI_Parrived(requests[1], thread, &arrived);
      EXPECT_EQ(in[thread], left() * 100 + thread + round);
    });
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  barrier();
}

TEST_F(Threads, AccessAWindowAndAttributesAtTheSameTime) {
  long memory[4] = {0, 0, 0, 0};
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  on_threads(3, [&](int thread) {
    const long one = 1;
    for (int i = 0; i < 30; ++i) {
      long old;
      MPI_Fetch_and_op(&one, &old, MPI_LONG, right(), thread, MPI_SUM, win);
      MPI_Win_flush(right(), win);
      MPI_Datatype pair;
      MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
      MPI_Type_commit(&pair);
      MPI_Type_free(&pair);
    }
  });
  MPI_Win_unlock_all(win);
  barrier();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(memory[i], 30);
  MPI_Win_free(&win);
}

TEST_F(Threads, OtherThanTheFirstAreNotTheMainThread) {
  std::thread([] {
    int flag = 1;
    MPI_Is_thread_main(&flag);
    EXPECT_FALSE(flag);
  }).join();
}

}  // namespace
}  // namespace threads_test
