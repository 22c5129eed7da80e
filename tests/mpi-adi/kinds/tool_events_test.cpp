// Events of the tool interface: their types, who is called when, by which safety, and what an event says. Source: MPI-5.0, 15.3.8.
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tests/mpi-adi/ranks.hpp"

namespace tool_events_test {
namespace {

// An event as a callback was told of it.
struct Told {
  int64_t numbers[4] = {-7, -7, -7, -7};
  MPI_Count time = 0;
  MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_NONE;
};

struct Listener {
  std::vector<Told> told;
  MPI_T_event_registration registration{};
  bool calls_mpi = false;
};

void listen(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void* user_data) {
  auto& listener = *static_cast<Listener*>(user_data);
  EXPECT_EQ(registration, listener.registration);
  Told told;
  int source = -1;
  EXPECT_EQ(MPI_T_event_copy(instance, told.numbers), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_event_get_timestamp(instance, &told.time), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_event_get_source(instance, &source), MPI_SUCCESS);
  EXPECT_EQ(source, 0);
  told.safety = safety;
  listener.told.push_back(told);
  if (listener.calls_mpi) {
    EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_SUCCESS);
  }
}

class ToolEvents : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided_), MPI_SUCCESS); }
  void TearDown() override { EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS); }

  static int index_of(const char* name) {
    int index = -1;
    EXPECT_EQ(MPI_T_event_get_index(name, &index), MPI_SUCCESS) << name;
    return index;
  }
  static void begin(Listener& listener, const char* name, MPI_T_cb_safety safety = MPI_T_CB_REQUIRE_THREAD_SAFE) {
    ASSERT_EQ(MPI_T_event_handle_alloc(index_of(name), nullptr, MPI_INFO_NULL, &listener.registration), MPI_SUCCESS);
    ASSERT_EQ(MPI_T_event_register_callback(listener.registration, safety, MPI_INFO_NULL, &listener, listen), MPI_SUCCESS);
  }
  static void end(Listener& listener) { EXPECT_EQ(MPI_T_event_handle_free(listener.registration, nullptr, nullptr), MPI_SUCCESS); }

  int provided_ = 0;
};

TEST_F(ToolEvents, ThereAreTwentyTypesAndMoreEachWithANameOfItsOwn) {
  int types = 0;
  ASSERT_EQ(MPI_T_event_get_num(&types), MPI_SUCCESS);
  EXPECT_GE(types, 20);
  std::set<std::string> names;
  for (int i = 0; i < types; ++i) {
    char name[100], meaning[400];
    int name_length = sizeof name, meaning_length = sizeof meaning, elements = 8, verbosity = 0, bind = -1, found = -1;
    MPI_Datatype datatypes[8];
    MPI_Aint displacements[8];
    MPI_T_enum enumeration;
    MPI_Info info = MPI_INFO_NULL;
    ASSERT_EQ(MPI_T_event_get_info(i, name, &name_length, &verbosity, datatypes, displacements, &elements, &enumeration, &info, meaning,
                                   &meaning_length, &bind),
              MPI_SUCCESS);
    EXPECT_LT(std::strlen(meaning), sizeof meaning - 1);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(MPI_T_event_get_index(name, &found), MPI_SUCCESS);
    EXPECT_EQ(found, i);
    EXPECT_EQ(bind, MPI_T_BIND_NO_OBJECT);
    for (int e = 0; e < elements; ++e) {
      int size = 0;
      EXPECT_EQ(MPI_Type_size(datatypes[e], &size), MPI_SUCCESS);
      EXPECT_EQ(size, 8);
      EXPECT_EQ(displacements[e], 8 * e);
    }
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  }
}

TEST_F(ToolEvents, TheSourceHasAClockThatGoesOn) {
  int sources = 0;
  MPI_Count first = 0, second = 0, ticks = 0;
  MPI_T_source_order order;
  ASSERT_EQ(MPI_T_source_get_num(&sources), MPI_SUCCESS);
  ASSERT_EQ(sources, 1);
  EXPECT_EQ(MPI_T_source_get_info(0, nullptr, nullptr, nullptr, nullptr, &order, &ticks, nullptr, nullptr), MPI_SUCCESS);
  EXPECT_GT(ticks, 0);
  EXPECT_EQ(MPI_T_source_get_timestamp(0, &first), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_source_get_timestamp(0, &second), MPI_SUCCESS);
  EXPECT_LE(first, second);
  EXPECT_EQ(MPI_T_source_get_timestamp(1, &first), MPI_T_ERR_INVALID_INDEX);
}

TEST_F(ToolEvents, MessagesAreToldWithPeerTagAndBytes) {
  Listener sends, receives, received;
  begin(sends, "send_begins");
  begin(receives, "receive_begins");
  begin(received, "message_received");
  const int next = right(), last = left();
  int64_t out = rank(), in = -1;
  MPI_Request request;
  ASSERT_EQ(MPI_Isend(&out, 1, MPI_INT64_T, next, 5, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  ASSERT_EQ(MPI_Recv(&in, 1, MPI_INT64_T, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  end(sends);
  end(receives);
  end(received);
  EXPECT_EQ(in, last);
  ASSERT_EQ(sends.told.size(), 1u);
  EXPECT_EQ(sends.told[0].numbers[1], next);
  EXPECT_EQ(sends.told[0].numbers[2], 5);
  EXPECT_EQ(sends.told[0].numbers[3], 8);
  ASSERT_EQ(receives.told.size(), 1u);
  EXPECT_EQ(receives.told[0].numbers[1], MPI_ANY_SOURCE);
  ASSERT_EQ(received.told.size(), 1u);
  EXPECT_EQ(received.told[0].numbers[1], last);
  EXPECT_EQ(received.told[0].numbers[3], 8);
  EXPECT_LE(receives.told[0].time, received.told[0].time);
  // Nobody listens any more.
  ASSERT_EQ(MPI_Sendrecv(&out, 1, MPI_INT64_T, next, 6, &in, 1, MPI_INT64_T, last, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sends.told.size() + receives.told.size() + received.told.size(), 3u);
}

TEST_F(ToolEvents, WhatWasStartedIsToldOfWhenItsRequestIsCompleted) {
  Listener received, ends;
  begin(received, "message_received");
  begin(ends, "collective_ends");
  const int next = right(), last = left();
  int out = rank(), in = -1, sum = 0;
  MPI_Request requests[3];
  ASSERT_EQ(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
  ASSERT_EQ(MPI_Send(&out, 1, MPI_INT, next, 7, MPI_COMM_WORLD), MPI_SUCCESS);
  ASSERT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(received.told.size(), 0u);
  ASSERT_EQ(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(received.told.size(), 1u);
  EXPECT_EQ(received.told[0].numbers[1], last);
  EXPECT_EQ(received.told[0].numbers[2], 7);
  EXPECT_EQ(received.told[0].numbers[3], 4);
  const size_t ended = ends.told.size();
  EXPECT_EQ(ended, 1u);  // the barrier
  ASSERT_EQ(MPI_Recv_init(&in, 1, MPI_INT, last, 8, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
  ASSERT_EQ(MPI_Start(&requests[0]), MPI_SUCCESS);
  ASSERT_EQ(MPI_Iallreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
  ASSERT_EQ(MPI_Isend(&out, 1, MPI_INT, next, 8, MPI_COMM_WORLD, &requests[2]), MPI_SUCCESS);
  EXPECT_EQ(ends.told.size(), ended);
  ASSERT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(ends.told.size(), ended + 1);
  EXPECT_EQ(ends.told[0].numbers[0], ends.told[1].numbers[0]);
  ASSERT_EQ(received.told.size(), 2u);
  EXPECT_EQ(received.told[1].numbers[2], 8);
  ASSERT_EQ(MPI_Request_free(&requests[0]), MPI_SUCCESS);
  end(received);
  end(ends);
}

TEST_F(ToolEvents, MessagesThatCameBeforeTheirReceivesAreTold) {
  Listener unexpected;
  begin(unexpected, "message_unexpected");
  const int next = right(), last = left();
  int out = rank(), in = -1;
  MPI_Request request;
  ASSERT_EQ(MPI_Irecv(&in, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  ASSERT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  ASSERT_EQ(MPI_Send(&out, 1, MPI_INT, next, 1, MPI_COMM_WORLD), MPI_SUCCESS);
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(unexpected.told.size(), 0u);
  ASSERT_EQ(MPI_Send(&out, 1, MPI_INT, next, 2, MPI_COMM_WORLD), MPI_SUCCESS);
  ASSERT_EQ(MPI_Probe(last, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(unexpected.told.size(), 0u);
  ASSERT_EQ(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(unexpected.told.size(), 1u);
  EXPECT_EQ(unexpected.told[0].numbers[1], last);
  EXPECT_EQ(unexpected.told[0].numbers[2], 2);
  EXPECT_EQ(unexpected.told[0].numbers[3], 4);
  end(unexpected);
}

// The job keeps few messages that were not received (MPIADI_UNEXPECTED_LIMIT).
TEST_F(ToolEvents, SendsToARankThatTakesLessAreTold) {
  constexpr int kMost = 400'000;
  Listener throttled;
  begin(throttled, "send_throttled");
  const int data[16] = {};
  std::vector<MPI_Request> requests;
  for (int i = 0; rank() == 0 && i < kMost && throttled.told.empty(); ++i)
    ASSERT_EQ(MPI_Isend(data, 16, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests.emplace_back()), MPI_SUCCESS);
  ASSERT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  if (rank() == 0) {
    ASSERT_EQ(throttled.told.size(), 1u) << "after " << requests.size();
    EXPECT_EQ(throttled.told[0].numbers[1], 1);
    EXPECT_EQ(throttled.told[0].numbers[2], 3);
    EXPECT_EQ(throttled.told[0].numbers[3], 64);
    ASSERT_EQ(MPI_Isend(data, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests.emplace_back()), MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  } else if (rank() == 1) {
    int in[16];
    MPI_Status status;
    do {
      ASSERT_EQ(MPI_Recv(in, 16, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    } while (status.MPI_TAG != 4);
  }
  end(throttled);
}

TEST_F(ToolEvents, CommunicatorsThatAreMadeLaterAreHeardToo) {
  Listener sends, made, freed, begins, ends;
  begin(sends, "send_begins");
  begin(made, "communicator_created");
  begin(freed, "communicator_freed");
  MPI_Comm comm;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
  begin(begins, "collective_begins");
  begin(ends, "collective_ends");
  const size_t sent_before = sends.told.size();
  const int next = right(), last = left();
  int in = 0, out = 0;
  ASSERT_EQ(MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
  EXPECT_EQ(sends.told.size(), sent_before + 1);
  ASSERT_GE(begins.told.size(), 1u);
  ASSERT_GE(ends.told.size(), 1u);
  EXPECT_EQ(begins.told[0].numbers[1], 0);  // a barrier
  EXPECT_EQ(begins.told[0].numbers[0], sends.told.back().numbers[0]);
  end(begins);
  end(ends);
  ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  end(sends);
  end(made);
  end(freed);
  EXPECT_GE(made.told.size(), 1u);
  EXPECT_GE(freed.told.size(), 1u);
}

TEST_F(ToolEvents, WindowsFilesTypesAndErrorsAreTold) {
  const char* const names[] = {"window_created",     "window_fence", "window_unlock", "window_flush",      "window_freed",
                               "datatype_committed", "error_raised", "file_opened",   "persistent_starts", "request_cancelled"};
  Listener all[std::size(names)];
  for (size_t i = 0; i < std::size(names); ++i) begin(all[i], names[i]);
  ReturnErrors guard;
  MPI_Win window;
  int* memory;
  ASSERT_EQ(MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window), MPI_SUCCESS);
  MPI_Win_fence(0, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, window);
  MPI_Win_flush(rank(), window);
  MPI_Win_unlock(rank(), window);
  MPI_Win_free(&window);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_free(&pair);
  EXPECT_EQ(MPI_Send(nullptr, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  MPI_File file;
  EXPECT_NE(MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_SUCCESS);
  MPI_Request request;
  MPI_Recv_init(nullptr, 0, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &request);
  MPI_Start(&request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  for (size_t i = 0; i < std::size(names); ++i) {
    EXPECT_GE(all[i].told.size(), 1u) << names[i];
    end(all[i]);
  }
  EXPECT_EQ(all[1].told.size(), 2u);
  EXPECT_EQ(all[5].told[0].numbers[0], 8);
  EXPECT_EQ(all[6].told[0].numbers[0], MPI_ERR_COUNT);
}

TEST_F(ToolEvents, TheCallbackOfTheLeastSafetyThatIsEnoughIsCalled) {
  Listener safe, any;
  begin(safe, "datatype_committed", MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
  any.registration = safe.registration;
  ASSERT_EQ(MPI_T_event_register_callback(safe.registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &any, listen), MPI_SUCCESS);
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  EXPECT_EQ(any.told.size(), 1u);
  EXPECT_EQ(safe.told.size(), 0u);
  EXPECT_EQ(MPI_T_event_register_callback(safe.registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, nullptr, nullptr), MPI_SUCCESS);
  MPI_Type_commit(&type);
  EXPECT_EQ(any.told.size(), 1u);
  EXPECT_EQ(safe.told.size(), 1u);
  MPI_Type_free(&type);
  end(safe);
}

int64_t dropped = 0;

TEST_F(ToolEvents, EventsOfCallbacksAreDroppedAndThatIsTold) {
  int level;
  MPI_Query_thread(&level);
  Listener sends;
  begin(sends, "send_begins");
  ASSERT_EQ(MPI_T_event_set_dropped_handler(
                sends.registration, [](MPI_Count count, MPI_T_event_registration, int, MPI_T_cb_safety, void*) { dropped += count; }),
            MPI_SUCCESS);
  Listener commits;
  begin(commits, "datatype_committed");
  commits.calls_mpi = true;  // to nobody: no event
  int in = 0, out = 0;
  const int next = right(), last = left();
  ASSERT_EQ(MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(dropped, 0);
  // A callback that sends: its own event is dropped, and told of before the next.
  Listener fences;
  ASSERT_EQ(MPI_T_event_handle_alloc(index_of("datatype_committed"), nullptr, MPI_INFO_NULL, &fences.registration), MPI_SUCCESS);
  ASSERT_EQ(MPI_T_event_register_callback(fences.registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, nullptr,
                                          [](MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void*) {
                                            int word = 0;
                                            MPI_Sendrecv_replace(&word, 1, MPI_INT, 0, 3, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
                                          }),
            MPI_SUCCESS);
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
  const size_t before = sends.told.size();
  ASSERT_EQ(MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(sends.told.size(), before + 1);
  EXPECT_EQ(dropped, 1);
  end(sends);
  end(commits);
  end(fences);
}

TEST_F(ToolEvents, ACallbackMayEndItsOwnRegistration) {
  MPI_T_event_registration registration;
  static int freed;
  freed = 0;
  ASSERT_EQ(MPI_T_event_handle_alloc(index_of("datatype_committed"), nullptr, MPI_INFO_NULL, &registration), MPI_SUCCESS);
  ASSERT_EQ(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, nullptr,
                                          [](MPI_T_event_instance, MPI_T_event_registration own, MPI_T_cb_safety, void*) {
                                            MPI_T_event_handle_free(own, nullptr,
                                                                    [](MPI_T_event_registration, MPI_T_cb_safety, void*) { ++freed; });
                                          }),
            MPI_SUCCESS);
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_commit(&type);
  MPI_Type_free(&type);
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(MPI_T_event_handle_free(registration, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE);
}

TEST_F(ToolEvents, WrongArgumentsAreCodes) {
  MPI_T_event_registration registration{};
  int types, number;
  int64_t word;
  MPI_T_event_get_num(&types);
  EXPECT_EQ(MPI_T_event_get_index("arrival", &number), MPI_T_ERR_INVALID_NAME);
  EXPECT_EQ(MPI_T_event_handle_alloc(types, nullptr, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_INDEX);
  EXPECT_EQ(MPI_T_event_handle_free(registration, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE);
  EXPECT_EQ(MPI_T_event_read(nullptr, 0, &word), MPI_T_ERR_INVALID_HANDLE);
  ASSERT_EQ(MPI_T_event_handle_alloc(0, nullptr, MPI_INFO_NULL, &registration), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_event_register_callback(registration, static_cast<MPI_T_cb_safety>(5), MPI_INFO_NULL, nullptr, listen),
            MPI_T_ERR_INVALID);
  EXPECT_EQ(MPI_T_event_handle_free(registration, nullptr, nullptr), MPI_SUCCESS);
}

}  // namespace
}  // namespace tool_events_test
