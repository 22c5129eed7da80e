// Generalized requests: when their functions run, what they are told, and that they may call MPI at every level of threads.
// Source: MPI-5.0, 13.2.
#include <atomic>
#include <thread>

#include "../ranks.hpp"

namespace generalized_test {
namespace {

struct Calls {
  std::atomic<int> queried{0}, freed{0}, cancelled{0}, complete{-1};
  int answer = MPI_SUCCESS;  // of the free function
};

// Something that goes through the engine, and takes events.
void talk_to_oneself() {
  int out = 7, in = 0;
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 77, &in, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  EXPECT_EQ(in, 7);
  MPI_Barrier(MPI_COMM_SELF);
}
int on_query(void* state, MPI_Status* status) {
  ++static_cast<Calls*>(state)->queried;
  talk_to_oneself();
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int on_free(void* state) {
  talk_to_oneself();
  ++static_cast<Calls*>(state)->freed;
  return static_cast<Calls*>(state)->answer;
}
int on_cancel(void* state, int complete) {
  talk_to_oneself();
  ++static_cast<Calls*>(state)->cancelled;
  static_cast<Calls*>(state)->complete = complete;
  return MPI_SUCCESS;
}
MPI_Request start(Calls& calls) {
  MPI_Request request;
  EXPECT_EQ(MPI_Grequest_start(on_query, on_free, on_cancel, &calls, &request), MPI_SUCCESS);
  return request;
}
TEST(Generalized, FreeFunctionRunsInTheLaterOfFreeingAndCompleting) {
  ReturnErrors guard;
  for (const int answer : {MPI_SUCCESS, MPI_ERR_TOPOLOGY}) {
    Calls first, second, waited, tested;
    for (Calls* calls : {&first, &second, &waited, &tested}) calls->answer = answer;
    MPI_Request request = start(first), copy = request;
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(first.freed, 0);
    EXPECT_EQ(class_of(MPI_Grequest_complete(copy)), answer);
    EXPECT_EQ(first.freed, 1);

    request = start(second);
    EXPECT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
    EXPECT_EQ(second.freed, 0);
    EXPECT_EQ(class_of(MPI_Request_free(&request)), answer);
    EXPECT_EQ(second.freed, 1);
    EXPECT_EQ(request, MPI_REQUEST_NULL);

    request = start(waited);
    MPI_Grequest_complete(request);
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), answer);
    EXPECT_TRUE(waited.freed == 1 && waited.queried == 1);

    request = start(tested);
    int flag = 1;
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(flag == 0 && tested.queried == 0);
    MPI_Grequest_complete(request);
    int error = MPI_SUCCESS;
    for (flag = 0; !flag;) error = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(class_of(error), answer);
    EXPECT_EQ(tested.freed, 1);
    talk_to_oneself();  // whatever is left under way
    for (Calls* calls : {&first, &second, &waited, &tested}) EXPECT_EQ(calls->freed, 1);
  }
}

TEST(Generalized, CancelIsToldWhetherTheOperationIsComplete) {
  Calls calls;
  MPI_Request request = start(calls);
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(calls.complete, 0);
  MPI_Grequest_complete(request);
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_TRUE(calls.complete == 1 && calls.cancelled == 2);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(calls.freed, 1);
}

// One thread completes what another frees or waits for, while a third takes events all the time.
TEST(Threads, MayCompleteGeneralizedRequestsThatOthersFree) {
  constexpr int kRounds = 300;
  std::atomic<bool> over{false};
  std::thread polls([&] {
    int flag;
    while (!over) MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  });
  for (int i = 0; i < kRounds; ++i) {
    Calls calls;
    MPI_Request request = start(calls);
    const MPI_Request copy = request;
    std::thread completes([&] { MPI_Grequest_complete(copy); });
    if (i % 2 == 0) MPI_Request_free(&request);
    else MPI_Wait(&request, MPI_STATUS_IGNORE);
    completes.join();
    EXPECT_EQ(calls.freed, 1) << i;
  }
  over = true;
  polls.join();
}

}  // namespace
}  // namespace generalized_test
