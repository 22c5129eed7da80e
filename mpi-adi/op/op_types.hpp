// op_types.hpp: what values a datatype has, and which operations they have.
//
// Thread: any. Source: MPI-5.0, 6.9.2 (which types each operation takes), 20.3 (handle values).
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "mpi-adi/mpi.h"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::ops {

template <class V, class I>
struct Located {
  V value;
  I index;
};
template <class T>
constexpr bool is_located = false;
template <class V, class I>
constexpr bool is_located<Located<V, I>> = true;

// Types that Fortran may have and standard C++ has not: the engine does not know these.
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;
__extension__ using Float128 = __float128;
template <class T>
constexpr bool is_integer = std::is_integral_v<T> || std::is_same_v<T, Int128> || std::is_same_v<T, Uint128>;
using Char = std::conditional_t<std::is_signed_v<char>, int8_t, uint8_t>;

// The kinds of a type's values: they decide which operations it has. Characters and bytes are integers, as other implementations have it:
// the standard gives bytes the operations on bits alone, and characters none.
enum class Class : uint8_t { none, integer, real, complex, truth, located };

template <class T>
struct Is {
  using type = T;
};

constexpr uintptr_t value_of(uint16_t handle) { return handle; }

// MPI_DATATYPE_NULL: it is none of Fortran's kinds.
inline MPI_Datatype base_of_kind(MPI_Datatype type) {
  const Datatype* found = find_type(type);
  return found && found->kind_of ? handle_of(found->kind_of) : MPI_DATATYPE_NULL;
}

// Calls f(Is<T>(), class) for the type's values; f(Is<void>(), Class::none) if it has no operations.
template <class F>
auto with_type(MPI_Datatype type, F&& f) {
  const auto is = [&](auto tag, Class kind) { return f(tag, kind); };
  static_assert(sizeof(long) == 8 && sizeof(int) == 4 && sizeof(short) == 2);
  switch (reinterpret_cast<uintptr_t>(type)) {
    case value_of(0x243):  // CHAR
      return is(Is<Char>(), Class::integer);
    case value_of(0x244):  // SIGNED_CHAR
    case value_of(0x240):  // INT8_T
    case value_of(0x2c1):  // INTEGER1
      return is(Is<int8_t>(), Class::integer);
    case value_of(0x245):  // UNSIGNED_CHAR
    case value_of(0x247):  // BYTE
    case value_of(0x21e):  // CHARACTER
    case value_of(0x241):  // UINT8_T
      return is(Is<uint8_t>(), Class::integer);
    case value_of(0x208):  // SHORT
    case value_of(0x248):  // INT16_T
    case value_of(0x2c9):  // INTEGER2
      return is(Is<int16_t>(), Class::integer);
    case value_of(0x20c):  // UNSIGNED_SHORT
    case value_of(0x249):  // UINT16_T
      return is(Is<uint16_t>(), Class::integer);
    case value_of(0x209):  // INT
    case value_of(0x250):  // INT32_T
    case value_of(0x219):  // INTEGER
    case value_of(0x2d1):  // INTEGER4
      return is(Is<int32_t>(), Class::integer);
    case value_of(0x20d):  // UNSIGNED
    case value_of(0x251):  // UINT32_T
      return is(Is<uint32_t>(), Class::integer);
    case value_of(0x201):  // AINT
    case value_of(0x202):  // COUNT
    case value_of(0x203):  // OFFSET
    case value_of(0x20a):  // LONG
    case value_of(0x20b):  // LONG_LONG
    case value_of(0x258):  // INT64_T
    case value_of(0x2d9):  // INTEGER8
      return is(Is<int64_t>(), Class::integer);
    case value_of(0x20e):  // UNSIGNED_LONG
    case value_of(0x20f):  // UNSIGNED_LONG_LONG
    case value_of(0x259):  // UINT64_T
      return is(Is<uint64_t>(), Class::integer);
    case value_of(0x210):  // FLOAT
    case value_of(0x21a):  // REAL
    case value_of(0x2d2):  // REAL4
      return is(Is<float>(), Class::real);
    case value_of(0x214):  // DOUBLE
    case value_of(0x21c):  // DOUBLE_PRECISION
    case value_of(0x2da):  // REAL8
      return is(Is<double>(), Class::real);
    case value_of(0x220):  // LONG_DOUBLE
      return is(Is<long double>(), Class::real);
    case value_of(0x212):  // C_FLOAT_COMPLEX
    case value_of(0x213):  // CXX_FLOAT_COMPLEX
    case value_of(0x21b):  // COMPLEX
    case value_of(0x2db):  // COMPLEX8
      return is(Is<std::complex<float>>(), Class::complex);
    case value_of(0x216):  // C_DOUBLE_COMPLEX
    case value_of(0x217):  // CXX_DOUBLE_COMPLEX
    case value_of(0x21d):  // DOUBLE_COMPLEX
    case value_of(0x2e3):  // COMPLEX16
      return is(Is<std::complex<double>>(), Class::complex);
    case value_of(0x224):  // C_LONG_DOUBLE_COMPLEX
    case value_of(0x225):  // CXX_LONG_DOUBLE_COMPLEX
      return is(Is<std::complex<long double>>(), Class::complex);
    case value_of(0x238):  // C_BOOL
    case value_of(0x239):  // CXX_BOOL
    case value_of(0x2c0):  // LOGICAL1
      return is(Is<uint8_t>(), Class::truth);
    case value_of(0x2c8):  // LOGICAL2
      return is(Is<uint16_t>(), Class::truth);
    case value_of(0x218):  // LOGICAL
    case value_of(0x2d0):  // LOGICAL4
      return is(Is<uint32_t>(), Class::truth);
    case value_of(0x2d8):  // LOGICAL8
      return is(Is<uint64_t>(), Class::truth);
    case value_of(0x2e0):  // LOGICAL16
      return is(Is<Uint128>(), Class::truth);
    case value_of(0x2e1):  // INTEGER16
      return is(Is<Int128>(), Class::integer);
    case value_of(0x2e2):  // REAL16
      return is(Is<Float128>(), Class::real);
    case value_of(0x2eb):  // COMPLEX32
      return is(Is<std::complex<Float128>>(), Class::complex);
    case value_of(0x228):  // FLOAT_INT
      return is(Is<Located<float, int>>(), Class::located);
    case value_of(0x229):  // DOUBLE_INT
      return is(Is<Located<double, int>>(), Class::located);
    case value_of(0x22a):  // LONG_INT
      return is(Is<Located<long, int>>(), Class::located);
    case value_of(0x22b):  // 2INT
    case value_of(0x232):  // 2INTEGER
      return is(Is<Located<int, int>>(), Class::located);
    case value_of(0x22c):  // SHORT_INT
      return is(Is<Located<short, int>>(), Class::located);
    case value_of(0x22d):  // LONG_DOUBLE_INT
      return is(Is<Located<long double, int>>(), Class::located);
    case value_of(0x230):  // 2REAL
      return is(Is<Located<float, float>>(), Class::located);
    case value_of(0x231):  // 2DOUBLE_PRECISION
      return is(Is<Located<double, double>>(), Class::located);
    default:
      if (const MPI_Datatype base = base_of_kind(type); base != MPI_DATATYPE_NULL) return with_type(base, f);
      return is(Is<void>(), Class::none);
  }
}

enum class Operation : uint8_t { sum, min, max, prod, band, bor, bxor, land, lor, lxor, minloc, maxloc, replace, none };

inline Operation operation_of(MPI_Op op) {
  switch (reinterpret_cast<uintptr_t>(op)) {
    case 0x21: return Operation::sum;
    case 0x22: return Operation::min;
    case 0x23: return Operation::max;
    case 0x24: return Operation::prod;
    case 0x28: return Operation::band;
    case 0x29: return Operation::bor;
    case 0x2a: return Operation::bxor;
    case 0x30: return Operation::land;
    case 0x31: return Operation::lor;
    case 0x32: return Operation::lxor;
    case 0x38: return Operation::minloc;
    case 0x39: return Operation::maxloc;
    case 0x3c: return Operation::replace;
    default: return Operation::none;
  }
}

inline bool fits(Operation op, Class kind) {
  switch (op) {
    case Operation::sum:
    case Operation::prod: return kind == Class::integer || kind == Class::real || kind == Class::complex;
    case Operation::min:
    case Operation::max: return kind == Class::integer || kind == Class::real;
    case Operation::band:
    case Operation::bor:
    case Operation::bxor: return kind == Class::integer;
    case Operation::land:
    case Operation::lor:
    case Operation::lxor: return kind == Class::integer || kind == Class::truth;
    case Operation::minloc:
    case Operation::maxloc: return kind == Class::located;
    case Operation::replace:
    case Operation::none: return false;  // of accumulations only
  }
  return false;
}

}  // namespace portunus::mpi::ops
