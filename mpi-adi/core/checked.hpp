// checked.hpp: sums and products of numbers that users give, which know whether they fit.
//
// Thread: any; plain values.
#pragma once

#include <cstdint>
#include <optional>

namespace portunus::mpi {

constexpr int64_t kMaxBytes = int64_t{1} << 48;  // no memory has more
constexpr int64_t kFarthest = int64_t{1} << 60;  // from where they are counted, data lie nearer
constexpr int64_t kFarthestBound = 2 * kFarthest;

class Checked {
 public:
  Checked(int64_t value) : value_(value) {}

  friend Checked operator+(Checked a, Checked b) {
    a.fits_ = !__builtin_add_overflow(a.value_, b.value_, &a.value_) && a.fits_ && b.fits_;
    return a;
  }
  friend Checked operator-(Checked a, Checked b) {
    a.fits_ = !__builtin_sub_overflow(a.value_, b.value_, &a.value_) && a.fits_ && b.fits_;
    return a;
  }
  friend Checked operator*(Checked a, Checked b) {
    a.fits_ = !__builtin_mul_overflow(a.value_, b.value_, &a.value_) && a.fits_ && b.fits_;
    return a;
  }
  // Nothing where it does not fit, or lies beyond `most` on either side of 0.
  std::optional<int64_t> within(int64_t most = INT64_MAX) const {
    return fits_ && value_ <= most && value_ >= -most ? std::optional(value_) : std::nullopt;
  }

 private:
  int64_t value_;
  bool fits_ = true;
};

}  // namespace portunus::mpi
