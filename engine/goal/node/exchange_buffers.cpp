// Publishing and reading: see exchange_buffers.hpp.
//
// Thread: as exchange_buffers.hpp says.
#include "engine/goal/node/exchange_buffers.hpp"
#include "engine/host/copy_run.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace portunus::goal::node {

namespace {

// Readers follow a writer who has a core of his own at this distance.
constexpr size_t kStride = 16 * 1024;

}  // namespace

ExchangeBuffers::ExchangeBuffers(size_t rank, size_t size, const PeerMemory& others, Waiting& waiting)
    : rank_(rank),
      size_(size),
      room_(room(size)),
      others_(others),
      waiting_(waiting),
      data_ring_(
          ring(size),
          {[](const void* self, uint64_t number) { return static_cast<const ExchangeBuffers*>(self)->is_done_by_all(number); }, this}),
      pipes_(rank, size, data_ring_, waiting) {}

bool ExchangeBuffers::is_done_by_all(uint64_t number) const {
  if (done_by_all_ >= number) return true;
  for (size_t i = 0; i < size_; ++i)
    if (i != rank_ && head(i).done.load(std::memory_order_acquire) < number) return false;
  return true;
}

// The last contribution may still be read: it lies in the other small buffer, or in the ring.
bool ExchangeBuffers::take_place(size_t bytes, uint64_t& at) {
  if (number_ > 2 && !await_done_with(number_ - 2)) return false;
  if (bytes <= kSmallBuffer) {
    at = sizeof(Head) + number_ % 2 * kSmallBuffer;
    return true;
  }
  if (!await_ready([&] { return data_ring_.has_room(bytes); })) return false;
  at = kBeforeRing + data_ring_.take(bytes, nullptr, number_);
  return true;
}

template <class Ready>
bool ExchangeBuffers::await_ready(Ready&& ready) {
  if (ready()) return true;
  if (!std::exchange(told_, true)) waiting_.ring();
  return waiting_.until(ready);
}

bool ExchangeBuffers::await_done_with(uint64_t number) {
  assert(number <= number_);
  if (done_by_all_ >= number) return true;
  size_t next = 0;
  const bool done = await_ready([&] {
    while (next < size_ && (next == rank_ || head(next).done.load(std::memory_order_acquire) >= number)) ++next;
    return next == size_;
  });
  if (done) done_by_all_ = number;
  return done;
}

bool ExchangeBuffers::await_done() { return await_done_with(number_); }

bool ExchangeBuffers::announce(const Announcement& mine) {
  published_ = 0;
  uint64_t at = 0;
  if (!take_place(mine.bytes, at)) return false;
  told(rank_) = {mine, at};
  return true;
}

bool ExchangeBuffers::offer(const Announcement& mine, const void* data) {
  if (number_ > 2 && !await_done_with(number_ - 2)) return false;
  told(rank_) = {mine, PeerMemory::in_process(data)};
  head(rank_).head.store(position(mine.bytes), std::memory_order_release);
  told_ = false;
  return true;
}

void ExchangeBuffers::publish(const void* data, size_t bytes) {
  assert(!is_in_place(rank_) && published_ + bytes <= announcement(rank_).bytes);
  std::byte* to = const_cast<std::byte*>(this->data(rank_)) + published_;
  const size_t stride = waiting_.crowded() ? room_ : kStride;
  size_t copied = 0;
  do {
    const size_t now = std::min(stride, bytes - copied);
    if (now > 0) copy_run(to + copied, static_cast<const std::byte*>(data) + copied, now);
    copied += now;
    head(rank_).head.store(position(published_ + copied), std::memory_order_release);
  } while (copied < bytes);
  published_ += bytes;
  told_ = false;
}

bool ExchangeBuffers::await_announced(size_t rank) {
  return await_ready([&] { return has(rank, 0); });
}

bool ExchangeBuffers::await_announced_by_all() {
  size_t next = 0;
  const bool all = await_ready([&] {
    while (next < size_ && (next == rank_ || has(next, 0))) ++next;
    return next == size_;
  });
  if (all) done_by_all_ = std::max(done_by_all_, number_ - 1);  // before they published for this one
  return all;
}

bool ExchangeBuffers::await(size_t rank, size_t bytes) {
  return await_ready([&] { return has(rank, bytes); });
}

void ExchangeBuffers::end() {
  assert(head(rank_).done.load(std::memory_order_relaxed) < number_);
  head(rank_).done.store(number_, std::memory_order_release);
  waiting_.ring();
  told_ = true;
}

}  // namespace portunus::goal::node
