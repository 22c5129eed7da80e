// memory.hpp: user memory as the engine walks it: one contiguous range, the concatenation of an iovec array, or what a function of
// the user's copies (E9), which has no addresses.
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
#include "portals/portals4_ext.h"

namespace portunus {

struct Memory {
  static constexpr uint32_t kLayout = 0xffffffff;

  void* base = nullptr;    // the range, the ptl_iovec_t array, or the ptlx_layout_t
  uint32_t iov_count = 0;  // 0 = contiguous; kLayout

  bool has_layout() const { return iov_count == kLayout; }

  // `offset` bytes on. By numbers: a range may begin at address 0, its offsets are addresses then (Portals 4.3, 3.10.1).
  static std::byte* beyond(void* start, uint64_t offset) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(start) + offset);
  }

  // Calls part(pointer, size) for each contiguous part of [offset, offset + size), in order; of a layout there are none. A false answer
  // stops.
  template <class Part>
  void for_parts(uint64_t offset, uint64_t size, Part&& part) const {
    if (iov_count == 0) {
      if (size) part(beyond(base, offset), size);  // all there is
      return;
    }
    if (has_layout()) return;
    const auto* iov = static_cast<const ptl_iovec_t*>(base);
    for (uint32_t i = 0; i < iov_count && size; ++i) {
      if (offset >= iov[i].iov_len) {
        offset -= iov[i].iov_len;
        continue;
      }
      uint64_t here = iov[i].iov_len - offset;
      if (here > size) here = size;
      if (!part(beyond(iov[i].iov_base, offset), here)) return;
      size -= here;
      offset = 0;
    }
  }

  void copy_in(uint64_t offset, const void* from, uint64_t size) const {
    if (has_layout()) [[unlikely]] {
      const auto& layout = *static_cast<const ptlx_layout_t*>(base);
      layout.copy(layout.context, offset, size, const_cast<void*>(from), 0);
      return;
    }
    const auto* source = static_cast<const std::byte*>(from);
    for_parts(offset, size, [&](std::byte* to, uint64_t n) {
      copy_data(to, source, n);
      source += n;
      return true;
    });
  }
  void copy_out(uint64_t offset, void* to, uint64_t size) const {
    if (has_layout()) [[unlikely]] {
      const auto& layout = *static_cast<const ptlx_layout_t*>(base);
      layout.copy(layout.context, offset, size, to, 1);
      return;
    }
    auto* target = static_cast<std::byte*>(to);
    for_parts(offset, size, [&](const std::byte* from, uint64_t n) {
      copy_data(target, from, n);
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
  // The address where `offset` lies; nullptr past the end of an iovec, and in a layout.
  void* at(uint64_t offset) const { return iov_count == 0 ? beyond(base, offset) : first_part(offset, 1).iov_base; }
};

}  // namespace portunus
