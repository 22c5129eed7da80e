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
  // `count` copies, `stride` apart.
  Layout repeated(int64_t count, int64_t stride) const;
  Layout shifted(int64_t by) const;
  // One after the other; the parts keep their offsets.
  static Layout joined(std::vector<Layout> parts);

  bool is_run() const { return shape == Shape::run || shape == Shape::empty; }
};

// Calls f(address, bytes) for each block of the data around `base`, in their order.
template <class F>
void each_block(const Layout& layout, std::byte* base, F&& f) {
  using Shape = Layout::Shape;
  std::byte* const at = base + layout.offset;
  const auto count = [&](const auto& all) { return static_cast<int64_t>(all.size()); };
  switch (layout.shape) {
    case Shape::empty: return;
    case Shape::run: return f(at, layout.size);
    case Shape::strided:
      for (int64_t i = 0; i < layout.count; ++i) f(at + i * layout.stride, layout.block);
      return;
    case Shape::repeat:
      for (int64_t i = 0; i < layout.count; ++i) each_block(*layout.child, at + i * layout.stride, f);
      return;
    default: break;
  }
  const Layout::Table& table = *layout.table;
  for (int64_t i = 0; i < count(table.displacements); ++i) {
    const auto part = static_cast<size_t>(i);
    std::byte* const place = at + table.displacements[part];
    if (layout.shape == Shape::blocks) f(place, layout.block);
    else if (layout.shape == Shape::runs) f(place, table.ends[part] - (i > 0 ? table.ends[part - 1] : 0));
    else each_block(table.children[part], place, f);
  }
}

// Bytes `from` .. `from + bytes` of the layout's data, taken from around `base` or put there. Costs O(depth * log(parts))
// besides the copying.
void pack(const Layout& layout, const void* base, int64_t from, int64_t bytes, void* packed);
void unpack(const Layout& layout, void* base, int64_t from, int64_t bytes, const void* packed);

}  // namespace portunus::mpi
