// view.hpp: what part of a file a process sees, and in which order: a file type that tiles the file from a displacement on.
//
// Positions in the view count bytes of data (of the file's representation); users count elementary types.
// Thread: any; a view is constant and shared by the operations that began under it.
// Source: MPI-5.0, 14.1.1, 14.3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi-adi/io/datarep.hpp"
#include "mpi-adi/io/places.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::io {

// The part of a view that says where data lie; this much can be sent to another rank.
struct Tiling {
  int64_t displacement = 0;
  Layout tile;
  int64_t extent = 1;
  bool ascending = true;  // the tiles do not interleave, either

  // Data `from` .. `from + bytes`. False: they lie beyond what a file can have.
  bool range(int64_t from, int64_t bytes, Placed& placed) const;
  // How many bytes of the data lie before a place in the file, for ascending ones.
  int64_t below(int64_t offset) const;
  bool is_dense() const { return tile.is_run() && tile.size == extent; }

  // As bytes, and back; false: these are none.
  std::vector<std::byte> written() const;
  static bool read(const std::byte* bytes, size_t count, Tiling& made);
};

class View {
 public:
  // Keeps the types. What is wrong: an error class, and a sentence in `cause`.
  static int make(int64_t displacement, Datatype* etype, Datatype* filetype, const char* datarep, bool writes, View& made,
                  const char*& cause);
  View() = default;
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  Tiling tiling;
  Datatype* etype = nullptr;
  Datatype* filetype = nullptr;
  const Representation* representation = nullptr;
  std::string datarep;
  int64_t etype_size = 1;    // bytes in the file
  int64_t etype_extent = 1;  // the same; equal on all ranks

  // The description for other ranks, made when first asked for, and its hash.
  const std::vector<std::byte>& description() const { return description_; }
  int64_t hash() const { return hash_; }
  void describe();

 private:
  std::vector<std::byte> description_;
  int64_t hash_ = 0;
};

}  // namespace portunus::mpi::io
