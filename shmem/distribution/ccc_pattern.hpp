// ccc_pattern.hpp: the part of ccc.hpp about who names whom: virtual processors' places on the PEs, and patterns of access as runs,
// so that a shift of a million virtual processors is an entry or two. Include ccc.hpp.
#ifndef CCC_PATTERN_HPP
#define CCC_PATTERN_HPP

#include <algorithm>
#include <cstring>
#include <vector>

#include "ccc_array.hpp"

namespace ccc {

// A virtual processor: its place in the grid, and its row-major number.
template <size_t R>
struct Vp {
  std::array<index_t, R> at;
  index_t number;
  index_t local;  // its place among those of this PE; places may have gaps
  operator index_t() const { return number; }
};

// An index in closed form: in each dimension d, virtual processor at[d] names scale[d] * at[d] + by[d], around the edge or, beyond it,
// nobody. Its pattern is worked out without asking for each virtual processor.
template <size_t R>
struct Affine {
  std::array<index_t, R> scale, by;
  bool around;
};
// The virtual processor so far away in each dimension; nobody beyond the edge.
constexpr auto shift(std::integral auto... by) {
  Affine<sizeof...(by)> affine{{}, {static_cast<index_t>(by)...}, false};
  affine.scale.fill(1);
  return affine;
}
// The same around the edge: a torus.
constexpr auto circular_shift(std::integral auto... by) {
  auto affine = shift(by...);
  affine.around = true;
  return affine;
}
// scale * at + by in each dimension; nobody beyond the edge.
template <size_t R>
constexpr Affine<R> strided(const index_t (&scale)[R], const index_t (&by)[R]) {
  Affine<R> affine{{}, {}, false};
  std::copy(scale, scale + R, affine.scale.begin());
  std::copy(by, by + R, affine.by.begin());
  return affine;
}

// Local places first, first + 1 .. name the places offset, offset + step .. of a PE. `base`: where their values lie in a message.
struct Run {
  index_t first, count, offset, step, base;
  int pe;
  index_t low() const { return std::min(offset, offset + step * (count - 1)); }
  index_t high() const { return std::max(offset, offset + step * (count - 1)); }
};

class Runs {
 public:
  // Adds a run to the last one where it goes on from there.
  void add(index_t first, index_t count, int pe, index_t offset, index_t step) {
    if (!all_.empty() && all_.back().pe == pe && all_.back().first + all_.back().count == first) {
      Run& last = all_.back();
      const index_t behind = last.offset + last.step * (last.count - 1), between = last.count == 1 ? offset - behind : last.step;
      if (offset == behind + between && (count == 1 || step == between)) {
        last.step = between;
        last.count += count;
        return;
      }
      // The second of a pair belongs to the place that lies closer.
      if (last.count == 2 && count == 1 && std::abs(offset - behind) < std::abs(last.step)) {
        last.count = 1;
        all_.push_back({first - 1, 2, behind, offset - behind, 0, pe});
        return;
      }
    }
    all_.push_back({first, count, offset, step, 0, pe});
  }
  const std::vector<Run>& all() const { return all_; }

 private:
  std::vector<Run> all_;
};

// Whether no place of a PE is in two of the runs, as far as a look at each run's neighbours tells.
inline bool known_distinct(std::vector<Run> runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.pe != b.pe ? a.pe < b.pe : a.low() < b.low(); });
  size_t looks = 4 * runs.size() + 64;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].step == 0 && runs[i].count > 1) return false;
    for (size_t k = i + 1; k < runs.size() && runs[k].pe == runs[i].pe && runs[k].low() <= runs[i].high(); ++k) {
      const bool interleaved = runs[i].count > 1 && runs[k].count > 1 && std::abs(runs[i].step) == std::abs(runs[k].step) &&
                               (runs[k].low() - runs[i].low()) % runs[i].step != 0;
      if (!interleaved || --looks == 0) return false;
    }
  }
  return true;
}

// The places of a domain's virtual processors. Every axis is dealt out by one block-cyclic step.
template <size_t R>
class Places {
 public:
  using Index = std::array<index_t, R>;
  // Virtual processors of this PE whose places follow each other and which differ in the last dimension alone, by `step`.
  struct Stretch {
    Index at;
    index_t number, place, count, step;
    Vp<R> operator[](index_t k) const {
      Vp<R> vp{at, number + k * step, place + k};
      vp.at[R - 1] += k * step;
      return vp;
    }
  };

  Places(const Layout<R>& layout, int me) {
    index_t pes = 1, rest = me;
    for (size_t d = R; d-- > 0;) {
      const ccc_step& step = layout.c().axis[d].step[0];
      axes_[d] = {layout.n(d), step.processors == 1 ? layout.n(d) : step.block, step.processors, layout.room(d), 0, 0};
      pes *= step.processors;
    }
    for (size_t d = R; d-- > 0; rest /= axes_[d].pes) {
      axes_[d].mine = rest % axes_[d].pes;
      axes_[d].count = me < pes ? ccc_count(&layout.c().axis[d], axes_[d].mine) : 0;
    }
  }

  index_t number_of(const Index& at) const {  // -1: outside
    index_t number = 0;
    for (size_t d = 0; d < R; ++d) {
      if (at[d] < 0 || at[d] >= axes_[d].n) return -1;
      number = number * axes_[d].n + at[d];
    }
    return number;
  }
  Index at_of(index_t number) const {
    Index at{};
    for (size_t d = R; d-- > 0; number /= axes_[d].n) at[d] = number % axes_[d].n;
    return at;
  }

  // How many this PE has.
  size_t count() const {
    index_t all = 1;
    for (const Axis& axis : axes_) all *= axis.count;
    return static_cast<size_t>(all);
  }
  // f(Stretch) for all of this PE, in the order of places.
  template <class F>
  void each(F f) const {
    Index at{};
    walk<0>(at, 0, 0, f);
  }
  // The stretch that goes on from one of this PE's places, or leads up to it.
  Stretch from(index_t place) const { return around(place, true); }
  Stretch up_to(index_t place) const { return around(place, false); }
  // The number of a PE's virtual processor.
  index_t number_at(index_t pe, index_t place) const {
    Index at{};
    for (size_t d = R; d-- > 0; pe /= axes_[d].pes, place /= axes_[d].room) at[d] = axes_[d].at(pe % axes_[d].pes, place % axes_[d].room);
    return number_of(at);
  }

  // The pattern of a function: asks once for each.
  template <class F>
  Runs pattern(const F& index) const {
    Runs runs;
    Near near;
    each([&](const Stretch& stretch) {
      auto named = index(stretch[0]);
      for (index_t k = 0; k < stretch.count;) {
        const Index wanted = index_of(named);
        const index_t last = wanted[R - 1], number = number_of(wanted);
        index_t length = 1;
        const bool inside = locate(wanted, near);
        for (; k + length < stretch.count; ++length) {  // on while they name one after the other
          named = index(stretch[k + length]);
          if (!inside || last + length >= near.end || !is_ahead(named, wanted, number, length)) break;
        }
        if (inside) runs.add(stretch.place + k, length, near.pe, near.offset + last - near.begin, 1);
        k += length;
      }
    });
    return runs;
  }
  Runs pattern(const Affine<R>& affine) const {
    Runs runs;
    each([&](const Stretch& stretch) {
      index_t pe = 0, offset = 0;
      for (size_t d = 0; d + 1 < R; ++d) {
        const Axis& axis = axes_[d];
        index_t wanted = affine.scale[d] * stretch.at[d] + affine.by[d];
        if (affine.around) wanted = modulo(wanted, axis.n);
        if (wanted < 0 || wanted >= axis.n) return;
        pe = pe * axis.pes + axis.target(wanted);
        offset = offset * axis.room + axis.offset(wanted);
      }
      const Axis& last = axes_[R - 1];
      cut(last, affine.scale[R - 1] * stretch.at[R - 1] + affine.by[R - 1], affine.scale[R - 1] * stretch.step, stretch.count,
          affine.around, [&](index_t k, index_t count, index_t target, index_t o, index_t step) {
            runs.add(stretch.place + k, count, static_cast<int>(pe * last.pes + target), offset * last.room + o, step);
          });
    });
    return runs;
  }

  // Whether the numbers of each PE follow each other, as their places do, in the order of PEs.
  bool in_order() const {
    const size_t d = first_axis();
    for (size_t k = 0; k < R; ++k)
      if (k != d && (axes_[k].pes != 1 || axes_[k].room != axes_[k].n)) return false;
    return axes_[d].block * axes_[d].pes >= axes_[d].n;
  }
  // Then: a PE's first number and the one behind its last.
  std::pair<index_t, index_t> numbers_of(index_t pe) const {
    const size_t d = first_axis();
    index_t inner = 1;
    for (size_t k = d + 1; k < R; ++k) inner *= axes_[k].n;
    const index_t from = std::min(axes_[d].n, pe * axes_[d].block), to = std::min(axes_[d].n, from + axes_[d].block);
    return {from * inner, to * inner};
  }
  // The first dimension that has several: numbers grow with it.
  size_t first_axis() const {
    size_t d = 0;
    while (d + 1 < R && axes_[d].n == 1) ++d;
    return d;
  }

 private:
  struct Axis {
    index_t n, block, pes, room, mine, count;
    index_t target(index_t s) const { return s / block % pes; }
    index_t offset(index_t s) const { return s / (block * pes) * block + s % block; }
    index_t at(index_t t, index_t o) const { return o / block * (block * pes) + t * block + o % block; }
  };
  // The block that was named last.
  struct Near {
    Index outer{};
    index_t begin = 0, end = 0, offset = 0;
    int pe = 0;
  };

  static index_t modulo(index_t number, index_t n) {
    const index_t rest = number % n;
    return rest < 0 ? rest + n : rest;
  }

  template <size_t D, class F>
  void walk(Index& at, index_t place, index_t number, F& f) const {
    const Axis& axis = axes_[D];
    if constexpr (D + 1 < R) {
      for (index_t o = 0; o < axis.count; ++o) {
        at[D] = axis.at(axis.mine, o);
        walk<D + 1>(at, place * axis.room + o, number * axis.n + at[D], f);
      }
    } else {
      const index_t length = axis.block == 1 ? axis.count : axis.block;
      for (index_t o = 0; o < axis.count; o += length) {
        at[D] = axis.at(axis.mine, o);
        f(Stretch{at, number * axis.n + at[D], place * axis.room + o, std::min(length, axis.count - o), axis.block == 1 ? axis.pes : 1});
      }
    }
  }
  Stretch around(index_t place, bool onward) const {
    Stretch found{};
    index_t o = 0;
    for (size_t d = R, rest = static_cast<size_t>(place); d-- > 0; rest /= static_cast<size_t>(axes_[d].room)) {
      o = static_cast<index_t>(rest) % axes_[d].room;
      found.at[d] = axes_[d].at(axes_[d].mine, o);
    }
    const Axis& last = axes_[R - 1];
    o = place % last.room;
    const index_t begin = last.block == 1 ? 0 : o / last.block * last.block;
    const index_t end = last.block == 1 ? last.count : std::min(last.count, begin + last.block);
    found.step = last.block == 1 ? last.pes : 1;
    found.place = place;
    found.count = end - o;
    if (!onward) {
      found.count = o - begin + 1;
      found.place -= o - begin;
      found.at[R - 1] -= (o - begin) * found.step;
    }
    found.number = number_of(found.at);
    return found;
  }

  Index index_of(const Index& named) const { return named; }
  Index index_of(index_t named) const {
    if constexpr (R == 1) return {named};
    index_t all = 1;
    for (const Axis& axis : axes_) all *= axis.n;
    Index outside{};
    outside.fill(-1);
    return named >= 0 && named < all ? at_of(named) : outside;
  }
  // Whether the one that is named is so far ahead of another in the last dimension.
  static bool is_ahead(index_t named, const Index&, index_t number, index_t distance) { return named == number + distance; }
  static bool is_ahead(const Index& named, const Index& wanted, index_t, index_t distance) {
    return named[R - 1] == wanted[R - 1] + distance && std::equal(named.begin(), named.end() - 1, wanted.begin());
  }
  // Makes the block of the one that is wanted the near one. False: there is none.
  bool locate(const Index& wanted, Near& near) const {
    const index_t last = wanted[R - 1];
    if (last >= near.begin && last < near.end && std::equal(wanted.begin(), wanted.end() - 1, near.outer.begin())) return true;
    if (number_of(wanted) < 0) return false;
    index_t pe = 0, offset = 0;
    for (size_t d = 0; d < R; ++d) {
      pe = pe * axes_[d].pes + axes_[d].target(wanted[d]);
      offset = offset * axes_[d].room + axes_[d].offset(wanted[d]);
    }
    near.outer = wanted;
    near.begin = last - last % axes_[R - 1].block;
    near.end = std::min(axes_[R - 1].n, near.begin + axes_[R - 1].block);
    near.offset = offset - (last - near.begin);
    near.pe = static_cast<int>(pe);
    return true;
  }

  // f(k, count, target, offset, step) for what of wanted + k * step, k = 0 .. count - 1, lies at regular places of one target.
  template <class F>
  static void cut(const Axis& axis, index_t wanted, index_t step, index_t count, bool around, F f) {
    if (around) step %= axis.n;
    for (index_t k = 0; k < count;) {
      index_t at = wanted + k * step;
      if (around) at = modulo(at, axis.n);
      if (at < 0 || at >= axis.n) {  // on to the first that is inside
        if (step == 0 || (step > 0) != (at < 0)) return;
        k += step > 0 ? (-at + step - 1) / step : (at - axis.n) / -step + 1;
        continue;
      }
      const bool regular = axis.pes == 1 || step % (axis.block * axis.pes) == 0;
      const index_t begin = regular ? 0 : at - at % axis.block, end = regular ? axis.n : std::min(axis.n, begin + axis.block);
      index_t length = count - k;
      if (step > 0) length = std::min(length, (end - 1 - at) / step + 1);
      if (step < 0) length = std::min(length, (at - begin) / -step + 1);
      f(k, length, axis.target(at), axis.offset(at), axis.pes == 1 || !regular ? step : step / axis.pes);
      k += length;
    }
  }

  std::array<Axis, R> axes_;
};

}  // namespace ccc

#endif
