// Counts the allocations of the program and, when asked, refuses them. Replaces the global allocation functions,
// so it is included by exactly one source of an executable. The forms are spelled out, not left to forward to one
// another, because sanitizers bring their own; inlined they would look mismatched to the compiler.
//
// Thread: single-threaded tests.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace portunus::allocation_probe {
inline size_t count = 0;
inline bool refuse = false;

inline void* allocate(size_t size) noexcept {
  ++count;
  return refuse ? nullptr : std::malloc(size);
}
inline void* allocate_or_throw(size_t size) {
  void* p = allocate(size);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace portunus::allocation_probe

[[gnu::noinline]] void* operator new(size_t size) { return portunus::allocation_probe::allocate_or_throw(size); }
[[gnu::noinline]] void* operator new[](size_t size) { return portunus::allocation_probe::allocate_or_throw(size); }
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept { return portunus::allocation_probe::allocate(size); }
[[gnu::noinline]] void* operator new[](size_t size, const std::nothrow_t&) noexcept { return portunus::allocation_probe::allocate(size); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t) noexcept { std::free(p); }
