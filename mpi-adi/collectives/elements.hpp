// elements.hpp: a user's buffer: so many elements of a type, and how they become one piece of memory and back.
//
// Thread: any; plain values. Invariants: the type is valid. Source: MPI-5.0, 5.1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "engine/goal/copy.hpp"
#include "mpi-adi/mpi.h"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::collectives {

// Holds a datatype: the user may free it while a collective is pending.
class TypeHold {
 public:
  explicit TypeHold(MPI_Datatype type, MPI_Count count = 1) : type_(retain(find_type(type, count))) {}
  TypeHold(const TypeHold& other) : type_(retain(other.type_)) {}
  TypeHold& operator=(const TypeHold& other) {
    retain(other.type_);
    release(type_);
    type_ = other.type_;
    return *this;
  }
  ~TypeHold() { release(type_); }
  const Datatype* operator->() const { return type_; }
  const Datatype& operator*() const { return *type_; }

 private:
  Datatype* type_;
};

class Elements {
 public:
  Elements() = default;
  Elements(const void* at, size_t count, MPI_Datatype type)
      : at_(static_cast<std::byte*>(const_cast<void*>(at))), count_(count), type_(type, static_cast<MPI_Count>(count)) {}

  size_t count() const { return count_; }
  MPI_Datatype type() const { return handle_of(&*type_); }
  // The bytes of the data alone, without gaps.
  size_t bytes() const { return count_ * static_cast<size_t>(type_->size); }
  // From one element to the next.
  ptrdiff_t extent() const { return type_->extent; }
  // The offsets of data from address() on.
  ptrdiff_t lower() const { return type_->true_lb + std::min<ptrdiff_t>(0, last()); }
  ptrdiff_t upper() const { return type_->true_lb + type_->true_extent + std::max<ptrdiff_t>(0, last()); }
  // Do the data lie in memory as they are packed, beginning at data()?
  bool contiguous() const { return type_->dense || is_run(); }
  std::byte* data() const { return at_; }
  // As the user names it.
  std::byte* address() const { return at_; }

  void pack(void* to) const {
    if (contiguous()) return copy(to, at_, bytes());
    mpi::pack(layout(), at_, 0, static_cast<int64_t>(bytes()), to);
  }
  void unpack(const void* from) const {
    if (contiguous()) return copy(at_, from, bytes());
    mpi::unpack(layout(), at_, 0, static_cast<int64_t>(bytes()), from);
  }
  template <class F>
  void each_run(F&& f) const {
    if (contiguous()) return f(at_, bytes());
    const Layout whole = layout();
    each_block(whole, 0, 0, whole.size, [&](int64_t place, int64_t size) { f(at_ + place, static_cast<size_t>(size)); });
  }
  // `count` elements that begin `displacement` elements further on.
  Elements part(ptrdiff_t displacement, size_t count) const {
    Elements found(*this);
    found.at_ += displacement * extent();
    found.count_ = count;
    return found;
  }

  static void copy(void* to, const void* from, size_t bytes) {
    if (bytes > 0) copy_run(to, from, bytes);
  }

 private:
  [[gnu::noinline]] bool is_run() const { return is_one_run(*type_, static_cast<int64_t>(count_)) && type_->layout.offset == 0; }
  Layout layout() const { return layout_of(*type_, static_cast<int64_t>(count_)); }
  ptrdiff_t last() const { return count_ > 0 ? static_cast<ptrdiff_t>(count_ - 1) * extent() : 0; }

  std::byte* at_ = nullptr;
  size_t count_ = 0;
  TypeHold type_{MPI_BYTE};
};

// Memory of one's own for as many elements of the same type.
class Image {
 public:
  explicit Image(const Elements& like)
      : memory_(new std::byte[static_cast<size_t>(like.upper() - like.lower()) + 1]),
        elements_(memory_.get() - like.lower(), like.count(), like.type()) {}
  const Elements& elements() const { return elements_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  Elements elements_;
};

}  // namespace portunus::mpi::collectives
