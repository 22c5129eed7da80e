// datatype.hpp: datatypes: predefined ones, and those that users make of others.
//
// A datatype is a sequence of pieces: (displacement, datatype, how many in a row, how many rows, how far apart). All
// constructors come down to that; sizes, bounds and the layout are computed from it once, when the type is made.
// Thread: constant from its making on, except name, attributes and `committed`, which are the business of who made it.
// Invariants: a datatype lives as long as a user, another datatype or a pending operation holds it.
// Source: MPI-5.0, 3.2.2, 5.1, 20.3 (handle values).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "mpi-adi/core/attributes.hpp"
#include "mpi-adi/core/checked.hpp"
#include "mpi-adi/mpi.h"
#include "mpi-adi/types/layout.hpp"

namespace portunus::mpi {

struct Datatype;

struct Piece {
  Datatype* type;
  int64_t displacement;  // of the first
  int64_t blocklength;   // elements in a row, their extent apart
  int64_t count = 1;     // rows
  int64_t stride = 0;    // bytes from row to row
};

struct Datatype {
  int64_t size = 0;    // bytes of data: MPI_Type_size
  int64_t extent = 0;  // from one element to the next
  // One element after the other without gaps, the first at the buffer's address: no packing.
  bool dense = false;
  bool committed = false;
  bool predefined = false;
  bool resized = false;  // bounds were set, here or in a part: they count, not the data's
  uint8_t alignment = 1;
  int64_t lb = 0, true_lb = 0, true_extent = 0;
  Layout layout;
  // The predefined datatype that it consists of, if it is one only; of a predefined one itself.
  const Datatype* element = nullptr;
  int64_t elements = 0;               // how many predefined datatypes
  const Datatype* kind_of = nullptr;  // one of Fortran's kinds, which is as good as this predefined one: never freed

  std::vector<Piece> pieces;  // those that have something; empty: elementary, or of nothing
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;  // what the user gave: MPI_Type_get_contents
  std::vector<MPI_Aint> addresses;
  std::vector<Datatype*> types;
  std::vector<MPI_Count> large_counts;  // of constructors with large counts, which give no addresses

  Attributes<MPI_Datatype> attributes;
  char name[MPI_MAX_OBJECT_NAME] = "";
  std::atomic<int> references{1};
};

constexpr size_t kPredefinedTypes = 256;
extern std::array<Datatype, kPredefinedTypes> predefined_types;  // by handle value, from MPI_DATATYPE_NULL on

// Does the type map have anything of this piece, data or bounds that were set? Else it counts for nothing.
inline bool has_bounds(const Piece& piece) {
  return piece.blocklength > 0 && piece.count > 0 && (piece.type->size > 0 || piece.type->resized);
}

Datatype* find_derived_type(MPI_Datatype handle);
void for_each_derived_type(const std::function<void(const Datatype&)>& action);

// nullptr: no such datatype.
inline Datatype* find_type(MPI_Datatype handle) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL);
  if (index < kPredefinedTypes) [[likely]]
    return predefined_types[index].predefined ? &predefined_types[index] : nullptr;
  return find_derived_type(handle);
}
// The same for `count` elements: of none, MPI_DATATYPE_NULL is as good as any other.
inline Datatype* find_type(MPI_Datatype handle, MPI_Count count) {
  return find_type(count == 0 && handle == MPI_DATATYPE_NULL ? MPI_BYTE : handle);
}
MPI_Datatype handle_of(const Datatype* type);

// A new type of these pieces, not committed, with one reference. nullptr, and the cause: it cannot be had.
struct Refusal {
  int error_class = 0;
  const char* sentence = nullptr;
};
constexpr Refusal kReachesTooFar{MPI_ERR_ARG, "the datatype would have more data, or reach farther, than memory can"};
Datatype* make_type(std::vector<Piece> pieces, Refusal& refusal);
void set_bounds(Datatype& type, int64_t lb, int64_t extent);
inline Datatype* retain(Datatype* type) {
  if (!type->predefined) type->references.fetch_add(1, std::memory_order_relaxed);
  return type;
}
void release_derived(Datatype* type);
inline void release(Datatype* type) {
  if (!type->predefined) release_derived(type);
}

// Are `count` elements, not negative, something that memory can hold?
inline bool fits_in_memory(MPI_Count count, const Datatype& type) {
  int64_t bytes, reach;
  if (__builtin_mul_overflow(count, type.size, &bytes) || bytes > kMaxBytes) return false;
  return type.dense || count <= 1 || (!__builtin_mul_overflow(count, type.extent, &reach) && reach <= kFarthest && reach >= -kFarthest);
}

// `count` elements as they lie around a buffer's address.
inline Layout layout_of(const Datatype& type, int64_t count) { return type.layout.repeated(count, type.extent); }
// All in one run; its distance from the buffer's address is type.layout.offset.
inline bool is_one_run(const Datatype& type, int64_t count) {
  return type.layout.is_run() && (count <= 1 || type.size == type.extent || type.size == 0);
}

}  // namespace portunus::mpi
