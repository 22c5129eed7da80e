// Continuations: each function runs once, when its requests are complete, in a call of MPI of a thread of the program, with what they say;
// never within another one; and a descriptor tells when there is something to call for. Source: mpi-ext.h.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "../ranks.hpp"

namespace continuations_test {
namespace {

struct Ran {
  std::atomic<int> times{0};
  int code = -1;
  int answer = MPI_SUCCESS;
  std::thread::id thread;
};
int note(int code, void* data) {
  Ran& ran = *static_cast<Ran*>(data);
  ran.code = code;
  ran.thread = std::this_thread::get_id();
  ++ran.times;
  return ran.answer;
}

struct All {
  explicit All(int most = -1, int flags = 0) { EXPECT_EQ(MPIX_Continue_init(most, flags, &request, MPI_INFO_NULL), MPI_SUCCESS); }
  ~All() { EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS); }
  int add(MPI_Request& one, Ran& ran, int flags = 0, MPI_Status* status = MPI_STATUS_IGNORE) const {
    return MPIX_Continue(&one, note, &ran, flags, status, request);
  }
  int wait() { return MPI_Wait(&request, MPI_STATUS_IGNORE); }
  bool test() {
    int flag = -1;
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return flag != 0;
  }
  MPI_Request request = MPI_REQUEST_NULL;
};

TEST(Continuations, RunOnceWithWhatTheirRequestsSay) {
  for (const size_t size : {size_t{8}, size_t{5000}, size_t{200'000}}) {
    All all;
    Ran received, sent, both;
    MPI_Status status, statuses[2];
    const Bytes mine = message(rank(), 1, size), theirs = message(left(), 1, size);
    Bytes rooms[] = {room_for(theirs), room_for(theirs)};
    MPI_Request in = ireceive(rooms[0], left(), 3), pair[2];
    EXPECT_EQ(all.add(in, received, 0, &status), MPI_SUCCESS);
    EXPECT_EQ(in, MPI_REQUEST_NULL);
    EXPECT_EQ(received.times, 0);
    EXPECT_FALSE(all.test());
    barrier();
    MPI_Request out = isend(mine, right(), 3);
    EXPECT_EQ(all.add(out, sent), MPI_SUCCESS);
    EXPECT_EQ(all.wait(), MPI_SUCCESS);
    EXPECT_TRUE(received.times == 1 && sent.times == 1 && received.code == MPI_SUCCESS && sent.code == MPI_SUCCESS);
    EXPECT_TRUE(received.thread == std::this_thread::get_id());
    EXPECT_EQ(rooms[0], theirs);
    EXPECT_TRUE(status.MPI_SOURCE == left() && status.MPI_TAG == 3 && count_of(status) == static_cast<int>(size));
    pair[0] = ireceive(rooms[1], left(), 4);
    pair[1] = isend(mine, right(), 4);
    EXPECT_EQ(MPI_Start(&all.request), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Continueall(2, pair, note, &both, 0, statuses, all.request), MPI_SUCCESS);
    EXPECT_TRUE(pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL);
    EXPECT_EQ(all.wait(), MPI_SUCCESS);
    EXPECT_TRUE(both.times == 1 && both.code == MPI_SUCCESS && statuses[0].MPI_SOURCE == left() && rooms[1] == theirs);
  }
}

TEST(Continuations, OfWhatIsCompleteRunAtOnceUnlessTheyAreDeferred) {
  All all, polled(-1, MPIX_CONT_POLL_ONLY);
  Ran at_once, deferred, only_polled;
  MPI_Request null = MPI_REQUEST_NULL;
  EXPECT_EQ(all.add(null, at_once), MPI_SUCCESS);
  EXPECT_EQ(at_once.times, 1);
  EXPECT_EQ(all.add(null, deferred, MPIX_CONT_DEFER_COMPLETE | MPIX_CONT_REQBUF_VOLATILE), MPI_SUCCESS);
  EXPECT_EQ(polled.add(null, only_polled), MPI_SUCCESS);
  EXPECT_TRUE(deferred.times == 0 && only_polled.times == 0);
  EXPECT_TRUE(all.test());
  EXPECT_EQ(deferred.times, 1);
  EXPECT_TRUE(all.test());  // inactive
  for (int i = 0; i < 20; ++i) barrier();
  EXPECT_EQ(only_polled.times, 0);
  EXPECT_TRUE(polled.test());
  EXPECT_EQ(only_polled.times, 1);
}

// A barrier waits for what another rank sends only when a function has run here.
TEST(Continuations, RunInOtherCallsThatWait) {
  static MPI_Request answer;
  All all;
  int room = -1, answered = -1;
  MPI_Request in, back;
  MPI_Irecv(&room, 1, MPI_INT, left(), 8, MPI_COMM_WORLD, &in);
  const auto reply = [](int, void* data) { return MPI_Isend(data, 1, MPI_INT, left(), 9, MPI_COMM_WORLD, &answer); };
  EXPECT_EQ(MPIX_Continue(&in, reply, &room, 0, MPI_STATUS_IGNORE, all.request), MPI_SUCCESS);
  const int mine = rank() + 100;
  MPI_Irecv(&answered, 1, MPI_INT, right(), 9, MPI_COMM_WORLD, &back);
  MPI_Send(&mine, 1, MPI_INT, right(), 8, MPI_COMM_WORLD);
  MPI_Wait(&back, MPI_STATUS_IGNORE);
  EXPECT_EQ(answered, mine);
  EXPECT_EQ(all.wait(), MPI_SUCCESS);
  MPI_Wait(&answer, MPI_STATUS_IGNORE);
  barrier();
}

// The message that the first request receives comes when a function has run that only calls with the second request run.
TEST(Continuations, RunInEachCallThatNamesTheirRequestAmongOthers) {
  static MPI_Request answer;
  for (int call = 0; call < 6; ++call) {
    All all(-1, MPIX_CONT_POLL_ONLY);
    int room = -1, answered = -1;
    MPI_Request in, all_of_them[2];
    MPI_Irecv(&room, 1, MPI_INT, left(), 8, MPI_COMM_WORLD, &in);
    const auto reply = [](int, void* data) { return MPI_Isend(data, 1, MPI_INT, left(), 9, MPI_COMM_WORLD, &answer); };
    EXPECT_EQ(MPIX_Continue(&in, reply, &room, 0, MPI_STATUS_IGNORE, all.request), MPI_SUCCESS);
    const int mine = rank() + 100;
    MPI_Irecv(&answered, 1, MPI_INT, right(), 9, MPI_COMM_WORLD, &all_of_them[0]);
    all_of_them[1] = all.request;
    MPI_Send(&mine, 1, MPI_INT, right(), 8, MPI_COMM_WORLD);
    int flag = 0, one = 0, many[2];
    MPI_Status statuses[2];
    while (call == 1 && !flag) MPI_Testall(2, all_of_them, &flag, statuses);
    while (call == 2 && !flag) MPI_Request_get_status_all(2, all_of_them, &flag, statuses);
    while (call == 3 && answered < 0) MPI_Request_get_status_any(2, all_of_them, &one, &flag, statuses);
    while (call == 4 && answered < 0) MPI_Request_get_status_some(2, all_of_them, &one, many, statuses);
    while (call == 5 && !flag) MPI_Request_get_status(all_of_them[1], &flag, statuses);
    EXPECT_EQ(MPI_Waitall(2, all_of_them, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(answered, mine);
    MPI_Wait(&answer, MPI_STATUS_IGNORE);
    barrier();
  }
}

TEST(Continuations, MayBeAddedWhereAllHaveRunButNobodyHasCompletedTheirRequest) {
  All all(-1, MPIX_CONT_POLL_ONLY);
  Ran first, second;
  MPI_Request null = MPI_REQUEST_NULL, two[2];
  int room, flag = -1;
  MPI_Irecv(&room, 1, MPI_INT, left(), 21, MPI_COMM_WORLD, &two[1]);
  EXPECT_EQ(all.add(null, first), MPI_SUCCESS);
  two[0] = all.request;
  EXPECT_EQ(MPI_Testall(2, two, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(!flag && first.times == 1);
  null = MPI_REQUEST_NULL;
  EXPECT_EQ(all.add(null, second), MPI_SUCCESS);
  EXPECT_EQ(all.wait(), MPI_SUCCESS);
  EXPECT_EQ(second.times, 1);
  barrier();
  MPI_Send(&room, 0, MPI_INT, right(), 21, MPI_COMM_WORLD);
  MPI_Wait(&two[1], MPI_STATUS_IGNORE);
}

TEST(Continuations, OneTestRunsNoMoreThanWasAskedFor) {
  All all(3, MPIX_CONT_POLL_ONLY);
  Ran ran;
  MPI_Request null = MPI_REQUEST_NULL;
  for (int i = 0; i < 8; ++i) EXPECT_EQ(all.add(null, ran), MPI_SUCCESS);
  EXPECT_FALSE(all.test());
  EXPECT_EQ(ran.times, 3);
  EXPECT_FALSE(all.test());
  EXPECT_EQ(ran.times, 6);
  EXPECT_TRUE(all.test());
  EXPECT_EQ(ran.times, 8);
}

TEST(Continuations, FunctionsThatFailAreToldAndRaised) {
  ReturnErrors guard;
  All all;
  Ran well, ill;
  ill.answer = MPI_ERR_OTHER;
  MPI_Request null = MPI_REQUEST_NULL;
  all.add(null, well, MPIX_CONT_DEFER_COMPLETE);
  all.add(null, ill, MPIX_CONT_DEFER_COMPLETE);
  EXPECT_EQ(class_of(all.wait()), MPI_ERR_OTHER);
  void* data[4] = {};
  int count = 4;
  EXPECT_EQ(MPIX_Continue_get_failed(all.request, &count, data), MPI_SUCCESS);
  EXPECT_TRUE(count == 1 && data[0] == &ill);
  count = 4;
  EXPECT_EQ(MPIX_Continue_get_failed(all.request, &count, data), MPI_SUCCESS);
  EXPECT_EQ(count, 0);
  // The operation's error is told to the function.
  Ran truncated;
  Bytes room(4);
  MPI_Request in = ireceive(room, left(), 6);
  all.add(in, truncated);
  send(message(rank(), 0, 100), right(), 6);
  EXPECT_EQ(all.wait(), MPI_SUCCESS);
  EXPECT_TRUE(truncated.times == 1 && truncated.code == MPI_ERR_TRUNCATE);
}

// A function registers the next one; nothing runs within it.
struct Chain {
  MPI_Request group;
  int left, depth = 0, deepest = 0, room = 0;
  MPI_Request persistent = MPI_REQUEST_NULL;
};
int next(int, void* data) {
  Chain& chain = *static_cast<Chain*>(data);
  chain.deepest = std::max(chain.deepest, ++chain.depth);
  if (--chain.left > 0) {
    MPI_Start(&chain.persistent);
    MPI_Send(&chain.left, 1, MPI_INT, rank(), 7, MPI_COMM_WORLD);
    MPIX_Continue(&chain.persistent, next, data, 0, MPI_STATUS_IGNORE, chain.group);
    int flag;
    MPI_Test(&chain.group, &flag, MPI_STATUS_IGNORE);
  }
  --chain.depth;
  return MPI_SUCCESS;
}
TEST(Continuations, MayRegisterOthersAndRestartPersistentRequests) {
  All all;
  Chain chain{all.request, ranks() > 2 ? 2000 : 100'000};  // more ranks than processors give way to one another in each test
  MPI_Recv_init(&chain.room, 1, MPI_INT, rank(), 7, MPI_COMM_WORLD, &chain.persistent);
  MPI_Request null = MPI_REQUEST_NULL;
  MPIX_Continue(&null, next, &chain, MPIX_CONT_DEFER_COMPLETE, MPI_STATUS_IGNORE, all.request);
  EXPECT_EQ(all.wait(), MPI_SUCCESS);
  EXPECT_TRUE(chain.left == 0 && chain.deepest == 1 && chain.room == 1 && chain.persistent != MPI_REQUEST_NULL);
  MPI_Request_free(&chain.persistent);
}

TEST(Continuations, ArraysOfRequestsMayHaveTheirRequestAmongThem) {
  for (const int flags : {0, MPIX_CONT_POLL_ONLY}) {
    All all(-1, flags);
    Ran ran;
    Bytes room(8);
    int indx = -1, flag = 0, done = 0, indices[2];
    MPI_Request null = MPI_REQUEST_NULL, other = ireceive(room, left(), 12);
    const auto again = [&] {
      ran.times = 0;
      all.add(null, ran, MPIX_CONT_DEFER_COMPLETE);
      return std::vector<MPI_Request>{other, all.request};
    };
    std::vector<MPI_Request> two = again();
    EXPECT_TRUE(MPI_Waitany(2, two.data(), &indx, MPI_STATUS_IGNORE) == MPI_SUCCESS && indx == 1 && ran.times == 1);
    two = again();
    EXPECT_TRUE(MPI_Testany(2, two.data(), &indx, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag && indx == 1 && ran.times == 1);
    two = again();
    EXPECT_TRUE(MPI_Waitsome(2, two.data(), &done, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS && done == 1 && ran.times == 1);
    two = again();
    EXPECT_TRUE(MPI_Testsome(2, two.data(), &done, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS && done == 1 && ran.times == 1);
    two = again();
    barrier();
    send(Bytes(8), right(), 12);
    EXPECT_TRUE(MPI_Waitall(2, two.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS && ran.times == 1);
    other = MPI_REQUEST_NULL;
    two = again();
    EXPECT_TRUE(MPI_Testall(2, two.data(), &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS && flag && ran.times == 1);
  }
}

TEST(Continuations, OfARequestThatIsFreedRunAllTheSame) {
  for (const int flags : {0, MPIX_CONT_POLL_ONLY}) {
    MPI_Request request;
    MPIX_Continue_init(-1, flags, &request, MPI_INFO_NULL);
    Ran ran;
    int room = 0, mine = 5;
    MPI_Request in;
    MPI_Irecv(&room, 1, MPI_INT, left(), 13, MPI_COMM_WORLD, &in);
    MPIX_Continue(&in, note, &ran, 0, MPI_STATUS_IGNORE, request);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    MPI_Send(&mine, 1, MPI_INT, right(), 13, MPI_COMM_WORLD);
    while (ran.times == 0) {
      MPI_Request again = MPI_REQUEST_NULL;
      int flag = 0, unused = 0;
      MPI_Irecv(&unused, 1, MPI_INT, rank(), 14, MPI_COMM_WORLD, &again);
      MPI_Test(&again, &flag, MPI_STATUS_IGNORE);
      MPI_Send(&mine, 1, MPI_INT, rank(), 14, MPI_COMM_WORLD);
      MPI_Wait(&again, MPI_STATUS_IGNORE);
    }
    EXPECT_TRUE(ran.times == 1 && room == 5);
    barrier();
  }
}

// Each message makes it readable once more, also one that was complete before it was registered; a call makes it unreadable.
TEST(Continuations, ADescriptorIsReadableWhenThereIsSomethingToDo) {
  constexpr int kOutstanding = 64;
  All all;
  int fd = -1;
  EXPECT_EQ(MPIX_Continue_get_fd(all.request, &fd), MPI_SUCCESS);
  int same = -1;
  EXPECT_TRUE(MPIX_Continue_get_fd(all.request, &same) == MPI_SUCCESS && same == fd);
  std::vector<Ran> ran(kOutstanding);
  std::vector<long> rooms(kOutstanding, -1);
  for (int i = 0; i < kOutstanding; ++i) {
    MPI_Request in;
    MPI_Irecv(&rooms[static_cast<size_t>(i)], 1, MPI_LONG, left(), 100 + i, MPI_COMM_WORLD, &in);
    all.add(in, ran[static_cast<size_t>(i)]);
  }
  barrier();
  const long mine = rank();
  for (int i = 0; i < kOutstanding; ++i) {
    MPI_Send(&mine, 1, MPI_LONG, right(), 100 + i, MPI_COMM_WORLD);
    while (ran[static_cast<size_t>(i)].times == 0) {
      pollfd readable{fd, POLLIN, 0};
      EXPECT_EQ(poll(&readable, 1, -1), 1);
      all.test();
    }
    EXPECT_EQ(rooms[static_cast<size_t>(i)], left());
  }
  Ran deferred;
  MPI_Request null = MPI_REQUEST_NULL;
  all.add(null, deferred, MPIX_CONT_DEFER_COMPLETE);
  while (deferred.times == 0) {
    pollfd readable{fd, POLLIN, 0};
    EXPECT_EQ(poll(&readable, 1, -1), 1);
    all.test();
  }
  // By and by nothing is due, and the descriptor says so.
  for (pollfd readable{fd, POLLIN, 0}; poll(&readable, 1, 0) != 0;) all.test();
  barrier();
}

TEST(Threads, ContinuationsOfSeveralThreadsRunOnThreadsThatCall) {
  int level;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP();
  constexpr int kThreads = 3, kEach = 300;
  All all;
  std::vector<Ran> ran(kThreads * kEach);
  std::vector<int> rooms(ran.size(), -1);
  std::vector<std::thread> threads;
  std::atomic<int> finished{0};
  std::vector<std::thread::id> ids(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      ids[static_cast<size_t>(t)] = std::this_thread::get_id();
      for (int i = t * kEach; i < (t + 1) * kEach; ++i) {
        const auto at = static_cast<size_t>(i);
        MPI_Request in, out;
        MPI_Irecv(&rooms[at], 1, MPI_INT, left(), 1000 + i, MPI_COMM_WORLD, &in);
        all.add(in, ran[at]);
        MPI_Isend(&i, 1, MPI_INT, right(), 1000 + i, MPI_COMM_WORLD, &out);
        MPI_Wait(&out, MPI_STATUS_IGNORE);
      }
      ++finished;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all.wait(), MPI_SUCCESS);
  ids.push_back(std::this_thread::get_id());
  for (size_t i = 0; i < ran.size(); ++i) {
    EXPECT_TRUE(ran[i].times == 1 && rooms[i] == static_cast<int>(i));
    EXPECT_NE(std::find(ids.begin(), ids.end(), ran[i].thread), ids.end());
  }
  barrier();
}

// Each function has begun, but may not have ended, when its request is freed: it ends all the same, and so does MPI_Finalize.
TEST(Threads, ContinuationsEndWhenTheirRequestsAreFreedWhileTheLastFunctionsRun) {
  int level;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP();
  constexpr int kRounds = 300, kGroups = 64;
  std::atomic<int> begun{0};
  std::atomic<bool> over{false};
  const auto count = [](int, void* data) {  // ends after another while each time
    const int number = ++*static_cast<std::atomic<int>*>(data);
    for (volatile int left = 2 * number; left > 0;) left = left - 1;
    return int{MPI_SUCCESS};
  };
  std::thread caller([&] {  // runs what is due
    for (int flag, token = 0; !over;) {
      MPI_Request in;
      MPI_Irecv(&token, 1, MPI_INT, rank(), 31, MPI_COMM_WORLD, &in);
      MPI_Test(&in, &flag, MPI_STATUS_IGNORE);
      MPI_Send(&token, 1, MPI_INT, rank(), 31, MPI_COMM_WORLD);
      if (!flag) MPI_Wait(&in, MPI_STATUS_IGNORE);
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    std::vector<MPI_Request> requests(kGroups);
    begun = 0;
    for (MPI_Request& request : requests) {
      MPI_Request null = MPI_REQUEST_NULL;
      EXPECT_EQ(MPIX_Continue_init(-1, 0, &request, MPI_INFO_NULL), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Continue(&null, count, &begun, MPIX_CONT_DEFER_COMPLETE, MPI_STATUS_IGNORE, request), MPI_SUCCESS);
    }
    for (int i = 0; i < kGroups; ++i) {
      for (int looks = 0; begun <= i; ++looks)
        if (looks > 1000) std::this_thread::yield();
      EXPECT_EQ(MPI_Request_free(&requests[static_cast<size_t>(i)]), MPI_SUCCESS);
    }
  }
  over = true;
  caller.join();
  EXPECT_EQ(begun, kGroups);
  barrier();
}

}  // namespace
}  // namespace continuations_test
