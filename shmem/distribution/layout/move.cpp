// move.cpp: products of families as nests of loops, and stretches of a message.
#include "shmem/distribution/layout/move.hpp"

#include <algorithm>
#include <cstring>

#include "shmem/distribution/copy/nest.hpp"

namespace portunus::distribution {
namespace {

// Elements a .. b of a family's order as whole families: the rest of a piece, of a round, whole rounds, and what is left.
struct Cut {
  Family family;
  int64_t at;  // of its first element in the family's order
};
struct Cuts {
  Cut cut[5];
  int count = 0;
};

Cuts cut(const Family& f, int64_t a, int64_t b) {
  Cuts cuts;
  const auto take = [&](int64_t x, int64_t length, int64_t count, int64_t rounds) {
    const int64_t in_round = f.length * f.count, round = x / in_round, i = x % in_round / f.length, k = x % f.length;
    cuts.cut[cuts.count++] = {{f.from + round * f.from_round + i * f.from_step + k, f.to + round * f.to_round + i * f.to_step + k, length,
                               count, f.from_step, f.to_step, rounds, f.from_round, f.to_round},
                              x};
  };
  const int64_t in_round = f.length * f.count;
  while (a < b) {
    const int64_t left = b - a;
    int64_t taken = 0;
    if (a % in_round == 0 && left >= in_round) {
      taken = left / in_round * in_round;
      take(a, f.length, f.count, left / in_round);
    } else if (a % f.length == 0 && left >= f.length) {
      const int64_t pieces = std::min(left, in_round - a % in_round) / f.length;
      taken = pieces * f.length;
      take(a, f.length, pieces, 1);
    } else {
      taken = std::min(left, f.length - a % f.length);
      take(a, taken, 1, 1);
    }
    a += taken;
  }
  return cuts;
}

class Copier {
 public:
  Copier(const Move& move, Ends ends) : move_(move), ends_(ends) {
    int64_t inner = move.size;
    for (int d = move.axes - 1; d >= 0; --d) {
      inner_[static_cast<size_t>(d)] = inner;
      inner *= move.lists[static_cast<size_t>(d)]->elements();
    }
    all_ = inner;
  }
  int64_t all() const { return all_; }

  // Everything; `to` and `from` are the beginnings of both ends.
  void whole(std::byte* to, const std::byte* from) {
    to_ = to, from_ = from;
    families(0, 0, 0, Nest(move_.size));
  }
  // The nests of all, instead of copying. False: they are too many.
  bool collect(Program* program) {
    program_ = program;
    families(0, 0, 0, Nest(move_.size));
    return !program->full();
  }

  // Bytes lo .. hi of what lies under one index of each axis before `d`; `piece` is where lo lies in the message.
  void range(int d, int64_t lo, int64_t hi, std::byte* array, std::byte* piece) {
    if (lo >= hi) return;
    if (d >= move_.axes || d >= CCC_MOST_AXES) {
      if (ends_ == Ends::kPack) memcpy(piece, array + lo, static_cast<size_t>(hi - lo));
      else memcpy(array + lo, piece, static_cast<size_t>(hi - lo));
      return;
    }
    const int64_t inner = inner_[static_cast<size_t>(d)];
    int64_t first = lo / inner;
    const int64_t last = hi / inner;
    if (lo % inner != 0) {
      const int64_t end = std::min(inner, hi - first * inner);
      range(d + 1, lo % inner, end, array + place(d, first), piece);
      piece += end - lo % inner;
      ++first;
    }
    if (first < last) {
      indices(d, first, last, array, piece);
      piece += (last - first) * inner;
    }
    if (hi % inner != 0 && first <= last) range(d + 1, 0, hi % inner, array + place(d, last), piece);
  }

 private:
  int64_t stride(size_t d) const { return ends_ == Ends::kPack ? move_.from_stride[d] : move_.to_stride[d]; }

  // The offset in the array at which index x of axis d's list begins.
  int64_t place(int d, int64_t x) const {
    const Pieces& list = *move_.lists[static_cast<size_t>(d)];
    const size_t f = list.family_of(x);
    const Family at = cut(list.families()[f], x - list.before(f), x - list.before(f) + 1).cut[0].family;
    return (ends_ == Ends::kPack ? at.from : at.to) * stride(static_cast<size_t>(d));
  }

  // Indices a .. b of axis d's list and everything below them.
  void indices(int d, int64_t a, int64_t b, std::byte* array, std::byte* piece) {
    const Pieces& list = *move_.lists[static_cast<size_t>(d)];
    const int64_t inner = inner_[static_cast<size_t>(d)];
    for (size_t f = list.family_of(a); a < b; ++f) {
      const int64_t before = list.before(f), end = std::min(b, before + list.families()[f].elements());
      const Cuts cuts = cut(list.families()[f], a - before, end - before);
      for (int i = 0; i < cuts.count; ++i) {
        std::byte* const there = piece + (before + cuts.cut[i].at - a) * inner;
        to_ = ends_ == Ends::kPack ? there : array;
        from_ = ends_ == Ends::kPack ? array : there;
        one(d, cuts.cut[i].family, 0, 0, Nest(move_.size));
      }
      piece += (end - a) * inner;
      a = end;
    }
  }

  // From here on `to` and `from` are bytes from the beginnings of both ends.
  void families(int d, int64_t to, int64_t from, const Nest& nest) {
    if (d >= move_.axes || d >= CCC_MOST_AXES) {
      if (program_) program_->add(to, from, nest);
      else Nest(nest).copy(to_ + to, from_ + from);
      return;
    }
    const Pieces& list = *move_.lists[static_cast<size_t>(d)];
    const int64_t inner = inner_[static_cast<size_t>(d)];
    for (size_t f = 0; f < list.families().size() && !(program_ && program_->full()); ++f) {
      const int64_t packed = list.before(f) * inner;
      one(d, list.families()[f], to + (ends_ == Ends::kPack ? packed : 0), from + (ends_ == Ends::kUnpack ? packed : 0), nest);
    }
  }

  // One family of axis d, and all of the axes below. `to` and `from`: of the array's beginning, or of the family's in the message.
  void one(int d, const Family& f, int64_t to, int64_t from, Nest nest) {
    const auto at = static_cast<size_t>(d);
    const int64_t inner = inner_[at], in_round = f.length * f.count * inner;
    const int64_t ts = move_.to_stride[at], fs = move_.from_stride[at];
    const bool packs = ends_ == Ends::kPack, unpacks = ends_ == Ends::kUnpack;
    nest.add(f.length, packs ? inner : ts, unpacks ? inner : fs);
    nest.add(f.count, packs ? f.length * inner : f.to_step * ts, unpacks ? f.length * inner : f.from_step * fs);
    nest.add(f.rounds, packs ? in_round : f.to_round * ts, unpacks ? in_round : f.from_round * fs);
    families(d + 1, to + (packs ? 0 : f.to * ts), from + (unpacks ? 0 : f.from * fs), nest);
  }

  const Move& move_;
  Ends ends_;
  Program* program_ = nullptr;
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  int64_t all_ = 0;
  std::array<int64_t, CCC_MOST_AXES> inner_{};  // bytes of the message under one index of each axis
};

// Stretches of the message, where `stride` says what is contiguous: an axis's pieces times all indices of the axes before
// it.
template <class Contiguous>
int64_t stretches(const Move& move, Contiguous contiguous) {
  int64_t expected = move.size;
  int d = move.axes - 1;
  int64_t here = 1;
  for (; d >= 0; --d) {
    const Pieces& list = *move.lists[static_cast<size_t>(d)];
    here = list.elements();
    if (!contiguous(static_cast<size_t>(d), expected)) break;
    here = list.pieces();
    if (here != 1) break;
    expected *= list.elements();
  }
  if (d < 0) return 1;
  for (int e = d - 1; e >= 0; --e) here *= move.lists[static_cast<size_t>(e)]->elements();
  return here;
}

}  // namespace

bool Move::empty() const {
  for (int d = 0; d < axes; ++d)
    if (lists[static_cast<size_t>(d)]->elements() == 0) return true;
  return false;
}
int64_t Move::bytes() const {
  int64_t all = size;
  for (int d = 0; d < axes; ++d) all *= lists[static_cast<size_t>(d)]->elements();
  return all;
}
int64_t Move::from_pieces() const {
  return stretches(*this, [&](size_t d, int64_t expected) { return from_stride[d] == expected; });
}
int64_t Move::to_pieces() const {
  return stretches(*this, [&](size_t d, int64_t expected) { return to_stride[d] == expected; });
}
int64_t Move::pieces() const {
  return stretches(*this, [&](size_t d, int64_t expected) { return from_stride[d] == expected && to_stride[d] == expected; });
}

void Move::copy(std::byte* to, const std::byte* from) const { Copier(*this, Ends::kArrays).whole(to, from); }
bool Move::compile(Program* program, Ends ends) const { return Copier(*this, ends).collect(program); }
void Move::pack(int64_t offset, int64_t bytes, std::byte* message, const std::byte* from) const {
  Copier(*this, Ends::kPack).range(0, offset, offset + bytes, const_cast<std::byte*>(from), message);
}
void Move::unpack(int64_t offset, int64_t bytes, const std::byte* message, std::byte* to) const {
  Copier(*this, Ends::kUnpack).range(0, offset, offset + bytes, to, const_cast<std::byte*>(message));
}

}  // namespace portunus::distribution
