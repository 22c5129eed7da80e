// axis.hpp: the arithmetic of one dimension: which processor has an index, where, and back.
//
// Works on the public ccc_axis; `hidden` holds what the steps imply, so that no call divides more often than it must:
//   kMark      a number that axes not made here do not have, with the kind
//   kBlock     product of all blocks (B); balanced: n div processors
//   kRoom1, kRoom2, kRoom   room after the first step, the first two, all
//   kByBlock, kByProcessors, kShifts   the divisors B and P (divide.hpp), and which periods remain
// Callers: the calls of ccc.h, layouts and plans. Pure functions; the caller has checked 0 <= s < n and the like.
//
// A chain (b1,u1) .. (bk,p) has the exact target  s mod (b1 u1) mod (b1 b2 u2) .. div (b1..bk) mod p. A period is dropped
// where it is not smaller than all that reaches it, or where the next one, or B*P at the end, divides it. Source: Lin,
// equations (1)-(4), definition 5.2 with O = W x V; the periods are ours.
#pragma once

#include <cstdint>

#include "shmem/distribution/axis/divide.hpp"
#include "shmem/distribution/ccc.h"

namespace portunus::distribution {

enum Hidden { kMark, kBlock, kRoom1, kRoom2, kRoom, kByBlock, kByProcessors, kShifts };
inline constexpr int64_t kMade = 0x636363617869730;  // "ccc axis"
inline constexpr int64_t kBalancedKind = 1;
inline constexpr int kKeepsPeriod = 16;  // bits of kShifts from here on: period i remains

constexpr bool is_made(const ccc_axis& axis) { return (axis.hidden[kMark] & ~kBalancedKind) == kMade; }
constexpr bool is_balanced(const ccc_axis& axis) { return axis.hidden[kMark] == (kMade | kBalancedKind); }
constexpr int64_t processors(const ccc_axis& axis) { return axis.step[axis.steps - 1].processors; }
constexpr int64_t room(const ccc_axis& axis) { return axis.hidden[kRoom]; }
constexpr Divisor by_block(const ccc_axis& axis) {
  return {static_cast<uint64_t>(axis.hidden[kByBlock]), static_cast<unsigned>(axis.hidden[kShifts] & 0xff)};
}
constexpr Divisor by_processors(const ccc_axis& axis) {
  return {static_cast<uint64_t>(axis.hidden[kByProcessors]), static_cast<unsigned>(axis.hidden[kShifts] >> 8 & 0xff)};
}
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// The period of the first `level` + 1 steps: blocks 1 .. level times its processors.
constexpr int64_t period(const ccc_axis& axis, int level) {
  int64_t product = axis.step[level].processors;
  for (int i = 0; i <= level; ++i) product *= axis.step[i].block;
  return product;
}
constexpr bool keeps_period(const ccc_axis& axis, int level) { return axis.hidden[kShifts] >> (kKeepsPeriod + level) & 1; }

// ---- Making -----------------------------------------------------------------------------------------------------------

// Fills `hidden`. False where a number does not fit in 63 bits, and nothing is written then.
constexpr bool finish(ccc_axis& axis) {
  ccc_axis made = axis;
  int64_t block = 1, points = axis.n, rooms = 1, periods[CCC_MOST_STEPS] = {};
  for (int i = 0; i < axis.steps; ++i) {
    const auto [b, p] = axis.step[i];
    int64_t cycle = 0, room_here = 0;
    if (__builtin_mul_overflow(block, b, &block) || __builtin_mul_overflow(block, p, &periods[i]) || __builtin_mul_overflow(b, p, &cycle) ||
        __builtin_mul_overflow(b, ceil_div(points, cycle), &room_here) || __builtin_mul_overflow(rooms, room_here, &rooms))
      return false;
    made.hidden[i == 0 ? kRoom1 : i == 1 ? kRoom2 : kRoom] = rooms;
    points = p;
  }
  const Divisor blocks = divisor(block), targets = divisor(processors(axis));
  int64_t keeps = 0, reach = axis.n;
  for (int i = 0; i + 1 < axis.steps; ++i)
    if (periods[i] < reach) keeps |= int64_t{1} << i, reach = periods[i];
  int64_t next = periods[axis.steps - 1];
  for (int i = axis.steps - 2; i >= 0; --i) {
    if (!(keeps >> i & 1)) continue;
    if (periods[i] % next == 0) keeps &= ~(int64_t{1} << i);
    else next = periods[i];
  }
  made.hidden[kMark] = kMade;
  made.hidden[kBlock] = block;
  made.hidden[kRoom] = rooms;
  made.hidden[kByBlock] = static_cast<int64_t>(blocks.multiplier);
  made.hidden[kByProcessors] = static_cast<int64_t>(targets.multiplier);
  made.hidden[kShifts] = blocks.shift | int64_t{targets.shift} << 8 | keeps << kKeepsPeriod;
  axis = made;
  return true;
}
constexpr bool finish_balanced(ccc_axis& axis) {
  if (!finish(axis)) return false;
  axis.hidden[kMark] = kMade | kBalancedKind;
  axis.hidden[kBlock] = axis.n / axis.step[0].processors;
  return true;
}

// ---- Balanced: processors 0 .. more-1 have `small` + 1 indices, the others `small` -------------------------------------

struct Balanced {
  int64_t small, more;
  constexpr explicit Balanced(const ccc_axis& axis)
      : small(axis.hidden[kBlock]), more(axis.n - axis.hidden[kBlock] * axis.step[0].processors) {}
  constexpr int64_t first(int64_t t) const { return t * small + (t < more ? t : more); }
  constexpr int64_t count(int64_t t) const { return small + (t < more); }
  constexpr int64_t target(int64_t s) const {
    const int64_t large = more * small + more;
    return s < large ? s / (small + 1) : more + (s - large) / small;
  }
};

// ---- From an index ------------------------------------------------------------------------------------------------------

constexpr int64_t target(const ccc_axis& axis, int64_t s) {
  if (is_balanced(axis)) [[unlikely]]
    return Balanced(axis).target(s);
  if (axis.hidden[kShifts] >> kKeepsPeriod) [[unlikely]]
    for (int i = 0; i + 1 < axis.steps; ++i)
      if (keeps_period(axis, i)) s %= period(axis, i);
  const int64_t blocks = divide(s, by_block(axis)), p = processors(axis);
  return blocks - divide(blocks, by_processors(axis)) * p;
}

constexpr int64_t step_target(const ccc_step& step, int64_t s) { return s / step.block % step.processors; }
constexpr int64_t step_offset(const ccc_step& step, int64_t s) { return s / (step.block * step.processors) * step.block + s % step.block; }

constexpr int64_t offset(const ccc_axis& axis, int64_t s) {
  if (is_balanced(axis)) {
    const Balanced balanced(axis);
    return s - balanced.first(balanced.target(s));
  }
  if (axis.steps == 1) {
    const int64_t b = axis.step[0].block, blocks = divide(s, by_block(axis));
    return divide(blocks, by_processors(axis)) * b + (s - blocks * b);
  }
  int64_t o = step_offset(axis.step[0], s);
  for (int i = 1; i < axis.steps; ++i) {
    s = step_target(axis.step[i - 1], s);
    o += step_offset(axis.step[i], s) * axis.hidden[i == 1 ? kRoom1 : kRoom2];
  }
  return o;
}

// ---- Back, and counts ---------------------------------------------------------------------------------------------------

// The index that processor t has at offset o, or -1.
constexpr int64_t global(const ccc_axis& axis, int64_t t, int64_t o) {
  if (is_balanced(axis)) {
    const Balanced balanced(axis);
    return o < balanced.count(t) ? balanced.first(t) + o : -1;
  }
  for (int i = axis.steps - 1; i >= 0; --i) {
    const auto [b, p] = axis.step[i];
    const int64_t inner = i == 0 ? 1 : axis.hidden[i == 1 ? kRoom1 : kRoom2];
    const int64_t mine = o / inner;
    o %= inner;
    // Rounds of the last cycle may lie beyond all points, and so far that the product has no 63 bits.
    int64_t s = 0;
    if (__builtin_mul_overflow(mine / b, b * p, &s) || __builtin_add_overflow(s, t * b + mine % b, &s)) return -1;
    if (s >= (i == 0 ? axis.n : axis.step[i - 1].processors)) return -1;
    t = s;
  }
  return t;
}

// How many of the points 0 .. points-1 of step kLevel end on processor t.
template <int kLevel>
constexpr int64_t count_before(const ccc_axis& axis, int64_t points, int64_t t) {
  const auto [b, p] = axis.step[kLevel];
  const int64_t cycle = b * p, rounds = points / cycle, rest = points % cycle;
  if constexpr (kLevel + 1 < CCC_MOST_STEPS) {
    if (kLevel + 1 < axis.steps) {
      const int64_t next = rest / b;
      int64_t count = b * count_before<kLevel + 1>(axis, next, t);
      if (rounds != 0) count += rounds * b * count_before<kLevel + 1>(axis, p, t);
      if (rest % b == 0) return count;
      int64_t s = next;
      for (int i = kLevel + 1; i < axis.steps; ++i) s = step_target(axis.step[i], s);
      return s == t ? count + rest % b : count;
    }
  }
  const int64_t more = rest - t * b;
  return rounds * b + (more < 0 ? 0 : more < b ? more : b);
}
constexpr int64_t count(const ccc_axis& axis, int64_t t) {
  return is_balanced(axis) ? Balanced(axis).count(t) : count_before<0>(axis, axis.n, t);
}

// The exact form of theorem 6.1 for chains of any length: each period in turn must change no target below what reaches it.
// One of k changes none if there is one target, if B*P divides it, or if what reaches it ends before the first block
// boundary beyond k, where k itself begins a round.
constexpr bool merges(const ccc_axis& axis) {
  const int64_t p = processors(axis), block = axis.hidden[kBlock];
  if (p == 1 || axis.steps == 1) return true;
  int64_t reach = axis.n;
  for (int i = 0; i + 1 < axis.steps; ++i) {
    const int64_t k = period(axis, i);
    if (k >= reach) continue;
    const int64_t beyond = k / block % p != 0 ? 0 : (block - k % block) % block;
    if (k % (block * p) != 0 && reach - k > beyond) return false;
    reach = k;
  }
  return true;
}

}  // namespace portunus::distribution
