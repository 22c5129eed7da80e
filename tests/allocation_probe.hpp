// Counts the allocations of the program and, when asked, refuses them. Replaces the global allocation functions,
// so it is included by exactly one source of an executable. The forms are spelled out, not left to forward to one
// another, because sanitizers bring their own; inlined they would look mismatched to the compiler.
//
// Thread: any; `refuses` is set before others allocate.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace portunus::allocation_probe {
inline std::atomic<size_t> count{0};
inline std::atomic<bool> refuse{false};
inline bool (*refuses)() = nullptr;  // asked for each allocation, if there is one

inline void* allocate(size_t size, size_t alignment = 0) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  if (refuse.load(std::memory_order_relaxed) || (refuses && refuses())) return nullptr;
  return alignment == 0 ? std::malloc(size) : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
inline void* allocate_or_throw(size_t size, size_t alignment = 0) {
  void* p = allocate(size, alignment);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace portunus::allocation_probe

[[gnu::noinline]] void* operator new(size_t size) { return portunus::allocation_probe::allocate_or_throw(size); }
[[gnu::noinline]] void* operator new[](size_t size) { return portunus::allocation_probe::allocate_or_throw(size); }
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept { return portunus::allocation_probe::allocate(size); }
[[gnu::noinline]] void* operator new[](size_t size, const std::nothrow_t&) noexcept { return portunus::allocation_probe::allocate(size); }
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t to) {
  return portunus::allocation_probe::allocate_or_throw(size, static_cast<size_t>(to));
}
[[gnu::noinline]] void* operator new[](size_t size, std::align_val_t to) {
  return portunus::allocation_probe::allocate_or_throw(size, static_cast<size_t>(to));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
