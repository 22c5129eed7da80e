// Errors that are returned, and inquiries. Source: MPI-5.0, 9.1-9.6, 11.2, 11.6.
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "ranks.hpp"

namespace errors_test {
namespace {

TEST(Errors, OfArgumentsAreReturnedWithTheirClass) {
  ReturnErrors guard;
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm world = MPI_COMM_WORLD;
  EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, ranks(), 0, world), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Recv(&value, 1, MPI_INT, -7, 0, world, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, 0, -1, world), MPI_ERR_TAG);
  EXPECT_EQ(MPI_Isend(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world, &request), MPI_ERR_TAG);
  EXPECT_EQ(MPI_Irecv(&value, 1, MPI_INT, 0, -3, world, &request), MPI_ERR_TAG);
  EXPECT_EQ(MPI_Send(&value, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, world), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Recv(&value, 1, reinterpret_cast<MPI_Datatype>(&value), 0, 0, world, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Send(nullptr, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER);
  EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Barrier(reinterpret_cast<MPI_Comm>(&value)), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Probe(ranks(), 0, world, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Isend(&value, 1, MPI_INT, 0, 0, world, nullptr), MPI_ERR_ARG);
  request = reinterpret_cast<MPI_Request>(&value);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  int flag;
  request = reinterpret_cast<MPI_Request>(uintptr_t{0x7});
  EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
  request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_Request_free(&request), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
  EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_ERR_OTHER);
}

TEST(Errors, AMessageLongerThanTheReceiveIsTruncatedAndSaysSo) {
  ReturnErrors guard;
  for (size_t size : {size_t{16}, size_t{9000}, size_t{1} << 20}) {
    for (bool early : {false, true}) {
      const Bytes mine = message(rank(), 3, size), theirs = message(left(), 3, size);
      Bytes room(size / 2 + 8, 0xee);
      MPI_Request receiving = MPI_REQUEST_NULL, sending;
      const auto post = [&] { MPI_Irecv(room.data(), static_cast<int>(size / 2), MPI_BYTE, left(), 2, MPI_COMM_WORLD, &receiving); };
      if (!early) post();
      barrier();
      sending = isend(mine, right(), 2);
      if (early) {
        MPI_Probe(left(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        post();
      }
      MPI_Status status;
      EXPECT_EQ(MPI_Wait(&receiving, &status), MPI_ERR_TRUNCATE);
      EXPECT_EQ(receiving, MPI_REQUEST_NULL);
      EXPECT_EQ(status.MPI_SOURCE, left());
      EXPECT_EQ(std::memcmp(room.data(), theirs.data(), size / 2), 0);
      EXPECT_EQ(room[size / 2], 0xee);
      EXPECT_EQ(MPI_Wait(&sending, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
  }
}

// Some rank notices that the sizes which the ranks have given do not fit, and all goes on.
template <class Collective>
void mismatched(const char* name, MPI_Comm comm, Collective&& collective) {
  for (const int size : {2, 3000}) {
    for (int round = 0; round < 2; ++round) {
      SCOPED_TRACE(name);
      const int error = collective(size);
      EXPECT_TRUE(error == MPI_SUCCESS || error == MPI_ERR_TRUNCATE) << error;
      int failed = error != MPI_SUCCESS, failures = 0, one = 1, sum = 0;
      EXPECT_EQ(MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
      EXPECT_GE(failures, 1);
      EXPECT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
      EXPECT_EQ(sum, ranks());
    }
  }
}

TEST(Errors, CollectivesWhoseSizesDoNotFitAreTruncatedAndSaySo) {
  if (ranks() == 1) GTEST_SKIP() << "needs two ranks";
  ReturnErrors guard;
  MPI_Comm world;  // a new one: all ranks have kept the same schedules
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  const bool odd = rank() == ranks() - 1;
  const auto n = static_cast<size_t>(ranks());
  std::vector<int> in(6002 * n), out(6002 * n);
  mismatched("bcast", world, [&](int size) { return MPI_Bcast(in.data(), odd ? size - 1 : size, MPI_INT, 0, world); });
  mismatched("gather", world,
             [&](int size) { return MPI_Gather(in.data(), odd ? size + 1 : size, MPI_INT, out.data(), size, MPI_INT, 0, world); });
  mismatched("scatter", world,
             [&](int size) { return MPI_Scatter(in.data(), size, MPI_INT, out.data(), odd ? size - 1 : size, MPI_INT, 0, world); });
  mismatched("allgather", world, [&](int size) {
    return MPI_Allgather(in.data(), odd ? size + 1 : size, MPI_INT, out.data(), odd ? size + 1 : size, MPI_INT, world);
  });
  mismatched("alltoall", world, [&](int size) {
    return MPI_Alltoall(in.data(), odd ? size + 1 : size, MPI_INT, out.data(), odd ? size + 1 : size, MPI_INT, world);
  });
  mismatched("allreduce", world,
             [&](int size) { return MPI_Allreduce(in.data(), out.data(), odd ? size + 1 : size, MPI_INT, MPI_SUM, world); });
  mismatched("ibcast", world, [&](int size) {
    MPI_Request request;
    MPI_Ibcast(in.data(), odd ? size + 1 : size, MPI_INT, 0, world, &request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  mismatched("gatherv", world, [&](int size) {
    std::vector<int> counts(n, size), places(n, 0);
    for (size_t i = 0; i < n; ++i) places[i] = static_cast<int>(i) * (size + 1);
    return MPI_Gatherv(in.data(), odd ? size + 1 : size, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, 0, world);
  });
  MPI_Comm_free(&world);
}

TEST(Errors, WaitallPutsEachRequestsErrorInItsStatus) {
  ReturnErrors guard;
  Bytes small(4), large(8);
  MPI_Request requests[3] = {ireceive(small, left(), 1), MPI_REQUEST_NULL, ireceive(large, left(), 2)};
  barrier();
  send(message(rank(), 1, 8), right(), 1);
  send(message(rank(), 2, 8), right(), 2);
  MPI_Status statuses[3];
  EXPECT_EQ(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
  EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
  EXPECT_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(statuses[2].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(large, message(left(), 2, 8));
}

bool is_kept = true;
int delete_unless_kept(MPI_Win, int, void*, void*) { return is_kept ? MPI_ERR_OTHER : MPI_SUCCESS; }
int told;
void on_error(MPI_Win*, int* code, ...) { told = *code; }

// An error of a function that deletes an attribute is an error of the call (MPI-5.0, 6.7).
TEST(Errors, OfTheDeletionOfAWindowsAttributeGoToItsHandler) {
  int room = 0, value = 0;
  MPI_Errhandler handler;
  static MPI_Win win;
  static int win_key;
  MPI_Win_create(&room, sizeof room, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_create_errhandler(on_error, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_unless_kept, &win_key, nullptr);
  EXPECT_EQ(MPI_Win_set_attr(win, win_key, &value), MPI_SUCCESS);
  for (const auto& call : {+[] { return MPI_Win_set_attr(win, win_key, &told); }, +[] { return MPI_Win_delete_attr(win, win_key); }}) {
    told = MPI_SUCCESS;
    const int code = call();
    EXPECT_EQ(code, told);
    EXPECT_EQ(class_of(code), MPI_ERR_OTHER);
  }
  is_kept = false;
  MPI_Errhandler_free(&handler);
  MPI_Win_free_keyval(&win_key);
  MPI_Win_free(&win);
}

TEST(Errors, HaveStringsAndClasses) {
  for (int code = MPI_SUCCESS; code <= MPI_ERR_ABI; ++code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0, error_class = -1;
    EXPECT_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
    EXPECT_EQ(static_cast<size_t>(length), std::strlen(text));
    EXPECT_EQ(MPI_Error_class(code, &error_class), MPI_SUCCESS);
    EXPECT_EQ(error_class, code);
  }
  ReturnErrors guard;
  int error_class;
  EXPECT_EQ(MPI_Error_class(-5, &error_class), MPI_ERR_ARG);
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  EXPECT_EQ(handler, MPI_ERRORS_RETURN);
}

TEST(Environment, TypeSizesAreThoseOfTheLanguage) {
  const std::map<MPI_Datatype, size_t> sizes = {{MPI_CHAR, 1},
                                                {MPI_SHORT, sizeof(short)},
                                                {MPI_INT, sizeof(int)},
                                                {MPI_LONG, sizeof(long)},
                                                {MPI_LONG_LONG_INT, sizeof(long long)},
                                                {MPI_FLOAT, sizeof(float)},
                                                {MPI_DOUBLE, sizeof(double)},
                                                {MPI_LONG_DOUBLE, sizeof(long double)},
                                                {MPI_WCHAR, sizeof(wchar_t)},
                                                {MPI_AINT, sizeof(MPI_Aint)},
                                                {MPI_UINT8_T, 1},
                                                {MPI_INT64_T, 8},
                                                {MPI_C_BOOL, 1},
                                                {MPI_C_DOUBLE_COMPLEX, 16},
                                                {MPI_C_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)},
                                                {MPI_DOUBLE_INT, 12},
                                                {MPI_2INT, 8},
                                                {MPI_SHORT_INT, 6},
                                                {MPI_REAL16, 16},
                                                {MPI_COMPLEX32, 32}};
  for (const auto& [type, expected] : sizes) {
    int size = 0;
    EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
    EXPECT_EQ(static_cast<size_t>(size), expected);
  }
}

TEST(Environment, AnswersWhoAndWhereWeAre) {
  int flag = 0, value = -1, length = -1;
  MPI_Initialized(&flag);
  EXPECT_TRUE(flag);
  MPI_Finalized(&flag);
  EXPECT_FALSE(flag);
  MPI_Comm_rank(MPI_COMM_SELF, &value);
  EXPECT_EQ(value, 0);
  MPI_Comm_size(MPI_COMM_SELF, &value);
  EXPECT_EQ(value, 1);
  int subversion;
  MPI_Get_version(&value, &subversion);
  EXPECT_EQ(value, 5);
  char name[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_processor_name(name, &length);
  EXPECT_GT(length, 0);
  MPI_Get_library_version(version, &length);
  EXPECT_NE(std::string(version).find("Portunus"), std::string::npos);
  MPI_Is_thread_main(&flag);
  EXPECT_TRUE(flag);
  int* tag_upper_bound = nullptr;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&tag_upper_bound), &flag);
  ASSERT_TRUE(flag);
  EXPECT_EQ(*tag_upper_bound, std::numeric_limits<int>::max());
  const double before = MPI_Wtime();
  EXPECT_GE(MPI_Wtime(), before);
  EXPECT_GT(MPI_Wtick(), 0);
  double* memory = nullptr;
  EXPECT_EQ(MPI_Alloc_mem(1000, MPI_INFO_NULL, static_cast<void*>(&memory)), MPI_SUCCESS);
  memory[0] = 1;
  EXPECT_EQ(MPI_Free_mem(memory), MPI_SUCCESS);
  MPI_Aint address;
  MPI_Get_address(&value, &address);
  EXPECT_EQ(address, reinterpret_cast<MPI_Aint>(&value));
  EXPECT_EQ(MPI_Aint_diff(MPI_Aint_add(address, 24), address), 24);
  EXPECT_EQ(MPI_Pcontrol(1), MPI_SUCCESS);
  MPI_Abi_get_version(&value, &subversion);
  EXPECT_EQ(value, MPI_ABI_VERSION);
}

TEST(Environment, TheLargestTagWorks) {
  int* upper_bound;
  int flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&upper_bound), &flag);
  Bytes room(8);
  MPI_Request request = ireceive(room, left(), *upper_bound);
  send(message(rank(), 1, 8), right(), *upper_bound);
  MPI_Status status;
  MPI_Wait(&request, &status);
  EXPECT_EQ(status.MPI_TAG, *upper_bound);
}

}  // namespace
}  // namespace errors_test
