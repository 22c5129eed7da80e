// lines.hpp: stores of whole cache lines past the caches, and asking for lines ahead, where the processor has that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace portunus::distribution {

inline constexpr int64_t kLine = 64;

inline bool aligned(const void* at, int64_t to) { return reinterpret_cast<uintptr_t>(at) % static_cast<uintptr_t>(to) == 0; }

#if defined(__x86_64__)
inline constexpr bool kStreams = true;
using Quarter = __m128i;  // of a line
inline Quarter load_quarter(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline Quarter pair(uint64_t low, uint64_t high) { return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low)); }
// `to` begins a line. The four come together, so that the line leaves as a whole.
inline void stream_line(void* to, Quarter a, Quarter b, Quarter c, Quarter d) {
  auto* const line = static_cast<__m128i*>(to);
  _mm_stream_si128(line, a);
  _mm_stream_si128(line + 1, b);
  _mm_stream_si128(line + 2, c);
  _mm_stream_si128(line + 3, d);
}
inline void ask_once(const void* at) { _mm_prefetch(at, _MM_HINT_NTA); }
#else
inline constexpr bool kStreams = false;
struct Quarter {
  uint64_t low, high;
};
inline Quarter load_quarter(const void* from) {
  Quarter quarter;
  memcpy(&quarter, from, sizeof quarter);
  return quarter;
}
inline Quarter pair(uint64_t low, uint64_t high) { return {low, high}; }
inline void stream_line(void* to, Quarter a, Quarter b, Quarter c, Quarter d) {
  const Quarter line[4] = {a, b, c, d};
  memcpy(to, line, sizeof line);
}
inline void ask_once(const void* at) { __builtin_prefetch(at, 0, 0); }
#endif
inline void ask(const void* at) { __builtin_prefetch(at); }

// One line; the target begins one.
inline void stream_line(std::byte* to, const std::byte* from) {
  stream_line(to, load_quarter(from), load_quarter(from + 16), load_quarter(from + 32), load_quarter(from + 48));
}

}  // namespace portunus::distribution
