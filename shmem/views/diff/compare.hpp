// compare.hpp: which bytes differ, and moving bytes that a bitmap names.
//
// **Thread:** any. **Invariants:** exact to the byte: views may share words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace portunus::views {

inline constexpr size_t kMapWords = 64;  // a bit for each byte of a page

// Sets the bits of bytes in which `now` differs from `then`; true if there is any. Both aligned to 8.
inline bool compare_page(const char* now, const char* then, uint64_t map[kMapWords]) {
  bool any = false;
  for (size_t word = 0; word < kMapWords; ++word) {
    if (memcmp(now + word * 64, then + word * 64, 64) == 0) continue;
    for (size_t i = 0; i < 64; ++i)
      if (now[word * 64 + i] != then[word * 64 + i]) map[word] |= uint64_t{1} << i;
    any = true;
  }
  return any;
}

// Calls run(offset in the page, bytes) for each run of set bits.
template <class Run>
void runs_of(const uint64_t map[kMapWords], Run&& run) {
  size_t begin = 0, length = 0;
  for (size_t word = 0; word < kMapWords; ++word) {
    uint64_t left = map[word];
    if (left == ~uint64_t{0}) {
      if (length && begin + length == word * 64) length += 64;
      else {
        if (length) run(begin, length);
        begin = word * 64, length = 64;
      }
      continue;
    }
    while (left) {
      const size_t at = static_cast<size_t>(__builtin_ctzll(left));
      const uint64_t rest = ~(left >> at);
      const size_t bits = static_cast<size_t>(__builtin_ctzll(rest));
      if (length && begin + length == word * 64 + at) length += bits;
      else {
        if (length) run(begin, length);
        begin = word * 64 + at, length = bits;
      }
      left &= at + bits >= 64 ? 0 : ~uint64_t{0} << (at + bits);
    }
  }
  if (length) run(begin, length);
}

// Copies the bytes of set bits.
inline void copy_by_map(char* to, const char* from, const uint64_t map[kMapWords]) {
  runs_of(map, [&](size_t at, size_t bytes) { memcpy(to + at, from + at, bytes); });
}

}  // namespace portunus::views
