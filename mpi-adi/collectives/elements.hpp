// elements.hpp: a user's buffer: so many elements of a type, and how they become one piece of memory and back.
//
// Thread: any; plain values. Invariants: the type is valid. Source: MPI-5.0, 5.1.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "mpi-adi/datatype.hpp"
#include "mpi-adi/mpi.h"

namespace portunus::mpi::collectives {

class Elements {
 public:
  Elements() = default;
  Elements(const void* at, size_t count, MPI_Datatype type)
      : at_(static_cast<std::byte*>(const_cast<void*>(at))), count_(count), type_(type), extent_(find_type(type).extent) {}

  size_t count() const { return count_; }
  MPI_Datatype type() const { return type_; }
  // Of the data alone, without gaps.
  size_t bytes() const { return count_ * extent_; }
  // From one element to the next.
  ptrdiff_t extent() const { return static_cast<ptrdiff_t>(extent_); }
  // Do the data lie in memory as they are packed, beginning at data()?
  bool contiguous() const { return true; }
  std::byte* data() const { return at_; }
  // As the user names it.
  std::byte* address() const { return at_; }

  void pack(void* to) const { copy(to, at_, bytes()); }
  void unpack(const void* from) const { copy(at_, from, bytes()); }
  // `count` elements that begin `displacement` elements further on.
  Elements part(ptrdiff_t displacement, size_t count) const {
    Elements found(*this);
    found.at_ += displacement * extent();
    found.count_ = count;
    return found;
  }

  static void copy(void* to, const void* from, size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

 private:
  std::byte* at_ = nullptr;
  size_t count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
  size_t extent_ = 1;
};

// Memory of one's own for as many elements of the same type.
class Image {
 public:
  explicit Image(const Elements& like)
      : memory_(new std::byte[like.bytes() + 1]), elements_(memory_.get(), like.count(), like.type()) {}
  const Elements& elements() const { return elements_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  Elements elements_;
};

}  // namespace portunus::mpi::collectives
