// fortran.cpp: what bindings for Fortran, which are a library of their own, and MPI tell each other: sizes and truth values, and the
// datatypes of Fortran's kinds.
// Thread: any; the calls on sizes and truth values also before MPI_Init. Source: MPI-5.0, 19.1.9 (kinds), 20.5 (the ABI and Fortran).
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/types/type_create.hpp"

namespace portunus::mpi {
namespace {

// Sizes that are fixed here: the compiler of the bindings must have the same.
const struct {
  const char* key;
  MPI_Datatype type;
} kSizes[] = {{"mpi_logical_size", MPI_LOGICAL},
              {"mpi_integer_size", MPI_INTEGER},
              {"mpi_real_size", MPI_REAL},
              {"mpi_double_precision_size", MPI_DOUBLE_PRECISION}};

std::mutex told;
bool sizes_told = false, truth_told = false;  // under `told`
Hints sizes;

int64_t size_of(MPI_Datatype type) { return find_type(type)->size; }

bool is_logical(int size) { return size == 1 || size == 2 || size == 4 || size == 8; }

// 1 and 0, in so many bytes.
bool is_value(const void* place, int size, int value) {
  uint64_t found = 0;
  std::memcpy(&found, place, static_cast<size_t>(size));
  return found == static_cast<uint64_t>(value);
}
void put_value(void* place, int size, uint64_t value) { std::memcpy(place, &value, static_cast<size_t>(size)); }

std::mutex made_lock;
std::vector<Datatype*>& made() {
  static auto& all = *new std::vector<Datatype*>;
  return all;
}

// A type of Fortran's, made once for each choice of precision and range; the user cannot free it.
int give_kind(const char* function, int combiner, std::vector<int> asked, MPI_Datatype base, MPI_Datatype* result) {
  if (int error = check_running(function)) return error;
  if (int error = check_results(function, nullptr, {result})) return error;
  if (base == MPI_DATATYPE_NULL) return raise(function, nullptr, MPI_ERR_ARG, "no kind of this type has such a precision or range");
  RaisedLater later;
  std::unique_lock lock(made_lock);
  for (Datatype* type : made()) {
    if (type->combiner != combiner || type->integers != asked) continue;
    *result = handle_of(type);
    return MPI_SUCCESS;
  }
  if (int error = hand_out(function, {{find_type(base), 0, 1}}, Recipe(combiner, std::move(asked)), result)) {
    lock.unlock();
    return later.result(error);
  }
  Datatype* type = find_type(*result);
  type->committed = true;
  type->kind_of = find_type(base);
  made().push_back(type);
  return MPI_SUCCESS;
}

// Decimal digits and exponents of float, double, the compilers' extended type and binary128. MPI_UNDEFINED: any will do.
MPI_Datatype real_kind(int p, int r, const MPI_Datatype (&kinds)[4]) {
  static constexpr int kDigits[] = {6, 15, 18, 33}, kRanges[] = {37, 307, 4931, 4931};
  if (p == MPI_UNDEFINED && r == MPI_UNDEFINED) return MPI_DATATYPE_NULL;
  for (size_t i = 0; i < 4; ++i)
    if ((p == MPI_UNDEFINED || p <= kDigits[i]) && (r == MPI_UNDEFINED || r <= kRanges[i])) return kinds[i];
  return MPI_DATATYPE_NULL;
}

MPI_Datatype integer_kind(int r) {
  return r <= 2    ? MPI_INTEGER1
         : r <= 4  ? MPI_INTEGER2
         : r <= 9  ? MPI_INTEGER4
         : r <= 18 ? MPI_INTEGER8
         : r <= 38 ? MPI_INTEGER16
                   : MPI_DATATYPE_NULL;
}

}  // namespace

void release_kinds() {
  std::lock_guard lock(made_lock);
  for (Datatype* type : made()) release(type);
  made().clear();
}

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Type_create_f90_integer(int r, MPI_Datatype* newtype) try {
  return give_kind("MPI_Type_create_f90_integer", MPI_COMBINER_F90_INTEGER, {r}, integer_kind(r), newtype);
}
MPI_WEAK_NAME(Type_create_f90_integer)

extern "C" int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype* newtype) try {
  const MPI_Datatype base = real_kind(p, r, {MPI_REAL4, MPI_REAL8, MPI_LONG_DOUBLE, MPI_REAL16});
  return give_kind("MPI_Type_create_f90_real", MPI_COMBINER_F90_REAL, {p, r}, base, newtype);
}
MPI_WEAK_NAME(Type_create_f90_real)

extern "C" int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype* newtype) try {
  const MPI_Datatype base = real_kind(p, r, {MPI_COMPLEX8, MPI_COMPLEX16, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMPLEX32});
  return give_kind("MPI_Type_create_f90_complex", MPI_COMBINER_F90_COMPLEX, {p, r}, base, newtype);
}
MPI_WEAK_NAME(Type_create_f90_complex)

extern "C" int PMPI_Abi_set_fortran_info(MPI_Info info) try {
  static constexpr char kName[] = "MPI_Abi_set_fortran_info";
  if (info == MPI_INFO_NULL || find_info(info) == nullptr)
    return raise(kName, nullptr, MPI_ERR_INFO, "%p is no info", static_cast<void*>(info));
  const Hints given = hints_of(info);
  for (const auto& [key, value] : given)
    for (const auto& fixed : kSizes)
      if (key == fixed.key && value != std::to_string(size_of(fixed.type)))
        return raise(kName, nullptr, MPI_ERR_ABI, "%s is %s there, but %lld here", fixed.key, value.c_str(),
                     static_cast<long long>(size_of(fixed.type)));
  std::unique_lock lock(told);
  if (sizes_told) {
    lock.unlock();
    return raise(kName, nullptr, MPI_ERR_ABI, "this has been told already");
  }
  sizes_told = true;
  sizes = given;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Abi_set_fortran_info)

// MPI_INFO_NULL: nobody has told.
extern "C" int PMPI_Abi_get_fortran_info(MPI_Info* info) try {
  static constexpr char kName[] = "MPI_Abi_get_fortran_info";
  if (int error = check_results(kName, nullptr, {info})) return error;
  std::unique_lock lock(told);
  *info = MPI_INFO_NULL;
  if (!sizes_told) return MPI_SUCCESS;
  *info = make_info(sizes);
  lock.unlock();
  return *info != MPI_INFO_NULL ? MPI_SUCCESS : raise(kName, nullptr, MPI_ERR_NO_MEM, "too many infos are in use");
}
MPI_WEAK_NAME(Abi_get_fortran_info)

extern "C" int PMPI_Abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false) try {
  static constexpr char kName[] = "MPI_Abi_set_fortran_booleans";
  if (int error = check_results(kName, nullptr, {logical_true, logical_false})) return error;
  if (!is_logical(logical_size)) return raise(kName, nullptr, MPI_ERR_ARG, "no logical has %d bytes", logical_size);
  if (!is_value(logical_true, logical_size, 1) || !is_value(logical_false, logical_size, 0))
    return raise(kName, nullptr, MPI_ERR_ABI,
                 "logical operations give 1 and 0 here; compile the bindings for these values of .TRUE. and .FALSE.");
  std::lock_guard lock(told);
  truth_told = true;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Abi_set_fortran_booleans)

extern "C" int PMPI_Abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int* is_set) try {
  static constexpr char kName[] = "MPI_Abi_get_fortran_booleans";
  if (int error = check_results(kName, nullptr, {logical_true, logical_false, is_set})) return error;
  if (!is_logical(logical_size)) return raise(kName, nullptr, MPI_ERR_ARG, "no logical has %d bytes", logical_size);
  std::lock_guard lock(told);
  *is_set = truth_told;
  if (!truth_told) return MPI_SUCCESS;
  put_value(logical_true, logical_size, 1);
  put_value(logical_false, logical_size, 0);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Abi_get_fortran_booleans)
