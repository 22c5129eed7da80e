// MPI_Dims_create against a search of everything: the largest and the smallest are as near to each other as can be. Source: MPI-5.0, 8.5.2.
#include <climits>

#include "../ranks.hpp"

namespace dims_test {
namespace {

// The least difference of the largest and the smallest of `count` factors, none above `most`.
int least_spread(int product, int count, int first, int most) {
  if (count == 1) return product <= most ? (first ? first : product) - product : INT_MAX;
  int least = INT_MAX;
  for (int factor = 1; factor <= product && factor <= most; ++factor) {
    if (product % factor != 0) continue;
    const int spread = least_spread(product / factor, count - 1, first ? first : factor, factor);
    least = spread < least ? spread : least;
  }
  return least;
}

void check(int processes, int count) {
  std::vector<int> dims(static_cast<size_t>(count));
  ASSERT_EQ(MPI_Dims_create(processes, count, dims.data()), MPI_SUCCESS);
  int64_t product = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    product *= dims[i];
    if (i > 0) {
      ASSERT_LE(dims[i], dims[i - 1]);
    }
  }
  ASSERT_EQ(product, processes);
  ASSERT_EQ(dims.front() - dims.back(), least_spread(processes, count, 0, processes)) << processes << " in " << count;
}

TEST(Dims, AreAsEvenAsCanBe) {
  if (rank() != 0) return;
  for (int count = 2; count <= 4; ++count)
    for (int processes = 1; processes <= 400; ++processes) check(processes, count);
  for (int processes = 401; processes <= 100'000; processes += 1013) check(processes, 3);
  for (const int processes : {34'425, 65'536, 83'160, 98'280, 99'991, 100'000}) check(processes, 3);
  std::vector<int> dims(3);
  MPI_Dims_create(34'425, 3, dims.data());
  EXPECT_EQ(dims, (std::vector<int>{51, 27, 25}));
  // Numbers with as many factors as an int can have, in many dimensions.
  for (const int processes : {735'134'400, 1'396'755'360, INT_MAX, 1 << 30})
    for (const int count : {1, 2, 5, 8, 12}) {
      dims.assign(static_cast<size_t>(count), 0);
      EXPECT_EQ(MPI_Dims_create(processes, count, dims.data()), MPI_SUCCESS);
      int64_t product = 1;
      for (int each : dims) product *= each;
      EXPECT_EQ(product, processes);
    }
}

}  // namespace
}  // namespace dims_test
