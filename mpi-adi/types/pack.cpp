// pack.cpp: packing and unpacking by hand, in this machine's representation and in external32.
// Thread: any. Source: MPI-5.0, 5.2, 5.3, 14.5.2 (external32: big-endian IEEE, fixed sizes).
#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <limits>

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/types/elements.hpp"
#include "mpi-adi/types/type_create.hpp"

namespace portunus::mpi {
namespace {

// ---- external32 ----

constexpr int kExponentBytes = 2;  // of a binary128 number, with its sign

// Sizes that differ from ours; all others are alike (MPI-5.0, table 14.2).
int64_t external_size(const Datatype& elementary) {
  const MPI_Datatype handle = handle_of(&elementary);
  if (handle == MPI_LONG || handle == MPI_UNSIGNED_LONG) return 4;
  if (handle == MPI_WCHAR) return 2;
  if (handle == MPI_LONG_DOUBLE) return 16;
  if (handle == MPI_C_LONG_DOUBLE_COMPLEX || handle == MPI_CXX_LONG_DOUBLE_COMPLEX) return 32;
  return elementary.size;
}
// Numbers of which an elementary type consists.
int parts_of(const Datatype& elementary) {
  const MPI_Datatype handle = handle_of(&elementary);
  const MPI_Datatype complex[] = {MPI_C_FLOAT_COMPLEX,   MPI_C_DOUBLE_COMPLEX,   MPI_C_LONG_DOUBLE_COMPLEX,
                                  MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX,
                                  MPI_COMPLEX,           MPI_DOUBLE_COMPLEX,     MPI_COMPLEX4,
                                  MPI_COMPLEX8,          MPI_COMPLEX16,          MPI_COMPLEX32};
  return std::find(std::begin(complex), std::end(complex), handle) != std::end(complex) ? 2 : 1;
}
bool is_long_double(const Datatype& elementary) {
  const MPI_Datatype handle = handle_of(&elementary);
  return handle == MPI_LONG_DOUBLE || handle == MPI_C_LONG_DOUBLE_COMPLEX || handle == MPI_CXX_LONG_DOUBLE_COMPLEX;
}

constexpr bool kExtended = std::numeric_limits<long double>::digits == 64;  // 80 bits, as on x86

// An 80-bit number has the same sign and exponent as a binary128 one, and 63 bits of fraction below an explicit 1.
void widen(const unsigned char* extended, unsigned char* binary128) {
  uint64_t mantissa;
  std::memcpy(&mantissa, extended, sizeof mantissa);
  const uint64_t fraction = mantissa << 1;
  std::memset(binary128, 0, 16);
  std::memcpy(binary128 + 14, extended + 8, kExponentBytes);
  std::memcpy(binary128 + 6, &fraction, sizeof fraction);
}
void narrow(const unsigned char* binary128, unsigned char* extended) {
  uint64_t fraction;
  uint16_t exponent;
  std::memcpy(&fraction, binary128 + 6, sizeof fraction);
  std::memcpy(&exponent, binary128 + 14, sizeof exponent);
  const uint64_t mantissa = fraction >> 1 | (exponent & 0x7fff ? uint64_t{1} << 63 : 0);
  std::memcpy(extended, &mantissa, sizeof mantissa);
  std::memcpy(extended + 8, &exponent, sizeof exponent);
  std::memset(extended + 10, 0, sizeof(long double) - 10);
}

void store_reversed(const unsigned char* from, size_t bytes, unsigned char* to) {
  if (std::endian::native == std::endian::little) std::reverse_copy(from, from + bytes, to);
  else std::memcpy(to, from, bytes);
}

// One number from our representation, `bytes` long, to external32, `external` bytes long.
void to_external(const unsigned char* own, size_t bytes, bool long_double, unsigned char* out, size_t external) {
  unsigned char wide[16];
  if (long_double && kExtended) {
    widen(own, wide);
    own = wide;
  }
  // Shortened integers keep their low bytes.
  const size_t skipped = std::endian::native == std::endian::big && !long_double ? bytes - external : 0;
  store_reversed(own + skipped, external, out);
}
void from_external(const unsigned char* in, size_t external, bool long_double, bool is_signed, unsigned char* own, size_t bytes) {
  unsigned char wide[32];
  store_reversed(in, external, wide);
  if (long_double && kExtended) return narrow(wide, own);
  const bool little = std::endian::native == std::endian::little;
  const bool negative = is_signed && in[0] & 0x80;
  std::memset(own, negative ? 0xff : 0, bytes);
  std::memcpy(little ? own : own + (bytes - external), wide, external);
}

// Visits every number of `count` elements: own place, size, external size, what it is.
template <class Visit>
void for_each_number(const Datatype& type, int64_t count, Visit&& visit) {
  for (int64_t i = 0; i < count; ++i)
    for_each_element(type, i * type.extent, [&](const Datatype& elementary, int64_t displacement) {
      const int parts = parts_of(elementary);
      const int64_t bytes = elementary.size / parts, external = external_size(elementary) / parts;
      for (int part = 0; part < parts; ++part) visit(elementary, displacement + part * bytes, bytes, external);
    });
}

int64_t external_bytes(const Datatype& type, int64_t count) {
  int64_t bytes = 0;
  for_each_element(type, 0, [&](const Datatype& elementary, int64_t) { bytes += external_size(elementary); });
  return bytes * count;
}

// ---- checks ----

constexpr char kNotConverted[] = "the engine does not convert data; use MPI_Pack and MPI_Unpack";

int check_external(const char* function, const char datarep[]) {
  if (datarep != nullptr && std::strcmp(datarep, "external32") == 0) return MPI_SUCCESS;
  return raise(function, nullptr, MPI_ERR_ARG, "the data representation is not \"external32\"");
}

int check_count(const char* function, const Communicator* comm, MPI_Count count) {
  if (is_count(count)) return MPI_SUCCESS;
  return raise(function, comm, MPI_ERR_COUNT, "the count is %s (%lld)", count < 0 ? "negative" : "too large",
               static_cast<long long>(count));
}

int check_elements(const char* function, const Communicator* comm, const Datatype& type, MPI_Count count) {
  if (int error = check_count(function, comm, count)) return error;
  return fits_in_memory(count, type) ? MPI_SUCCESS : raise_too_many(function, comm, count, type);
}

// The checks that packing and unpacking share: `bytes` of data, `room` bytes in the packed buffer, of which `position` are used.
int check_pack(const char* function, const Communicator* comm, const Datatype& type, int64_t bytes, const void* data, const void* packed,
               int64_t room, int64_t position) {
  if (!type.committed) return raise(function, comm, MPI_ERR_TYPE, "the datatype is not committed");
  if (position < 0 || position > room)
    return raise(function, comm, MPI_ERR_ARG, "the position %lld is not within the packed buffer", static_cast<long long>(position));
  if (bytes > room - position)
    return raise(function, comm, MPI_ERR_TRUNCATE, "%lld bytes do not fit into the %lld that are left of the packed buffer",
                 static_cast<long long>(bytes), static_cast<long long>(room - position));
  // MPI_BOTTOM is a null pointer: addresses are in the datatype then.
  if (bytes > 0 && (packed == nullptr || (data == nullptr && type.true_lb == 0)))
    return raise(function, comm, MPI_ERR_BUFFER, "a buffer is null");
  return MPI_SUCCESS;
}

// Size: int or MPI_Count, MPI_Aint for external32; `position` advances by what is packed or unpacked.
template <class Size>
int pack(const char* function, const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf, Size outsize, Size* position,
         MPI_Comm comm) {
  Communicator* found;
  Datatype* type;
  if (int error = check(function, comm, found, {position})) return error;
  if (int error = check(function, datatype, type, {}, found)) return error;
  if (int error = check_elements(function, found, *type, incount)) return error;
  const int64_t bytes = type->size * incount;
  if (int error = check_pack(function, found, *type, bytes, inbuf, outbuf, outsize, *position)) return error;
  char* const packed = static_cast<char*>(outbuf) + *position;
  *position += static_cast<Size>(bytes);
  if (graph::is_captured_here(*found)) return graph::pack(function, inbuf, incount, *type, packed);
  pack(layout_of(*type, incount), inbuf, 0, bytes, packed);
  return MPI_SUCCESS;
}

template <class Size>
int unpack(const char* function, const void* inbuf, Size insize, Size* position, void* outbuf, MPI_Count outcount, MPI_Datatype datatype,
           MPI_Comm comm) {
  Communicator* found;
  Datatype* type;
  if (int error = check(function, comm, found, {position})) return error;
  if (int error = check(function, datatype, type, {}, found)) return error;
  if (int error = check_elements(function, found, *type, outcount)) return error;
  const int64_t bytes = type->size * outcount;
  if (int error = check_pack(function, found, *type, bytes, outbuf, inbuf, insize, *position)) return error;
  const char* const packed = static_cast<const char*>(inbuf) + *position;
  *position += static_cast<Size>(bytes);
  if (graph::is_captured_here(*found)) return graph::unpack(function, packed, outbuf, outcount, *type);
  unpack(layout_of(*type, outcount), outbuf, 0, bytes, packed);
  return MPI_SUCCESS;
}

template <class Size>
int pack_size(const char* function, MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, Size* size) {
  Communicator* found;
  Datatype* type;
  if (int error = check(function, comm, found, {size})) return error;
  if (int error = check(function, datatype, type, {}, found)) return error;
  if (int error = check_elements(function, found, *type, incount)) return error;
  const int64_t bytes = type->size * incount;
  *size = static_cast<Size>(bytes) == bytes ? static_cast<Size>(bytes) : Size{MPI_UNDEFINED};
  return MPI_SUCCESS;
}

int pack_external(const char* function, const char datarep[], const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
                  MPI_Count outsize, MPI_Count* position) {
  Datatype* type;
  if (int error = check(function, datatype, type, {position})) return error;
  if (int error = check_external(function, datarep)) return error;
  if (int error = check_elements(function, nullptr, *type, incount)) return error;
  if (int error = check_pack(function, nullptr, *type, external_bytes(*type, incount), inbuf, outbuf, outsize, *position)) return error;
  if (graph::is_capturing()) return graph::refuse(function, kNotConverted);
  const auto* in = static_cast<const unsigned char*>(inbuf);
  auto* out = static_cast<unsigned char*>(outbuf) + *position;
  for_each_number(*type, incount, [&](const Datatype& elementary, int64_t displacement, int64_t bytes, int64_t external) {
    to_external(in + displacement, static_cast<size_t>(bytes), is_long_double(elementary), out, static_cast<size_t>(external));
    out += external;
  });
  *position = out - static_cast<unsigned char*>(outbuf);
  return MPI_SUCCESS;
}

int unpack_external(const char* function, const char datarep[], const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
                    MPI_Count outcount, MPI_Datatype datatype) {
  Datatype* type;
  if (int error = check(function, datatype, type, {position})) return error;
  if (int error = check_external(function, datarep)) return error;
  if (int error = check_elements(function, nullptr, *type, outcount)) return error;
  if (int error = check_pack(function, nullptr, *type, external_bytes(*type, outcount), outbuf, inbuf, insize, *position)) return error;
  if (graph::is_capturing()) return graph::refuse(function, kNotConverted);
  const auto* in = static_cast<const unsigned char*>(inbuf) + *position;
  auto* out = static_cast<unsigned char*>(outbuf);
  for_each_number(*type, outcount, [&](const Datatype& elementary, int64_t displacement, int64_t bytes, int64_t external) {
    from_external(in, static_cast<size_t>(external), is_long_double(elementary), handle_of(&elementary) == MPI_LONG, out + displacement,
                  static_cast<size_t>(bytes));
    in += external;
  });
  *position = in - static_cast<const unsigned char*>(inbuf);
  return MPI_SUCCESS;
}

int pack_external_size(const char* function, const char datarep[], MPI_Count incount, MPI_Datatype datatype, MPI_Count* size) {
  Datatype* type;
  if (int error = check(function, datatype, type, {size})) return error;
  if (int error = check_external(function, datarep)) return error;
  if (int error = check_elements(function, nullptr, *type, incount)) return error;
  *size = external_bytes(*type, incount);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

#define PACK_CALLS(suffix, Count, Size)                                                                                                   \
  extern "C" int PMPI_Pack##suffix(const void* inbuf, Count incount, MPI_Datatype datatype, void* outbuf, Count outsize, Count* position, \
                                   MPI_Comm comm) try {                                                                                   \
    return pack("MPI_Pack" #suffix, inbuf, incount, datatype, outbuf, outsize, position, comm);                                           \
  }                                                                                                                                       \
  MPI_WEAK_NAME(Pack##suffix)                                                                                                             \
  extern "C" int PMPI_Unpack##suffix(const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,                      \
                                     MPI_Datatype datatype, MPI_Comm comm) try {                                                          \
    return unpack("MPI_Unpack" #suffix, inbuf, insize, position, outbuf, outcount, datatype, comm);                                       \
  }                                                                                                                                       \
  MPI_WEAK_NAME(Unpack##suffix)                                                                                                           \
  extern "C" int PMPI_Pack_size##suffix(Count incount, MPI_Datatype datatype, MPI_Comm comm, Count* size) try {                           \
    return pack_size("MPI_Pack_size" #suffix, incount, datatype, comm, size);                                                             \
  }                                                                                                                                       \
  MPI_WEAK_NAME(Pack_size##suffix)                                                                                                        \
  extern "C" int PMPI_Pack_external##suffix(const char datarep[], const void* inbuf, Count incount, MPI_Datatype datatype, void* outbuf,  \
                                            Size outsize, Size* position) try {                                                           \
    return pack_external("MPI_Pack_external" #suffix, datarep, inbuf, incount, datatype, outbuf, outsize, position);                      \
  }                                                                                                                                       \
  MPI_WEAK_NAME(Pack_external##suffix)                                                                                                    \
  extern "C" int PMPI_Unpack_external##suffix(const char datarep[], const void* inbuf, Size insize, Size* position, void* outbuf,         \
                                              Count outcount, MPI_Datatype datatype) try {                                                \
    return unpack_external("MPI_Unpack_external" #suffix, datarep, inbuf, insize, position, outbuf, outcount, datatype);                  \
  }                                                                                                                                       \
  MPI_WEAK_NAME(Unpack_external##suffix)                                                                                                  \
  extern "C" int PMPI_Pack_external_size##suffix(const char datarep[], Count incount, MPI_Datatype datatype, Size* size) try {            \
    return pack_external_size("MPI_Pack_external_size" #suffix, datarep, incount, datatype, size);                                        \
  }                                                                                                                                       \
  MPI_WEAK_NAME(Pack_external_size##suffix)

PACK_CALLS(, int, MPI_Aint)
PACK_CALLS(_c, MPI_Count, MPI_Count)
