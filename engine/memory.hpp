// memory.hpp: user memory as the engine walks it: one contiguous range, or the concatenation of an iovec array.
//
// Invariants: offsets were checked against the length by the caller; iovec arrays stay valid as Portals demands.
// Source: Portals 4.3, PTL_IOVEC (length of such a descriptor or entry is the number of elements).
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/transport/copy.hpp"
#include "portals/portals4.h"

namespace portunus {

struct Memory {
  void* base = nullptr;     // the range, or the ptl_iovec_t array
  uint32_t iov_count = 0;   // 0 = contiguous

  // Calls part(pointer, size) for each contiguous part of [offset, offset + size), in order. A false answer stops.
  template <class Part>
  void for_parts(uint64_t offset, uint64_t size, Part&& part) const {
    if (iov_count == 0) {
      if (size) part(static_cast<std::byte*>(base) + offset, size);  // all there is
      return;
    }
    const auto* iov = static_cast<const ptl_iovec_t*>(base);
    for (uint32_t i = 0; i < iov_count && size; ++i) {
      if (offset >= iov[i].iov_len) {
        offset -= iov[i].iov_len;
        continue;
      }
      uint64_t here = iov[i].iov_len - offset;
      if (here > size) here = size;
      if (!part(static_cast<std::byte*>(iov[i].iov_base) + offset, here)) return;
      size -= here;
      offset = 0;
    }
  }

  void copy_in(uint64_t offset, const void* from, uint64_t size) const {
    const auto* source = static_cast<const std::byte*>(from);
    for_parts(offset, size, [&](std::byte* to, uint64_t n) {
      copy_data(to, source, n);
      source += n;
      return true;
    });
  }
  void copy_out(uint64_t offset, void* to, uint64_t size) const {
    auto* target = static_cast<std::byte*>(to);
    for_parts(offset, size, [&](const std::byte* from, uint64_t n) {
      std::memcpy(target, from, n);
      target += n;
      return true;
    });
  }
  // The contiguous part that begins at `offset`; its size is at most `size`.
  iovec first_part(uint64_t offset, uint64_t size) const {
    iovec found{nullptr, 0};
    for_parts(offset, size, [&](std::byte* at, uint64_t n) {
      found = {at, static_cast<size_t>(n)};
      return false;
    });
    return found;
  }
  // The address where `offset` lies; nullptr past the end of an iovec.
  void* at(uint64_t offset) const {
    return iov_count == 0 ? static_cast<std::byte*>(base) + offset : first_part(offset, 1).iov_base;
  }
};

}  // namespace portunus
