// layout.cpp: building layouts, and the copying loops.
#include "mpi-adi/types/layout.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/goal/copy.hpp"

namespace portunus::mpi {

using Shape = Layout::Shape;

Layout Layout::run(int64_t offset, int64_t bytes) {
  Layout made;
  if (bytes == 0) return made;
  made.shape = Shape::run;
  made.size = made.block = bytes;
  made.offset = offset;
  made.count = 1;
  return made;
}

void Layout::become_copies(int64_t times, int64_t apart) {
  if (times == 0 || size == 0) {
    *this = {};
  } else if (shape == Shape::run && apart == size) {
    size *= times;
    block = size;
  } else if (shape == Shape::run || (shape == Shape::strided && apart == count * stride)) {
    if (shape == Shape::run) stride = apart;
    shape = Shape::strided;
    count *= times;
    size *= times;
  } else {
    Layout once = *this;
    once.offset = 0;
    child = std::make_shared<const Layout>(std::move(once));
    shape = Shape::repeat;
    table = nullptr;
    block = size;
    count = times;
    stride = apart;
    size *= times;
  }
}

namespace {

// Drops what is empty and joins runs that touch.
void merge_runs(std::vector<Layout>& parts) {
  size_t kept = 0;
  for (Layout& part : parts) {
    if (part.size == 0) continue;
    Layout* last = kept > 0 ? &parts[kept - 1] : nullptr;
    if (last && last->shape == Shape::run && part.shape == Shape::run && last->offset + last->size == part.offset)
      last->size = last->block = last->size + part.size;
    else if (&parts[kept++] != &part) parts[kept - 1] = std::move(part);
  }
  parts.resize(kept);
}

bool evenly_apart(const std::vector<Layout>& runs) {
  const int64_t stride = runs[1].offset - runs[0].offset;
  for (size_t i = 2; i < runs.size(); ++i)
    if (runs[i].offset - runs[i - 1].offset != stride) return false;
  return true;
}

}  // namespace

Layout Layout::joined(std::vector<Layout> parts) {
  merge_runs(parts);
  if (parts.empty()) return {};
  if (parts.size() == 1) return std::move(parts[0]);
  const bool runs = std::all_of(parts.begin(), parts.end(), [](const Layout& part) { return part.shape == Shape::run; });
  const bool alike = std::all_of(parts.begin(), parts.end(), [&](const Layout& part) { return part.size == parts[0].size; });
  if (runs && alike && evenly_apart(parts)) {
    parts[0].repeat(static_cast<int64_t>(parts.size()), parts[1].offset - parts[0].offset);
    return std::move(parts[0]);
  }
  Layout made;
  made.shape = !runs ? Shape::list : alike ? Shape::blocks : Shape::runs;
  made.block = parts[0].size;
  made.count = static_cast<int64_t>(parts.size());
  auto table = std::make_shared<Table>();
  table->displacements.reserve(parts.size());
  if (made.shape != Shape::blocks) table->ends.reserve(parts.size());
  if (made.shape == Shape::list) table->children.reserve(parts.size());
  for (Layout& part : parts) {
    made.size += part.size;
    table->displacements.push_back(std::exchange(part.offset, 0));
    if (made.shape != Shape::blocks) table->ends.push_back(made.size);
    if (made.shape == Shape::list) table->children.push_back(std::move(part));
  }
  made.table = std::move(table);
  return made;
}

namespace {

enum class Way { pack, unpack };

template <Way way>
inline void copy(char* place, char* packed, size_t bytes) {
  if constexpr (way == Way::pack) std::memcpy(packed, place, bytes);
  else std::memcpy(place, packed, bytes);
}
// Blocks of any length.
template <Way way>
inline void copy_any(char* place, char* packed, size_t bytes) {
  if constexpr (way == Way::pack) copy_run(packed, place, bytes);
  else copy_run(place, packed, bytes);
}

// Blocks of 4 to 64 bytes, which are many: two halves that overlap, by loads and stores.
template <Way way, size_t kHalf>
inline void copy_halves(char* place, char* packed, size_t bytes) {
  char half[2][kHalf];
  const char* const from = way == Way::pack ? place : packed;
  char* const to = way == Way::pack ? packed : place;
  std::memcpy(half[0], from, kHalf);
  std::memcpy(half[1], from + bytes - kHalf, kHalf);
  std::memcpy(to, half[0], kHalf);
  std::memcpy(to + bytes - kHalf, half[1], kHalf);
}
template <Way way>
inline void copy_block(char* place, char* packed, size_t bytes) {
  if (bytes > 64 || bytes < 4) return copy_any<way>(place, packed, bytes);
  if (bytes <= 8) return copy_halves<way, 4>(place, packed, bytes);
  if (bytes <= 16) return copy_halves<way, 8>(place, packed, bytes);
  if (bytes <= 32) return copy_halves<way, 16>(place, packed, bytes);
  copy_halves<way, 32>(place, packed, bytes);
}

// Blocks of a size that the compiler knows are moved by loads and stores. Short ones four at a time: all loads before the first
// store, which might be to the same memory for all that the compiler knows. `place(i)`: where block i lies.
template <Way way, size_t kBytes, class Place>
inline char* copy_known(Place&& place, int64_t count, char* packed) {
  int64_t i = 0;
  if constexpr (kBytes <= 8) {
    for (; i + 4 <= count; i += 4, packed += 4 * kBytes) {
      char blocks[4][kBytes];
      if constexpr (way == Way::pack) {
        for (int k = 0; k < 4; ++k) std::memcpy(blocks[k], place(i + k), kBytes);
        std::memcpy(packed, blocks, sizeof blocks);
      } else {
        std::memcpy(blocks, packed, sizeof blocks);
        for (int k = 0; k < 4; ++k) std::memcpy(place(i + k), blocks[k], kBytes);
      }
    }
  }
  for (; i < count; ++i, packed += kBytes) copy<way>(place(i), packed, kBytes);
  return packed;
}

template <Way way, size_t kBytes>
char* copy_strided(char* place, int64_t stride, int64_t count, char* packed) {
  return copy_known<way, kBytes>([=](int64_t i) { return place + i * stride; }, count, packed);
}
template <Way way>
char* copy_strided(char* place, int64_t stride, int64_t count, char* packed, size_t block) {
  switch (block) {
    case 1: return copy_strided<way, 1>(place, stride, count, packed);
    case 2: return copy_strided<way, 2>(place, stride, count, packed);
    case 4: return copy_strided<way, 4>(place, stride, count, packed);
    case 8: return copy_strided<way, 8>(place, stride, count, packed);
    case 16: return copy_strided<way, 16>(place, stride, count, packed);
    case 24: return copy_strided<way, 24>(place, stride, count, packed);
    case 32: return copy_strided<way, 32>(place, stride, count, packed);
  }
  for (int64_t i = 0; i < count; ++i, place += stride, packed += block) copy_block<way>(place, packed, block);
  return packed;
}

template <Way way, size_t kBytes>
char* copy_blocks(char* base, const int64_t* displacements, int64_t count, char* packed) {
  return copy_known<way, kBytes>([=](int64_t i) { return base + displacements[i]; }, count, packed);
}
template <Way way>
char* copy_blocks(char* base, const int64_t* displacements, int64_t count, char* packed, size_t block) {
  switch (block) {
    case 4: return copy_blocks<way, 4>(base, displacements, count, packed);
    case 8: return copy_blocks<way, 8>(base, displacements, count, packed);
    case 16: return copy_blocks<way, 16>(base, displacements, count, packed);
  }
  for (int64_t i = 0; i < count; ++i, packed += block) copy_block<way>(base + displacements[i], packed, block);
  return packed;
}

template <Way way>
void move(const Layout& layout, char* base, int64_t from, int64_t bytes, char* packed);

// The parts of equal size `layout.block`: a piece of the first, whole ones, and a piece of the last. `part(i, from, bytes,
// packed)` moves within one, `whole(first, count, packed)` moves several.
template <class Part, class Whole>
void move_equal(const Layout& layout, int64_t from, int64_t bytes, char* packed, Part&& part, Whole&& whole) {
  int64_t i = from / layout.block;
  if (const int64_t skipped = from % layout.block; skipped != 0) {
    const int64_t piece = std::min(bytes, layout.block - skipped);
    part(i++, skipped, piece, packed);
    bytes -= piece;
    packed += piece;
  }
  const int64_t full = bytes / layout.block;
  if (full > 0) whole(i, full, packed);
  if (const int64_t rest = bytes - full * layout.block; rest > 0) part(i + full, 0, rest, packed + full * layout.block);
}

// The parts of different sizes.
template <Way way>
void move_listed(const Layout& layout, char* base, int64_t from, int64_t bytes, char* packed) {
  const Layout::Table& table = *layout.table;
  size_t i = 0;  // most moves begin at the beginning
  if (from > 0) i = static_cast<size_t>(std::upper_bound(table.ends.begin(), table.ends.end(), from) - table.ends.begin());
  for (; bytes > 0; ++i) {
    const int64_t begin = i > 0 ? table.ends[i - 1] : 0, skipped = from - begin;
    const int64_t piece = std::min(bytes, table.ends[i] - from);
    char* place = base + table.displacements[i];
    if (layout.shape == Shape::runs) copy_block<way>(place + skipped, packed, static_cast<size_t>(piece));
    else move<way>(table.children[i], place, skipped, piece, packed);
    from += piece;
    bytes -= piece;
    packed += piece;
  }
}

template <Way way>
void move(const Layout& layout, char* base, int64_t from, int64_t bytes, char* packed) {
  if (bytes == 0) return;
  base += layout.offset;
  const auto within_block = [&](char* block, int64_t skipped, int64_t piece, char* to) {
    copy_any<way>(block + skipped, to, static_cast<size_t>(piece));
  };
  switch (layout.shape) {
    case Shape::empty: break;
    case Shape::run: copy_any<way>(base + from, packed, static_cast<size_t>(bytes)); break;
    case Shape::strided:
      move_equal(
          layout, from, bytes, packed,
          [&](int64_t i, int64_t skipped, int64_t piece, char* to) { within_block(base + i * layout.stride, skipped, piece, to); },
          [&](int64_t first, int64_t count, char* to) {
            copy_strided<way>(base + first * layout.stride, layout.stride, count, to, static_cast<size_t>(layout.block));
          });
      break;
    case Shape::blocks: {
      const int64_t* displacements = layout.table->displacements.data();
      move_equal(
          layout, from, bytes, packed,
          [&](int64_t i, int64_t skipped, int64_t piece, char* to) { within_block(base + displacements[i], skipped, piece, to); },
          [&](int64_t first, int64_t count, char* to) {
            copy_blocks<way>(base, displacements + first, count, to, static_cast<size_t>(layout.block));
          });
      break;
    }
    case Shape::repeat:
      move_equal(
          layout, from, bytes, packed,
          [&](int64_t i, int64_t skipped, int64_t piece, char* to) {
            move<way>(*layout.child, base + i * layout.stride, skipped, piece, to);
          },
          [&](int64_t first, int64_t count, char* to) {
            for (int64_t i = first; i < first + count; ++i, to += layout.block)
              move<way>(*layout.child, base + i * layout.stride, 0, layout.block, to);
          });
      break;
    case Shape::runs:
    case Shape::list: move_listed<way>(layout, base, from, bytes, packed); break;
  }
}

}  // namespace

void pack(const Layout& layout, const void* base, int64_t from, int64_t bytes, void* packed) {
  move<Way::pack>(layout, const_cast<char*>(static_cast<const char*>(base)), from, bytes, static_cast<char*>(packed));
}
void unpack(const Layout& layout, void* base, int64_t from, int64_t bytes, const void* packed) {
  move<Way::unpack>(layout, static_cast<char*>(base), from, bytes, const_cast<char*>(static_cast<const char*>(packed)));
}

}  // namespace portunus::mpi
