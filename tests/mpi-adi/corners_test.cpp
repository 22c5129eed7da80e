// Corners that are easily got wrong: objects freed while they are in use, nothing at all as an argument, order and room that nobody sees.
// Source: MPI-5.0, 3.6, 3.9, 6.9.2, 7.7.2, 12.3.4, 12.7.2, 13.2.
#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "ranks.hpp"

namespace corners_test {
namespace {

const MPI_Comm comm = MPI_COMM_WORLD;

// A datatype or communicator that is freed lives as long as something pending needs it.
TEST(Corners, PersistentRequestsOutliveTheirDatatypeAndCommunicator) {
  MPI_Comm own;
  MPI_Comm_dup(comm, &own);
  MPI_Datatype every_second;
  MPI_Type_vector(500, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  std::vector<int> from(1000), to(1000, -1);
  for (size_t i = 0; i < from.size(); ++i) from[i] = rank() * 1000 + static_cast<int>(i);
  MPI_Request requests[2];
  EXPECT_EQ(MPI_Send_init(from.data(), 1, every_second, right(), 3, own, &requests[0]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Recv_init(to.data(), 1, every_second, left(), 3, own, &requests[1]), MPI_SUCCESS);
  MPI_Type_free(&every_second);
  MPI_Comm_free(&own);
  MPI_Datatype other;  // takes the places of what was freed, if that is gone
  MPI_Type_contiguous(7, MPI_CHAR, &other);
  MPI_Comm_dup(comm, &own);
  for (int round = 0; round < 2; ++round) {
    std::fill(to.begin(), to.end(), -1);
    EXPECT_EQ(MPI_Startall(2, requests), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(to[static_cast<size_t>(i)], i % 2 ? -1 : left() * 1000 + i);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  MPI_Comm_free(&own);
  MPI_Type_free(&other);
}

int deletions = 0;
int count_deletion(MPI_Comm, int, void*, void*) { return ++deletions, MPI_SUCCESS; }

TEST(Corners, AFreedKeyLivesAsLongAsAnAttributeHasIt) {
  int key, value = 5, *got = nullptr, flag = 0;
  deletions = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_deletion, &key, nullptr);
  const int kept = key;
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
  MPI_Comm_free_keyval(&key);
  EXPECT_EQ(key, MPI_KEYVAL_INVALID);
  ReturnErrors guard;
  EXPECT_EQ(MPI_Comm_get_attr(MPI_COMM_SELF, kept, static_cast<void*>(&got), &flag), MPI_SUCCESS);
  EXPECT_TRUE(flag && got == &value);
  int again = kept;
  EXPECT_EQ(MPI_Comm_free_keyval(&again), MPI_SUCCESS);  // as other implementations do
  EXPECT_EQ(MPI_Comm_delete_attr(MPI_COMM_SELF, kept), MPI_SUCCESS);
  EXPECT_EQ(deletions, 1);
  EXPECT_EQ(MPI_Comm_get_attr(MPI_COMM_SELF, kept, static_cast<void*>(&got), &flag), MPI_ERR_KEYVAL);
}

TEST(Corners, NothingNeedsNoMemoryAndNoDatatype) {
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  ReturnErrors guard;
  MPI_Request requests[4];
  MPI_Status status;
  EXPECT_EQ(MPI_Irecv(nullptr, 5, empty, left(), 1, comm, &requests[0]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Irecv(nullptr, 0, MPI_DATATYPE_NULL, left(), 2, comm, &requests[1]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Send(nullptr, 5, empty, right(), 1, comm), MPI_SUCCESS);
  EXPECT_EQ(MPI_Isend(nullptr, 0, MPI_DATATYPE_NULL, right(), 2, comm, &requests[2]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Send_init(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 2, comm, &requests[3]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&requests[3]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Sendrecv(nullptr, 0, MPI_DATATYPE_NULL, right(), 3, nullptr, 0, MPI_DATATYPE_NULL, left(), 3, comm, &status), MPI_SUCCESS);
  EXPECT_EQ(MPI_Send(nullptr, 1, MPI_DATATYPE_NULL, right(), 2, comm), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Bcast(nullptr, 5, empty, 0, comm), MPI_SUCCESS);
  EXPECT_EQ(MPI_Bcast(nullptr, 0, MPI_DATATYPE_NULL, 0, comm), MPI_SUCCESS);
  EXPECT_EQ(MPI_Allgather(nullptr, 5, empty, nullptr, 5, empty, comm), MPI_SUCCESS);
  int value = 7;
  EXPECT_EQ(MPI_Reduce_local(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  MPI_Win win;
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  EXPECT_EQ(MPI_Put(nullptr, 3, empty, right(), 0, 3, empty, win), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(nullptr, 3, empty, right(), 0, 3, empty, MPI_SUM, win), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(nullptr, 0, MPI_FLOAT, right(), 0, 0, MPI_FLOAT, MPI_BAND, win), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get_accumulate(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, right(), 0, 0, MPI_INT, MPI_SUM, win), MPI_SUCCESS);
  MPI_Win_fence(0, win);
  EXPECT_EQ(value, 7);
  MPI_Win_free(&win);
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  EXPECT_EQ(MPI_Win_get_name(MPI_WIN_NULL, name, &length), MPI_SUCCESS);
  EXPECT_EQ(std::string(name), "MPI_WIN_NULL");
  EXPECT_EQ(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length), MPI_SUCCESS);
  EXPECT_EQ(std::string(name), "MPI_DATATYPE_NULL");
  MPI_Type_free(&empty);
}

// Operations of one rank on one place take effect in the order of the calls, whatever their sizes.
TEST(Corners, AccumulatesOnOnePlaceKeepTheirOrder) {
  constexpr int kMost = 65'536;
  std::vector<int> memory(kMost), last(kMost, 0);
  MPI_Win win;
  MPI_Win_create(memory.data(), kMost * MPI_Aint{sizeof(int)}, sizeof(int), MPI_INFO_NULL, comm, &win);
  int wrong = 0;
  for (int round = 0; round < 20; ++round)
    for (const int count : {8192, 8193, kMost}) {
      const std::vector<int> long_one(static_cast<size_t>(count), 2 * round + 1);
      const int short_one = 2 * round + 2;
      MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, win);
      MPI_Accumulate(long_one.data(), count, MPI_INT, right(), 0, count, MPI_INT, MPI_REPLACE, win);
      for (const int place : {0, count / 2, count - 1})
        MPI_Accumulate(&short_one, 1, MPI_INT, right(), place, 1, MPI_INT, MPI_REPLACE, win);
      MPI_Win_unlock(right(), win);
      barrier();
      MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, win);
      for (const int place : {0, count / 2, count - 1}) wrong += memory[static_cast<size_t>(place)] != short_one;
      MPI_Win_unlock(rank(), win);
      barrier();
    }
  EXPECT_EQ(wrong, 0);
  MPI_Win_free(&win);
}

// A request of one access tells of that one, whatever is faster.
TEST(Corners, ARequestOfALongGetIsNotCompletedByAShortPut) {
  constexpr size_t kLong = 4 << 20;
  Bytes memory = message(rank(), 1, kLong + 64), got(kLong);
  MPI_Win win;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_lock_all(0, win);
  const Bytes expected = message(right(), 1, kLong + 64);
  for (int round = 0; round < 3; ++round) {
    std::fill(got.begin(), got.end(), static_cast<unsigned char>(0));
    MPI_Request request;
    MPI_Rget(got.data(), static_cast<int>(kLong), MPI_BYTE, right(), 0, static_cast<int>(kLong), MPI_BYTE, win, &request);
    for (int i = 0; i < 8; ++i) MPI_Put(&round, sizeof round, MPI_BYTE, right(), kLong + 8 * i, sizeof round, MPI_BYTE, win);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin())) << round;
    MPI_Win_flush_all(win);
  }
  MPI_Win_unlock_all(win);
  barrier();
  MPI_Win_free(&win);
}

template <class T>
void swap_if_equal(MPI_Datatype type, T first, T second, MPI_Win win) {
  int size;
  MPI_Type_size(type, &size);
  T old, now;
  std::memset(static_cast<void*>(&old), 0, sizeof old);
  std::memset(static_cast<void*>(&now), 0, sizeof now);
  MPI_Put(&first, 1, type, right(), 0, 1, type, win);
  MPI_Win_flush(right(), win);
  EXPECT_EQ(MPI_Compare_and_swap(&second, &second, &old, type, right(), 0, win), MPI_SUCCESS);  // differs: stays
  MPI_Win_flush(right(), win);
  EXPECT_TRUE(old == first) << size;
  EXPECT_EQ(MPI_Compare_and_swap(&second, &first, &old, type, right(), 0, win), MPI_SUCCESS);
  MPI_Win_flush(right(), win);
  EXPECT_TRUE(old == first) << size;
  MPI_Get(&now, 1, type, right(), 0, 1, type, win);
  MPI_Win_flush(right(), win);
  EXPECT_TRUE(now == second) << size;
}

TEST(Corners, IntegersLogicalsAndBytesAreComparedAndSwapped) {
  alignas(16) std::byte memory[32] = {};
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_lock_all(0, win);
  swap_if_equal<char>(MPI_CHAR, 'a', 'b', win);
  swap_if_equal<unsigned char>(MPI_BYTE, 200, 100, win);
  swap_if_equal<short>(MPI_SHORT, -1, 2, win);
  swap_if_equal<int>(MPI_INT, -1, 2, win);
  swap_if_equal<bool>(MPI_C_BOOL, true, false, win);
  swap_if_equal<uint64_t>(MPI_UINT64_T, ~uint64_t{0}, 2, win);
  swap_if_equal<MPI_Aint>(MPI_AINT, -1, 2, win);
  swap_if_equal<MPI_Count>(MPI_COUNT, 1, 2, win);
  MPI_Win_unlock_all(win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  for (const MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_FLOAT_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_DOUBLE_INT})
    EXPECT_EQ(MPI_Compare_and_swap(memory, memory, memory, type, 0, 0, win), MPI_ERR_TYPE);
  MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
}

// Every predefined operation on a type, everywhere that operations are: the result and the old value are what two elements give.
template <class T>
void accumulate_everywhere(MPI_Datatype type, bool bits, bool ordered, MPI_Win win, T* memory) {
  std::vector<std::pair<MPI_Op, std::function<T(T, T)>>> all = {{MPI_SUM, [](T a, T b) { return static_cast<T>(a + b); }},
                                                                {MPI_PROD, [](T a, T b) { return static_cast<T>(a * b); }},
                                                                {MPI_REPLACE, [](T, T b) { return b; }},
                                                                {MPI_NO_OP, [](T a, T) { return a; }}};
  if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>> &&
                !std::is_same_v<T, std::complex<long double>>) {
    if (ordered) {
      all.push_back({MPI_MIN, [](T a, T b) { return std::min(a, b); }});
      all.push_back({MPI_MAX, [](T a, T b) { return std::max(a, b); }});
    }
  }
  if constexpr (std::is_integral_v<T>) {
    if (bits) {
      all.push_back({MPI_BAND, [](T a, T b) { return static_cast<T>(a & b); }});
      all.push_back({MPI_BOR, [](T a, T b) { return static_cast<T>(a | b); }});
      all.push_back({MPI_BXOR, [](T a, T b) { return static_cast<T>(a ^ b); }});
      all.push_back({MPI_LAND, [](T a, T b) { return static_cast<T>(a && b); }});
    }
  }
  const T before[3] = {static_cast<T>(3), static_cast<T>(0), static_cast<T>(5)},
          given[3] = {static_cast<T>(2), static_cast<T>(7), static_cast<T>(5)};
  for (const auto& [op, function] : all) {
    T old[3] = {};
    std::copy(before, before + 3, memory);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank(), 0, win);
    EXPECT_EQ(MPI_Get_accumulate(given, 3, type, old, 3, type, rank(), 0, 3, type, op, win), MPI_SUCCESS);
    MPI_Win_unlock(rank(), win);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(old[i] == before[i] && memory[i] == function(before[i], given[i])) << i;
    if (op == MPI_REPLACE || op == MPI_NO_OP || op == MPI_LAND) continue;  // truth of one rank may be any that is not 0
    T sum[3] = {}, prefix[3] = {};
    EXPECT_EQ(MPI_Allreduce(given, sum, 3, type, op, MPI_COMM_SELF), MPI_SUCCESS);
    std::copy(before, before + 3, prefix);
    EXPECT_EQ(MPI_Reduce_local(given, prefix, 3, type, op), MPI_SUCCESS);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(sum[i] == given[i] && prefix[i] == function(before[i], given[i])) << i;
  }
}

TEST(Corners, AllArithmeticTypesHaveAllTheirOperationsInWindowsToo) {
  alignas(32) std::byte memory[128] = {};
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_free(&win);
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
#define EVERYWHERE(type, T, bits, ordered) accumulate_everywhere<T>(type, bits, ordered, win, reinterpret_cast<T*>(memory))
  EVERYWHERE(MPI_CHAR, char, true, true);
  EVERYWHERE(MPI_BYTE, unsigned char, true, true);
  EVERYWHERE(MPI_SIGNED_CHAR, signed char, true, true);
  EVERYWHERE(MPI_SHORT, short, true, true);
  EVERYWHERE(MPI_UNSIGNED_SHORT, unsigned short, true, true);
  EVERYWHERE(MPI_UNSIGNED, unsigned, true, true);
  EVERYWHERE(MPI_LONG_LONG, long long, true, true);
  EVERYWHERE(MPI_FLOAT, float, false, true);
  EVERYWHERE(MPI_DOUBLE, double, false, true);
  EVERYWHERE(MPI_LONG_DOUBLE, long double, false, true);
  EVERYWHERE(MPI_C_FLOAT_COMPLEX, std::complex<float>, false, false);
  EVERYWHERE(MPI_C_DOUBLE_COMPLEX, std::complex<double>, false, false);
  EVERYWHERE(MPI_C_LONG_DOUBLE_COMPLEX, std::complex<long double>, false, false);
  __extension__ using Int128 = __int128;
  EVERYWHERE(MPI_INTEGER16, Int128, false, true);
  __extension__ using Float128 = __float128;
  EVERYWHERE(MPI_REAL16, Float128, false, true);
#undef EVERYWHERE
  MPI_Win_free(&win);
}

int fail_query(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_ERR_BUFFER;
}
int freed = 0;
int fail_free(void*) { return ++freed, MPI_ERR_DIMS; }
int fail_cancel(void*, int) { return MPI_ERR_TOPOLOGY; }

TEST(Corners, ErrorsOfAUsersRequestComeOutOfTheCallsThatRunItsFunctions) {
  ReturnErrors guard;
  MPI_Request request;
  MPI_Status status;
  MPI_Grequest_start(fail_query, nullptr, nullptr, nullptr, &request);
  MPI_Grequest_complete(request);
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_ERR_BUFFER);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  freed = 0;
  MPI_Grequest_start(nullptr, fail_free, nullptr, nullptr, &request);
  MPI_Grequest_complete(request);
  EXPECT_EQ(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
  EXPECT_EQ(status.MPI_ERROR, MPI_ERR_DIMS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  MPI_Grequest_start(nullptr, fail_free, nullptr, nullptr, &request);
  MPI_Grequest_complete(request);
  int flag = 0;
  while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(MPI_Request_free(&request), MPI_ERR_DIMS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(freed, 2);
  MPI_Grequest_start(nullptr, nullptr, fail_cancel, nullptr, &request);
  EXPECT_EQ(MPI_Cancel(&request), MPI_ERR_TOPOLOGY);
  MPI_Grequest_complete(request);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(Corners, ErrorClassesFollowEachOtherAndGoAfterTheirCodes) {
  ReturnErrors guard;
  int first = -1, second = -1, code = -1, *last = nullptr, flag = 0;
  MPI_Add_error_class(&first);
  MPI_Add_error_class(&second);
  EXPECT_GT(first, MPI_ERR_LASTCODE);
  EXPECT_EQ(second, first + 1);
  MPI_Add_error_code(second, &code);
  MPI_Comm_get_attr(comm, MPI_LASTUSEDCODE, static_cast<void*>(&last), &flag);
  EXPECT_TRUE(flag && *last == code);
  EXPECT_EQ(MPI_Remove_error_class(second), MPI_ERR_OTHER);
  EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_class(second), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_class(first), MPI_SUCCESS);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  status.MPI_ERROR = 77;
  MPI_Wait(&request, &status);
  EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);  // that of an empty status
}

TEST(Corners, PartitionedMessagesHaveBothNames) {
  int out = rank(), in = -1;
  MPI_Request requests[2];
  MPI_Psend_init_c(&out, 1, 1, MPI_INT, right(), 4, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init_c(&in, 1, 1, MPI_INT, left(), 4, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Pready(0, requests[0]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT_EQ(in, left());
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

}  // namespace
}  // namespace corners_test
