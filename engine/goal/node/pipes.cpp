// Giving and taking: see pipes.hpp.
//
// Thread: as pipes.hpp says.
#include "engine/goal/node/pipes.hpp"

#include <cassert>

#include "engine/goal/goal_call.h"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

void Pipes::reserve() {
  small_ring_.reserve();
  ends_.resize(size_);
  outgoing_.reserve(size_);
  incoming_.reserve(size_);
}

void Pipes::lie_at(std::byte* start) {
  assert(ends_.size() == size_ && !made_);
  made_ = true;
  const size_t bytes = pipe(size_);
  const auto own = [&](size_t of) { return start + of * bytes_each(size_); };
  const auto word = [&](size_t of, size_t i) { return reinterpret_cast<Word*>(own(of) + i * kLine); };
  // The words that `of` writes, of its pipe to `other` and of the one from there; and its pipe.
  const auto written = [&](size_t of, size_t other) { return word(of, other); };
  const auto read = [&](size_t of, size_t other) { return word(of, size_ + other); };
  const auto data = [&](size_t of, size_t other) { return own(of) + 2 * size_ * kLine + other * bytes; };
  for (size_t i = 0; i < size_; ++i) {
    ends_[i].out = {data(rank_, i), bytes, written(rank_, i), read(i, rank_)};
    ends_[i].in = {data(i, rank_), bytes, written(i, rank_), read(rank_, i)};
    ends_[i].small_ring = data(i, size_);
  }
}

void Pipes::lie_rings_at(std::byte* rings, size_t apart) {
  assert(made_ && outgoing_.empty() && incoming_.empty());
  for (size_t i = 0; i < size_; ++i) ends_[i].long_ring = rings + i * apart;
  has_long_ = true;
}

void Pipes::clear(std::byte* start, size_t size) {
  for (size_t rank = 0; rank < size; ++rank)
    for (size_t i = 0; i < 2 * size; ++i)
      reinterpret_cast<Word*>(start + rank * bytes_each(size) + i * kLine)->store(0, std::memory_order_relaxed);
}

bool Pipes::Pipe::has_room(size_t bytes) {
  if (size - (at - seen) >= bytes) return true;
  seen = read->load(std::memory_order_acquire);
  assert(seen <= at && at - seen <= size);
  return size - (at - seen) >= bytes;
}

size_t Pipes::Pipe::there() {
  if (seen == at) seen = written->load(std::memory_order_acquire);
  assert(seen >= at && seen - at <= size);
  return seen - at;
}

void Pipes::Pipe::put(const void* from, size_t bytes) {
  assert(bytes <= size - (at - seen));
  const size_t first = std::min(bytes, size - place());
  if (first > 0) copy_run(data + place(), from, first);
  if (bytes > first) copy_run(data, static_cast<const std::byte*>(from) + first, bytes - first);
  at += bytes;
}

void Pipes::Pipe::get(void* to, size_t bytes) {
  assert(bytes <= seen - at);
  const size_t first = std::min(bytes, size - place());
  if (to != nullptr && first > 0) copy_run(to, data + place(), first);
  if (to != nullptr && bytes > first) copy_run(static_cast<std::byte*>(to) + first, data, bytes - first);
  at += bytes;
}

bool Pipes::Pipe::release(bool now) {
  if (!now && at - told < size / 4) return false;
  read->store(told = at, std::memory_order_release);
  return true;
}

bool Pipes::may_push(const Outgoing& one) {
  if (is_short(one.bytes)) return one.ends->out.has_room(of_record(one.bytes));
  return one.ends->out.has_room(of_record(0)) && ring_of(one.bytes).has_room(piece(one.bytes, one.left));
}

bool Pipes::push(Outgoing& one) {
  if (!may_push(one)) return false;
  moved_ = news_ = true;
  Pipe& pipe = one.ends->out;
  Head head{number_, what_, one.bytes, 0, 0};
  const size_t behind = is_short(one.bytes) ? one.bytes : 0, now = piece(one.bytes, one.left - behind);
  const uint64_t end = pipe.at + of_record(behind);
  if (now > 0) {
    const size_t at = ring_of(one.bytes).take(now, pipe.read, end);
    copy_run(ring_at(ends_[rank_], one.bytes) + at, one.data, now);
    head.at = static_cast<uint32_t>(at);
    head.piece = static_cast<uint32_t>(now);
    one.data += now;
  }
  pipe.put(&head, sizeof head);
  pipe.put(one.data, behind);
  pipe.at = end;
  pipe.written->store(end, std::memory_order_release);
  one.left -= behind + now;
  return one.left == 0;
}

bool Pipes::pull(Incoming& one) {
  if (!may_pull(one)) return false;
  moved_ = true;
  Pipe& pipe = one.ends->in;
  assert(pipe.at % kLine == 0);
  const uint64_t begin = pipe.at;
  Head head;
  pipe.get(&head, sizeof head);
  if (head.number > number_) {  // that rank has left this call out
    pipe.at = begin;
    differs_ = true;
    return true;
  }
  // This rank was in another call, or expected nothing, where the number is an earlier one.
  const bool is_this = head.number == number_;
  differs_ |= !is_this;
  one.wrong |= is_this && (head.what != what_ || head.bytes != one.expected);
  const size_t behind = is_short(head.bytes) ? head.bytes : 0, ring = ring_of(head.bytes).bytes();
  // A piece that no rank of ours would give ends this part.
  const bool is_sound = behind == head.bytes ? head.piece == 0 : head.piece > 0 && head.piece <= ring && head.at <= ring - head.piece;
  one.wrong |= is_this && (!is_sound || head.piece > one.expected - std::min(one.taken, one.expected));
  std::byte* const to = is_this && !one.wrong ? one.to + one.taken : nullptr;
  pipe.get(to, behind);
  if (to != nullptr && head.piece > 0) copy_run(to, ring_at(*one.ends, head.bytes) + head.at, head.piece);
  pipe.at = begin + of_record(behind);
  news_ |= pipe.release(head.piece > 0);
  if (!is_this) return false;
  differs_ |= one.wrong;
  one.taken += behind + head.piece;
  return one.taken >= head.bytes || !is_sound;
}

void Pipes::give(size_t to, const std::byte* data, size_t bytes) {
  Outgoing one{&ends_[to], data, bytes, bytes};
  if (!push(one)) outgoing_.push_back(one);
}

int Pipes::end() {
  for (;;) {
    moved_ = false;
    std::erase_if(outgoing_, [this](Outgoing& one) { return push(one); });
    std::erase_if(incoming_, [this](Incoming& one) { return pull(one); });
    tell();
    if (outgoing_.empty() && incoming_.empty()) return differs_ ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS};
    auto may_go_on = [this] {
      return std::ranges::any_of(incoming_, [](const Incoming& one) { return may_pull(one); }) ||
             std::ranges::any_of(outgoing_, [this](const Outgoing& one) { return may_push(one); });
    };
    if (!moved_ && !waiting_.until(may_go_on)) return GOAL_ERR_FAILED;
  }
}

}  // namespace portunus::goal::node
