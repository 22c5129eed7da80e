// members.hpp: which PEs of the world a team has, in its order.
//
// Splits only make arithmetic sequences from arithmetic sequences, so a team costs three numbers; the PEs of a node may be
// any and are listed.
//
// Thread: any.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace portunus::shmem {

class Members {
 public:
  Members(int start, int stride, int size) : start_(start), stride_(stride), size_(size) {}
  explicit Members(std::vector<int> listed) : size_(static_cast<int>(listed.size())), listed_(std::move(listed)) {}

  int size() const { return size_; }
  // The PE of the world that has this number, 0 .. size - 1.
  int operator[](int number) const { return listed_.empty() ? start_ + number * stride_ : listed_[static_cast<size_t>(number)]; }
  // The number of a PE of the world, -1 if it is no member.
  int number_of(int pe) const {
    if (!listed_.empty()) {
      const auto found = std::find(listed_.begin(), listed_.end(), pe);
      return found == listed_.end() ? -1 : static_cast<int>(found - listed_.begin());
    }
    if (stride_ == 0) return pe == start_ ? 0 : -1;
    const int number = (pe - start_) / stride_;
    return number >= 0 && number < size_ && start_ + number * stride_ == pe ? number : -1;
  }
  // Those with the numbers start, start + stride ..
  Members some(int start, int stride, int size) const {
    if (listed_.empty()) return {start_ + start * stride_, stride * stride_, size};
    std::vector<int> chosen;
    for (int i = 0; i < size; ++i) chosen.push_back((*this)[start + i * stride]);
    return Members(std::move(chosen));
  }

 private:
  int start_ = 0, stride_ = 0, size_;
  std::vector<int> listed_;
};

}  // namespace portunus::shmem
