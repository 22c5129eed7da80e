// dims.cpp: MPI_Dims_create: a grid for so many processes, as square as can be.
// Thread: any. Source: MPI-5.0, 8.5.2.
#include <algorithm>
#include <vector>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

// Factors of `product` into `count` numbers, not increasing, none above `most`: the largest is as small as possible, then the
// next. Tries divisors in ascending order, so the first that works is the best.
bool factor(int product, size_t count, int most, std::vector<int>& factors) {
  if (count == 0) return product == 1;
  for (int largest = 1; largest <= std::min(product, most); ++largest) {
    if (product % largest != 0) continue;
    int64_t reach = 1;  // what `count` numbers up to this one can make
    for (size_t i = 0; i < count && reach < product; ++i) reach *= largest;
    if (reach < product) continue;
    factors.push_back(largest);
    if (factor(product / largest, count - 1, largest, factors)) return true;
    factors.pop_back();
  }
  return false;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Dims_create(int nnodes, int ndims, int dims[]) {
  static constexpr char kName[] = "MPI_Dims_create";
  if (int error = check_running(kName)) return error;
  if (nnodes < 1 || ndims < 0)
    return raise(kName, nullptr, nnodes < 1 ? MPI_ERR_ARG : MPI_ERR_DIMS, "%d processes in %d dimensions", nnodes, ndims);
  if (ndims > 0)
    if (int error = check_results(kName, nullptr, {dims})) return error;
  int64_t given = 1;
  size_t open = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0) return raise(kName, nullptr, MPI_ERR_DIMS, "dimension %d is negative (%d)", i, dims[i]);
    if (dims[i] == 0) ++open;
    if (dims[i] > 0) given = std::min<int64_t>(given * dims[i], int64_t{nnodes} + 1);  // more are too many, however many they are
  }
  if (nnodes % given != 0 || (open == 0 && given != nnodes))
    return raise(kName, nullptr, MPI_ERR_DIMS, "%d processes do not fit the %lld of the given dimensions", nnodes,
                 static_cast<long long>(given));
  std::vector<int> factors;
  factor(static_cast<int>(nnodes / given), open, nnodes, factors);
  for (int i = 0, next = 0; i < ndims; ++i)
    if (dims[i] == 0) dims[i] = factors[static_cast<size_t>(next++)];
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Dims_create)
