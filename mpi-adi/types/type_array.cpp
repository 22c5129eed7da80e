// type_array.cpp: datatypes of parts of arrays: subarrays, and what one process has of a distributed array.
//
// Both are built from the dimension whose elements are neighbours outwards: each step repeats what there is so far, whose extent is that of
// all elements of the dimension.
// Thread: any. Source: MPI-5.0, 5.1.3, 5.1.4.
#include <algorithm>
#include <utility>

#include "mpi-adi/core/checked.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/types/type_create.hpp"

namespace portunus::mpi {
namespace {

// The type so far, and its extent: how far apart two elements of the next dimension are.
class ArrayType {
 public:
  explicit ArrayType(Datatype* old) : type_(retain(old)), stride_(old->extent) {}
  ~ArrayType() {
    if (type_ != nullptr) release(type_);
  }
  ArrayType(const ArrayType&) = delete;
  ArrayType& operator=(const ArrayType&) = delete;

  // Takes of `whole` elements of the next dimension `count` blocks of `length` that begin every `apart` elements from `start` on,
  // and a last one of `rest`.
  void add_dimension(int64_t whole, int64_t start, int64_t count, int64_t length, int64_t apart, int64_t rest) {
    const auto next = (Checked(stride_) * whole).within(kFarthest);
    if (type_ == nullptr) return;
    if (!next) {
      refusal_ = kReachesTooFar;
      return replace(nullptr);
    }
    std::vector<Piece> pieces;
    pieces.reserve(2);
    if (count > 0) pieces.push_back({type_, start * stride_, length, count, count > 1 ? apart * stride_ : 0});
    if (rest > 0) pieces.push_back({type_, (count > 0 ? start + count * apart : start) * stride_, rest});
    replace(make_type(std::move(pieces), refusal_));
    if (type_ != nullptr) set_bounds(*type_, 0, *next);
    stride_ = *next;
  }
  // After the last dimension: one reference for the caller; nullptr: see refusal().
  Datatype* finish() { return std::exchange(type_, nullptr); }
  const Refusal& refusal() const { return refusal_; }

 private:
  void replace(Datatype* made) { release(std::exchange(type_, made)); }

  Datatype* type_;
  int64_t stride_;
  Refusal refusal_;
};

int hand_out(const char* function, ArrayType& array, Recipe recipe, MPI_Datatype* result) {
  Datatype* made = array.finish();
  if (made == nullptr) return raise(function, nullptr, array.refusal().error_class, "%s", array.refusal().sentence);
  keep_recipe(*made, std::move(recipe));
  *result = handle_of(made);
  return MPI_SUCCESS;
}

int check_order(const char* function, int ndims, int order) {
  if (ndims < 1) return raise(function, nullptr, MPI_ERR_DIMS, "the number of dimensions is %d", ndims);
  if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return MPI_SUCCESS;
  return raise(function, nullptr, MPI_ERR_ARG, "the order %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order);
}

// The dimensions from the one whose elements are neighbours on.
std::vector<int> inside_out(int ndims, int order) {
  std::vector<int> dimensions;
  dimensions.reserve(static_cast<size_t>(ndims));
  for (int i = 0; i < ndims; ++i) dimensions.push_back(order == MPI_ORDER_C ? ndims - 1 - i : i);
  return dimensions;
}

// One dimension of a distributed array.
struct Distribution {
  int64_t size;
  int kind, argument, processes, place;

  // 0: the arguments contradict each other.
  int64_t block() const {
    const bool by_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == MPI_DISTRIBUTE_NONE) return processes == 1 ? size : 0;
    if (!by_default && argument <= 0) return 0;
    if (kind == MPI_DISTRIBUTE_CYCLIC) return by_default ? 1 : argument;
    if (kind != MPI_DISTRIBUTE_BLOCK) return 0;
    const int64_t length = by_default ? (size + processes - 1) / processes : argument;
    return length * processes >= size ? length : 0;
  }
};

void add_dimension(ArrayType& array, const Distribution& given) {
  const int64_t length = std::min(given.block(), given.size);  // a longer block is never full
  const int64_t start = std::min((Checked(length) * given.place).within().value_or(given.size), given.size);
  const int64_t round = (Checked(length) * given.processes).within().value_or(given.size);
  const int64_t left = std::max<int64_t>(given.size - start, 0);  // from this process's first block on
  const int64_t full = left / round + (left % round >= length);
  const int64_t rest = left % round >= length ? 0 : left % round;
  array.add_dimension(given.size, start, full, length, round, rest);
}

template <class Count>
int subarray(const char* function, int ndims, const Count sizes[], const Count subsizes[], const Count starts[], int order,
             MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check(function, oldtype, old, {newtype, sizes, subsizes, starts})) return error;
  if (int error = check_order(function, ndims, order)) return error;
  for (int i = 0; i < ndims; ++i)
    if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || subsizes[i] > sizes[i] || starts[i] > sizes[i] - subsizes[i])
      return raise(function, nullptr, MPI_ERR_ARG, "dimension %d of %lld elements has not %lld of them from %lld on", i,
                   static_cast<long long>(sizes[i]), static_cast<long long>(subsizes[i]), static_cast<long long>(starts[i]));
  ArrayType array(old);
  for (int i : inside_out(ndims, order)) array.add_dimension(sizes[i], starts[i], 1, subsizes[i], 0, 0);
  Recipe recipe(MPI_COMBINER_SUBARRAY, {}, {old});
  recipe.reserve<Count, Count>(3 * static_cast<size_t>(ndims), 2);
  recipe.integers.push_back(ndims);
  for (const Count* values : {sizes, subsizes, starts})
    for (int i = 0; i < ndims; ++i) recipe.add<Count>(values[i]);
  recipe.integers.push_back(order);
  return hand_out(function, array, std::move(recipe), newtype);
}

template <class Count>
int darray(const char* function, int size, int rank, int ndims, const Count gsizes[], const int distribs[], const int dargs[],
           const int psizes[], int order, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check(function, oldtype, old, {newtype, gsizes, distribs, dargs, psizes})) return error;
  if (int error = check_order(function, ndims, order)) return error;
  int64_t processes = 1;
  for (int i = 0; i < ndims && processes <= size; ++i) processes *= std::max(psizes[i], 0);
  if (processes != size || rank < 0 || rank >= size)
    return raise(function, nullptr, MPI_ERR_ARG, "rank %d of %d does not fit a grid of %lld processes", rank, size,
                 static_cast<long long>(processes));
  std::vector<Distribution> given;  // ranks are in row-major order, whatever the array's is
  for (int i = 0, below = size, left = rank; i < ndims; ++i) {
    below /= psizes[i];
    given.push_back({gsizes[i], distribs[i], dargs[i], psizes[i], left / below});
    left %= below;
    if (given.back().size < 1 || given.back().size > kFarthest || given.back().block() == 0)
      return raise(function, nullptr, MPI_ERR_ARG, "dimension %d of size %lld cannot be distributed that way over %d processes", i,
                   static_cast<long long>(gsizes[i]), psizes[i]);
  }
  ArrayType array(old);
  for (int i : inside_out(ndims, order)) add_dimension(array, given[static_cast<size_t>(i)]);
  Recipe recipe(MPI_COMBINER_DARRAY, {size, rank, ndims}, {old});
  for (int i = 0; i < ndims; ++i) recipe.add<Count>(gsizes[i]);
  for (const int* values : {distribs, dargs, psizes}) recipe.integers.insert(recipe.integers.end(), values, values + ndims);
  recipe.integers.push_back(order);
  return hand_out(function, array, std::move(recipe), newtype);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

#define ARRAY_CALLS(suffix, Count)                                                                                                       \
  extern "C" int PMPI_Type_create_subarray##suffix(int ndims, const Count array_of_sizes[], const Count array_of_subsizes[],             \
                                                   const Count array_of_starts[], int order, MPI_Datatype oldtype,                       \
                                                   MPI_Datatype* newtype) try {                                                          \
    return subarray("MPI_Type_create_subarray" #suffix, ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, oldtype,       \
                    newtype);                                                                                                            \
  }                                                                                                                                      \
  MPI_WEAK_NAME(Type_create_subarray##suffix)                                                                                            \
  extern "C" int PMPI_Type_create_darray##suffix(int size, int rank, int ndims, const Count array_of_gsizes[],                           \
                                                 const int array_of_distribs[], const int array_of_dargs[], const int array_of_psizes[], \
                                                 int order, MPI_Datatype oldtype, MPI_Datatype* newtype) try {                           \
    return darray("MPI_Type_create_darray" #suffix, size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs,               \
                  array_of_psizes, order, oldtype, newtype);                                                                             \
  }                                                                                                                                      \
  MPI_WEAK_NAME(Type_create_darray##suffix)

ARRAY_CALLS(, int)
ARRAY_CALLS(_c, MPI_Count)
