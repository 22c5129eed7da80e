// places.cpp: see places.hpp.
#include "mpi-adi/io/places.hpp"

#include <numeric>

namespace portunus::mpi::io {

using Shape = Layout::Shape;

int64_t place(const Layout& layout, int64_t k) {
  switch (layout.shape) {
    case Shape::empty: return layout.offset;
    case Shape::run: return layout.offset + k;
    case Shape::strided: return layout.offset + k / layout.block * layout.stride + k % layout.block;
    case Shape::blocks: return layout.offset + layout.table->displacements[static_cast<size_t>(k / layout.block)] + k % layout.block;
    case Shape::repeat: return layout.offset + k / layout.block * layout.stride + place(*layout.child, k % layout.block);
    case Shape::runs:
    case Shape::list: break;
  }
  const Layout::Table& table = *layout.table;
  const auto i = static_cast<size_t>(std::upper_bound(table.ends.begin(), table.ends.end(), k) - table.ends.begin());
  const int64_t skipped = k - (i > 0 ? table.ends[i - 1] : 0);
  return layout.offset + table.displacements[i] + (layout.shape == Shape::runs ? skipped : place(table.children[i], skipped));
}

bool is_ascending(const Layout& layout) {
  const auto ends_before = [&](size_t i, int64_t end) { return end <= layout.table->displacements[i + 1]; };
  switch (layout.shape) {
    case Shape::empty:
    case Shape::run: return true;
    case Shape::strided: return layout.stride >= layout.block;
    case Shape::repeat: {
      const Layout& child = *layout.child;
      return is_ascending(child) && place(child, child.size - 1) < layout.stride + place(child, 0);
    }
    case Shape::blocks:
      for (size_t i = 0; i + 1 < layout.table->displacements.size(); ++i)
        if (!ends_before(i, layout.table->displacements[i] + layout.block)) return false;
      return true;
    case Shape::runs:
      for (size_t i = 0; i + 1 < layout.table->displacements.size(); ++i)
        if (!ends_before(i, layout.table->displacements[i] + layout.table->ends[i] - (i > 0 ? layout.table->ends[i - 1] : 0))) return false;
      return true;
    case Shape::list: break;
  }
  const Layout::Table& table = *layout.table;
  for (size_t i = 0; i < table.children.size(); ++i) {
    if (!is_ascending(table.children[i])) return false;
    if (i + 1 == table.children.size()) break;
    const Layout& child = table.children[i];
    const int64_t end = table.displacements[i] + place(child, child.size - 1) + 1;
    if (end > table.displacements[i + 1] + place(table.children[i + 1], 0)) return false;
  }
  return true;
}

int64_t runs_of(const Layout& layout) {
  if (layout.shape == Shape::repeat) return layout.count * runs_of(*layout.child);
  if (layout.shape != Shape::list) return layout.count;
  int64_t runs = 0;
  for (const Layout& child : layout.table->children) runs += runs_of(child);
  return runs;
}

int64_t grain_of(const Layout& layout) {
  int64_t grain = layout.offset;
  const auto take = [&](int64_t bytes) { grain = std::gcd(grain, bytes); };
  switch (layout.shape) {
    case Shape::empty: return 0;
    case Shape::run:
    case Shape::strided:
      take(layout.block);
      take(layout.shape == Shape::run ? 0 : layout.stride);
      break;
    case Shape::repeat:
      take(layout.stride);
      take(grain_of(*layout.child));
      break;
    case Shape::blocks:
    case Shape::runs:
    case Shape::list:
      if (layout.shape == Shape::blocks) take(layout.block);
      for (int64_t displacement : layout.table->displacements) take(displacement);
      for (int64_t end : layout.table->ends) take(end);
      for (const Layout& child : layout.table->children) take(grain_of(child));
  }
  return grain;
}

int64_t Placed::below(int64_t offset) const {
  int64_t low = 0, high = bytes;  // byte `low - 1` lies before, byte `high` does not
  if (bytes == 0 || place(0) >= offset) return 0;
  if (place(bytes - 1) < offset) return bytes;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (place(middle) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace portunus::mpi::io
