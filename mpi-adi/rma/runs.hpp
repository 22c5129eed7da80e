// runs.hpp: the memory of so many elements of a type as runs of bytes, and two of them side by side.
//
// Thread: any; plain values. Source: MPI-5.0, 5.1.1 (type maps), 12.3.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mpi-adi/mpi.h"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::rma {

struct Run {
  int64_t offset;  // from the buffer's address
  int64_t bytes;
};

inline bool is_one_run(const Datatype& type) { return type.dense || type.predefined; }

// Is every byte of the type's elements data, as it is not behind the parts of pairs?
inline bool has_no_padding(const Datatype& type) { return type.element != nullptr && type.element->dense; }

class Runs {
 public:
  // `type` is valid. Pairs go with their padding, as one element.
  Runs(int64_t count, MPI_Datatype type) { add(0, *find_type(type), count); }

  std::span<const Run> all() const { return more_.empty() ? std::span<const Run>(&first_, bytes_ > 0 ? 1 : 0) : more_; }
  int64_t bytes() const { return bytes_; }
  // The first byte of all runs, and the one behind the last.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }

 private:
  void add(int64_t offset, const Datatype& type, int64_t count) {
    if (type.size == 0) return;
    if (is_one_run(type)) return add(offset, count * type.extent);
    for (int64_t i = 0; i < count; ++i)
      for (const Piece& piece : type.pieces)
        for (int64_t row = 0; row < piece.count; ++row)
          add(offset + i * type.extent + piece.displacement + row * piece.stride, *piece.type, piece.blocklength);
  }
  void add(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    if (bytes_ == 0) {
      begin_ = offset;
      end_ = offset + bytes;
      bytes_ = bytes;
      first_ = {offset, bytes};
      return;
    }
    begin_ = std::min(begin_, offset);
    end_ = std::max(end_, offset + bytes);
    bytes_ += bytes;
    Run& last = more_.empty() ? first_ : more_.back();
    if (last.offset + last.bytes == offset) {
      last.bytes += bytes;
      return;
    }
    if (more_.empty()) {
      more_.reserve(kFew);
      more_.push_back(first_);
    }
    more_.push_back({offset, bytes});
  }

  static constexpr size_t kFew = 32;

  Run first_{};            // the only one, mostly
  std::vector<Run> more_;  // all of them, if there are several
  int64_t bytes_ = 0, begin_ = 0, end_ = 0;
};

// Returns the bytes of so many elements, if no check of counts and datatypes refuses them and they are one run without any doubt; else -1.
inline int64_t plain_bytes(MPI_Count count, MPI_Datatype type) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(type) - reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL);
  if (index >= kPredefinedTypes || static_cast<uint64_t>(count) > INT32_MAX) return -1;
  const Datatype& found = predefined_types[index];
  return found.predefined && found.dense ? count * found.size : -1;
}

// Returns the bytes of so many elements that are one run from the buffer's address on; -1: they are not.
inline int64_t dense_bytes(int64_t count, MPI_Datatype type) {
  const Datatype& found = *find_type(type);
  return is_one_run(found) ? count * found.extent : -1;
}

// Returns the predefined datatype that a type consists of; MPI_DATATYPE_NULL: of several.
inline MPI_Datatype element_of(MPI_Datatype type) {
  const Datatype& found = *find_type(type);
  if (found.predefined) return type;
  return found.element ? handle_of(found.element) : MPI_DATATYPE_NULL;
}
inline size_t element_bytes(MPI_Datatype element) { return static_cast<size_t>(find_type(element)->extent); }

// Calls visit(offset in the first, offset in the second .., bytes) for what is a run in all of them; at most `most` bytes at a time.
template <class Visit, class... All>
void for_each_piece(int64_t most, Visit&& visit, const All&... runs) {
  struct Place {
    std::span<const Run> left;
    int64_t in = 0;  // bytes of the first run that are done
    int64_t offset() const { return left.front().offset + in; }
    int64_t bytes() const { return left.front().bytes - in; }
    void pass(int64_t bytes) {
      in += bytes;
      if (in < left.front().bytes) return;
      left = left.subspan(1);
      in = 0;
    }
  };
  const auto step = [&](auto&... at) {
    while (!(at.left.empty() || ...)) {
      const int64_t bytes = std::min({at.bytes()..., most});
      visit(at.offset()..., bytes);
      (at.pass(bytes), ...);
    }
  };
  [&](auto... at) { step(at...); }(Place{runs.all()}...);
}

}  // namespace portunus::mpi::rma
