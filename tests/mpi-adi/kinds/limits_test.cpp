// Counts, sizes, displacements and dimensions at the limits of their types: each call refuses what cannot be, or does what it says.
// Source: MPI-5.0, 2.5.8, 5.1, 6, 12.2.
#include <climits>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "../ranks.hpp"

namespace limits_test {
namespace {

constexpr MPI_Count kMost = INT64_MAX, kLeast = INT64_MIN;
// Neighbours of the powers of two at which sums and products turn over.
constexpr MPI_Count kEdges[] = {0,
                                1,
                                2,
                                3,
                                -1,
                                -3,
                                INT_MAX,
                                MPI_Count{INT_MAX} + 1,
                                MPI_Count{1} << 32,
                                MPI_Count{1} << 47,
                                (MPI_Count{1} << 48) + 1,
                                MPI_Count{1} << 60,
                                (MPI_Count{1} << 61) - 1,
                                MPI_Count{1} << 61,
                                MPI_Count{1} << 62,
                                -(MPI_Count{1} << 62),
                                kMost / 2 + 1,
                                kMost - 7,
                                kMost,
                                kLeast,
                                kLeast + 1};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  MPI_Count edge() { return kEdges[below(static_cast<int>(std::size(kEdges)))]; }

 private:
  std::mt19937 random_;
};

using Wide = long double;  // exact as far as an MPI_Count goes
bool fits(Wide value) { return value >= kLeast && value <= kMost; }

struct Known {
  MPI_Datatype type;
  Wide size;
};
// A type of types at the limits; nothing where the library refused.
bool build(Draw& draw, int depth, Known& made) {
  if (depth == 0) {
    made = {draw.below(2) ? MPI_CHAR : MPI_DOUBLE, 0};
    made.size = made.type == MPI_CHAR ? 1 : 8;
    return true;
  }
  Known old;
  if (!build(draw, depth - 1, old)) return false;
  MPI_Count a = draw.edge(), b = draw.edge(), c = draw.edge();
  const MPI_Count lengths[2] = {a, b}, places[2] = {c, draw.edge()};
  const MPI_Datatype types[2] = {old.type, MPI_INT};
  int error;
  switch (draw.below(8)) {
    case 0:
      error = MPI_Type_contiguous_c(a, old.type, &made.type);
      made.size = old.size * a;
      break;
    case 1:
      error = MPI_Type_vector_c(a, b, c, old.type, &made.type);
      made.size = old.size * a * b;
      break;
    case 2:
      error = MPI_Type_create_hvector_c(a, b, c, old.type, &made.type);
      made.size = old.size * a * b;
      break;
    case 3:
      error = MPI_Type_indexed_c(2, lengths, places, old.type, &made.type);
      made.size = old.size * (Wide(a) + b);
      break;
    case 4:
      error = MPI_Type_create_hindexed_block_c(2, a, places, old.type, &made.type);
      made.size = old.size * 2 * a;
      break;
    case 5:
      error = MPI_Type_create_struct_c(2, lengths, places, types, &made.type);
      made.size = old.size * a + Wide(4) * b;
      break;
    case 6:
      error = MPI_Type_create_resized_c(old.type, a, b, &made.type);
      made.size = old.size;
      break;
    default: {
      const MPI_Count sizes[2] = {a, 3}, parts[2] = {1, 2}, starts[2] = {a > 1 ? a - 1 : 0, 1};
      error = MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, old.type, &made.type);
      made.size = old.size * 2;
    }
  }
  if (old.type != MPI_CHAR && old.type != MPI_DOUBLE) MPI_Type_free(&old.type);
  return error == MPI_SUCCESS;
}

bool is_error(int code, const std::vector<int>& classes) {
  int found = code;
  MPI_Error_class(code, &found);
  for (int each : classes)
    if (found == each) return true;
  return false;
}

TEST(Limits, OfDatatypesAreKept) {
  ReturnErrors guard;
  int refused = 0, built = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    Draw draw(seed);
    Known made;
    if (!build(draw, 1 + draw.below(3), made)) {
      ++refused;
      continue;
    }
    ++built;
    MPI_Count size, lb, extent, true_lb, true_extent;
    MPI_Type_size_c(made.type, &size);
    ASSERT_TRUE(fits(made.size)) << "seed " << seed;
    ASSERT_EQ(size, static_cast<MPI_Count>(made.size)) << "seed " << seed;
    MPI_Type_get_extent_c(made.type, &lb, &extent);
    MPI_Type_get_true_extent_c(made.type, &true_lb, &true_extent);
    EXPECT_TRUE(fits(Wide(lb) + extent) && fits(Wide(true_lb) + true_extent)) << "seed " << seed;
    EXPECT_GE(true_extent, 0) << "seed " << seed;
    // No buffer holds so much: whoever is given it says so, before a byte moves.
    MPI_Type_commit(&made.type);
    const MPI_Count count = draw.edge();
    if (count >= 0 && Wide(count) * size > (MPI_Count{1} << 50)) {
      char byte[8] = {};
      MPI_Count position = 0, bytes = 0;
      MPI_Request request;
      const std::vector<int> too_many = {MPI_ERR_COUNT};
      EXPECT_TRUE(is_error(MPI_Send_c(byte, count, made.type, 0, 0, MPI_COMM_SELF), too_many));
      EXPECT_TRUE(is_error(MPI_Irecv_c(byte, count, made.type, 0, 0, MPI_COMM_SELF, &request), too_many));
      EXPECT_TRUE(is_error(MPI_Send_init_c(byte, count, made.type, 0, 0, MPI_COMM_SELF, &request), too_many));
      EXPECT_TRUE(is_error(MPI_Bcast_c(byte, count, made.type, 0, MPI_COMM_SELF), too_many));
      EXPECT_TRUE(is_error(MPI_Pack_c(byte, count, made.type, byte, 8, &position, MPI_COMM_SELF), too_many));
      EXPECT_TRUE(is_error(MPI_Unpack_c(byte, 8, &position, byte, count, made.type, MPI_COMM_SELF), too_many));
      EXPECT_TRUE(is_error(MPI_Pack_size_c(count, made.type, MPI_COMM_SELF, &bytes), too_many));
    }
    MPI_Type_free(&made.type);
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(built, 100);
}

TEST(Limits, OfPartitionsAndArraysOfProcessesAreKept) {
  ReturnErrors guard;
  char byte;
  MPI_Request request;
  MPI_Datatype made;
  EXPECT_TRUE(is_error(MPI_Psend_init_c(&byte, 1 << 20, MPI_Count{1} << 47, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request),
                       {MPI_ERR_COUNT}));
  EXPECT_TRUE(
      is_error(MPI_Psend_init_c(&byte, 2, MPI_Count{1} << 47, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request), {MPI_ERR_COUNT}));
  std::vector<MPI_Count> sizes(5, 1);
  std::vector<int> kinds(5, MPI_DISTRIBUTE_BLOCK), arguments(5, MPI_DISTRIBUTE_DFLT_DARG), grid(5, 1 << 16);
  EXPECT_TRUE(
      is_error(MPI_Type_create_darray_c(1, 0, 5, sizes.data(), kinds.data(), arguments.data(), grid.data(), MPI_ORDER_C, MPI_INT, &made),
               {MPI_ERR_ARG}));
  for (const MPI_Count edge : kEdges)
    for (const int kind : {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}) {
      const int argument = kind == MPI_DISTRIBUTE_CYCLIC ? INT_MAX : MPI_DISTRIBUTE_DFLT_DARG, processes = 3;
      const int error = MPI_Type_create_darray_c(3, 2, 1, &edge, &kind, &argument, &processes, MPI_ORDER_C, MPI_DOUBLE, &made);
      if (error != MPI_SUCCESS) continue;
      MPI_Count size;
      MPI_Type_size_c(made, &size);
      EXPECT_TRUE(size >= 0 && size / 8 <= edge);
      MPI_Type_free(&made);
    }
  int dims[5] = {1 << 16, 1 << 16, 1 << 16, 1 << 16, 0};
  EXPECT_TRUE(is_error(MPI_Dims_create(12, 5, dims), {MPI_ERR_DIMS}));
}

TEST(Limits, OfMemoryOfWindowsAreKept) {
  ReturnErrors guard;
  for (const MPI_Aint size : {MPI_Aint{1} << 49, MPI_Aint{1} << 60, MPI_Aint{1} << 62, MPI_Aint{kMost} - 14, MPI_Aint{kMost}}) {
    void* base = nullptr;
    MPI_Win win;
    EXPECT_NE(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_SUCCESS) << size;
    EXPECT_NE(MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_SUCCESS) << size;
    EXPECT_NE(MPI_Alloc_mem(size, MPI_INFO_NULL, &base), MPI_SUCCESS) << size;
  }
}

TEST(Limits, OfAccessesToWindowsAreKept) {
  ReturnErrors guard;
  long memory[4] = {}, origin[4] = {1, 2, 3, 4};
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  for (const MPI_Count place : kEdges)
    for (const MPI_Count count : kEdges) {
      const bool inside = place >= 0 && count >= 0 && Wide(place) + count <= 4;
      if (count == 0 || count < 0) continue;
      const int error = MPI_Put_c(origin, count, MPI_LONG, 0, place, count, MPI_LONG, win);
      EXPECT_EQ(error == MPI_SUCCESS, inside) << count << " at " << place;
    }
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

}  // namespace
}  // namespace limits_test
