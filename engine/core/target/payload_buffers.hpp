// payload_buffers.hpp: memory for payloads that came before their entry.
//
// The C library gives memory of some ten KiB back to the system when it is freed, and the next payload takes it again page by page, which
// lasts longer than its copy. So up to 1 MiB of buffers that are not in use stay here, in four sizes.
//
// Thread: the baton holder. Cost: taking one that is there, two loads and two stores.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <memory>
#include <new>

namespace portunus {

class PayloadBuffers {
 public:
  PayloadBuffers() = default;
  PayloadBuffers(const PayloadBuffers&) = delete;
  PayloadBuffers& operator=(const PayloadBuffers&) = delete;
  ~PayloadBuffers() {
    for (Spare*& first : spare_)
      while (first != nullptr) take_first(first);
  }

  // A buffer of at least so many bytes; throws std::bad_alloc.
  std::unique_ptr<std::byte[]> take(size_t bytes) {
    if (!is_kept(bytes)) return std::unique_ptr<std::byte[]>(new std::byte[bytes]);
    Spare*& first = spare_[size_class(bytes)];
    if (first == nullptr) return std::unique_ptr<std::byte[]>(new std::byte[std::bit_ceil(bytes)]);
    assert(kept_ >= std::bit_ceil(bytes));
    kept_ -= std::bit_ceil(bytes);
    return take_first(first);
  }
  // Takes back a buffer that take() gave for so many bytes.
  void give_back(std::unique_ptr<std::byte[]> buffer, size_t bytes) {
    if (!is_kept(bytes) || kept_ + std::bit_ceil(bytes) > kMostKept) return;
    kept_ += std::bit_ceil(bytes);
    Spare*& first = spare_[size_class(bytes)];
    first = new (buffer.release()) Spare{first};
  }

 private:
  struct Spare {
    Spare* next;
  };
  static constexpr size_t kLeast = 4096, kMost = size_t{64} << 10, kMostKept = size_t{1} << 20;

  static bool is_kept(size_t bytes) { return bytes > kLeast && bytes <= kMost; }
  static size_t size_class(size_t bytes) { return static_cast<size_t>(std::bit_width(bytes - 1) - std::bit_width(kLeast)); }
  static std::unique_ptr<std::byte[]> take_first(Spare*& first) {
    Spare* const taken = first;
    first = taken->next;
    return std::unique_ptr<std::byte[]>(reinterpret_cast<std::byte*>(taken));
  }

  std::array<Spare*, 4> spare_{};
  size_t kept_ = 0;  // bytes
};

}  // namespace portunus
