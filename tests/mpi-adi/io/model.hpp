// model.hpp: what a file's accesses mean, by loops over single bytes: a file is bytes, a view is a list of places.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using Bytes = std::vector<unsigned char>;

// A datatype with the places of its bytes, in the order of the type map.
struct Typed {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<int64_t> places;
  int64_t extent = 0;

  int64_t size() const { return static_cast<int64_t>(places.size()); }
  // The place of byte k of any number of elements lies.
  int64_t place(int64_t k) const { return k / size() * extent + places[static_cast<size_t>(k % size())]; }
};

// All ranks draw the same numbers from one of these with the same seed.
class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  int64_t operator()(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine_() % static_cast<uint64_t>(most - least + 1));
  }
  bool chance(int64_t one_in) { return (*this)(1, one_in) == 1; }

 private:
  std::mt19937_64 engine_;
};

inline Typed finished(MPI_Datatype type, std::vector<int64_t> places) {
  MPI_Type_commit(&type);
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  return {type, std::move(places), extent};
}
inline void append(std::vector<int64_t>& places, const Typed& part, int64_t at) {
  for (const int64_t place : part.places) places.push_back(at + place);
}
inline Typed elementary(Draw& draw) {
  const std::pair<MPI_Datatype, int> all[] = {{MPI_BYTE, 1}, {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_DOUBLE, 8}};
  const auto [type, size] = all[draw(0, 3)];
  std::vector<int64_t> places;
  for (int i = 0; i < size; ++i) places.push_back(i);
  return {type, places, size};
}

// A type of ascending places made of `base`, which is an elementary one.
inline Typed random_type(Draw& draw, const Typed& base, int shape) {
  MPI_Datatype type;
  std::vector<int64_t> places;
  const int64_t extent = base.extent;
  switch (shape) {
    case 0: {
      const int count = static_cast<int>(draw(1, 20));
      MPI_Type_contiguous(count, base.type, &type);
      for (int i = 0; i < count; ++i) append(places, base, i * extent);
      return finished(type, places);
    }
    case 1: {
      const int count = static_cast<int>(draw(1, 9)), block = static_cast<int>(draw(1, 5)), stride = block + static_cast<int>(draw(0, 6));
      MPI_Type_vector(count, block, stride, base.type, &type);
      for (int i = 0; i < count; ++i)
        for (int k = 0; k < block; ++k) append(places, base, (i * stride + k) * extent);
      break;
    }
    case 2: {
      std::vector<int> blocks, displacements;
      int at = static_cast<int>(draw(0, 3));
      for (int64_t i = draw(1, 7); i > 0; --i) {
        blocks.push_back(static_cast<int>(draw(1, 4)));
        displacements.push_back(at);
        for (int k = 0; k < blocks.back(); ++k) append(places, base, (at + k) * extent);
        at += blocks.back() + static_cast<int>(draw(0, 5));
      }
      MPI_Type_indexed(static_cast<int>(blocks.size()), blocks.data(), displacements.data(), base.type, &type);
      break;
    }
    default: {
      int sizes[3], subsizes[3], starts[3];
      for (int d = 0; d < 3; ++d) {
        sizes[d] = static_cast<int>(draw(1, 6));
        subsizes[d] = static_cast<int>(draw(1, sizes[d]));
        starts[d] = static_cast<int>(draw(0, sizes[d] - subsizes[d]));
      }
      MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, base.type, &type);
      for (int i = 0; i < subsizes[0]; ++i)
        for (int j = 0; j < subsizes[1]; ++j)
          for (int k = 0; k < subsizes[2]; ++k)
            append(places, base, (((starts[0] + i) * sizes[1] + starts[1] + j) * sizes[2] + starts[2] + k) * extent);
    }
  }
  Typed made = finished(type, places);
  // Some room behind, so that tiles do not interleave and need not touch.
  const int64_t end = *std::max_element(places.begin(), places.end()) + 1;
  MPI_Datatype resized;
  MPI_Type_create_resized(made.type, 0, std::max(made.extent, (end + extent - 1) / extent * extent) + draw(0, 3) * extent, &resized);
  MPI_Type_free(&made.type);
  return finished(resized, places);
}

// One rank's part of a tile that the ranks share: blocks of base elements, dealt out at random, some to nobody.
inline std::vector<Typed> shared_tile(Draw& draw, const Typed& base, int ranks) {
  std::vector<std::vector<int>> displacements(static_cast<size_t>(ranks)), blocks(static_cast<size_t>(ranks));
  const int holes = draw.chance(2) ? 1 : 0;
  int at = 0;
  for (int64_t i = draw(ranks, 6 * ranks); i > 0; --i) {
    const auto owner = static_cast<size_t>(draw(0, ranks - 1 + holes));
    const int block = static_cast<int>(draw(1, 12));
    if (owner < displacements.size()) {
      displacements[owner].push_back(at);
      blocks[owner].push_back(block);
    }
    at += block;
  }
  std::vector<Typed> made;
  for (size_t rank = 0; rank < displacements.size(); ++rank) {
    if (displacements[rank].empty()) {
      displacements[rank].push_back(at);
      blocks[rank].push_back(1);
      ++at;
    }
  }
  for (size_t rank = 0; rank < displacements.size(); ++rank) {
    std::vector<int64_t> places;
    for (size_t i = 0; i < blocks[rank].size(); ++i)
      for (int k = 0; k < blocks[rank][i]; ++k) append(places, base, (displacements[rank][i] + k) * base.extent);
    MPI_Datatype indexed, resized;
    MPI_Type_indexed(static_cast<int>(blocks[rank].size()), blocks[rank].data(), displacements[rank].data(), base.type, &indexed);
    MPI_Type_create_resized(indexed, 0, at * base.extent, &resized);
    MPI_Type_free(&indexed);
    made.push_back(finished(resized, places));
  }
  return made;
}
inline void release(Typed& typed) {
  int integers, addresses, types, combiner;
  MPI_Type_get_envelope(typed.type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&typed.type);
}

// The bytes of a file, as they should be.
struct Model {
  Bytes bytes;
  void put(int64_t at, unsigned char value) {
    if (static_cast<size_t>(at) >= bytes.size()) bytes.resize(static_cast<size_t>(at) + 1);
    bytes[static_cast<size_t>(at)] = value;
  }
};
