// compare.hpp: which bytes differ, and moving bytes that a bitmap names.
//
// Thread: any. Invariants: exact to the byte: views may share words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace portunus::views {

inline constexpr size_t kMapWords = 64;  // a bit for each byte of a page
static_assert(std::endian::native == std::endian::little, "byte k of a word is bits 8k .. 8k+7");

// Bit i: byte i of 64 differs.
inline uint64_t differing(const char* now, const char* then) {
  uint64_t map = 0;
#if defined(__SSE2__)
  for (size_t i = 0; i < 64; i += 16) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(now + i)),
                  b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(then + i));
    map |= static_cast<uint64_t>(static_cast<uint16_t>(~_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)))) << i;
  }
#else
  for (size_t i = 0; i < 64; ++i) map |= uint64_t{now[i] != then[i]} << i;
#endif
  return map;
}

// Sets the bits of bytes in which `now` differs from `then`; true if there is any.
inline bool compare_page(const char* now, const char* then, uint64_t map[kMapWords]) {
  uint64_t any = 0;
  for (size_t word = 0; word < kMapWords; ++word) {
    const uint64_t here = differing(now + word * 64, then + word * 64);
    map[word] |= here;
    any |= here;
  }
  return any != 0;
}

// How many bits are set. (Counted in all bytes of several words at once: without an instruction for it, one word takes as long as four.)
inline size_t bits_in(const uint64_t map[kMapWords]) {
  size_t sum = 0;
  for (size_t first = 0; first < kMapWords; first += 16) {
    uint64_t bytes = 0;
    for (size_t word = first; word < first + 16; ++word) {
      uint64_t bits = map[word];
      bits -= bits >> 1 & 0x5555555555555555u;
      bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
      bytes += (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    }
    // Each byte is 128 at most; their sum is counted in 16 bits.
    bytes = (bytes & 0x00ff00ff00ff00ffu) + (bytes >> 8 & 0x00ff00ff00ff00ffu);
    sum += bytes * 0x0001000100010001u >> 48;
  }
  return sum;
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

// Copies the bytes of set bits, and writes no others.
inline void copy_by_map(char* to, const char* from, const uint64_t map[kMapWords]) {
  runs_of(map, [&](size_t at, size_t bytes) { memcpy(to + at, from + at, bytes); });
}

// The same, but bytes between them may be written with what they hold: only where nobody changes those meanwhile. Several times as fast
// where bits come and go, as of integers that count up.
inline void blend_by_map(char* to, const char* from, const uint64_t map[kMapWords]) {
  for (size_t word = 0; word < kMapWords; ++word) {
    if (map[word] == 0) continue;
    if (map[word] == ~uint64_t{0}) {
      memcpy(to + word * 64, from + word * 64, 64);
      continue;
    }
#if defined(__SSE2__)
    const __m128i bit_of_byte = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201u));
    for (size_t i = 0; i < 4; ++i) {
      // The two bytes of bits, each eight times; then of each byte its own bit alone, and all of it if that is set.
      const auto bits = static_cast<int>(map[word] >> (16 * i) & 0xffff);
      __m128i mask = _mm_cvtsi32_si128(bits);
      mask = _mm_shufflelo_epi16(_mm_unpacklo_epi8(mask, mask), _MM_SHUFFLE(1, 1, 0, 0));
      mask = _mm_and_si128(_mm_unpacklo_epi32(mask, mask), bit_of_byte);
      mask = _mm_cmpeq_epi8(mask, bit_of_byte);
      auto* const at = reinterpret_cast<__m128i*>(to + word * 64 + i * 16);
      const __m128i theirs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + word * 64 + i * 16)), mine = _mm_loadu_si128(at);
      _mm_storeu_si128(at, _mm_or_si128(_mm_and_si128(mask, theirs), _mm_andnot_si128(mask, mine)));
    }
#else
    for (size_t i = 0; i < 8; ++i) {
      const uint64_t bits = map[word] >> (8 * i) & 0xff;
      if (bits == 0) continue;
      // Bit k of `bits` becomes byte k: first its only bit, then, as a sum that carries into the highest, all of it.
      const uint64_t spread = ((bits * 0x0101010101010101u) & 0x8040201008040201u) + 0x7f7f7f7f7f7f7f7fu;
      const uint64_t mask = (spread >> 7 & 0x0101010101010101u) * 0xff;
      uint64_t theirs, mine;
      memcpy(&theirs, from + word * 64 + i * 8, 8);
      memcpy(&mine, to + word * 64 + i * 8, 8);
      mine = (mine & ~mask) | (theirs & mask);
      memcpy(to + word * 64 + i * 8, &mine, 8);
    }
#endif
  }
}

}  // namespace portunus::views
