// arguments.hpp: the checks that the entry points share. Thread: any.
#pragma once

#include <atomic>

#include "engine/core/runtime.hpp"
#include "engine/core/triggered/atomic_ops.hpp"
#include "portals/fault.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::api {

// How often PtlInit was called without PtlFini.
inline std::atomic<int> init_count{0};
inline std::atomic<bool> forked{false};  // in a child of a process that uses the library: every call says PTL_NO_INIT there
inline bool initialized() { return init_count.load(std::memory_order_acquire) > 0; }

inline Runtime& runtime() { return Runtime::get(); }
inline Progress& progress() { return runtime().progress(); }

constexpr uint32_t kInterfaceGeneration = 1;  // so that no handle is zero
inline ptl_handle_ni_t interface_handle(uint32_t ni) { return make_handle(HandleKind::interface, kInterfaceGeneration, ni); }
inline uint32_t interface_index(unsigned options) {
  return (options & PTL_NI_NO_MATCHING ? 2u : 0u) | (options & PTL_NI_PHYSICAL ? 1u : 0u);
}

// The open interface behind a handle, or nullptr.
inline Interface* find_interface(ptl_handle_ni_t handle, Runtime& process = runtime()) {
  const uint32_t index = handle_index(handle);
  if (handle_kind(handle) != HandleKind::interface || handle_generation(handle) != kInterfaceGeneration || index >= kInterfaces ||
      !process.running())
    return nullptr;
  Interface& interface = process.interface(index);
  return interface.open.load(std::memory_order_acquire) ? &interface : nullptr;
}

inline bool valid_portal(const Interface& interface, ptl_pt_index_t index) {
  return index <= static_cast<uint32_t>(interface.limits.max_pt_index) && interface.allocated[index].load(std::memory_order_acquire);
}

inline Fault bad_interface(ptl_handle_ni_t handle) { return bad_handle("ni_handle", handle, HandleKind::interface); }

inline constexpr const char* kFreedMeanwhile = "was freed while this call waited for it";
inline constexpr const char* kNotAllocated = "is no portal table entry that PtlPTAlloc gave out";

// The live object behind a handle in `argument`, or nullptr and what is wrong with it.
template <class T>
T* object(Pool<T>& pool, const char* argument, uint32_t handle, Fault& fault) {
  T* found = pool.find(handle);
  if (!found) [[unlikely]]
    fault = bad_handle(argument, handle, pool.kind());
  return found;
}

// A handle in an argument that may also be `none`.
template <class T>
Fault object_or_none(Pool<T>& pool, const char* argument, uint32_t handle, uint32_t none, uint32_t ni) {
  if (handle == none) return {};
  Fault fault;
  T* found = object(pool, argument, handle, fault);
  if (found && found->ni != ni) return {argument, kOtherInterface};
  return fault;
}
inline Fault counter_or_none(const char* argument, uint32_t handle, uint32_t ni) {
  if (handle == PTL_CT_NONE) return {};
  return object_or_none(runtime().objects().counters, argument, handle, PTL_CT_NONE, ni);
}
inline Fault queue_or_none(const char* argument, uint32_t handle, uint32_t ni) {
  return object_or_none(runtime().objects().queues, argument, handle, PTL_EQ_NONE, ni);
}

// The array of a poll: live handles, all of one interface.
template <class T>
Fault check_polled(Pool<T>& pool, const char* argument, const uint32_t* handles, unsigned size) {
  if (!handles) return {argument, kIsNull};
  if (size == 0) return {"size", "is 0: there is nothing to wait for"};
  Fault fault;
  uint8_t ni = 0;
  for (unsigned i = 0; i < size; ++i) {
    const T* found = object(pool, argument, handles[i], fault);
    if (!found) return fault;
    if (i > 0 && found->ni != ni) return {argument, "are of different interfaces"};
    ni = found->ni;
  }
  return {};
}

// E9: a function to copy with.
inline Fault bad_layout(const char* argument, const void* layout) {
  const bool good =
      layout && reinterpret_cast<uintptr_t>(layout) % alignof(ptlx_layout_t) == 0 && static_cast<const ptlx_layout_t*>(layout)->copy;
  return good ? Fault{} : Fault{argument, "is not where a ptlx_layout_t with a function lies"};
}

// An iovec array of `length` elements, in an MD or an entry.
inline Fault bad_iovec(const Interface& interface, const void* start, ptl_size_t length) {
  if (length > static_cast<ptl_size_t>(interface.limits.max_iovecs)) return {"length", "is more iovec elements than max_iovecs"};
  if (length && !start) return {"start", "is NULL where PTL_IOVEC wants an array"};
  return {};
}

// -1: no limit; below: one that counts from when the thread sleeps (PTLX_TIME_ASLEEP).
inline int64_t nanoseconds(ptl_time_t timeout_ms) {
  constexpr int64_t kMillisecond = 1'000'000;
  if (timeout_ms == PTL_TIME_FOREVER) return -1;
  constexpr ptl_time_t kAsleep = PTLX_TIME_ASLEEP(0);
  if (timeout_ms > kAsleep - PTLX_MOST_ASLEEP) return -static_cast<int64_t>(kAsleep - timeout_ms) * kMillisecond - 2;
  return static_cast<int64_t>(timeout_ms) * kMillisecond;
}

// Takes one unit of a limit; false when it is used up.
inline bool take(std::atomic<int>& used, int limit) {
  if (used.fetch_add(1, std::memory_order_relaxed) < limit) return true;
  used.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

// The bytes of an iovec; more than 64 bits can count are as many as these can.
inline ptl_size_t iovec_length(const ptl_iovec_t* iov, ptl_size_t count) {
  ptl_size_t total = 0;
  for (ptl_size_t i = 0; i < count; ++i)
    if (__builtin_add_overflow(total, iov[i].iov_len, &total)) return PTL_SIZE_MAX;
  return total;
}

inline constexpr const char* kOutside = "and length reach beyond the end of the memory descriptor";

// [offset, offset + length) of a descriptor; `argument` names the offset. `plain`: it has neither PTL_IOVEC nor PTLX_MD_LAYOUT.
template <bool plain = false>
[[gnu::always_inline]] inline Fault local_memory(const Descriptor& descriptor, const char* argument, ptl_size_t offset, ptl_size_t length,
                                                 Local& out) {
  const ptl_md_t& md = descriptor.md;
  out.options = md.options;
  out.eq = md.eq_handle;
  out.ct = md.ct_handle;
  if (!plain && (md.options & PTL_IOVEC) && md.length > 0) {
    const ptl_size_t total = iovec_length(static_cast<const ptl_iovec_t*>(md.start), md.length);
    if (offset > total || length > total - offset) return {argument, kOutside};
    out.base = md.start;
    out.offset = offset;
    out.iov_count = static_cast<uint32_t>(md.length);
    return {};
  }
  out.base = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(md.start) + offset);
  if (!plain && (md.options & PTLX_MD_LAYOUT)) [[unlikely]] {
    if (length == 0) return {};
    if (md.length < sizeof(ptlx_layout_t) || offset > md.length - sizeof(ptlx_layout_t))
      return {argument, "reaches beyond the end of the memory descriptor"};
    out.iov_count = Memory::kLayout;
    return bad_layout(argument, out.base);
  }
  if (offset > md.length || length > md.length - offset) return {argument, kOutside};
  return {};
}

}  // namespace portunus::api
