// signature.cpp: see signature.hpp.
#include "mpi-adi/types/signature.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace portunus::mpi {
namespace {

// The hash of a sequence: a polynomial in kBase, and the power by which another one is moved that comes before it.
struct Hash {
  uint64_t value = 0, power = 1;
  bool packed = false, bytes = false;  // MPI_PACKED, MPI_BYTE are among it

  Hash then(const Hash& next) const {
    return {value * next.power + next.value, power * next.power, packed || next.packed, bytes || next.bytes};
  }
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

uint64_t find_kind(const Datatype& type) {
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

// Equal for basic datatypes that match.
uint64_t kind_of(const Datatype& type) {
  static const auto kinds = [] {
    std::array<uint64_t, kPredefinedTypes> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = find_kind(predefined_types[i]) << 8 | static_cast<uint64_t>(predefined_types[i].size);
    return all;
  }();
  return kinds[static_cast<size_t>(&type - predefined_types.data())];
}

bool is_basic(const Datatype& type) { return type.predefined && type.pieces.empty(); }

Hash hash_of(const Datatype& type) {
  if (type.kind_of != nullptr) return hash_of(*type.kind_of);
  if (is_basic(type)) {
    const uint64_t word = kind_of(type) * 0xbf58476d1ce4e5b9;
    return {word ^ word >> 29, kBase, find_type(MPI_PACKED) == &type, find_type(MPI_BYTE) == &type};
  }
  Hash all;
  for (const Piece& piece : type.pieces)
    if (piece.type->size > 0)
      all = all.then(repeated(hash_of(*piece.type), static_cast<uint64_t>(piece.blocklength) * static_cast<uint64_t>(piece.count)));
  return all;
}

// Adds the first `bytes` of one element. False: they end within a basic datatype.
bool add_beginning(const Datatype& type, uint64_t bytes, Hash& hash) {
  if (bytes == 0) return true;
  if (type.kind_of != nullptr) return add_beginning(*type.kind_of, bytes, hash);
  if (is_basic(type)) return false;
  for (const Piece& piece : type.pieces) {
    if (piece.type->size == 0) continue;
    const auto size = static_cast<uint64_t>(piece.type->size);
    const uint64_t all = static_cast<uint64_t>(piece.blocklength) * static_cast<uint64_t>(piece.count), whole = std::min(all, bytes / size);
    hash = hash.then(repeated(hash_of(*piece.type), whole));
    bytes -= whole * size;
    if (whole < all) return add_beginning(*piece.type, bytes, hash);
  }
  return true;
}

// The first of the basic datatypes; nullptr: there is none.
const Datatype* first_of(const Datatype& type) {
  if (type.kind_of != nullptr) return first_of(*type.kind_of);
  if (is_basic(type)) return type.size > 0 ? &type : nullptr;
  for (const Piece& piece : type.pieces)
    if (const Datatype* found = first_of(*piece.type)) return found;
  return nullptr;
}

// The only one of the basic datatypes; nullptr: there are several.
const Datatype* only_one_of(const Datatype& type) {
  const Datatype* const only = type.kind_of != nullptr ? type.kind_of : type.element;
  return only != nullptr && is_basic(*only) ? only : nullptr;
}

bool goes_with_all(const Datatype& basic) { return &basic == find_type(MPI_BYTE) || &basic == find_type(MPI_PACKED); }

constexpr int kHashBits = 56;
constexpr uint64_t kHashMask = (uint64_t{1} << kHashBits) - 1;
uint64_t word_of(const Datatype& basic) { return static_cast<uint64_t>(&basic - predefined_types.data()) << kHashBits; }
uint64_t short_hash(const Hash& hash) { return ((hash.value ^ hash.value >> kHashBits) & kHashMask) | 1; }

}  // namespace

const Datatype* only_basic_of(const Datatype& type) {
  const Datatype* const only = only_one_of(type);
  return only != nullptr && only->size > 0 && !goes_with_all(*only) ? only : nullptr;
}

uint64_t sent_signature(const Datatype& type, MPI_Count count) {
  if (count <= 0 || type.size == 0) return 0;
  const Datatype* const only = only_one_of(type);
  const Datatype* const first = only ? only : first_of(type);
  if (first == nullptr || (only && goes_with_all(*only))) return 0;
  const uint64_t basic = word_of(*first);
  if (only) return basic;
  const Hash all = repeated(hash_of(type), static_cast<uint64_t>(count));
  return all.packed || all.bytes ? 0 : basic | short_hash(all);
}

bool begins_with(const Datatype& type, MPI_Count count, uint64_t bytes, uint64_t sent) {
  if (sent == 0 || bytes == 0 || type.size == 0) return true;
  const Datatype* const only = only_one_of(type);
  if (only && sent == word_of(*only)) return true;
  if (sent >> kHashBits >= predefined_types.size()) return true;  // it is none of this library's words
  const Datatype& first = predefined_types[sent >> kHashBits];
  if (only && goes_with_all(*only)) return true;
  const bool sent_only = (sent & kHashMask) == 0;
  if (only && sent_only) return kind_of(*only) == kind_of(first);
  const uint64_t size = static_cast<uint64_t>(type.size), whole = std::min(static_cast<uint64_t>(count), bytes / size);
  Hash here = repeated(hash_of(type), whole);
  const bool complete = add_beginning(type, bytes - whole * size, here);
  if (here.packed || here.bytes) return true;
  if (!complete || (sent_only && (first.size == 0 || bytes % static_cast<uint64_t>(first.size) != 0))) return false;
  if (!sent_only) return short_hash(here) == (sent & kHashMask);
  return here.value == repeated(hash_of(first), bytes / static_cast<uint64_t>(first.size)).value;
}

std::string signature_text(uint64_t sent, uint64_t bytes) {
  const Datatype& first = predefined_types[sent >> kHashBits];
  const auto size = static_cast<uint64_t>(first.size);
  if ((sent & kHashMask) == 0 && size > 0) return std::to_string(bytes / size) + " " + first.name;
  return std::to_string(bytes) + " bytes of several datatypes, first " + first.name;
}

uint64_t signature_of(const Datatype& type, MPI_Count count) {
  if (count <= 0 || type.size == 0) return 0;
  const Hash all = repeated(hash_of(type), static_cast<uint64_t>(count));
  return all.packed ? kAnySignature : all.value | 1;
}

}  // namespace portunus::mpi
