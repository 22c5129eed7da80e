// rows.cpp: small runs by constant sizes, larger ones line by line with the next ones asked for; into the caches or past them.
#include "shmem/distribution/copy/rows.hpp"

#include <algorithm>
#include <cstring>

#include "shmem/distribution/copy/lines.hpp"

namespace portunus::distribution {

void stores_done() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

namespace {

uint64_t word(const std::byte* at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

// How far ahead of a run the one lies that is asked for meanwhile; 0: the processor guesses well itself.
int64_t distance(const Loop& outer, const Loop& inner, int64_t bytes) {
  constexpr int64_t kBytes = 1024, kRuns = 16;
  if (inner.from == bytes || (inner.from < kLine && inner.count * bytes >= kLine)) return 0;
  const int64_t runs = std::clamp<int64_t>(kBytes / bytes, 1, kRuns);
  return inner.count >= 2 * runs || outer.count < 2 ? runs * inner.from : (runs + inner.count - 1) / inner.count * outer.from;
}

// ---- Into the caches ----------------------------------------------------------------------------------------------------

template <int64_t kBytes>
void small(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner) {
  const int64_t ahead = distance(outer, inner, kBytes);
  for (int64_t o = 0; o < outer.count; ++o) {
    std::byte* t = to + o * outer.to;
    const std::byte* f = from + o * outer.from;
    if (ahead == 0) {
      for (int64_t i = 0; i < inner.count; ++i, t += inner.to, f += inner.from) memcpy(t, f, kBytes);
    } else {
      for (int64_t i = 0; i < inner.count; ++i, t += inner.to, f += inner.from) {
        ask(f + ahead);
        memcpy(t, f, kBytes);
      }
    }
  }
}
// Words that lie side by side at one end alone, four at a time.
void words(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner) {
  const bool gathers = inner.to == 8;
  const int64_t to_step = inner.to, from_step = inner.from;
  for (int64_t o = 0; o < outer.count; ++o) {
    std::byte* t = to + o * outer.to;
    const std::byte* f = from + o * outer.from;
    int64_t left = inner.count;
    for (; left >= 4 && gathers; left -= 4, t += 32, f += 4 * from_step) {
      const Quarter a = pair(word(f), word(f + from_step)), b = pair(word(f + 2 * from_step), word(f + 3 * from_step));
      memcpy(t, &a, sizeof a);
      memcpy(t + 16, &b, sizeof b);
    }
    for (; left >= 4; left -= 4, t += 4 * to_step, f += 32) {
      const uint64_t a = word(f), b = word(f + 8), c = word(f + 16), d = word(f + 24);
      memcpy(t, &a, 8);
      memcpy(t + to_step, &b, 8);
      memcpy(t + 2 * to_step, &c, 8);
      memcpy(t + 3 * to_step, &d, 8);
    }
    for (; left > 0; --left, t += to_step, f += from_step) memcpy(t, f, 8);
  }
}
void any_small(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner, int64_t bytes) {
  for (int64_t o = 0; o < outer.count; ++o)
    for (int64_t i = 0; i < inner.count; ++i)
      memcpy(to + o * outer.to + i * inner.to, from + o * outer.from + i * inner.from, static_cast<size_t>(bytes));
}

// Runs of a line and more; what is left of the last line is copied with some of the line before it.
void by_lines(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner, int64_t bytes) {
  const int64_t ahead = distance(outer, inner, bytes);
  for (int64_t o = 0; o < outer.count; ++o)
    for (int64_t i = 0; i < inner.count; ++i) {
      std::byte* const t = to + o * outer.to + i * inner.to;
      const std::byte* const f = from + o * outer.from + i * inner.from;
      for (int64_t k = 0; k < bytes; k += kLine) {
        if (ahead != 0) ask(f + ahead + k);
        const int64_t at = std::min(k, bytes - kLine);
        memcpy(t + at, f + at, kLine);
      }
    }
}
#if defined(__x86_64__)
// Twice as wide: half as many instructions as the processors allow that all programs may count on.
[[gnu::target("avx")]] inline void wide_line(std::byte* to, const std::byte* from) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), high);
}
[[gnu::target("avx")]] void wide_lines(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner) {
  const int64_t ahead = distance(outer, inner, kLine);
  for (int64_t o = 0; o < outer.count; ++o) {
    std::byte* t = to + o * outer.to;
    const std::byte* f = from + o * outer.from;
    for (int64_t i = 0; i < inner.count; ++i, t += inner.to, f += inner.from) {
      ask(f + ahead);
      wide_line(t, f);
    }
  }
}
[[gnu::target("avx")]] void by_wide_lines(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner, int64_t bytes) {
  const int64_t ahead = distance(outer, inner, bytes);
  for (int64_t o = 0; o < outer.count; ++o)
    for (int64_t i = 0; i < inner.count; ++i) {
      std::byte* const t = to + o * outer.to + i * inner.to;
      const std::byte* const f = from + o * outer.from + i * inner.from;
      for (int64_t k = 0; k < bytes; k += kLine) {
        if (ahead != 0) ask(f + ahead + k);
        const int64_t at = std::min(k, bytes - kLine);
        wide_line(t + at, f + at);
      }
    }
}
#endif

void cached(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner, int64_t bytes) {
  switch (bytes) {
    case 1: return small<1>(to, from, outer, inner);
    case 2: return small<2>(to, from, outer, inner);
    case 4: return small<4>(to, from, outer, inner);
    case 8:
      return (inner.to == 8 && inner.from < kLine) || inner.from == 8 ? words(to, from, outer, inner) : small<8>(to, from, outer, inner);
    case 12: return small<12>(to, from, outer, inner);
    case 16: return small<16>(to, from, outer, inner);
    case 24: return small<24>(to, from, outer, inner);
    case 32: return small<32>(to, from, outer, inner);
    default: break;
  }
  if (bytes < kLine) return any_small(to, from, outer, inner, bytes);
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx") != 0;
  if (wide && bytes == kLine) return wide_lines(to, from, outer, inner);
  if (wide) return by_wide_lines(to, from, outer, inner, bytes);
#endif
  by_lines(to, from, outer, inner, bytes);
}

// ---- Past the caches ------------------------------------------------------------------------------------------------------

// Runs of some lines. What the target has of its first and last line is stored as usual.
void streamed(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner, int64_t bytes) {
  constexpr int64_t kAhead = 1024;
  const int64_t far = distance(outer, inner, bytes), ahead = bytes >= 2 * kAhead || far == 0 ? kAhead : far;
  for (int64_t o = 0; o < outer.count; ++o)
    for (int64_t i = 0; i < inner.count; ++i) {
      std::byte* t = to + o * outer.to + i * inner.to;
      const std::byte* f = from + o * outer.from + i * inner.from;
      const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(t) % kLine);
      memcpy(t, f, static_cast<size_t>(head));
      int64_t k = head;
      for (; k + kLine <= bytes; k += kLine) {
        ask_once(f + k + ahead);
        stream_line(t + k, f + k);
      }
      memcpy(t + k, f + k, static_cast<size_t>(bytes - k));
    }
}

// Words that lie side by side at the target alone: eight are one line.
void gathered(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner) {
  const int64_t step = inner.from, ahead = std::max<int64_t>(1024, 16 * step);
  for (int64_t o = 0; o < outer.count; ++o) {
    std::byte* t = to + o * outer.to;
    const std::byte* f = from + o * outer.from;
    int64_t left = inner.count;
    for (; left > 0 && !aligned(t, kLine); --left, t += 8, f += step) memcpy(t, f, 8);
    for (; left >= 8; left -= 8, t += kLine, f += 8 * step) {
      for (int64_t k = 0; k < 8 * step; k += std::max(step, kLine)) ask_once(f + ahead + k);
      const Quarter a = pair(word(f), word(f + step)), b = pair(word(f + 2 * step), word(f + 3 * step));
      const Quarter c = pair(word(f + 4 * step), word(f + 5 * step)), d = pair(word(f + 6 * step), word(f + 7 * step));
      stream_line(t, a, b, c, d);
    }
    for (; left > 0; --left, t += 8, f += step) memcpy(t, f, 8);
  }
}

bool word_aligned(const std::byte* to, const Loop& outer) { return aligned(to, 8) && outer.to % 8 == 0; }

}  // namespace

void copy_rows(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner, int64_t bytes, Stores stores) {
  if (!kStreams || stores == Stores::kCached) return cached(to, from, outer, inner, bytes);
  const bool whole = bytes % kLine == 0 && inner.to % kLine == 0 && outer.to % kLine == 0 && aligned(to, kLine);
  if (whole || bytes >= 8 * kLine) streamed(to, from, outer, inner, bytes);
  else if (bytes == 8 && inner.to == 8 && inner.count >= 32 && word_aligned(to, outer)) gathered(to, from, outer, inner);
  else cached(to, from, outer, inner, bytes);
}

}  // namespace portunus::distribution
