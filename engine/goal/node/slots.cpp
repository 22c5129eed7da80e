// Beginning a collective: see slots.hpp.
//
// Thread: as slots.hpp says.
#include "engine/goal/node/slots.hpp"

#include <cstring>

namespace portunus::goal::node {

bool Slots::begin(const void* data, size_t bytes, uint64_t what) {
  ++number_;
  if (data != nullptr) {
    if (number_ > kSlots && begun_by_all_ <= number_ - kSlots) {
      const uint64_t behind = number_ - kSlots + 1;
      if (!await_each([&](size_t i) { return place(i).begun.load(std::memory_order_acquire) >= behind; })) return false;
      begun_by_all_ = behind;
    }
    Slot& mine = slot(rank_);
    mine.what = what;
    if (bytes > 0) std::memcpy(mine.data, data, bytes);
    mine.number.store(number_, std::memory_order_release);
  }
  place(rank_).begun.store(number_, std::memory_order_release);
  return true;
}

bool Slots::await_begun_by_all() {
  if (!await_each([&](size_t i) { return place(i).begun.load(std::memory_order_acquire) >= number_; })) return false;
  begun_by_all_ = number_;
  return true;
}

}  // namespace portunus::goal::node
