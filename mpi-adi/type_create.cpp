// type_create.cpp: the constructors of datatypes, but those of arrays.
// Thread: any. Source: MPI-5.0, 5.1.2, 5.1.7, 5.1.10.
#include "mpi-adi/type_create.hpp"

#include "mpi-adi/profiling.hpp"

namespace portunus::mpi {

int check(const char* function, MPI_Datatype handle, Datatype*& found, std::initializer_list<const void*> results) {
  if (int error = check_running(function)) return error;
  found = find_type(handle);
  if (found != nullptr) return check_results(function, nullptr, results);
  if (handle == MPI_DATATYPE_NULL) return raise(function, nullptr, MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  return raise(function, nullptr, MPI_ERR_TYPE, "%p is no datatype", static_cast<void*>(handle));
}

int hand_out(const char* function, std::vector<Piece> pieces, Recipe recipe, MPI_Datatype* result) {
  Datatype* made = make_type(std::move(pieces));
  if (made == nullptr) return raise(function, nullptr, MPI_ERR_NO_MEM, "too many datatypes are in use; free some first");
  keep_recipe(*made, std::move(recipe));
  *result = handle_of(made);
  return MPI_SUCCESS;
}

void keep_recipe(Datatype& type, Recipe recipe) {
  type.combiner = recipe.combiner;
  type.integers = std::move(recipe.integers);
  type.addresses = std::move(recipe.addresses);
  type.types = std::move(recipe.types);
  for (Datatype* part : type.types) retain(part);
}

namespace {

int check_not_negative(const char* function, const char* what, int value) {
  if (value >= 0) return MPI_SUCCESS;
  return raise(function, nullptr, MPI_ERR_ARG, "the %s is negative (%d)", what, value);
}

// A count, and arrays that are needed unless it is 0.
int check_arrays(const char* function, int count, std::initializer_list<const void*> arrays) {
  if (int error = check_not_negative(function, "count", count)) return error;
  return count > 0 ? check_results(function, nullptr, arrays) : MPI_SUCCESS;
}
int check_lengths(const char* function, int count, const int lengths[]) {
  for (int i = 0; i < count; ++i)
    if (int error = check_not_negative(function, "block length", lengths[i])) return error;
  return MPI_SUCCESS;
}

int make_vector(const char* function, int count, int blocklength, int64_t stride_bytes, MPI_Datatype oldtype, Recipe recipe,
                MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check(function, oldtype, old, {newtype})) return error;
  if (int error = check_not_negative(function, "count", count)) return error;
  if (int error = check_not_negative(function, "block length", blocklength)) return error;
  recipe.types = {old};
  return hand_out(function, {{old, 0, blocklength, count, stride_bytes}}, std::move(recipe), newtype);
}

// Blocks of lengths[i] (or all of `length`, when that is null) at displacements[i] * unit.
template <class Displacement>
int make_indexed(const char* function, int count, const int* lengths, int length, const Displacement displacements[],
                 int64_t unit, MPI_Datatype oldtype, Recipe recipe, MPI_Datatype* newtype) {
  Datatype* old;
  if (int error = check(function, oldtype, old, {newtype})) return error;
  if (int error = check_arrays(function, count, {displacements})) return error;
  if (lengths == nullptr)
    if (int error = check_not_negative(function, "block length", length)) return error;
  std::vector<Piece> pieces;
  for (int i = 0; i < count; ++i) pieces.push_back({old, displacements[i] * unit, lengths ? lengths[i] : length});
  recipe.types = {old};
  return hand_out(function, std::move(pieces), std::move(recipe), newtype);
}

// The extent that displacements in elements are multiples of; 0 for what is no datatype, which is found out later.
int64_t extent_of(MPI_Datatype handle) {
  const Datatype* found = find_type(handle);
  return found ? found->extent : 0;
}

template <class T>
void append(std::vector<T>& to, int count, const T from[]) {
  to.insert(to.end(), from, from + count);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_contiguous";
  Datatype* old;
  if (int error = check(kName, oldtype, old, {newtype})) return error;
  if (int error = check_not_negative(kName, "count", count)) return error;
  return hand_out(kName, {{old, 0, count}}, {MPI_COMBINER_CONTIGUOUS, {count}, {}, {old}}, newtype);
}
MPI_WEAK_NAME(Type_contiguous)

extern "C" int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return make_vector("MPI_Type_vector", count, blocklength, stride * extent_of(oldtype), oldtype,
                     {MPI_COMBINER_VECTOR, {count, blocklength, stride}, {}, {}}, newtype);
}
MPI_WEAK_NAME(Type_vector)

extern "C" int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                                        MPI_Datatype* newtype) {
  return make_vector("MPI_Type_create_hvector", count, blocklength, stride, oldtype,
                     {MPI_COMBINER_HVECTOR, {count, blocklength}, {stride}, {}}, newtype);
}
MPI_WEAK_NAME(Type_create_hvector)

extern "C" int PMPI_Type_indexed(int count, const int array_of_blocklengths[], const int array_of_displacements[],
                                 MPI_Datatype oldtype, MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_indexed";
  if (int error = check_arrays(kName, count, {array_of_blocklengths, array_of_displacements})) return error;
  if (int error = check_lengths(kName, count, array_of_blocklengths)) return error;
  Recipe recipe{MPI_COMBINER_INDEXED, {count}, {}, {}};
  append(recipe.integers, count, array_of_blocklengths);
  append(recipe.integers, count, array_of_displacements);
  return make_indexed(kName, count, array_of_blocklengths, 0, array_of_displacements, extent_of(oldtype), oldtype,
                      std::move(recipe), newtype);
}
MPI_WEAK_NAME(Type_indexed)

extern "C" int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[],
                                         const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                                         MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_create_hindexed";
  if (int error = check_arrays(kName, count, {array_of_blocklengths, array_of_displacements})) return error;
  if (int error = check_lengths(kName, count, array_of_blocklengths)) return error;
  Recipe recipe{MPI_COMBINER_HINDEXED, {count}, {}, {}};
  append(recipe.integers, count, array_of_blocklengths);
  append(recipe.addresses, count, array_of_displacements);
  return make_indexed(kName, count, array_of_blocklengths, 0, array_of_displacements, 1, oldtype, std::move(recipe),
                      newtype);
}
MPI_WEAK_NAME(Type_create_hindexed)

extern "C" int PMPI_Type_create_indexed_block(int count, int blocklength, const int array_of_displacements[],
                                              MPI_Datatype oldtype, MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_create_indexed_block";
  if (int error = check_arrays(kName, count, {array_of_displacements})) return error;
  Recipe recipe{MPI_COMBINER_INDEXED_BLOCK, {count, blocklength}, {}, {}};
  append(recipe.integers, count, array_of_displacements);
  return make_indexed(kName, count, nullptr, blocklength, array_of_displacements, extent_of(oldtype), oldtype,
                      std::move(recipe), newtype);
}
MPI_WEAK_NAME(Type_create_indexed_block)

extern "C" int PMPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint array_of_displacements[],
                                               MPI_Datatype oldtype, MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_create_hindexed_block";
  if (int error = check_arrays(kName, count, {array_of_displacements})) return error;
  Recipe recipe{MPI_COMBINER_HINDEXED_BLOCK, {count, blocklength}, {}, {}};
  append(recipe.addresses, count, array_of_displacements);
  return make_indexed(kName, count, nullptr, blocklength, array_of_displacements, 1, oldtype, std::move(recipe), newtype);
}
MPI_WEAK_NAME(Type_create_hindexed_block)

extern "C" int PMPI_Type_create_struct(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
                                       const MPI_Datatype array_of_types[], MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_create_struct";
  if (int error = check_results(kName, nullptr, {newtype})) return error;
  if (int error = check_arrays(kName, count, {array_of_blocklengths, array_of_displacements, array_of_types})) return error;
  if (int error = check_lengths(kName, count, array_of_blocklengths)) return error;
  Recipe recipe{MPI_COMBINER_STRUCT, {count}, {}, {}};
  std::vector<Piece> pieces;
  for (int i = 0; i < count; ++i) {
    Datatype* part;
    if (int error = check(kName, array_of_types[i], part, {})) return error;
    pieces.push_back({part, array_of_displacements[i], array_of_blocklengths[i]});
    recipe.types.push_back(part);
  }
  append(recipe.integers, count, array_of_blocklengths);
  append(recipe.addresses, count, array_of_displacements);
  return hand_out(kName, std::move(pieces), std::move(recipe), newtype);
}
MPI_WEAK_NAME(Type_create_struct)

extern "C" int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_create_resized";
  Datatype* old;
  if (int error = check(kName, oldtype, old, {newtype})) return error;
  if (int error = hand_out(kName, {{old, 0, 1}}, {MPI_COMBINER_RESIZED, {}, {lb, extent}, {old}}, newtype)) return error;
  set_bounds(*find_type(*newtype), lb, extent);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_create_resized)

extern "C" int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  static constexpr char kName[] = "MPI_Type_dup";
  Datatype* old;
  if (int error = check(kName, oldtype, old, {newtype})) return error;
  if (int error = hand_out(kName, {{old, 0, 1}}, {MPI_COMBINER_DUP, {}, {}, {old}}, newtype)) return error;
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
