// atomic_ops_reference.hpp: the types of the atomic operations, telling values of each, and the formulas of the
// specification written out once more, slowly.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus {
template <class T>
constexpr bool is_complex = !std::is_arithmetic_v<T>;

template <class Value, ptl_datatype_t number>
struct Type {
  using T = Value;
  static constexpr ptl_datatype_t type = number;
};
using AllTypes = testing::Types<Type<int8_t, PTL_INT8_T>, Type<uint8_t, PTL_UINT8_T>, Type<int16_t, PTL_INT16_T>,
                                Type<uint16_t, PTL_UINT16_T>, Type<int32_t, PTL_INT32_T>, Type<uint32_t, PTL_UINT32_T>,
                                Type<int64_t, PTL_INT64_T>, Type<uint64_t, PTL_UINT64_T>, Type<float, PTL_FLOAT>, Type<double, PTL_DOUBLE>,
                                Type<long double, PTL_LONG_DOUBLE>, Type<std::complex<float>, PTL_FLOAT_COMPLEX>,
                                Type<std::complex<double>, PTL_DOUBLE_COMPLEX>, Type<std::complex<long double>, PTL_LONG_DOUBLE_COMPLEX>>;

inline const std::set<int> kIntegers = {PTL_INT8_T,  PTL_UINT8_T,  PTL_INT16_T, PTL_UINT16_T,
                                        PTL_INT32_T, PTL_UINT32_T, PTL_INT64_T, PTL_UINT64_T};
inline const std::set<int> kFloats = {PTL_FLOAT, PTL_DOUBLE, PTL_LONG_DOUBLE};
inline const std::set<int> kComplex = {PTL_FLOAT_COMPLEX, PTL_DOUBLE_COMPLEX, PTL_LONG_DOUBLE_COMPLEX};

// Values at the edges; small ones for floating types, where every formula then has an exact result.
template <class T>
std::vector<T> samples() {
  if constexpr (std::is_integral_v<T>) {
    using L = std::numeric_limits<T>;
    const T pattern = T(0x5a5a5a5a5a5a5a5a);
    return {0, 1, 2, 7, T(-1), T(-3), L::min(), T(L::min() + 1), L::max(), T(L::max() - 1), pattern, T(L::max() / 3)};
  } else if constexpr (is_complex<T>) {
    return {{0, 0}, {1, 0}, {0, 1}, {-3, 2}, {5, -7}, {0.5, 0.25}};
  } else {
    return {T(0), T(1), T(-1), T(2.5), T(-7), T(1024), T(-0.0), std::numeric_limits<T>::infinity()};
  }
}

// Sums and products of integers, exact, then cut to the type.
__extension__ typedef __int128 Wide;
template <class T>
T exact(char op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const Wide x = a, y = b;
    if (op == '*' && std::is_same_v<T, uint64_t>) return T(uint64_t(a) * uint64_t(b));
    return T(op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y);
  } else if constexpr (is_complex<T>) {
    if (op == '+') return {a.real() + b.real(), a.imag() + b.imag()};
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
  }
}

template <class T>
T expected(int op, T t, T s, T o) {
  switch (op) {
    case PTL_SUM: return exact('+', t, s);
    case PTL_PROD: return exact('*', t, s);
    case PTL_SWAP: return s;
    case PTL_CSWAP: return o == t ? s : t;
    case PTL_CSWAP_NE: return o == t ? t : s;
  }
  if constexpr (!is_complex<T>) switch (op) {
      case PTL_MIN: return std::min(t, s);
      case PTL_MAX: return std::max(t, s);
      case PTL_CSWAP_LE: return o <= t ? s : t;
      case PTL_CSWAP_LT: return o < t ? s : t;
      case PTL_CSWAP_GE: return o >= t ? s : t;
      case PTL_CSWAP_GT: return o > t ? s : t;
    }
  if constexpr (std::is_integral_v<T>) switch (op) {
      case PTL_LOR: return t || s;
      case PTL_LAND: return t && s;
      case PTL_LXOR: return bool(t) != bool(s);
      case PTL_BOR: return T(t | s);
      case PTL_BAND: return T(t & s);
      case PTL_BXOR: return T(t ^ s);
      case PTL_MSWAP: return T((o & s) | (~o & t));
    }
  ADD_FAILURE() << "no formula for operation " << op;
  return t;
}

template <class T>
T expected_local(int op, T a, T b) {
  switch (op) {
    case PTLX_ADD: return exact('+', a, b);
    case PTLX_SUB: return exact('-', a, b);
    case PTLX_MULT: return exact('*', a, b);
    case PTLX_DIV: return exact('/', a, b);
    case PTLX_MAX: return std::max(a, b);
    case PTLX_MIN: return std::min(a, b);
    case PTLX_COPY: return a;
  }
  if constexpr (std::is_integral_v<T>) switch (op) {
      case PTLX_AND: return T(a & b);
      case PTLX_OR: return T(a | b);
      case PTLX_XOR: return T(a ^ b);
    }
  ADD_FAILURE() << "no formula for operation " << op;
  return a;
}

// Equal as values; NaN, which infinity minus infinity makes, is as good as NaN.
template <class T>
bool same(T a, T b) {
  if (a == b) return true;
  if constexpr (std::is_floating_point_v<T>) return a != a && b != b;
  return false;
}

}  // namespace portunus
