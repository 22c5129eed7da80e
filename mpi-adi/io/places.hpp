// places.hpp: where the bytes of a layout lie, without copying them: byte by number, how many lie before a place, run by
// run.
//
// Thread: any; layouts are constant. Costs O(depth * log(parts)) for one byte, O(log(size)) of these for `below`.
// Source: MPI-5.0, 5.1, 14.1.1 (a file type's displacements do not decrease).
#pragma once

#include <cstdint>

#include "mpi-adi/types/layout.hpp"

namespace portunus::mpi::io {

// The place of byte `k` of the data, 0 <= k < size.
int64_t place(const Layout& layout, int64_t k);
// Data come in the order of their places, and no place is used twice.
bool is_ascending(const Layout& layout);
// How many runs there are, if none of neighbouring parts touch.
int64_t runs_of(const Layout& layout);
// A number of bytes that divides all lengths and all distances of runs; 0: there are none.
int64_t grain_of(const Layout& layout);

// Bytes `from` .. `from + bytes` of the data, `base` added to their places.
struct Placed {
  Layout layout;
  int64_t base = 0, from = 0, bytes = 0;
  bool ascending = true;

  int64_t place(int64_t k) const { return base + io::place(layout, from + k); }
  int64_t first() const { return place(0); }
  int64_t end() const { return place(bytes - 1) + 1; }  // of ascending ones
  // How many of the bytes lie before `offset`; of ascending ones.
  int64_t below(int64_t offset) const;
  bool is_run() const { return layout.is_run(); }
  Placed part(int64_t skip, int64_t count) const {
    Placed one = *this;
    one.from += skip;
    one.bytes = count;
    return one;
  }
};

// Calls visit(place, bytes) for each run, in the order of the data; runs that touch come as one.
template <class Visit>
void for_each_run(const Placed& placed, Visit&& visit) {
  int64_t at = 0, length = 0;
  auto join = [&](int64_t offset, int64_t bytes) {
    if (at + length == offset && length > 0) {
      length += bytes;
      return;
    }
    if (length > 0) visit(at, length);
    at = offset;
    length = bytes;
  };
  each_block(placed.layout, placed.base, placed.from, placed.bytes, join);
  if (length > 0) visit(at, length);
}

}  // namespace portunus::mpi::io
