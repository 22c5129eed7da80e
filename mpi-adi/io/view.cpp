// view.cpp: see view.hpp.
#include "mpi-adi/io/view.hpp"

#include <cstring>
#include <limits>
#include <memory>

namespace portunus::mpi::io {

bool Tiling::range(int64_t from, int64_t bytes, Placed& placed) const {
  placed.ascending = ascending;
  placed.bytes = bytes;
  int64_t end;
  if (is_dense()) {
    placed.from = 0;
    if (__builtin_add_overflow(from, displacement + tile.offset, &placed.base) || __builtin_add_overflow(placed.base, bytes, &end))
      return false;
    placed.layout = Layout::run(0, bytes);
    return true;
  }
  if (bytes == 0 || tile.size == 0) {
    placed.layout = {};
    placed.bytes = 0;
    placed.base = displacement;
    return true;
  }
  const int64_t first = from / tile.size, last = (from + bytes - 1) / tile.size;
  int64_t reach;
  if (__builtin_mul_overflow(last + 1, std::max<int64_t>(extent, 1), &reach) || __builtin_add_overflow(reach, displacement, &end) ||
      __builtin_add_overflow(end, place(tile, tile.size - 1), &end))
    return false;
  placed.layout = tile.repeated(last - first + 1, extent);
  placed.base = displacement + first * extent;
  placed.from = from - first * tile.size;
  return true;
}

int64_t Tiling::below(int64_t offset) const {
  if (tile.size == 0) return 0;
  const int64_t lead = place(tile, 0), relative = offset - displacement - lead;
  if (relative <= 0) return 0;
  if (is_dense()) return relative;
  const int64_t tiles = relative / std::max<int64_t>(extent, 1);
  const Placed one{tile, 0, 0, tile.size, true};
  return tiles * tile.size + one.below(relative - tiles * extent + lead);
}

namespace {

// A layout as numbers, its parts behind it.
void put(std::vector<int64_t>& to, const Layout& layout) {
  const auto displacements = layout.table ? static_cast<int64_t>(layout.table->displacements.size()) : 0;
  const auto ends = layout.table ? static_cast<int64_t>(layout.table->ends.size()) : 0;
  const int64_t children = layout.table ? static_cast<int64_t>(layout.table->children.size()) : 0;
  for (int64_t word : {static_cast<int64_t>(layout.shape), layout.size, layout.offset, layout.block, layout.count, layout.stride,
                       displacements, ends, children, static_cast<int64_t>(layout.child != nullptr)})
    to.push_back(word);
  if (layout.table) {
    to.insert(to.end(), layout.table->displacements.begin(), layout.table->displacements.end());
    to.insert(to.end(), layout.table->ends.begin(), layout.table->ends.end());
    for (const Layout& child : layout.table->children) put(to, child);
  }
  if (layout.child) put(to, *layout.child);
}

// Reads what put() wrote, and believes nothing that could lead outside of memory.
class Words {
 public:
  Words(const int64_t* words, size_t count) : next_(words), left_(count) {}
  bool take(int64_t& word) {
    if (left_ == 0) return false;
    --left_;
    word = *next_++;
    return true;
  }
  bool take(std::vector<int64_t>& words, int64_t count) {
    if (count < 0 || static_cast<size_t>(count) > left_) return false;
    words.assign(next_, next_ + count);
    next_ += count;
    left_ -= static_cast<size_t>(count);
    return true;
  }
  bool take(Layout& layout, int depth = 0) {
    constexpr int kDeepest = 256;
    int64_t head[10];
    for (int64_t& word : head)
      if (!take(word)) return false;
    if (depth > kDeepest || head[0] < 0 || head[0] > static_cast<int64_t>(Layout::Shape::list) || head[8] < 0) return false;
    layout.shape = static_cast<Layout::Shape>(head[0]);
    layout.size = head[1];
    layout.offset = head[2];
    layout.block = head[3];
    layout.count = head[4];
    layout.stride = head[5];
    auto table = std::make_shared<Layout::Table>();
    if (!take(table->displacements, head[6]) || !take(table->ends, head[7]) || static_cast<size_t>(head[8]) > left_) return false;
    table->children.resize(static_cast<size_t>(head[8]));
    for (Layout& child : table->children)
      if (!take(child, depth + 1)) return false;
    if (head[9] != 0) {
      auto child = std::make_shared<Layout>();
      if (!take(*child, depth + 1)) return false;
      layout.child = std::move(child);
    }
    layout.table = std::move(table);
    return is_sound(layout);
  }

 private:
  static bool is_sound(const Layout& layout) {
    const Layout::Table& table = *layout.table;
    const auto parts = static_cast<size_t>(layout.count);
    switch (layout.shape) {
      case Layout::Shape::empty: return layout.size == 0;
      case Layout::Shape::run: return layout.size > 0 && layout.block == layout.size;
      case Layout::Shape::strided: return layout.block > 0 && layout.count > 0 && layout.size / layout.block == layout.count;
      case Layout::Shape::blocks:
        return layout.block > 0 && table.displacements.size() == parts && layout.size / layout.block == layout.count;
      case Layout::Shape::repeat:
        return layout.child && layout.block > 0 && layout.child->size == layout.block && layout.size / layout.block == layout.count;
      case Layout::Shape::runs:
      case Layout::Shape::list: break;
    }
    int64_t end = 0;
    if (table.displacements.size() != parts || table.ends.size() != parts || parts == 0) return false;
    if (layout.shape == Layout::Shape::list && table.children.size() != parts) return false;
    for (size_t i = 0; i < parts; ++i) {
      if (table.ends[i] <= end || (layout.shape == Layout::Shape::list && table.children[i].size != table.ends[i] - end)) return false;
      end = table.ends[i];
    }
    return end == layout.size;
  }
  const int64_t* next_;
  size_t left_;
};

}  // namespace

std::vector<std::byte> Tiling::written() const {
  std::vector<int64_t> words{displacement, extent, ascending};
  put(words, tile);
  std::vector<std::byte> bytes(words.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

bool Tiling::read(const std::byte* bytes, size_t count, Tiling& made) {
  std::vector<int64_t> numbers(count / sizeof(int64_t));
  std::memcpy(numbers.data(), bytes, numbers.size() * sizeof(int64_t));
  Words words(numbers.data(), numbers.size());
  int64_t ascending;
  if (!words.take(made.displacement) || !words.take(made.extent) || !words.take(ascending) || !words.take(made.tile)) return false;
  made.ascending = ascending != 0;
  return made.displacement >= 0 && made.extent >= 0;
}

namespace {

// Displacements of the type map do not decrease; with `writes` nothing overlaps.
bool is_in_order(const Layout& layout, bool writes) {
  if (is_ascending(layout)) return true;
  if (writes) return false;
  int64_t last = std::numeric_limits<int64_t>::min();
  bool decreases = false;
  for_each_run(Placed{layout, 0, 0, layout.size, false}, [&](int64_t at, int64_t) {
    decreases = decreases || at < last;
    last = at;
  });
  return !decreases;
}

}  // namespace

int View::make(int64_t displacement, Datatype* etype, Datatype* filetype, const char* datarep, bool writes, View& made,
               const char*& cause) {
  made.representation = find_representation(datarep);
  if (made.representation == nullptr) {
    cause = "there is no data representation of that name";
    return MPI_ERR_UNSUPPORTED_DATAREP;
  }
  FileType element, tile;
  if (made.representation->describe(*etype, element) != MPI_SUCCESS || made.representation->describe(*filetype, tile) != MPI_SUCCESS) {
    cause = "the data representation's function for extents failed";
    return MPI_ERR_CONVERSION;
  }
  if (element.size == 0) {
    cause = "the elementary type has no data";
    return MPI_ERR_TYPE;
  }
  if (tile.size % element.size != 0) {
    cause = "the file type is no multiple of the elementary type";
    return MPI_ERR_TYPE;
  }
  if (tile.size > 0 && (tile.extent < 0 || !is_in_order(tile.layout, writes) || place(tile.layout, 0) < 0)) {
    cause = "the file type's displacements are negative, decrease or overlap";
    return MPI_ERR_TYPE;
  }
  made.tiling.displacement = displacement;
  made.tiling.tile = tile.layout;
  made.tiling.extent = tile.extent;
  made.tiling.ascending = tile.size == 0 || (is_ascending(tile.layout) && tile.extent > 0 &&
                                             place(tile.layout, tile.size - 1) < tile.extent + place(tile.layout, 0));
  made.etype = retain(etype);
  made.filetype = retain(filetype);
  made.datarep = datarep;
  made.etype_size = element.size;
  made.etype_extent = element.extent;
  return MPI_SUCCESS;
}

View::~View() {
  if (etype) release(etype);
  if (filetype) release(filetype);
}

void View::describe() {
  description_ = tiling.written();
  uint64_t hash = 0xcbf29ce484222325u;
  const auto words = reinterpret_cast<const int64_t*>(description_.data());
  for (size_t i = 0; i < description_.size() / sizeof(int64_t); ++i)
    hash = (hash ^ static_cast<uint64_t>(words[i])) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
  hash_ = static_cast<int64_t>(hash);
}

}  // namespace portunus::mpi::io
