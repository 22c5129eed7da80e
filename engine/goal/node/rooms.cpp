// Publishing and reading: see rooms.hpp.
//
// **Thread:** as rooms.hpp says.
#include "engine/goal/node/rooms.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace portunus::goal::node {

namespace {

// Readers follow a writer who has a core of his own at this distance.
constexpr std::size_t kStride = 16 * 1024;

}  // namespace

Rooms::Rooms(std::size_t rank, std::size_t size, Waiting& waiting)
    : rank_(rank), size_(size), room_(std::clamp(kAllRooms / size / kLine * kLine, kLeastRoom, kMostRoom)), waiting_(waiting) {}

std::size_t Rooms::bytes_each() const { return sizeof(Head) + 2 * (table_bytes() + room_); }

std::uint64_t* Rooms::places(std::size_t rank) const {
  return reinterpret_cast<std::uint64_t*>(memory_.part(rank) + sizeof(Head) + number_ % 2 * table_bytes());
}

const std::byte* Rooms::data(std::size_t rank) const { return memory_.part(rank) + sizeof(Head) + 2 * table_bytes() + number_ % 2 * room_; }

template <class Ready>
bool Rooms::await_ready(Ready&& ready) {
  if (ready()) return true;
  if (!std::exchange(told_, true)) waiting_.ring();
  return waiting_.until(ready);
}

bool Rooms::announce(const Announcement& mine) {
  published_ = 0;
  if (number_ > 2 && done_by_all_ + 2 < number_) {
    std::size_t next = 0;
    const bool free = await_ready([&] {
      while (next < size_ && (next == rank_ || head(next).done.load(std::memory_order_acquire) + 2 >= number_)) ++next;
      return next == size_;
    });
    if (!free) return false;
    done_by_all_ = number_ - 2;
  }
  head(rank_).announcements[number_ % 2] = mine;
  return true;
}

void Rooms::publish(const void* data, std::size_t bytes) {
  std::byte* to = const_cast<std::byte*>(this->data(rank_)) + published_;
  const std::size_t stride = waiting_.crowded() ? room_ : kStride;
  std::size_t copied = 0;
  do {
    const std::size_t now = std::min(stride, bytes - copied);
    if (now > 0) std::memcpy(to + copied, static_cast<const std::byte*>(data) + copied, now);
    copied += now;
    head(rank_).head.store(position(published_ + copied), std::memory_order_release);
  } while (copied < bytes);
  published_ += bytes;
  told_ = false;
}

bool Rooms::await_announced(std::size_t rank) {
  return await_ready([&] { return has(rank, 0); });
}

bool Rooms::await_announced_by_all() {
  std::size_t next = 0;
  const bool all = await_ready([&] {
    while (next < size_ && (next == rank_ || has(next, 0))) ++next;
    return next == size_;
  });
  if (all) done_by_all_ = std::max(done_by_all_, number_ - 1);  // before they published for this one
  return all;
}

bool Rooms::await(std::size_t rank, std::size_t bytes) {
  return await_ready([&] { return has(rank, bytes); });
}

void Rooms::end() {
  head(rank_).done.store(number_, std::memory_order_release);
  waiting_.ring();
  told_ = true;
}

}  // namespace portunus::goal::node
