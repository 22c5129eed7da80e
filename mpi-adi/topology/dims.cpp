// dims.cpp: MPI_Dims_create: a grid for so many processes, as square as can be.
// Thread: any. Source: MPI-5.0, 8.5.2.
#include <algorithm>
#include <vector>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

// Factors a number into so many, not increasing, that the first and the last are as near to each other as can be; where that leaves a
// choice, the largest is as small as possible, then the next.
class Factoring {
 public:
  Factoring(int product, size_t count) {
    for (int i = 1; int64_t{i} * i <= product; ++i) {
      if (product % i != 0) continue;
      divisors_.push_back(i);
      if (product / i != i) divisors_.push_back(product / i);
    }
    std::sort(divisors_.begin(), divisors_.end());
    search(product, count);
  }
  const std::vector<int>& best() const { return best_; }

 private:
  // With this one as last, or as one before it.
  bool is_worse(int factor) const { return !best_.empty() && !chosen_.empty() && chosen_.front() - factor >= best_.front() - best_.back(); }

  // Factors are tried from the root of what is left upwards, as none that follow are larger: the most even ones come first.
  void search(int product, size_t count) {
    if (count == 0) {
      if (product == 1) best_ = chosen_;
      return;
    }
    int root = 0;  // the least that is tried; the last one is no larger
    for (const int factor : divisors_) {
      if (factor > product || (!chosen_.empty() && factor > chosen_.back())) break;
      if (!reaches(factor, count, product)) continue;
      if (root == 0) root = factor;
      if (chosen_.empty() && !best_.empty() && factor - root >= best_.front() - best_.back()) break;
      if (product % factor != 0 || is_worse(factor)) continue;
      chosen_.push_back(factor);
      search(product / factor, count - 1);
      chosen_.pop_back();
    }
  }
  static bool reaches(int factor, size_t count, int product) {
    int64_t reach = 1;
    for (size_t i = 0; i < count && reach < product; ++i) reach *= factor;
    return reach >= product;
  }

  std::vector<int> divisors_, chosen_, best_;
};

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Dims_create(int nnodes, int ndims, int dims[]) try {
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
  const std::vector<int> factors = Factoring(static_cast<int>(nnodes / given), open).best();
  for (int i = 0, next = 0; i < ndims; ++i)
    if (dims[i] == 0) dims[i] = factors[static_cast<size_t>(next++)];
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Dims_create)
