// datatype.cpp: datatypes as objects: the predefined ones, and making one of pieces.
#include "mpi-adi/types/datatype.hpp"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <cwchar>
#include <limits>
#include <memory>

#include "mpi-adi/core/objects.hpp"

namespace portunus::mpi {

std::array<Datatype, kPredefinedTypes> predefined_types;

namespace {

constinit ObjectPool<Datatype, 1 << 18> derived_types;

Datatype& define(MPI_Datatype handle, const char* name, size_t size, size_t alignment) {
  Datatype& type = predefined_types[reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL)];
  type.size = type.extent = type.true_extent = static_cast<int64_t>(size);
  type.dense = type.committed = type.predefined = true;
  type.alignment = static_cast<uint8_t>(alignment);
  type.layout = Layout::run(0, type.size);
  type.element = &type;
  type.elements = 1;
  std::snprintf(type.name, sizeof type.name, "%s", name);
  return type;
}

// A C struct of a value and an int.
template <class T>
void define_pair(MPI_Datatype handle, const char* name, MPI_Datatype value) {
  struct Pair {
    T value;
    int index;
  };
  Datatype& type = define(handle, name, sizeof(T) + sizeof(int), alignof(Pair));
  type.pieces = {{find_type(value), 0, 1}, {find_type(MPI_INT), offsetof(Pair, index), 1}};
  type.extent = sizeof(Pair);
  type.true_extent = offsetof(Pair, index) + sizeof(int);
  type.layout = Layout::joined({Layout::run(0, sizeof(T)), Layout::run(offsetof(Pair, index), sizeof(int))});
  type.dense = type.size == type.extent;
  type.elements = 2;
}
void define_twins(MPI_Datatype handle, const char* name, MPI_Datatype half) {
  Datatype* part = find_type(half);
  Datatype& type = define(handle, name, 2 * static_cast<size_t>(part->size), part->alignment);
  type.pieces = {{part, 0, 2}};
  type.elements = 2;
}

// The handles are pointers made of integers, which no constant expression may hold: filled at load time.
bool define_all() {
#define TYPE(name, type) define(MPI_##name, "MPI_" #name, sizeof(type), alignof(type))
#define BYTES(name, bytes) define(MPI_##name, "MPI_" #name, bytes, std::min(bytes, 16))
#define PAIR(name, type, value) define_pair<type>(MPI_##name, "MPI_" #name, value)
#define TWINS(name, half) define_twins(MPI_##name, "MPI_" #name, half)
  TYPE(AINT, MPI_Aint), TYPE(COUNT, MPI_Count), TYPE(OFFSET, MPI_Offset);
  BYTES(PACKED, 1), BYTES(BYTE, 1), BYTES(CHAR, 1), BYTES(SIGNED_CHAR, 1), BYTES(UNSIGNED_CHAR, 1), TYPE(WCHAR, wchar_t);
  TYPE(SHORT, short), TYPE(UNSIGNED_SHORT, short), TYPE(INT, int), TYPE(UNSIGNED, int), TYPE(LONG, long);
  TYPE(UNSIGNED_LONG, long), TYPE(UNSIGNED_LONG_LONG, long long);
  // As MPICH and Open MPI name these two.
  define(MPI_LONG_LONG, "MPI_LONG_LONG_INT", sizeof(long long), alignof(long long));
  define(MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX", sizeof(std::complex<float>), alignof(std::complex<float>));
  BYTES(INT8_T, 1), BYTES(UINT8_T, 1), BYTES(INT16_T, 2), BYTES(UINT16_T, 2);
  BYTES(INT32_T, 4), BYTES(UINT32_T, 4), BYTES(INT64_T, 8), BYTES(UINT64_T, 8);
  TYPE(FLOAT, float), TYPE(DOUBLE, double), TYPE(LONG_DOUBLE, long double), TYPE(C_BOOL, bool), TYPE(CXX_BOOL, bool);
  TYPE(CXX_FLOAT_COMPLEX, std::complex<float>);
  TYPE(C_DOUBLE_COMPLEX, std::complex<double>), TYPE(CXX_DOUBLE_COMPLEX, std::complex<double>);
  TYPE(C_LONG_DOUBLE_COMPLEX, std::complex<long double>), TYPE(CXX_LONG_DOUBLE_COMPLEX, std::complex<long double>);
  BYTES(LOGICAL, 4), BYTES(INTEGER, 4), BYTES(REAL, 4), BYTES(COMPLEX, 8), BYTES(DOUBLE_PRECISION, 8);
  BYTES(DOUBLE_COMPLEX, 16), BYTES(CHARACTER, 1);
  BYTES(LOGICAL1, 1), BYTES(LOGICAL2, 2), BYTES(LOGICAL4, 4), BYTES(LOGICAL8, 8), BYTES(LOGICAL16, 16);
  BYTES(INTEGER1, 1), BYTES(INTEGER2, 2), BYTES(INTEGER4, 4), BYTES(INTEGER8, 8), BYTES(INTEGER16, 16);
  BYTES(REAL2, 2), BYTES(REAL4, 4), BYTES(REAL8, 8), BYTES(REAL16, 16);
  BYTES(COMPLEX4, 4), BYTES(COMPLEX8, 8), BYTES(COMPLEX16, 16), BYTES(COMPLEX32, 32);
  PAIR(FLOAT_INT, float, MPI_FLOAT), PAIR(DOUBLE_INT, double, MPI_DOUBLE), PAIR(LONG_INT, long, MPI_LONG);
  PAIR(SHORT_INT, short, MPI_SHORT), PAIR(LONG_DOUBLE_INT, long double, MPI_LONG_DOUBLE);
  TWINS(2INT, MPI_INT), TWINS(2REAL, MPI_REAL), TWINS(2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION);
  TWINS(2INTEGER, MPI_INTEGER);
#undef TYPE
#undef BYTES
#undef PAIR
#undef TWINS
  return true;
}
[[maybe_unused]] const bool defined = define_all();

// No sum of two products of 64 bits overflows it.
__extension__ using Wide = __int128;

// The nearest and the farthest place that a piece has an element in.
struct Places {
  explicit Places(const Piece& piece) : first(piece.displacement), last(piece.displacement) {
    reach(piece.count, piece.stride);
    reach(piece.blocklength, piece.type->extent);
  }
  void reach(int64_t times, int64_t apart) {
    const Wide farthest = Wide{times - 1} * apart;
    (farthest < 0 ? first : last) += farthest;
  }
  Wide first, last;
};

struct Bounds {
  int64_t lower = std::numeric_limits<int64_t>::max();
  int64_t upper = std::numeric_limits<int64_t>::min();  // below `lower` where extents are negative
  bool any = false, fits = true;

  // `low` and `high` of elements in these places, none of which may lie farther than `most`.
  void include(const Places& places, int64_t low, int64_t high, int64_t most) {
    const Wide begin = places.first + low, end = places.last + high;
    if (std::min(begin, places.first + high) < -most || std::max(end, places.last + low) > most) {
      fits = false;
      return;
    }
    lower = std::min(lower, static_cast<int64_t>(begin));
    upper = std::max(upper, static_cast<int64_t>(end));
    any = true;
  }
  void include(const Bounds& other) {
    lower = std::min(lower, other.lower);
    upper = std::max(upper, other.upper);
    any = true;
  }
};

// Bounds that were set count alone; else the data's, rounded up so that elements in a row are aligned (MPI-5.0, 5.1.7).
bool compute_bounds(Datatype& type) {
  Bounds all, data;
  for (const Piece& piece : type.pieces) type.resized = type.resized || piece.type->resized;
  for (const Piece& piece : type.pieces) {
    const Datatype& part = *piece.type;
    const Places places(piece);
    // Without bounds that were set, what is between them begins and ends with data, but for what is rounded up.
    const bool padded = part.lb != part.true_lb || part.extent != part.true_extent;
    if (type.resized ? part.resized : padded) all.include(places, part.lb, part.lb + part.extent, kFarthestBound);
    if (part.size > 0) data.include(places, part.true_lb, part.true_lb + part.true_extent, kFarthest);
    type.alignment = std::max(type.alignment, part.alignment);
  }
  if (!all.fits || !data.fits) return false;
  if (data.any) {
    type.true_lb = data.lower;
    type.true_extent = data.upper - data.lower;
    if (!type.resized) all.include(data);
  }
  if (!all.any) return true;
  type.lb = all.lower;
  type.extent = all.upper - all.lower;
  const int64_t over = type.extent % type.alignment;
  if (!type.resized && over != 0) type.extent += type.alignment - over;
  return true;
}

bool fits_in_memory(const std::vector<Piece>& pieces) {
  Checked bytes = 0;
  for (const Piece& piece : pieces) bytes = bytes + Checked(piece.blocklength) * piece.count * piece.type->size;
  return bytes.within(kFarthest).has_value();
}

void compute_data(Datatype& type) {
  std::vector<Layout> parts;
  const bool is_one = type.pieces.size() == 1;
  if (!is_one) parts.reserve(type.pieces.size());
  bool first = true;
  for (const Piece& piece : type.pieces) {
    const Datatype& part = *piece.type;
    Layout& made = is_one ? type.layout = part.layout : parts.emplace_back(part.layout);
    made.repeat(piece.blocklength, part.extent);
    made.repeat(piece.count, piece.stride);
    if (made.size != 0) made.offset += piece.displacement;
    const int64_t copies = piece.blocklength * piece.count;
    if (copies == 0 || part.size == 0) continue;
    type.elements += copies * part.elements;
    type.element = first || type.element == part.element ? part.element : nullptr;
    first = false;
  }
  if (!is_one) type.layout = Layout::joined(std::move(parts));
  type.size = type.layout.size;
}

void compute_dense(Datatype& type) { type.dense = type.layout.is_run() && type.layout.offset == 0 && type.size == type.extent; }

}  // namespace

void for_each_derived_type(const std::function<void(const Datatype&)>& action) { derived_types.for_each(action); }
Datatype* find_derived_type(MPI_Datatype handle) { return derived_types.find(handle); }

MPI_Datatype handle_of(const Datatype* type) {
  if (!type->predefined) return reinterpret_cast<MPI_Datatype>(const_cast<Datatype*>(type));
  return reinterpret_cast<MPI_Datatype>(reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL) +
                                        static_cast<uintptr_t>(type - predefined_types.data()));
}

Datatype* make_type(std::vector<Piece> pieces, Refusal& refusal) {
  std::erase_if(pieces, [](const Piece& piece) { return !has_bounds(piece); });
  const bool fits = fits_in_memory(pieces);
  std::unique_ptr<Datatype, void (*)(Datatype*)> made(fits ? derived_types.claim() : nullptr, release_derived);
  if (!made) {
    refusal = fits ? Refusal{MPI_ERR_NO_MEM, "too many datatypes are in use; free some first"} : kReachesTooFar;
    return nullptr;
  }
  made->pieces = std::move(pieces);
  for (const Piece& piece : made->pieces) retain(piece.type);
  if (!compute_bounds(*made)) {
    refusal = kReachesTooFar;
    return nullptr;
  }
  compute_data(*made);
  compute_dense(*made);
  return made.release();
}

void set_bounds(Datatype& type, int64_t lb, int64_t extent) {
  type.lb = lb;
  type.extent = extent;
  type.resized = true;
  compute_dense(type);
}

void release_derived(Datatype* type) {
  if (type->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (const Piece& piece : type->pieces) release(piece.type);
  for (Datatype* part : type->types) release(part);
  derived_types.release(type);
}

}  // namespace portunus::mpi
