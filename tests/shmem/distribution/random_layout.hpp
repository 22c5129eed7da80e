// random_layout.hpp: axes and pairs of layouts drawn by chance, of all kinds, and how to name them in a failure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>

#include "shmem/distribution/axis/axis.hpp"

using Index = std::array<int64_t, CCC_MOST_AXES>;

// The number of targets of a layout without a table of PEs.
inline int64_t all_targets(const ccc_layout& layout) {
  int64_t all = 1;
  for (int d = 0; d < layout.axes; ++d) all *= portunus::distribution::processors(layout.axis[d]);
  return all;
}
inline int64_t whole_room(const ccc_layout& layout) {
  int64_t all = 1;
  for (int d = 0; d < layout.axes; ++d) all *= ccc_room(&layout.axis[d]);
  return all;
}

inline int64_t below(std::mt19937_64& random, int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); }

// On at most `most` processors.
inline ccc_axis random_axis(std::mt19937_64& random, int64_t n, int64_t most) {
  ccc_axis axis{};
  const int64_t p = 1 + below(random, most);
  switch (below(random, 7)) {
    case 0: ccc_block(&axis, n, p); break;
    case 1: ccc_cyclic(&axis, n, p); break;
    case 2: ccc_balanced(&axis, n, p); break;
    case 3: ccc_block_cyclic(&axis, n, 1 + below(random, 6), p); break;
    case 4: ccc_compress(&axis, n); break;
    case 5:
      ccc_block_cyclic(&axis, n, 1 + below(random, 3), 1 + below(random, 12));
      ccc_cascade(&axis, below(random, 4), p);
      break;
    default:
      ccc_block_cyclic(&axis, n, 1 + below(random, 3), 1 + below(random, 16));
      ccc_cascade(&axis, 1 + below(random, 3), 1 + below(random, 6));
      ccc_cascade(&axis, below(random, 3), p);
  }
  return axis;
}

// Two layouts of arrays with up to `most` indices along each axis, on PEs below `pes`, and which axis belongs to which.
inline std::tuple<ccc_layout, ccc_layout, std::array<int, CCC_MOST_AXES>> random_pair(std::mt19937_64& random, int pes, int axes,
                                                                                      int64_t most, bool large) {
  ccc_layout from{}, to{};
  std::array<int, CCC_MOST_AXES> order{0, 1, 2, 3, 4, 5};
  std::shuffle(order.begin(), order.begin() + axes, random);
  from.axes = to.axes = axes;
  int64_t left = pes, left_there = pes;
  for (int d = 0; d < axes; ++d) {
    const int64_t n = below(random, 12) == 0 ? below(random, 3) : (large ? most / 2 : 1) + below(random, most);
    from.axis[d] = random_axis(random, n, left);
    to.axis[order[static_cast<size_t>(d)]] = random_axis(random, n, left_there);
    left /= portunus::distribution::processors(from.axis[d]);
    left_there /= portunus::distribution::processors(to.axis[order[static_cast<size_t>(d)]]);
  }
  from.first_pe = static_cast<int>(below(random, pes - all_targets(from) + 1));
  to.first_pe = static_cast<int>(below(random, pes - all_targets(to) + 1));
  return {from, to, order};
}

// f(index, running number) for each index of the array, row by row.
template <class F>
void each_index(const ccc_layout& layout, F f) {
  Index index{};
  for (int d = 0; d < layout.axes; ++d)
    if (layout.axis[d].n == 0) return;
  for (int64_t number = 0;; ++number) {
    f(index, number);
    int d = layout.axes - 1;
    while (d >= 0 && ++index[static_cast<size_t>(d)] == layout.axis[d].n) index[static_cast<size_t>(d--)] = 0;
    if (d < 0) return;
  }
}

inline std::string written(const ccc_axis& axis) {
  std::string text = std::to_string(axis.n) + (portunus::distribution::is_balanced(axis) ? " balanced" : "");
  for (int i = 0; i < axis.steps; ++i)
    text += " (" + std::to_string(axis.step[i].block) + "," + std::to_string(axis.step[i].processors) + ")";
  return text;
}
inline std::string written(const ccc_layout& layout) {
  std::string text = "PE " + std::to_string(layout.first_pe) + "..";
  for (int d = 0; d < layout.axes; ++d) text += " [" + written(layout.axis[d]) + "]";
  return text;
}
