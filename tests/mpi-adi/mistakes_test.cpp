// Mistakes that one rank alone can see: each is an error with a class, whatever way the data would have gone, and all goes on.
// Source: MPI-5.0, 6.5 to 6.8 (the amount of data sent must be the amount received), 12.3 (origin and result).
#include <cstring>
#include <type_traits>

#include "arguments.hpp"

namespace mistakes_test {
namespace {

constexpr int kMost = 4096;
int from[2 * kMost], to[2 * kMost];

// A rank sends itself more than it makes room for, in each collective that has a part for oneself, in all forms.
#define FORMS(name, small, ...)                                                                                                       \
  {#name, [](int n, int place, MPI_Request&) { return MPI_##name(__VA_ARGS__, MPI_COMM_WORLD); }},                                    \
      {"I" #small, [](int n, int place, MPI_Request& r) { return MPI_I##small(__VA_ARGS__, MPI_COMM_WORLD, &r); }}, {                 \
#name "_init", [](int n, int place, MPI_Request& r) { return MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &r); } \
  }
// For every rank: so many elements, one behind the other.
struct Each {
  int counts[64], places[64], bytes[64];
  MPI_Datatype types[64];
  explicit Each(int n) {
    for (int i = 0; i < ranks(); ++i) counts[i] = n, places[i] = i * n, bytes[i] = i * n * 4, types[i] = MPI_INT;
  }
};

struct Cut {
  const char* name;
  int (*run)(int n, int place, MPI_Request& request);
};
const Cut kCut[] = {
    FORMS(Gather, gather, from, n, MPI_INT, to, place, MPI_INT, rank()),
    FORMS(Gatherv, gatherv, from, n, MPI_INT, to, Each(place).counts, Each(place).places, MPI_INT, rank()),
    FORMS(Scatter, scatter, from, n, MPI_INT, to, place, MPI_INT, rank()),
    FORMS(Scatterv, scatterv, from, Each(n).counts, Each(n).places, MPI_INT, to, place, MPI_INT, rank()),
    FORMS(Allgather, allgather, from, n, MPI_INT, to, place, MPI_INT),
    FORMS(Allgatherv, allgatherv, from, n, MPI_INT, to, Each(place).counts, Each(place).places, MPI_INT),
    FORMS(Alltoall, alltoall, from, n, MPI_INT, to, place, MPI_INT),
    FORMS(Alltoallv, alltoallv, from, Each(n).counts, Each(n).places, MPI_INT, to, Each(place).counts, Each(place).places, MPI_INT),
    FORMS(Alltoallw, alltoallw, from, Each(n).counts, Each(n).bytes, Each(n).types, to, Each(place).counts, Each(place).bytes,
          Each(place).types),
};

TEST(Mistakes, PartForOneselfThatDoesNotFitItsPlaceIsAnError) {
  ReturnErrors guard;
  for (const Cut& cut : kCut)
    for (const int n : {2, 9, kMost / ranks()}) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int error = cut.run(n, n - 1, request);
      EXPECT_EQ(class_of(error), MPI_ERR_TRUNCATE) << cut.name << " of " << n;
      EXPECT_EQ(request, MPI_REQUEST_NULL) << cut.name;
      char text[MPI_MAX_ERROR_STRING];
      int length = 0;
      MPI_Error_string(error, text, &length);
      EXPECT_NE(std::strstr(text, "TRUNCATE"), nullptr) << text;
    }
  // Nor can most of them do with less than there is a place for.
  for (const Cut& cut : kCut) {
    if (std::strstr(cut.name, "catter") != nullptr || std::strstr(cut.name, "llgatherv") != nullptr) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(class_of(cut.run(2, 3, request)), MPI_ERR_TRUNCATE) << cut.name;
  }
  int mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(sum, ranks());
}

// The same along the edges of a rank to itself.
TEST(Mistakes, EdgeToOneselfThatDoesNotFitItsPlaceIsAnError) {
  ReturnErrors guard;
  MPI_Comm ring;
  const int one = 1;
  MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &ring);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  const int places[] = {0, 512}, sent[] = {2, 3}, fitting[] = {3, 2}, short_by_one[] = {3, 1};
  const MPI_Aint far[] = {0, 2048};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
#define EACH_FORM(name, small, ...)                                                 \
  EXPECT_EQ(class_of(MPI_##name(__VA_ARGS__, ring)), MPI_ERR_TRUNCATE);             \
  EXPECT_EQ(class_of(MPI_I##small(__VA_ARGS__, ring, &request)), MPI_ERR_TRUNCATE); \
  EXPECT_EQ(class_of(MPI_##name##_init(__VA_ARGS__, ring, MPI_INFO_NULL, &request)), MPI_ERR_TRUNCATE)
  MPI_Request request = MPI_REQUEST_NULL;
  for (const int other : {1, 3}) {
    EACH_FORM(Neighbor_allgather, neighbor_allgather, from, 2, MPI_INT, to, other, MPI_INT);
    EACH_FORM(Neighbor_alltoall, neighbor_alltoall, from, 2, MPI_INT, to, other, MPI_INT);
  }
  EACH_FORM(Neighbor_allgatherv, neighbor_allgatherv, from, 3, MPI_INT, to, short_by_one, places, MPI_INT);
  EACH_FORM(Neighbor_alltoallv, neighbor_alltoallv, from, sent, places, MPI_INT, to, short_by_one, places, MPI_INT);
  EACH_FORM(Neighbor_alltoallw, neighbor_alltoallw, from, sent, far, types, to, short_by_one, far, types);
  EXPECT_EQ(MPI_Neighbor_alltoallv(from, sent, places, MPI_INT, to, fitting, places, MPI_INT, ring), MPI_SUCCESS);
  MPI_Comm_free(&ring);
}

// A null address with a count above 0 in each one-sided call; `none` stands where it is not looked at.
TEST(Mistakes, NullAddressesOfOneSidedCallsAreErrors) {
  static MPI_Win win;
  static int value, old, compare;
  static MPI_Request request;
  static int* const none = nullptr;
  static const MPI_Datatype I = MPI_INT;
  int* memory = nullptr;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  static const int peer = (rank() + 1) % ranks();
#define BOTH(expected, call, ...) WRONG(expected, call(__VA_ARGS__)), WRONG(expected, call##_c(__VA_ARGS__))
  const Wrong table[] = {
      BOTH(BUFFER, MPI_Put, none, 1, I, peer, 0, 1, I, win),
      BOTH(BUFFER, MPI_Get, none, 1, I, peer, 0, 1, I, win),
      BOTH(BUFFER, MPI_Accumulate, none, 1, I, peer, 0, 1, I, MPI_SUM, win),
      BOTH(BUFFER, MPI_Accumulate, none, 1, I, peer, 0, 1, I, MPI_REPLACE, win),
      BOTH(BUFFER, MPI_Get_accumulate, none, 1, I, &old, 1, I, peer, 0, 1, I, MPI_SUM, win),
      BOTH(BUFFER, MPI_Get_accumulate, &value, 1, I, none, 1, I, peer, 0, 1, I, MPI_SUM, win),
      BOTH(BUFFER, MPI_Get_accumulate, none, 0, I, none, 1, I, peer, 0, 1, I, MPI_NO_OP, win),
      BOTH(BUFFER, MPI_Rput, none, 1, I, peer, 0, 1, I, win, &request),
      BOTH(BUFFER, MPI_Rget, none, 1, I, peer, 0, 1, I, win, &request),
      BOTH(BUFFER, MPI_Raccumulate, none, 1, I, peer, 0, 1, I, MPI_SUM, win, &request),
      BOTH(BUFFER, MPI_Rget_accumulate, none, 1, I, &old, 1, I, peer, 0, 1, I, MPI_SUM, win, &request),
      BOTH(BUFFER, MPI_Rget_accumulate, &value, 1, I, none, 1, I, peer, 0, 1, I, MPI_SUM, win, &request),
      WRONG(BUFFER, MPI_Fetch_and_op(none, &old, I, peer, 0, MPI_SUM, win)),
      WRONG(BUFFER, MPI_Fetch_and_op(&value, none, I, peer, 0, MPI_SUM, win)),
      WRONG(BUFFER, MPI_Fetch_and_op(none, none, I, peer, 0, MPI_NO_OP, win)),
      WRONG(BUFFER, MPI_Compare_and_swap(none, &compare, &old, I, peer, 0, win)),
      WRONG(BUFFER, MPI_Compare_and_swap(&value, none, &old, I, peer, 0, win)),
      WRONG(BUFFER, MPI_Compare_and_swap(&value, &compare, none, I, peer, 0, win)),
      // These do not look at it.
      BOTH(SUCCESS, MPI_Put, none, 0, I, peer, 0, 0, I, win),
      BOTH(SUCCESS, MPI_Get, none, 0, I, peer, 0, 0, I, win),
      BOTH(SUCCESS, MPI_Put, none, 1, I, MPI_PROC_NULL, 0, 1, I, win),
      BOTH(SUCCESS, MPI_Accumulate, none, 1, I, peer, 0, 1, I, MPI_NO_OP, win),
      BOTH(SUCCESS, MPI_Get_accumulate, none, 0, I, &old, 1, I, peer, 0, 1, I, MPI_NO_OP, win),
      WRONG(SUCCESS, MPI_Fetch_and_op(none, &old, I, peer, 0, MPI_NO_OP, win)),
  };
  expect_errors(table, win);
  // Places of the datatype's own, counted from MPI_BOTTOM.
  MPI_Aint place;
  int one = 1;
  MPI_Datatype absolute;
  MPI_Get_address(&value, &place);
  MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  value = 41 + rank();
  EXPECT_EQ(MPI_Put(MPI_BOTTOM, 1, absolute, rank(), 3, 1, MPI_INT, win), MPI_SUCCESS);
  MPI_Win_flush_all(win);
  MPI_Win_unlock_all(win);
  EXPECT_EQ(memory[3], value);
  MPI_Type_free(&absolute);
  MPI_Win_free(&win);
}

// As MPICH and Open MPI name them, which are alike in this.
TEST(Mistakes, PredefinedDatatypesHaveTheNamesThatOthersGiveThem) {
#define NAMED(type) \
  { MPI_##type, "MPI_" #type }
  const struct {
    MPI_Datatype type;
    const char* name;
  } table[] = {NAMED(AINT),
               NAMED(COUNT),
               NAMED(OFFSET),
               NAMED(PACKED),
               NAMED(BYTE),
               NAMED(CHAR),
               NAMED(SIGNED_CHAR),
               NAMED(UNSIGNED_CHAR),
               NAMED(WCHAR),
               NAMED(SHORT),
               NAMED(UNSIGNED_SHORT),
               NAMED(INT),
               NAMED(UNSIGNED),
               NAMED(LONG),
               NAMED(UNSIGNED_LONG),
               {MPI_LONG_LONG, "MPI_LONG_LONG_INT"},
               NAMED(LONG_LONG_INT),
               NAMED(UNSIGNED_LONG_LONG),
               NAMED(INT8_T),
               NAMED(UINT8_T),
               NAMED(INT64_T),
               NAMED(FLOAT),
               NAMED(DOUBLE),
               NAMED(LONG_DOUBLE),
               NAMED(C_BOOL),
               NAMED(CXX_BOOL),
               NAMED(C_COMPLEX),
               {MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX"},
               NAMED(C_DOUBLE_COMPLEX),
               NAMED(C_LONG_DOUBLE_COMPLEX),
               NAMED(CXX_FLOAT_COMPLEX),
               NAMED(CXX_DOUBLE_COMPLEX),
               NAMED(CXX_LONG_DOUBLE_COMPLEX),
               NAMED(LOGICAL),
               NAMED(INTEGER),
               NAMED(REAL),
               NAMED(COMPLEX),
               NAMED(DOUBLE_PRECISION),
               NAMED(DOUBLE_COMPLEX),
               NAMED(CHARACTER),
               NAMED(INTEGER4),
               NAMED(INTEGER8),
               NAMED(REAL4),
               NAMED(REAL8),
               NAMED(COMPLEX8),
               NAMED(COMPLEX16),
               NAMED(FLOAT_INT),
               NAMED(DOUBLE_INT),
               NAMED(LONG_INT),
               NAMED(SHORT_INT),
               NAMED(LONG_DOUBLE_INT),
               NAMED(2INT),
               NAMED(2REAL),
               NAMED(2DOUBLE_PRECISION),
               NAMED(2INTEGER)};
  for (const auto& each : table) {
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Type_get_name(each.type, name, &length);
    EXPECT_STREQ(name, each.name);
  }
}

TEST(Mistakes, NumbersThatNoHandleHasGiveTheNullHandle) {
  for (const int number : {0, -1, -4096, 1 << 20, 0x7fffffff}) {
    EXPECT_EQ(MPI_Comm_fromint(number), MPI_COMM_NULL);
    EXPECT_EQ(MPI_Comm_f2c(number), MPI_COMM_NULL);
    EXPECT_EQ(MPI_Errhandler_fromint(number), MPI_ERRHANDLER_NULL);
    EXPECT_EQ(MPI_File_fromint(number), MPI_FILE_NULL);
    EXPECT_EQ(MPI_Group_fromint(number), MPI_GROUP_NULL);
    EXPECT_EQ(MPI_Info_fromint(number), MPI_INFO_NULL);
    EXPECT_EQ(MPI_Message_fromint(number), MPI_MESSAGE_NULL);
    EXPECT_EQ(MPI_Op_fromint(number), MPI_OP_NULL);
    EXPECT_EQ(MPI_Request_fromint(number), MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Session_fromint(number), MPI_SESSION_NULL);
    EXPECT_EQ(MPI_Type_fromint(number), MPI_DATATYPE_NULL);
    EXPECT_EQ(MPI_Win_fromint(number), MPI_WIN_NULL);
  }
}

using PsendInitOfLongCounts = int (*)(const void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*);

#ifdef __x86_64__
// The call goes through a type that MPI_Psend_init does not have, so that all 64 bits of `count` reach its register.
#ifdef __clang__
__attribute__((no_sanitize("function")))
#endif
int psend_init_by_register(MPI_Count count, MPI_Request* request) {
  const auto call = reinterpret_cast<PsendInitOfLongCounts>(reinterpret_cast<void*>(&MPI_Psend_init));
  return call(from, 1, count, MPI_INT, right(), 0, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}
#endif

// A caller leaves the upper half of a register undefined where it hands over an int.
TEST(Mistakes, CountsOfPartitionedMessagesHave32Bits) {
  static_assert(
      std::is_same_v<decltype(&MPI_Psend_init), int (*)(const void*, int, int, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*)>);
  static_assert(
      std::is_same_v<decltype(&MPI_Precv_init), int (*)(void*, int, int, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*)>);
  static_assert(std::is_same_v<decltype(&MPI_Psend_init_c), PsendInitOfLongCounts>);
#ifdef __x86_64__
  MPI_Request request;
  EXPECT_EQ(psend_init_by_register((MPI_Count{0x5a5a5a5a} << 32) + 3, &request), MPI_SUCCESS);
  MPI_Request_free(&request);
#endif
}

}  // namespace
}  // namespace mistakes_test
