// signature.cpp: see signature.hpp.
#include "mpi-adi/types/signature.hpp"

#include <algorithm>
#include <initializer_list>

namespace portunus::mpi {
namespace {

// The hash of a sequence: a polynomial in kBase, and the power by which another one is moved that comes before it.
struct Hash {
  uint64_t value = 0, power = 1;
  bool packed = false;

  Hash then(const Hash& next) const { return {value * next.power + next.value, power * next.power, packed || next.packed}; }
};
constexpr uint64_t kBase = 0x9e3779b97f4a7c15;

Hash repeated(Hash once, uint64_t times) {
  Hash all;
  for (; times != 0; times >>= 1) {
    if (times & 1) all = all.then(once);
    once = once.then(once);
  }
  return all;
}

bool is_one_of(const Datatype& type, std::initializer_list<MPI_Datatype> handles) {
  return std::any_of(handles.begin(), handles.end(), [&](MPI_Datatype handle) { return find_type(handle) == &type; });
}

uint64_t kind_of(const Datatype& type) {
  if (is_one_of(type, {MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_INTEGER,
                       MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_AINT, MPI_COUNT, MPI_OFFSET}))
    return 1;
  if (is_one_of(type, {MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
                       MPI_UINT64_T}))
    return 2;
  if (is_one_of(type, {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})) return 3;
  if (is_one_of(type, {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX,
                       MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16}))
    return 4;
  if (is_one_of(type, {MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_CHARACTER})) return 5;
  return 64 + static_cast<uint64_t>(&type - predefined_types.data());
}

Hash hash_of(const Datatype& type) {
  if (type.kind_of != nullptr) return hash_of(*type.kind_of);
  if (type.predefined && type.pieces.empty()) {
    const uint64_t word = (kind_of(type) << 8 | static_cast<uint64_t>(type.size)) * 0xbf58476d1ce4e5b9;
    return {word ^ word >> 29, kBase, find_type(MPI_PACKED) == &type};
  }
  Hash all;
  for (const Piece& piece : type.pieces)
    if (piece.type->size > 0)
      all = all.then(repeated(hash_of(*piece.type), static_cast<uint64_t>(piece.blocklength) * static_cast<uint64_t>(piece.count)));
  return all;
}

}  // namespace

uint64_t signature_of(const Datatype& type, MPI_Count count) {
  if (count <= 0 || type.size == 0) return 0;
  const Hash all = repeated(hash_of(type), static_cast<uint64_t>(count));
  return all.packed ? kAnySignature : all.value | 1;
}

}  // namespace portunus::mpi
