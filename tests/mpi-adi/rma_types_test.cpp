// Puts and gets by datatypes, beside a model that moves single bytes. Source: MPI-5.0, 12.3, 12.7.3 (what lies in a window).
#include <numeric>

#include "collectives.hpp"
#include "io/model.hpp"

namespace rma_types_test {
namespace {

const MPI_Comm comm = MPI_COMM_WORLD;

int64_t last_of(const Typed& typed, int64_t count) {
  return (count - 1) * typed.extent + *std::max_element(typed.places.begin(), typed.places.end());
}

// Both sides have a type of their own, one of them often a plain one; the window ends with the last byte.
struct Round {
  explicit Round(uint64_t seed) : draw(seed) {
    const Typed base = elementary(draw);
    ours = draw.chance(3) ? random_type(draw, base, 0) : random_type(draw, base, static_cast<int>(draw(0, 3)));
    theirs = draw.chance(3) ? random_type(draw, base, 0) : random_type(draw, base, static_cast<int>(draw(0, 3)));
    const int64_t common = std::gcd(ours.size(), theirs.size());
    here = theirs.size() / common;
    there = ours.size() / common;
    displacement = draw(0, 40);
    bytes = displacement + last_of(theirs, there) + 1;
    allocated = draw.chance(2);
  }
  ~Round() {
    MPI_Type_free(&ours.type);
    MPI_Type_free(&theirs.type);
  }
  unsigned char byte(int owner, int64_t k) const { return static_cast<unsigned char>(31 * owner + 7 * k + 1); }

  Draw draw;
  Typed ours, theirs;
  int64_t here = 0, there = 0, displacement = 0, bytes = 0;
  bool allocated = false;
};

void run(uint64_t seed, int to, int from) {
  Round round(seed);
  Bytes own(static_cast<size_t>(round.bytes));
  unsigned char* memory = own.data();
  MPI_Win win;
  if (round.allocated) MPI_Win_allocate(round.bytes, 1, MPI_INFO_NULL, comm, &memory, &win);
  else MPI_Win_create(memory, round.bytes, 1, MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  std::fill_n(memory, round.bytes, 0xee);
  const int64_t data = round.here * round.ours.size();
  Bytes mine(static_cast<size_t>(last_of(round.ours, round.here) + 1), 0xaa), back(mine.size(), 0xaa);
  for (int64_t k = 0; k < data; ++k) mine[static_cast<size_t>(round.ours.place(k))] = round.byte(rank(), k);
  const int here = static_cast<int>(round.here), there = static_cast<int>(round.there);
  MPI_Win_fence(0, win);
  EXPECT_EQ(MPI_Put(mine.data(), here, round.ours.type, to, round.displacement, there, round.theirs.type, win), MPI_SUCCESS);
  int error_class = 0;
  MPI_Error_class(MPI_Put(mine.data(), here, round.ours.type, to, round.displacement + 1, there, round.theirs.type, win), &error_class);
  EXPECT_EQ(error_class, MPI_ERR_RMA_RANGE);
  MPI_Win_fence(0, win);
  Bytes expected(static_cast<size_t>(round.bytes), 0xee);
  for (int64_t k = 0; k < data; ++k) expected[static_cast<size_t>(round.displacement + round.theirs.place(k))] = round.byte(from, k);
  EXPECT_EQ(Bytes(memory, memory + round.bytes), expected) << "seed " << seed;
  EXPECT_EQ(MPI_Get(back.data(), here, round.ours.type, to, round.displacement, there, round.theirs.type, win), MPI_SUCCESS);
  MPI_Win_fence(0, win);
  EXPECT_EQ(back, mine) << "seed " << seed;
  MPI_Win_free(&win);
}

TEST(RmaTypes, PutAndGetMoveTheBytesOfBothTypesInTheirOrderAndNoOthers) {
  for (uint64_t seed = 1; seed <= 120; ++seed) run(seed, right(), left());
}

TEST(RmaTypes, ARankReachesItsOwnWindowSo) {
  for (uint64_t seed = 1; seed <= 40; ++seed) run(seed, rank(), rank());
}

// The bytes behind the index of a pair are nobody's data, but they must lie in the window.
TEST(RmaTypes, APairLiesInAWindowWithItsPadding) {
  MPI_Datatype pairs;
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE_INT, &pairs);
  MPI_Type_commit(&pairs);
  struct Pair {
    double value;
    int index;
  };
  const Pair mine[2] = {{1.5, rank()}, {2.5, -rank()}};
  for (const MPI_Aint bytes : {MPI_Aint{3 * sizeof(Pair)}, MPI_Aint{2 * sizeof(Pair) + 12}}) {
    Pair* memory;
    MPI_Win win;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    const int error = MPI_Put(mine, 2, MPI_DOUBLE_INT, right(), 0, 1, pairs, win);
    MPI_Win_fence(0, win);
    if (bytes == 3 * sizeof(Pair)) {
      EXPECT_EQ(error, MPI_SUCCESS);
      EXPECT_EQ(memory[0].value, 1.5);
      EXPECT_EQ(memory[0].index, left());
      EXPECT_EQ(memory[2].value, 2.5);
      EXPECT_EQ(memory[2].index, -left());
    } else {
      int error_class = 0;
      MPI_Error_class(error, &error_class);
      EXPECT_EQ(error_class, MPI_ERR_RMA_RANGE);
    }
    MPI_Win_free(&win);
  }
  MPI_Type_free(&pairs);
}

}  // namespace
}  // namespace rma_types_test
