// reference.hpp: the definitions as the paper prints them, one index at a time, to hold the library against.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "shmem/distribution/ccc.h"

namespace reference {

using Step = std::pair<int64_t, int64_t>;  // block, processors
using Chain = std::vector<Step>;

inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
inline int64_t target(int64_t s, int64_t b, int64_t p) { return s / b % p; }                // equation (1)
inline int64_t offset(int64_t s, int64_t b, int64_t p) { return s / (b * p) * b + s % b; }  // equation (2)
inline int64_t cycles(int64_t n, int64_t b, int64_t p) { return ceil_div(n, b * p); }

// Definition 5.2, with O = W x V.
inline std::pair<int64_t, int64_t> place(int64_t s, int64_t n, const Chain& chain) {
  int64_t o = 0, room = 1, points = n;
  for (const auto& [b, p] : chain) {
    o += offset(s, b, p) * room;
    room *= b * cycles(points, b, p);
    s = target(s, b, p);
    points = p;
  }
  return {s, o};
}
inline int64_t room(int64_t n, const Chain& chain) {
  int64_t room = 1, points = n;
  for (const auto& [b, p] : chain) {
    room *= b * cycles(points, b, p);
    points = p;
  }
  return room;
}

inline ccc_axis axis_of(int64_t n, const Chain& chain) {
  ccc_axis axis{};
  int code = ccc_block_cyclic(&axis, n, chain[0].first, chain[0].second);
  for (size_t i = 1; i < chain.size() && code == CCC_SUCCESS; ++i) code = ccc_cascade(&axis, chain[i].first, chain[i].second);
  if (code != CCC_SUCCESS) axis = {};
  return axis;
}

// Theorem 6.2's two loops, as printed; `mended` has b2 where unmap prints c2.
inline int64_t map_printed(int64_t i, int64_t b1, int64_t c1, int64_t b2, int64_t c2) {
  for (int64_t m2 = 0; m2 < c1; ++m2)
    for (int64_t m4 = 0; m4 < c2; ++m4)
      for (int64_t r3 = 0; r3 < b2; ++r3)
        for (int64_t r1 = 0; r1 < b1; ++r1)
          if (i-- == 0) return m4 * b2 * b1 * c1 + r3 * b1 * c1 + m2 * b1 + r1;
  return -1;
}
inline int64_t unmap_printed(int64_t i, int64_t b1, int64_t c1, int64_t b2, int64_t c2, bool mended = false) {
  for (int64_t m4 = 0; m4 < c2; ++m4)
    for (int64_t r3 = 0; r3 < b2; ++r3)
      for (int64_t m2 = 0; m2 < c1; ++m2)
        for (int64_t r1 = 0; r1 < b1; ++r1)
          if (i-- == 0) return m2 * b1 * b2 * c2 + m4 * b1 * (mended ? b2 : c2) + r3 * b1 + r1;
  return -1;
}

}  // namespace reference
