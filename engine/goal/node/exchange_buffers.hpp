// Long contributions: every rank has buffers in shared memory, at least two, used in turn by one exchange after the other.
//
// In an exchange each rank may publish up to a room of bytes, which the others read while it goes on publishing: `head` says
// how far it has come. What is longer than a room is several exchanges; as there are two buffers, a rank fills one while
// others still read the other. `done` is the last exchange of which a rank has read all that it needed: a rank begins an
// exchange when all are done with the exchange before the last, so only what it published last may still be read.
//
// Data that fit a small buffer alternate between two of these, whose lines stay in the caches. What is longer lies in a ring of at least
// three buffers, and of more where few ranks share a node (data_ring.hpp). Pipes (pipes.hpp) use it, too.
//
//     head   | number of the exchange : 44 | bytes published : 20 |      one word, so that larger is later
//
// Thread: one at a time per group. All ranks make the same exchanges in the same order.
// Invariants: each word has one writer. `head` is stored with release after the data and the announcement, `done` after
// the last read; both are loaded with acquire. A rank that has published for exchange k was done with k - 1 before.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/goal/node/peer_memory.hpp"
#include "engine/goal/node/pipes.hpp"
#include "engine/goal/node/shared_memory.hpp"
#include "engine/goal/node/waiting.hpp"

namespace portunus::goal::node {

class ExchangeBuffers {
 public:
  ExchangeBuffers(size_t rank, size_t size, const PeerMemory& others, Waiting& waiting);
  // Before either of these: takes the memory that this rank itself needs.
  void reserve() {
    data_ring_.reserve();
    pipes_.reserve();
  }
  int make(Agreement& agreement, const GOAL_Group& group, bool may) {
    const int code = memory_.make(agreement, group, bytes_each(), may);
    if (memory_.made()) lie_at(memory_.part(0));
    return code;
  }
  // Instead: size * bytes_each() bytes of memory that all ranks map, zeroed, or cleared by one of them. The pipes lie in front, if they lie
  // nowhere else yet.
  void lie_at(std::byte* start) {
    if (!pipes_.made()) pipes_.lie_at(start);
    start += Pipes::bytes(size_);
    memory_.lie_at(start, without_pipes(size_));
    pipes_.lie_rings_at(start + kBeforeRing, without_pipes(size_));
  }
  // After lie_at().
  void clear() {
    for (size_t i = 0; i < size_; ++i) {
      head(i).head.store(0, std::memory_order_relaxed);
      head(i).done.store(0, std::memory_order_relaxed);
    }
  }
  [[nodiscard]] bool made() const { return memory_.made(); }
  [[nodiscard]] size_t bytes_each() const { return bytes_each(size_); }
  static size_t bytes_each(size_t size) { return without_pipes(size) + Pipes::bytes_each(size); }
  // They may be there before the buffers.
  [[nodiscard]] Pipes& pipes() { return pipes_; }
  // The most that a rank may publish in one exchange.
  [[nodiscard]] size_t room() const { return room_; }

  // The facts about a contribution that are told besides its data.
  struct Announcement {
    uint64_t what;   // which collective this is: everybody's
    uint64_t bytes;  // of this contribution
  };

  // The next exchange. Every rank calls it, and then announce() and publish() if it contributes, what it needs of the rest,
  // and end(). Those that answer bool say false when a rank will never come.
  void begin() { ++number_; }
  // Waits until this rank's room is free.
  bool announce(const Announcement& mine);
  // The next bytes of what was announced; at least once, be it nothing.
  void publish(const void* data, size_t bytes);
  // Instead of both: `bytes` at `data` are read from there, if all may_read_in_place(). They stay as they are until await_done().
  bool offer(const Announcement& mine, const void* data);
  [[nodiscard]] bool may_read_in_place() const { return others_.may_read(); }
  // After end(): waits until all others have ended this exchange, too.
  bool await_done();

  bool await_announced(size_t rank);
  bool await_announced_by_all();
  // At least so many bytes of it, after await_announced.
  bool await(size_t rank, size_t bytes);
  [[nodiscard]] const Announcement& announcement(size_t rank) const { return told(rank).announcement; }
  [[nodiscard]] const std::byte* data(size_t rank) const { return memory_.part(rank) + told(rank).at; }
  // Whether it was offered; then it has no data(). Bytes of it, from `from` on.
  [[nodiscard]] bool is_in_place(size_t rank) const { return PeerMemory::lies_in_process(told(rank).at); }
  PeerMemory::Read read_in_place(size_t rank, size_t from, size_t bytes, std::byte* to) const {
    return others_.read(rank, told(rank).at, from, bytes, to);
  }
  void end();

 private:
  static constexpr unsigned kBits = 20;
  static constexpr size_t kLine = 64;
  static constexpr size_t kMostBuffer = 128 * 1024, kSmallBuffer = 16 * 1024, kAllBuffers = 1 << 20, kAllRings = 4 << 20;
  static_assert(kMostBuffer < size_t{1} << kBits);

  struct Told {
    Announcement announcement;
    uint64_t at;  // where the contribution lies in the rank's part, or PeerMemory::in_process()
  };
  struct alignas(kLine) Head {
    alignas(kLine) std::atomic<uint64_t> head;
    alignas(kLine) std::atomic<uint64_t> done;
    alignas(kLine) std::array<Told, 2> told;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  static constexpr size_t kBeforeRing = sizeof(Head) + 2 * kSmallBuffer;

  [[nodiscard]] Head& head(size_t rank) const { return *reinterpret_cast<Head*>(memory_.part(rank)); }
  [[nodiscard]] Told& told(size_t rank) const { return head(rank).told[number_ % 2]; }
  // Waits until this rank's memory is free for so many bytes, and says where.
  bool take_place(size_t bytes, uint64_t& at);
  [[nodiscard]] bool is_done_by_all(uint64_t number) const;
  static size_t room(size_t size) { return std::clamp(kAllBuffers / size / kLine * kLine, kSmallBuffer, kMostBuffer); }
  static size_t ring(size_t size) { return std::max(3 * room(size), kAllRings / size / kLine * kLine); }
  static size_t without_pipes(size_t size) { return kBeforeRing + ring(size); }
  [[nodiscard]] uint64_t position(size_t bytes) const { return number_ << kBits | bytes; }
  [[nodiscard]] bool has(size_t rank, size_t bytes) const { return head(rank).head.load(std::memory_order_acquire) >= position(bytes); }
  template <class Ready>
  bool await_ready(Ready&& ready);
  // Waits until all others are done with an exchange.
  bool await_done_with(uint64_t number);

  size_t rank_, size_, room_;
  const PeerMemory& others_;
  Waiting& waiting_;
  SharedMemory memory_;
  DataRing data_ring_;
  Pipes pipes_;
  uint64_t number_ = 0, done_by_all_ = 0;
  size_t published_ = 0;
  bool told_ = true;  // nobody sleeps for what was stored since
};

}  // namespace portunus::goal::node
