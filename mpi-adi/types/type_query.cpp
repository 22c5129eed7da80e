// type_query.cpp: what datatypes are asked: sizes, bounds, names, how they were made; their commit and end.
// Thread: any. Source: MPI-5.0, 5.1.5 - 5.1.9, 5.1.13, 7.8, 19.1.9 (match_size).
#include <algorithm>
#include <climits>
#include <cstdio>
#include <optional>
#include <tuple>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/types/type_create.hpp"

namespace portunus::mpi {
namespace {

// MPI_UNDEFINED where the value does not fit.
template <class T>
void store(T* place, int64_t value) {
  *place = static_cast<T>(value) == value ? static_cast<T>(value) : static_cast<T>(MPI_UNDEFINED);
}

template <class T>
int get_size(const char* function, MPI_Datatype datatype, T* size) {
  Datatype* found;
  if (int error = check(function, datatype, found, {size})) return error;
  store(size, found->size);
  return MPI_SUCCESS;
}

template <class T>
int get_bounds(const char* function, MPI_Datatype datatype, T* lb, T* extent, bool of_data) {
  Datatype* found;
  if (int error = check(function, datatype, found, {lb, extent})) return error;
  store(lb, of_data ? found->true_lb : found->lb);
  store(extent, of_data ? found->true_extent : found->extent);
  return MPI_SUCCESS;
}

// A type that the user has made.
int check_own(const char* function, MPI_Datatype handle, Datatype*& found) {
  if (int error = check(function, handle, found, {})) return error;
  return found->predefined ? raise(function, nullptr, MPI_ERR_TYPE, "%s is predefined", found->name) : MPI_SUCCESS;
}

// How many values of each kind a type was made of.
struct Amounts {
  MPI_Count integers, addresses, large_counts, types;
};
Amounts amounts_of(const Datatype& type) {
  return {static_cast<MPI_Count>(type.integers.size()), static_cast<MPI_Count>(type.addresses.size()),
          static_cast<MPI_Count>(type.large_counts.size()), static_cast<MPI_Count>(type.types.size())};
}

int refuse_large(const char* function, const Datatype& type) {
  if (type.large_counts.empty()) return MPI_SUCCESS;
  return raise(function, nullptr, MPI_ERR_TYPE, "the datatype was made with large counts; call %s_c", function);
}

int get_contents(const char* function, const Datatype& type, const Amounts& room, int integers[], MPI_Aint addresses[],
                 MPI_Count large_counts[], MPI_Datatype types[]) {
  const Amounts there = amounts_of(type);
  for (const auto& [what, place, needed] :
       {std::tuple("integers", room.integers, there.integers), std::tuple("addresses", room.addresses, there.addresses),
        std::tuple("large counts", room.large_counts, there.large_counts), std::tuple("datatypes", room.types, there.types)})
    if (place < needed)
      return raise(function, nullptr, MPI_ERR_ARG, "there is room for %lld %s, but there are %lld", static_cast<long long>(place), what,
                   static_cast<long long>(needed));
  std::copy(type.integers.begin(), type.integers.end(), integers);
  std::copy(type.addresses.begin(), type.addresses.end(), addresses);
  std::copy(type.large_counts.begin(), type.large_counts.end(), large_counts);
  for (Datatype* part : type.types) *types++ = handle_of(retain(part));
  return MPI_SUCCESS;
}

// The type of a class by its size.
MPI_Datatype match(int typeclass, int size) {
  static const struct {
    int typeclass;
    MPI_Datatype type;
  } kTypes[] = {
      {MPI_TYPECLASS_REAL, MPI_FLOAT},
      {MPI_TYPECLASS_REAL, MPI_DOUBLE},
      {MPI_TYPECLASS_REAL, MPI_LONG_DOUBLE},
      {MPI_TYPECLASS_REAL, MPI_REAL2},
      {MPI_TYPECLASS_INTEGER, MPI_INT8_T},
      {MPI_TYPECLASS_INTEGER, MPI_INT16_T},
      {MPI_TYPECLASS_INTEGER, MPI_INT32_T},
      {MPI_TYPECLASS_INTEGER, MPI_INT64_T},
      {MPI_TYPECLASS_INTEGER, MPI_INTEGER16},
      {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX4},
      {MPI_TYPECLASS_COMPLEX, MPI_C_FLOAT_COMPLEX},
      {MPI_TYPECLASS_COMPLEX, MPI_C_DOUBLE_COMPLEX},
      {MPI_TYPECLASS_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX},
  };
  for (const auto& each : kTypes)
    if (each.typeclass == typeclass && find_type(each.type)->size == size) return each.type;
  return MPI_DATATYPE_NULL;
}

int raise_no_key(const char* function, int keyval) {
  return raise(function, nullptr, MPI_ERR_KEYVAL, "%d is no key of attributes of datatypes", keyval);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

// With results of any width.
#define SIZE_AND_BOUNDS(suffix, Size, Bound)                                                                        \
  extern "C" int PMPI_Type_size##suffix(MPI_Datatype datatype, Size* size) try {                                    \
    return get_size("MPI_Type_size" #suffix, datatype, size);                                                       \
  }                                                                                                                 \
  MPI_WEAK_NAME(Type_size##suffix)                                                                                  \
  extern "C" int PMPI_Type_get_extent##suffix(MPI_Datatype datatype, Bound* lb, Bound* extent) try {                \
    return get_bounds("MPI_Type_get_extent" #suffix, datatype, lb, extent, false);                                  \
  }                                                                                                                 \
  MPI_WEAK_NAME(Type_get_extent##suffix)                                                                            \
  extern "C" int PMPI_Type_get_true_extent##suffix(MPI_Datatype datatype, Bound* true_lb, Bound* true_extent) try { \
    return get_bounds("MPI_Type_get_true_extent" #suffix, datatype, true_lb, true_extent, true);                    \
  }                                                                                                                 \
  MPI_WEAK_NAME(Type_get_true_extent##suffix)

SIZE_AND_BOUNDS(, int, MPI_Aint)
SIZE_AND_BOUNDS(_x, MPI_Count, MPI_Count)
SIZE_AND_BOUNDS(_c, MPI_Count, MPI_Count)

extern "C" int PMPI_Type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes, int* combiner) try {
  static constexpr char kName[] = "MPI_Type_get_envelope";
  Datatype* found;
  if (int error = check(kName, datatype, found, {num_integers, num_addresses, num_datatypes, combiner})) return error;
  if (int error = refuse_large(kName, *found)) return error;
  *num_integers = static_cast<int>(found->integers.size());
  *num_addresses = static_cast<int>(found->addresses.size());
  *num_datatypes = static_cast<int>(found->types.size());
  *combiner = found->combiner;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_envelope)

extern "C" int PMPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                                        MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner) try {
  Datatype* found;
  if (int error =
          check("MPI_Type_get_envelope_c", datatype, found, {num_integers, num_addresses, num_large_counts, num_datatypes, combiner}))
    return error;
  const Amounts there = amounts_of(*found);
  *num_integers = there.integers;
  *num_addresses = there.addresses;
  *num_large_counts = there.large_counts;
  *num_datatypes = there.types;
  *combiner = found->combiner;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_envelope_c)

extern "C" int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                                      int array_of_integers[], MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[]) try {
  static constexpr char kName[] = "MPI_Type_get_contents";
  Datatype* found;
  if (int error = check_own(kName, datatype, found)) return error;
  if (int error = refuse_large(kName, *found)) return error;
  return get_contents(kName, *found, {max_integers, max_addresses, 0, max_datatypes}, array_of_integers, array_of_addresses, nullptr,
                      array_of_datatypes);
}
MPI_WEAK_NAME(Type_get_contents)

extern "C" int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts,
                                        MPI_Count max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
                                        MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[]) try {
  static constexpr char kName[] = "MPI_Type_get_contents_c";
  Datatype* found;
  if (int error = check_own(kName, datatype, found)) return error;
  return get_contents(kName, *found, {max_integers, max_addresses, max_large_counts, max_datatypes}, array_of_integers, array_of_addresses,
                      array_of_large_counts, array_of_datatypes);
}
MPI_WEAK_NAME(Type_get_contents_c)

extern "C" int PMPI_Type_commit(MPI_Datatype* datatype) try {
  static constexpr char kName[] = "MPI_Type_commit";
  Datatype* found;
  if (int error = check_results(kName, nullptr, {datatype})) return error;
  if (int error = check(kName, *datatype, found, {})) return error;
  if (!found->predefined) found->committed = true;
  tool::emit(tool::Event::datatype_committed, found->size, found->extent);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_commit)

extern "C" int PMPI_Type_free(MPI_Datatype* datatype) try {
  static constexpr char kName[] = "MPI_Type_free";
  Datatype* found;
  if (int error = check_results(kName, nullptr, {datatype})) return error;
  if (int error = check_own(kName, *datatype, found)) return error;
  if (found->kind_of != nullptr) return raise(kName, nullptr, MPI_ERR_TYPE, "a kind of Fortran's is predefined");
  if (int error = found->attributes.clear(*datatype)) return raise(kName, nullptr, error, "an attribute's delete function failed");
  release(found);
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_free)

extern "C" int PMPI_Type_set_name(MPI_Datatype datatype, const char* type_name) try {
  Datatype* found;
  if (int error = check("MPI_Type_set_name", datatype, found, {type_name})) return error;
  std::snprintf(found->name, sizeof found->name, "%s", type_name);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_set_name)

extern "C" int PMPI_Type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) try {
  static constexpr char kName[] = "MPI_Type_get_name";
  if (datatype == MPI_DATATYPE_NULL && type_name != nullptr && resultlen != nullptr) {
    *resultlen = std::snprintf(type_name, MPI_MAX_OBJECT_NAME, "MPI_DATATYPE_NULL");  // the one call that takes it
    return MPI_SUCCESS;
  }
  Datatype* found;
  if (int error = check(kName, datatype, found, {type_name, resultlen})) return error;
  *resultlen = std::snprintf(type_name, MPI_MAX_OBJECT_NAME, "%s", found->name);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_name)

extern "C" int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype* datatype) try {
  static constexpr char kName[] = "MPI_Type_match_size";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {datatype})) return error;
  *datatype = match(typeclass, size);
  if (*datatype != MPI_DATATYPE_NULL) return MPI_SUCCESS;
  return raise(kName, nullptr, MPI_ERR_ARG, "no datatype of class %d has %d bytes", typeclass, size);
}
MPI_WEAK_NAME(Type_match_size)

// MPI_DATATYPE_NULL: there is no such pair.
extern "C" int PMPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type) try {
  static constexpr char kName[] = "MPI_Type_get_value_index";
  static const MPI_Datatype kPairs[][3] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT},
      {MPI_INT, MPI_INT, MPI_2INT},
      {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
      {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
  };
  Datatype* found;
  if (int error = check(kName, value_type, found, {pair_type})) return error;
  if (int error = check(kName, index_type, found, {})) return error;
  *pair_type = MPI_DATATYPE_NULL;
  for (const auto& [value, index, pair] : kPairs)
    if (value == value_type && index == index_type) *pair_type = pair;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_value_index)

extern "C" int PMPI_Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn, MPI_Type_delete_attr_function* type_delete_attr_fn,
                                       int* type_keyval, void* extra_state) try {
  if (int error = check_results("MPI_Type_create_keyval", nullptr, {type_keyval})) return error;
  *type_keyval = Attributes<MPI_Datatype>::create_keyval(type_copy_attr_fn, type_delete_attr_fn, extra_state);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_create_keyval)

extern "C" int PMPI_Type_free_keyval(int* type_keyval) try {
  static constexpr char kName[] = "MPI_Type_free_keyval";
  if (int error = check_results(kName, nullptr, {type_keyval})) return error;
  if (!Attributes<MPI_Datatype>::free_keyval(*type_keyval)) return raise_no_key(kName, *type_keyval);
  *type_keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_free_keyval)

extern "C" int PMPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val) try {
  static constexpr char kName[] = "MPI_Type_set_attr";
  Datatype* found;
  if (int error = check(kName, datatype, found, {})) return error;
  const std::optional<int> error = found->attributes.set(datatype, type_keyval, attribute_val);
  if (!error) return raise_no_key(kName, type_keyval);
  return *error ? raise(kName, nullptr, *error, "the old attribute's delete function failed") : MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_set_attr)

extern "C" int PMPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag) try {
  static constexpr char kName[] = "MPI_Type_get_attr";
  Datatype* found;
  if (int error = check(kName, datatype, found, {attribute_val, flag})) return error;
  void* value = nullptr;
  *flag = found->attributes.get(type_keyval, value);
  if (!*flag && !Attributes<MPI_Datatype>::is_keyval(type_keyval)) return raise_no_key(kName, type_keyval);
  if (*flag) *static_cast<void**>(attribute_val) = value;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_attr)

extern "C" int PMPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval) try {
  static constexpr char kName[] = "MPI_Type_delete_attr";
  Datatype* found;
  if (int error = check(kName, datatype, found, {})) return error;
  const std::optional<int> error = found->attributes.erase(datatype, type_keyval);
  if (!error) return raise_no_key(kName, type_keyval);
  return *error ? raise(kName, nullptr, *error, "the attribute's delete function failed") : MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_delete_attr)
