// type_query.cpp: what datatypes are asked: sizes, bounds, names, how they were made; their commit and end.
// Thread: any. Source: MPI-5.0, 5.1.5 - 5.1.9, 5.1.13, 7.8, 19.1.9 (match_size).
#include <climits>
#include <cstdio>

#include "mpi-adi/profiling.hpp"
#include "mpi-adi/type_create.hpp"

namespace portunus::mpi {
namespace {

// MPI_UNDEFINED where the value does not fit.
template <class T>
void store(T* place, int64_t value) {
  *place = static_cast<T>(value) == value ? static_cast<T>(value) : static_cast<T>(MPI_UNDEFINED);
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

int check_key(const char* function, MPI_Datatype datatype, int keyval, Datatype*& found) {
  if (int error = check(function, datatype, found, {})) return error;
  if (Attributes<MPI_Datatype>::is_keyval(keyval)) return MPI_SUCCESS;
  return raise(function, nullptr, MPI_ERR_KEYVAL, "%d is no key of attributes of datatypes", keyval);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Type_size(MPI_Datatype datatype, int* size) {
  Datatype* found;
  if (int error = check("MPI_Type_size", datatype, found, {size})) return error;
  store(size, found->size);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_size)

extern "C" int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count* size) {
  Datatype* found;
  if (int error = check("MPI_Type_size_x", datatype, found, {size})) return error;
  store(size, found->size);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_size_x)

extern "C" int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
  return get_bounds("MPI_Type_get_extent", datatype, lb, extent, false);
}
MPI_WEAK_NAME(Type_get_extent)

extern "C" int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  return get_bounds("MPI_Type_get_extent_x", datatype, lb, extent, false);
}
MPI_WEAK_NAME(Type_get_extent_x)

extern "C" int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint* true_lb, MPI_Aint* true_extent) {
  return get_bounds("MPI_Type_get_true_extent", datatype, true_lb, true_extent, true);
}
MPI_WEAK_NAME(Type_get_true_extent)

extern "C" int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  return get_bounds("MPI_Type_get_true_extent_x", datatype, true_lb, true_extent, true);
}
MPI_WEAK_NAME(Type_get_true_extent_x)

extern "C" int PMPI_Type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                                      int* combiner) {
  Datatype* found;
  if (int error = check("MPI_Type_get_envelope", datatype, found, {num_integers, num_addresses, num_datatypes, combiner}))
    return error;
  *num_integers = static_cast<int>(found->integers.size());
  *num_addresses = static_cast<int>(found->addresses.size());
  *num_datatypes = static_cast<int>(found->types.size());
  *combiner = found->combiner;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_envelope)

extern "C" int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                                      int array_of_integers[], MPI_Aint array_of_addresses[],
                                      MPI_Datatype array_of_datatypes[]) {
  static constexpr char kName[] = "MPI_Type_get_contents";
  Datatype* found;
  if (int error = check_own(kName, datatype, found)) return error;
  if (max_integers < static_cast<int>(found->integers.size()) ||
      max_addresses < static_cast<int>(found->addresses.size()) || max_datatypes < static_cast<int>(found->types.size()))
    return raise(kName, nullptr, MPI_ERR_ARG, "there is room for %d, %d and %d values, but there are %zu, %zu and %zu",
                 max_integers, max_addresses, max_datatypes, found->integers.size(), found->addresses.size(),
                 found->types.size());
  for (size_t i = 0; i < found->integers.size(); ++i) array_of_integers[i] = found->integers[i];
  for (size_t i = 0; i < found->addresses.size(); ++i) array_of_addresses[i] = found->addresses[i];
  for (size_t i = 0; i < found->types.size(); ++i) array_of_datatypes[i] = handle_of(retain(found->types[i]));
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_contents)

extern "C" int PMPI_Type_commit(MPI_Datatype* datatype) {
  static constexpr char kName[] = "MPI_Type_commit";
  Datatype* found;
  if (int error = check_results(kName, nullptr, {datatype})) return error;
  if (int error = check(kName, *datatype, found, {})) return error;
  if (!found->predefined) found->committed = true;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_commit)

extern "C" int PMPI_Type_free(MPI_Datatype* datatype) {
  static constexpr char kName[] = "MPI_Type_free";
  Datatype* found;
  if (int error = check_results(kName, nullptr, {datatype})) return error;
  if (int error = check_own(kName, *datatype, found)) return error;
  if (int error = found->attributes.clear(*datatype))
    return raise(kName, nullptr, error, "an attribute's delete function failed");
  release(found);
  *datatype = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_free)

extern "C" int PMPI_Type_set_name(MPI_Datatype datatype, const char* type_name) {
  Datatype* found;
  if (int error = check("MPI_Type_set_name", datatype, found, {type_name})) return error;
  std::snprintf(found->name, sizeof found->name, "%s", type_name);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_set_name)

extern "C" int PMPI_Type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
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

extern "C" int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  static constexpr char kName[] = "MPI_Type_match_size";
  if (int error = check_running(kName)) return error;
  if (int error = check_results(kName, nullptr, {datatype})) return error;
  *datatype = match(typeclass, size);
  if (*datatype != MPI_DATATYPE_NULL) return MPI_SUCCESS;
  return raise(kName, nullptr, MPI_ERR_ARG, "no datatype of class %d has %d bytes", typeclass, size);
}
MPI_WEAK_NAME(Type_match_size)

extern "C" int PMPI_Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                                       MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                                       void* extra_state) {
  if (int error = check_results("MPI_Type_create_keyval", nullptr, {type_keyval})) return error;
  *type_keyval = Attributes<MPI_Datatype>::create_keyval(type_copy_attr_fn, type_delete_attr_fn, extra_state);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_create_keyval)

extern "C" int PMPI_Type_free_keyval(int* type_keyval) {
  static constexpr char kName[] = "MPI_Type_free_keyval";
  if (int error = check_results(kName, nullptr, {type_keyval})) return error;
  if (!Attributes<MPI_Datatype>::free_keyval(*type_keyval))
    return raise(kName, nullptr, MPI_ERR_KEYVAL, "%d is no key of attributes of datatypes", *type_keyval);
  *type_keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_free_keyval)

extern "C" int PMPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val) {
  static constexpr char kName[] = "MPI_Type_set_attr";
  Datatype* found;
  if (int error = check_key(kName, datatype, type_keyval, found)) return error;
  const int error = found->attributes.set(datatype, type_keyval, attribute_val);
  return error ? raise(kName, nullptr, error, "the old attribute's delete function failed") : MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_set_attr)

extern "C" int PMPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag) {
  static constexpr char kName[] = "MPI_Type_get_attr";
  Datatype* found;
  if (int error = check_key(kName, datatype, type_keyval, found)) return error;
  if (int error = check_results(kName, nullptr, {attribute_val, flag})) return error;
  void* value = nullptr;
  *flag = found->attributes.get(type_keyval, value);
  if (*flag) *static_cast<void**>(attribute_val) = value;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_get_attr)

extern "C" int PMPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval) {
  static constexpr char kName[] = "MPI_Type_delete_attr";
  Datatype* found;
  if (int error = check_key(kName, datatype, type_keyval, found)) return error;
  const int error = found->attributes.erase(datatype, type_keyval);
  return error ? raise(kName, nullptr, error, "the attribute's delete function failed") : MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_delete_attr)
