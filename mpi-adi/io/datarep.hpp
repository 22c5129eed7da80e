// datarep.hpp: data representations: how numbers lie in a file.
//
// `native` and `internal` are memory as it is; `external32` is big-endian with fixed sizes; others are registered by the
// program, with functions of its own. A representation gives each predefined datatype a size in the file; the layout of a
// derived one follows from its making: what was counted in elements is counted in elements of the file's sizes, bytes stay
// bytes.
//
// Thread: any; representations are constant and live for ever. Source: MPI-5.0, 14.5.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::io {

// A datatype as it lies in a file: bytes.
struct FileType {
  Layout layout;
  int64_t size = 0, extent = 0, lb = 0;
};

class Representation {
 public:
  virtual ~Representation() = default;
  // Nothing is to be converted, and all sizes are those of memory.
  virtual bool is_native() const { return false; }
  // The size of a predefined datatype; negative: the program's function failed.
  virtual int64_t size_of(const Datatype& elementary) const { return elementary.size; }
  // `count` elements from memory to one piece of the file's bytes: an error class.
  virtual int write(const void* buf, const Datatype& type, int64_t count, std::byte* file, int64_t bytes) const = 0;
  // The first `arrived` bytes of what `count` elements are in the file; `bytes`: how many bytes of memory's data that made.
  virtual int read(void* buf, const Datatype& type, int64_t count, const std::byte* file, int64_t arrived, int64_t& bytes) const = 0;

  // MPI_SUCCESS, or MPI_ERR_CONVERSION: a function of the program's failed.
  int describe(const Datatype& type, FileType& made) const;
};

// nullptr: there is none of that name.
const Representation* find_representation(const char* name);
// The same in memory and file.
const Representation& native_representation();

}  // namespace portunus::mpi::io
