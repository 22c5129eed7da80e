// pieces.cpp: walks own indices, cuts, and finds what repeats.
#include "shmem/distribution/layout/pieces.hpp"

#include <algorithm>
#include <numeric>

#include "shmem/distribution/layout/reduced.hpp"

namespace portunus::distribution {

void Pieces::add(const Family& piece) {
  if (pending_ && piece.count == 1) {
    Family& last = families_.back();
    if (last.from + last.length == piece.from && last.to + last.length == piece.to) {
      last.length += piece.length;
      return;
    }
  }
  settle();
  families_.push_back(piece);
  pending_ = piece.count == 1;
}

// The last piece is as long as it gets: it may be one more of the family before it.
void Pieces::settle() {
  if (!pending_) return;
  pending_ = false;
  if (families_.size() < open_ + 2) return;
  const Family last = families_.back();
  Family& before = families_[families_.size() - 2];
  const int64_t from_step = last.from - (before.from + (before.count - 1) * before.from_step);
  const int64_t to_step = last.to - (before.to + (before.count - 1) * before.to_step);
  if (before.length != last.length || from_step < 0 || to_step < 0) return;
  if (before.count > 1 && (from_step != before.from_step || to_step != before.to_step)) return;
  before.from_step = from_step;
  before.to_step = to_step;
  ++before.count;
  families_.pop_back();
}

void Pieces::close(int64_t rounds, int64_t from_round, int64_t to_round) {
  settle();
  for (; open_ < families_.size(); ++open_) {
    Family& family = families_[open_];
    family.rounds = rounds;
    family.from_round = from_round;
    family.to_round = to_round;
    // A piece that repeats where it ends is one longer piece.
    if (family.count == 1 && from_round == family.length && to_round == family.length) {
      family.length *= rounds;
      family.rounds = 1;
    }
  }
}

void Pieces::finish() {
  families_.shrink_to_fit();
  before_.reserve(families_.size());
  for (const Family& family : families_) {
    before_.push_back(elements_);
    elements_ += family.elements();
  }
}

int64_t Pieces::pieces() const {
  return std::accumulate(families_.begin(), families_.end(), int64_t{0}, [](int64_t sum, const Family& f) { return sum + f.pieces(); });
}

size_t Pieces::family_of(int64_t x) const {
  return static_cast<size_t>(std::upper_bound(before_.begin(), before_.end(), x) - before_.begin()) - 1;
}

namespace {

class Walk {
 public:
  Walk(const ccc_axis& mine, const ccc_axis& other, Side side, int64_t t)
      : mine_(mine), other_(other), side_(side), n_(mine.n), own_(mine_.own(t)), lists_(static_cast<size_t>(processors(other))) {}

  std::vector<Pieces> lists() {
    const int64_t period = common_period();
    if (period <= n_ / 2) {
      const int64_t rounds = n_ / period;
      region(0, period);
      close(rounds, period / mine_.cycle() * mine_.advance(), period / other_.cycle() * other_.advance());
      region(rounds * period, n_);
    } else {
      region(0, n_);
    }
    close(1, 0, 0);
    for (Pieces& list : lists_) list.finish();
    return std::move(lists_);
  }

 private:
  // The least common multiple of the cycles, or n where that is less.
  int64_t common_period() const {
    const int64_t a = mine_.cycle(), b = other_.cycle();
    int64_t multiple = 0;
    if (a >= n_ || b >= n_ || __builtin_mul_overflow(a / std::gcd(a, b), b, &multiple)) return std::max<int64_t>(1, n_);
    return std::clamp<int64_t>(multiple, 1, std::max<int64_t>(1, n_));
  }

  // Within a run of one axis the other repeats after its own cycle: where runs are that long, these repeats are families.
  void region(int64_t lo, int64_t hi) {
    if (mine_.usual_run() >= 2 * other_.cycle())
      each_own(lo, hi, [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end;) {
          const int64_t run_end = std::min(end, mine_.run_end(s));
          run(s, run_end, other_.cycle(), other_.cycle(), other_.advance());
          s = run_end;
        }
      });
    else if (other_.usual_run() >= 2 * mine_.cycle())
      for (int64_t s = lo; s < hi;) {
        const int64_t run_end = std::min(hi, other_.run_end(s));
        run(s, run_end, mine_.cycle(), mine_.advance(), mine_.cycle());
        s = run_end;
      }
    else pieces(lo, hi, 1, 0, 0);
  }

  // lo .. hi is a run of one axis, the other repeats every `cycle`.
  void run(int64_t lo, int64_t hi, int64_t cycle, int64_t my_step, int64_t other_step) {
    const int64_t count = (hi - lo) / cycle;
    if (count > 1) {
      pieces(lo, lo + cycle, count, my_step, other_step);
      lo += count * cycle;
    }
    pieces(lo, hi, 1, 0, 0);
  }

  void pieces(int64_t lo, int64_t hi, int64_t count, int64_t my_step, int64_t other_step) {
    each_own(lo, hi, [&](int64_t s, int64_t end) {
      while (s < end) {
        const int64_t stop = std::min({end, mine_.run_end(s), other_.run_end(s)});
        const int64_t here = mine_.offset(s), there = other_.offset(s);
        const bool forth = side_ == Side::kFrom;
        lists_[static_cast<size_t>(other_.target(s))].add({forth ? here : there, forth ? there : here, stop - s, count,
                                                           forth ? my_step : other_step, forth ? other_step : my_step, 1, 0, 0});
        s = stop;
      }
    });
  }

  template <class F>
  void each_own(int64_t lo, int64_t hi, F f) const {
    for (int64_t cycle = lo / mine_.cycle() * mine_.cycle(); cycle < hi; cycle += mine_.cycle())
      for (const auto& [first, length] : own_) {
        const int64_t begin = std::max(lo, cycle + first), end = std::min(hi, cycle + first + length);
        if (begin < end) f(begin, end);
        else if (begin >= hi) break;
      }
  }

  void close(int64_t rounds, int64_t my_round, int64_t other_round) {
    const bool forth = side_ == Side::kFrom;
    for (Pieces& list : lists_) list.close(rounds, forth ? my_round : other_round, forth ? other_round : my_round);
  }

  Reduced mine_, other_;
  Side side_;
  int64_t n_;
  std::vector<std::pair<int64_t, int64_t>> own_;
  std::vector<Pieces> lists_;
};

}  // namespace

std::vector<Pieces> list_pieces(const ccc_axis& from, const ccc_axis& to, Side side, int64_t t) {
  return side == Side::kFrom ? Walk(from, to, side, t).lists() : Walk(to, from, side, t).lists();
}

}  // namespace portunus::distribution
