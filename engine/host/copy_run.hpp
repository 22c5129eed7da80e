// copy_run.hpp: copying one run of bytes of any length.
//
// The C library and the kernel move long runs by string instructions. Some processors carry those out twenty times slower when the
// target lies a few bytes further in its page than the source does, as memory of malloc does beside the pages of a file or of shared
// memory. Such runs go by plain loads and stores. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace portunus {

constexpr uintptr_t kCacheLine = 64;
constexpr uintptr_t kMemoryPage = 4096;
constexpr size_t kLongRun = 2048;  // from which on the C library moves by string instructions

// Whether string instructions might be slow.
inline bool is_hard_to_move(uintptr_t to, uintptr_t from) { return (to - from - 1) % kMemoryPage < kCacheLine - 1; }

// As memcpy, of kLongRun bytes and more.
[[gnu::noinline]] inline void copy_long_run(void* to, const void* from, size_t bytes) {
  if (!is_hard_to_move(reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from))) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto* target = static_cast<char*>(to);
  auto* source = static_cast<const char*>(from);
  const size_t head = kCacheLine - reinterpret_cast<uintptr_t>(to) % kCacheLine;  // then what is stored is aligned
  std::memcpy(target, source, head);
  target += head, source += head, bytes -= head;
  using Part = uint64_t __attribute__((vector_size(16), may_alias));
  const auto part_at = [](const char* anywhere) {
    Part part;
    std::memcpy(&part, anywhere, sizeof part);
    return part;
  };
  for (; bytes >= kCacheLine; target += kCacheLine, source += kCacheLine, bytes -= kCacheLine) {
    const Part a = part_at(source), b = part_at(source + 16), c = part_at(source + 32), d = part_at(source + 48);
    auto* out = reinterpret_cast<Part*>(target);
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
  }
  std::memcpy(target, source, bytes);
}

// As memcpy.
inline void copy_run(void* to, const void* from, size_t bytes) {
  if (bytes < kLongRun) std::memcpy(to, from, bytes);
  else copy_long_run(to, from, bytes);
}

}  // namespace portunus
