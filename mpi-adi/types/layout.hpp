// layout.hpp: where the bytes of a datatype lie, flattened: the form in which they are packed and unpacked.
//
//   run      offset [======]                                        block = size
//   strided  offset [==]  stride  [==]  stride  [==]                count blocks of the same size, evenly apart
//   blocks   offset + displacements[i] [==]                         count blocks of the same size, anywhere
//   runs     offset + displacements[i] [===]                        blocks of different sizes
//   repeat   offset + i * stride: child                             count times the same
//   list     offset + displacements[i]: children[i]
//
// Neighbouring runs are merged, and the simplest shape that fits is chosen, when a layout is made. A layout of n evenly
// placed blocks takes the same room for any n.
// Thread: a layout is constant. Offsets, sizes and strides are bytes; the data's order is that of the type map.
// Source: MPI-5.0, 5.1; Träff, Hempel, Ritzdorf, Zimmermann 1999 (flattening on the fly).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace portunus::mpi {

struct Layout {
  enum class Shape : uint8_t { empty, run, strided, blocks, runs, repeat, list };
  struct Table {
    std::vector<int64_t> displacements;
    std::vector<int64_t> ends;  // runs, list: how much data there is up to and with each part
    std::vector<Layout> children;
  };

  Shape shape = Shape::empty;
  int64_t size = 0;  // bytes of data
  int64_t offset = 0;
  int64_t block = 0;  // bytes of each block; of each child in `repeat`
  int64_t count = 0;
  int64_t stride = 0;
  std::shared_ptr<const Table> table;
  std::shared_ptr<const Layout> child;

  static Layout run(int64_t offset, int64_t bytes);
  // Becomes `times` copies, `apart` from one another.
  void repeat(int64_t times, int64_t apart) {
    if (times != 1) become_copies(times, apart);
  }
  Layout repeated(int64_t times, int64_t apart) const {
    Layout made = *this;
    made.repeat(times, apart);
    return made;
  }
  // One after the other; the parts keep their offsets.
  static Layout joined(std::vector<Layout> parts);

  bool is_run() const { return shape == Shape::run || shape == Shape::empty; }

 private:
  void become_copies(int64_t times, int64_t apart);
};

// Calls visit(place, bytes) for each block that bytes `from` .. `from + bytes` of the data lie in, in their order, `base` added to the
// places.
template <class Visit>
void each_block(const Layout& layout, int64_t base, int64_t from, int64_t bytes, Visit&& visit) {
  using Shape = Layout::Shape;
  if (bytes <= 0) return;
  base += layout.offset;
  switch (layout.shape) {
    case Shape::empty: return;
    case Shape::run: return visit(base + from, bytes);
    case Shape::strided:
    case Shape::blocks: {
      const int64_t* displacements = layout.shape == Shape::blocks ? layout.table->displacements.data() : nullptr;
      for (int64_t i = from / layout.block, skipped = from % layout.block; bytes > 0; ++i, skipped = 0) {
        const int64_t piece = std::min(bytes, layout.block - skipped);
        visit(base + (displacements ? displacements[i] : i * layout.stride) + skipped, piece);
        bytes -= piece;
      }
      return;
    }
    case Shape::repeat:
      for (int64_t i = from / layout.block, skipped = from % layout.block; bytes > 0; ++i, skipped = 0) {
        const int64_t piece = std::min(bytes, layout.block - skipped);
        each_block(*layout.child, base + i * layout.stride, skipped, piece, visit);
        bytes -= piece;
      }
      return;
    case Shape::runs:
    case Shape::list: {
      const Layout::Table& table = *layout.table;
      auto i = static_cast<size_t>(std::upper_bound(table.ends.begin(), table.ends.end(), from) - table.ends.begin());
      for (; bytes > 0; ++i) {
        const int64_t skipped = from - (i > 0 ? table.ends[i - 1] : 0), piece = std::min(bytes, table.ends[i] - from);
        if (layout.shape == Shape::runs) visit(base + table.displacements[i] + skipped, piece);
        else each_block(table.children[i], base + table.displacements[i], skipped, piece, visit);
        from += piece;
        bytes -= piece;
      }
    }
  }
}

// Bytes `from` .. `from + bytes` of the layout's data, taken from around `base` or put there. Costs O(depth * log(parts))
// besides the copying.
void pack(const Layout& layout, const void* base, int64_t from, int64_t bytes, void* packed);
void unpack(const Layout& layout, void* base, int64_t from, int64_t bytes, const void* packed);

}  // namespace portunus::mpi
