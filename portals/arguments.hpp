// arguments.hpp: the checks that the entry points share. Thread: any.
#pragma once

#include <atomic>

#include "engine/atomic_ops.hpp"
#include "engine/client.hpp"
#include "portals/portals4.h"

namespace portunus::api {

// How often PtlInit was called without PtlFini.
inline std::atomic<int> init_count{0};
inline bool initialized() { return init_count.load(std::memory_order_acquire) > 0; }

inline Client& client() { return Client::get(); }

constexpr uint32_t kInterfaceGeneration = 1;  // so that no handle is zero
inline ptl_handle_ni_t interface_handle(uint32_t ni) { return make_handle(HandleKind::interface, kInterfaceGeneration, ni); }
inline uint32_t interface_index(unsigned options) {
  return (options & PTL_NI_NO_MATCHING ? 2u : 0u) | (options & PTL_NI_PHYSICAL ? 1u : 0u);
}

// The open interface behind a handle, or nullptr.
inline Interface* find_interface(ptl_handle_ni_t handle) {
  const uint32_t index = handle_index(handle);
  if (handle_kind(handle) != HandleKind::interface || handle_generation(handle) != kInterfaceGeneration || index >= kInterfaces ||
      !client().running())
    return nullptr;
  Interface& interface = client().interface(index);
  return interface.open.load(std::memory_order_acquire) ? &interface : nullptr;
}

inline bool valid_portal(const Interface& interface, ptl_pt_index_t index) {
  return index <= static_cast<uint32_t>(interface.limits.max_pt_index) && interface.allocated[index].load(std::memory_order_acquire);
}

// A counter handle in an argument that may also be PTL_CT_NONE.
inline bool counter_or_none(uint32_t handle, uint32_t ni) {
  if (handle == PTL_CT_NONE) return true;
  const Counter* counter = client().objects().counters.find(handle);
  return counter && counter->ni == ni;
}
inline bool queue_or_none(uint32_t handle, uint32_t ni) {
  if (handle == PTL_EQ_NONE) return true;
  const EventQueue* queue = client().objects().queues.find(handle);
  return queue && queue->ni == ni;
}

// Takes one unit of a limit; false when it is used up.
inline bool take(std::atomic<int>& used, int limit) {
  if (used.fetch_add(1, std::memory_order_relaxed) < limit) return true;
  used.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

// [offset, offset + length) of a descriptor, or false when it reaches outside.
inline bool local_memory(const Descriptor& descriptor, ptl_size_t offset, ptl_size_t length, Local& out) {
  const ptl_md_t& md = descriptor.md;
  out.options = md.options;
  out.eq = md.eq_handle;
  out.ct = md.ct_handle;
  if ((md.options & PTL_IOVEC) && md.length > 0) {
    const auto* iov = static_cast<const ptl_iovec_t*>(md.start);
    ptl_size_t total = 0;
    for (ptl_size_t i = 0; i < md.length; ++i) total += iov[i].iov_len;
    if (offset > total || length > total - offset) return false;
    out.base = md.start;
    out.offset = offset;
    out.iov_count = static_cast<uint32_t>(md.length);
    return true;
  }
  if (offset > md.length || length > md.length - offset) return false;
  out.base = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(md.start) + offset);
  return true;
}

}  // namespace portunus::api
