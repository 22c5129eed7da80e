// type_create.cpp: the constructors of datatypes, but those of arrays.
//
// Each is a template for counts of both kinds: of int, and of MPI_Count, which then stands for addresses, too.
// Thread: any. Source: MPI-5.0, 5.1.2, 5.1.7, 5.1.10.
#include "mpi-adi/types/type_create.hpp"

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/checked.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {

int check(const char* function, MPI_Datatype handle, Datatype*& found, std::initializer_list<const void*> results,
          const Communicator* comm) {
  if (int error = check_running(function)) return error;
  found = find_type(handle);
  if (found != nullptr) return check_results(function, comm, results);
  if (handle == MPI_DATATYPE_NULL) return raise(function, comm, MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  return raise(function, comm, MPI_ERR_TYPE, "%s", BadType(handle).text);
}

int hand_out(const char* function, std::vector<Piece> pieces, Recipe recipe, MPI_Datatype* result) {
  Refusal refusal;
  Datatype* made = make_type(std::move(pieces), refusal);
  if (made == nullptr) return raise(function, nullptr, refusal.error_class, "%s", refusal.sentence);
  keep_recipe(*made, std::move(recipe));
  *result = handle_of(made);
  return MPI_SUCCESS;
}

void keep_recipe(Datatype& type, Recipe recipe) {
  type.combiner = recipe.combiner;
  type.integers = std::move(recipe.integers);
  type.addresses = std::move(recipe.addresses);
  type.types = std::move(recipe.types);
  type.large_counts = std::move(recipe.large_counts);
  for (Datatype* part : type.types) retain(part);
}

namespace {

int check_not_negative(const char* function, const char* what, MPI_Count value, int otherwise = MPI_ERR_ARG) {
  if (is_count(value)) return MPI_SUCCESS;
  return raise(function, nullptr, otherwise, "the %s is %s (%lld)", what, value < 0 ? "negative" : "too large",
               static_cast<long long>(value));
}
// A count, and arrays that are needed unless it is 0.
int check_arrays(const char* function, MPI_Count count, std::initializer_list<const void*> arrays) {
  if (int error = check_not_negative(function, "count", count, MPI_ERR_COUNT)) return error;
  return count > 0 ? check_results(function, nullptr, arrays) : MPI_SUCCESS;
}
template <class Count>
int check_lengths(const char* function, Count count, const Count lengths[]) {
  for (Count i = 0; i < count; ++i)
    if (int error = check_not_negative(function, "block length", lengths[i])) return error;
  return MPI_SUCCESS;
}

int refuse(const char* function) { return raise(function, nullptr, kReachesTooFar.error_class, "%s", kReachesTooFar.sentence); }

// The extent that displacements in elements are multiples of; 0 for what is no datatype, which is found out later.
int64_t extent_of(MPI_Datatype handle) {
  const Datatype* found = find_type(handle);
  return found ? found->extent : 0;
}

template <class Count>
int contiguous(const char* function, Count count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check(function, oldtype, old, {newtype})) return error;
  if (int error = check_not_negative(function, "count", count, MPI_ERR_COUNT)) return error;
  Recipe recipe(MPI_COMBINER_CONTIGUOUS, {}, {old});
  recipe.add<Count>(count);
  return hand_out(function, {{old, 0, count}}, std::move(recipe), newtype);
}

// Strides of `unit` bytes.
template <class Count, class Stride>
int vector(const char* function, int combiner, Count count, Count blocklength, Stride stride, int64_t unit, MPI_Datatype oldtype,
           MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check(function, oldtype, old, {newtype})) return error;
  if (int error = check_not_negative(function, "count", count, MPI_ERR_COUNT)) return error;
  if (int error = check_not_negative(function, "block length", blocklength)) return error;
  Recipe recipe(combiner, {}, {old});
  recipe.add<Count>(count);
  recipe.add<Count>(blocklength);
  recipe.add<Count>(stride);
  const bool is_empty = count == 0 || blocklength == 0;
  const auto apart = is_empty ? 0 : (Checked(stride) * unit).within();
  if (!apart) return refuse(function);
  return hand_out(function, {{old, 0, blocklength, count, *apart}}, std::move(recipe), newtype);
}

// Blocks of lengths[i], or all of `length` when that is null, at displacements[i] * unit.
template <class Count, class Displacement>
int indexed(const char* function, int combiner, Count count, const Count* lengths, Count length, const Displacement displacements[],
            int64_t unit, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check_arrays(function, count, {displacements})) return error;
  if (int error = check(function, oldtype, old, {newtype})) return error;
  if (int error = check_not_negative(function, "block length", length)) return error;
  Recipe recipe(combiner, {}, {old});
  recipe.reserve<Count, Displacement>(static_cast<size_t>(count), 2 + (lengths != nullptr ? static_cast<size_t>(count) : 0));
  recipe.add<Count>(count);
  if (lengths == nullptr) recipe.add<Count>(length);
  for (Count i = 0; lengths != nullptr && i < count; ++i) {
    if (int error = check_not_negative(function, "block length", lengths[i])) return error;
    recipe.add<Count>(lengths[i]);
  }
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<size_t>(count));
  for (Count i = 0; i < count; ++i) {
    recipe.add<Count>(displacements[i]);
    const Count elements = lengths ? lengths[i] : length;
    if (elements == 0) continue;
    const auto place = (Checked(displacements[i]) * unit).within();
    if (!place) return refuse(function);
    pieces.push_back({old, *place, elements});
  }
  return hand_out(function, std::move(pieces), std::move(recipe), newtype);
}
template <class Count, class Displacement>
int indexed(const char* function, int combiner, Count count, const Count* lengths, const Displacement displacements[], int64_t unit,
            MPI_Datatype oldtype, MPI_Datatype* newtype) {
  if (int error = check_arrays(function, count, {lengths})) return error;
  return indexed(function, combiner, count, lengths, Count{0}, displacements, unit, oldtype, newtype);
}

template <class Count, class Displacement>
int structure(const char* function, Count count, const Count lengths[], const Displacement displacements[], const MPI_Datatype types[],
              MPI_Datatype* newtype) {
  if (int error = check_results(function, nullptr, {newtype})) return error;
  if (int error = check_arrays(function, count, {lengths, displacements, types})) return error;
  if (int error = check_lengths(function, count, lengths)) return error;
  Recipe recipe(MPI_COMBINER_STRUCT);
  recipe.reserve<Count, Displacement>(static_cast<size_t>(count), 1 + static_cast<size_t>(count));
  recipe.types.reserve(static_cast<size_t>(count));
  recipe.add<Count>(count);
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<size_t>(count));
  for (Count i = 0; i < count; ++i) {
    Datatype* part;
    if (int error = check(function, types[i], part, {})) return error;
    pieces.push_back({part, displacements[i], lengths[i]});
    recipe.types.push_back(part);
    recipe.add<Count>(lengths[i]);
  }
  for (Count i = 0; i < count; ++i) recipe.add<Count>(displacements[i]);
  return hand_out(function, std::move(pieces), std::move(recipe), newtype);
}

template <class Count>
int resized(const char* function, MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check(function, oldtype, old, {newtype})) return error;
  if (!Checked(lb).within(kFarthestBound) || !(Checked(lb) + extent).within(kFarthestBound)) return refuse(function);
  Recipe recipe(MPI_COMBINER_RESIZED, {}, {old});
  recipe.add<Count>(lb);
  recipe.add<Count>(extent);
  if (int error = hand_out(function, {{old, 0, 1}}, std::move(recipe), newtype)) return error;
  set_bounds(*find_type(*newtype), lb, extent);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

// With counts of one kind; `Bytes` are displacements in bytes.
#define TYPE_CALLS(suffix, Count, Bytes)                                                                                                   \
  extern "C" int PMPI_Type_contiguous##suffix(Count count, MPI_Datatype oldtype, MPI_Datatype* newtype) try {                              \
    return contiguous("MPI_Type_contiguous" #suffix, count, oldtype, newtype);                                                             \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_contiguous##suffix)                                                                                                   \
  extern "C" int PMPI_Type_vector##suffix(Count count, Count blocklength, Count stride, MPI_Datatype oldtype, MPI_Datatype* newtype) try { \
    return vector("MPI_Type_vector" #suffix, MPI_COMBINER_VECTOR, count, blocklength, stride, extent_of(oldtype), oldtype, newtype);       \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_vector##suffix)                                                                                                       \
  extern "C" int PMPI_Type_create_hvector##suffix(Count count, Count blocklength, Bytes stride, MPI_Datatype oldtype,                      \
                                                  MPI_Datatype* newtype) try {                                                             \
    return vector("MPI_Type_create_hvector" #suffix, MPI_COMBINER_HVECTOR, count, blocklength, stride, 1, oldtype, newtype);               \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_create_hvector##suffix)                                                                                               \
  extern "C" int PMPI_Type_indexed##suffix(Count count, const Count array_of_blocklengths[], const Count array_of_displacements[],         \
                                           MPI_Datatype oldtype, MPI_Datatype* newtype) try {                                              \
    return indexed("MPI_Type_indexed" #suffix, MPI_COMBINER_INDEXED, count, array_of_blocklengths, array_of_displacements,                 \
                   extent_of(oldtype), oldtype, newtype);                                                                                  \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_indexed##suffix)                                                                                                      \
  extern "C" int PMPI_Type_create_hindexed##suffix(Count count, const Count array_of_blocklengths[], const Bytes array_of_displacements[], \
                                                   MPI_Datatype oldtype, MPI_Datatype* newtype) try {                                      \
    return indexed("MPI_Type_create_hindexed" #suffix, MPI_COMBINER_HINDEXED, count, array_of_blocklengths, array_of_displacements, 1,     \
                   oldtype, newtype);                                                                                                      \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_create_hindexed##suffix)                                                                                              \
  extern "C" int PMPI_Type_create_indexed_block##suffix(Count count, Count blocklength, const Count array_of_displacements[],              \
                                                        MPI_Datatype oldtype, MPI_Datatype* newtype) try {                                 \
    return indexed<Count>("MPI_Type_create_indexed_block" #suffix, MPI_COMBINER_INDEXED_BLOCK, count, nullptr, blocklength,                \
                          array_of_displacements, extent_of(oldtype), oldtype, newtype);                                                   \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_create_indexed_block##suffix)                                                                                         \
  extern "C" int PMPI_Type_create_hindexed_block##suffix(Count count, Count blocklength, const Bytes array_of_displacements[],             \
                                                         MPI_Datatype oldtype, MPI_Datatype* newtype) try {                                \
    return indexed<Count>("MPI_Type_create_hindexed_block" #suffix, MPI_COMBINER_HINDEXED_BLOCK, count, nullptr, blocklength,              \
                          array_of_displacements, 1, oldtype, newtype);                                                                    \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_create_hindexed_block##suffix)                                                                                        \
  extern "C" int PMPI_Type_create_struct##suffix(Count count, const Count array_of_blocklengths[], const Bytes array_of_displacements[],   \
                                                 const MPI_Datatype array_of_types[], MPI_Datatype* newtype) try {                         \
    return structure("MPI_Type_create_struct" #suffix, count, array_of_blocklengths, array_of_displacements, array_of_types, newtype);     \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_create_struct##suffix)                                                                                                \
  extern "C" int PMPI_Type_create_resized##suffix(MPI_Datatype oldtype, Bytes lb, Bytes extent, MPI_Datatype* newtype) try {               \
    return resized<Count>("MPI_Type_create_resized" #suffix, oldtype, lb, extent, newtype);                                                \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Type_create_resized##suffix)

TYPE_CALLS(, int, MPI_Aint)
TYPE_CALLS(_c, MPI_Count, MPI_Count)

extern "C" int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) try {
  static constexpr char kName[] = "MPI_Type_dup";
  Datatype* old;
  if (int error = check(kName, oldtype, old, {newtype})) return error;
  if (int error = hand_out(kName, {{old, 0, 1}}, Recipe(MPI_COMBINER_DUP, {}, {old}), newtype)) return error;
  Datatype& made = *find_type(*newtype);
  set_bounds(made, old->lb, old->extent);
  made.resized = old->resized;
  made.committed = old->committed;
  if (int error = made.attributes.copy_from(old->attributes, oldtype)) {
    made.attributes.clear(*newtype);
    release(&made);
    *newtype = MPI_DATATYPE_NULL;
    return raise(kName, nullptr, error, "an attribute's copy function failed");
  }
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_dup)
