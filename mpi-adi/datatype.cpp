// datatype.cpp: the table of datatype.hpp, and MPI_Type_size.
#include "mpi-adi/datatype.hpp"

#include <complex>
#include <cwchar>
#include <utility>

#include "mpi-adi/errors.hpp"
#include "mpi-adi/profiling.hpp"

namespace portunus::mpi {
namespace {

template <class T>
struct Pair {
  T value;
  int index;
};

template <class T>
constexpr TypeSize of() {
  return {sizeof(T), sizeof(T)};
}
template <class T>
constexpr TypeSize pair_of() {
  return {sizeof(T) + sizeof(int), sizeof(Pair<T>)};
}
constexpr TypeSize bytes(uint8_t size) { return {size, size}; }

// The handles are pointers made of integers, which no constant expression may hold: filled at load time.
std::array<TypeSize, kTypeCount> make_table() {
  const std::pair<MPI_Datatype, TypeSize> types[] = {
      {MPI_AINT, of<MPI_Aint>()},
      {MPI_COUNT, of<MPI_Count>()},
      {MPI_OFFSET, of<MPI_Offset>()},
      {MPI_PACKED, bytes(1)},
      {MPI_BYTE, bytes(1)},
      {MPI_CHAR, bytes(1)},
      {MPI_SIGNED_CHAR, bytes(1)},
      {MPI_UNSIGNED_CHAR, bytes(1)},
      {MPI_WCHAR, of<wchar_t>()},
      {MPI_SHORT, of<short>()},
      {MPI_UNSIGNED_SHORT, of<short>()},
      {MPI_INT, of<int>()},
      {MPI_UNSIGNED, of<int>()},
      {MPI_LONG, of<long>()},
      {MPI_UNSIGNED_LONG, of<long>()},
      {MPI_LONG_LONG, of<long long>()},
      {MPI_UNSIGNED_LONG_LONG, of<long long>()},
      {MPI_INT8_T, bytes(1)},
      {MPI_UINT8_T, bytes(1)},
      {MPI_INT16_T, bytes(2)},
      {MPI_UINT16_T, bytes(2)},
      {MPI_INT32_T, bytes(4)},
      {MPI_UINT32_T, bytes(4)},
      {MPI_INT64_T, bytes(8)},
      {MPI_UINT64_T, bytes(8)},
      {MPI_FLOAT, of<float>()},
      {MPI_DOUBLE, of<double>()},
      {MPI_LONG_DOUBLE, of<long double>()},
      {MPI_C_BOOL, of<bool>()},
      {MPI_CXX_BOOL, of<bool>()},
      {MPI_C_FLOAT_COMPLEX, of<std::complex<float>>()},
      {MPI_CXX_FLOAT_COMPLEX, of<std::complex<float>>()},
      {MPI_C_DOUBLE_COMPLEX, of<std::complex<double>>()},
      {MPI_CXX_DOUBLE_COMPLEX, of<std::complex<double>>()},
      {MPI_C_LONG_DOUBLE_COMPLEX, of<std::complex<long double>>()},
      {MPI_CXX_LONG_DOUBLE_COMPLEX, of<std::complex<long double>>()},
      {MPI_LOGICAL, bytes(4)},
      {MPI_INTEGER, bytes(4)},
      {MPI_REAL, bytes(4)},
      {MPI_COMPLEX, bytes(8)},
      {MPI_DOUBLE_PRECISION, bytes(8)},
      {MPI_DOUBLE_COMPLEX, bytes(16)},
      {MPI_CHARACTER, bytes(1)},
      {MPI_LOGICAL1, bytes(1)},
      {MPI_LOGICAL2, bytes(2)},
      {MPI_LOGICAL4, bytes(4)},
      {MPI_LOGICAL8, bytes(8)},
      {MPI_LOGICAL16, bytes(16)},
      {MPI_INTEGER1, bytes(1)},
      {MPI_INTEGER2, bytes(2)},
      {MPI_INTEGER4, bytes(4)},
      {MPI_INTEGER8, bytes(8)},
      {MPI_INTEGER16, bytes(16)},
      {MPI_REAL2, bytes(2)},
      {MPI_REAL4, bytes(4)},
      {MPI_REAL8, bytes(8)},
      {MPI_REAL16, bytes(16)},
      {MPI_COMPLEX4, bytes(4)},
      {MPI_COMPLEX8, bytes(8)},
      {MPI_COMPLEX16, bytes(16)},
      {MPI_COMPLEX32, bytes(32)},
      {MPI_FLOAT_INT, pair_of<float>()},
      {MPI_DOUBLE_INT, pair_of<double>()},
      {MPI_LONG_INT, pair_of<long>()},
      {MPI_2INT, pair_of<int>()},
      {MPI_SHORT_INT, pair_of<short>()},
      {MPI_LONG_DOUBLE_INT, pair_of<long double>()},
      {MPI_2REAL, bytes(8)},
      {MPI_2DOUBLE_PRECISION, bytes(16)},
      {MPI_2INTEGER, bytes(8)},
  };
  std::array<TypeSize, kTypeCount> table{};
  for (const auto& [type, size] : types)
    table[reinterpret_cast<uintptr_t>(type) - reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL)] = size;
  return table;
}

}  // namespace

const std::array<TypeSize, kTypeCount> kTypeSizes = make_table();

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Type_size(MPI_Datatype datatype, int* size) {
  static constexpr char kName[] = "MPI_Type_size";
  const TypeSize type = find_type(datatype);
  if (type.extent == 0) return raise(kName, nullptr, MPI_ERR_TYPE, "%p is no datatype", static_cast<void*>(datatype));
  if (size == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the size is null");
  *size = type.size;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Type_size)
