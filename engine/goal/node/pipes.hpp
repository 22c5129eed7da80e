// Pipes: every rank has one to each other rank, for collectives in which two ranks alone know how much the one gives the other.
//
// Nobody waits for a third: who gives leaves when its data are in the pipes, which hold several calls. Each part is a record, so that who
// takes it notices a length or a call that differs, be it in the next call in which the two meet. Short data follow the record's head in
// the pipe. Others lie in a ring of who gives them (data_ring.hpp): long ones piece by piece with a record each, and who takes them reads
// behind; those of up to kPiece bytes in a ring that is small enough to stay in the caches, and all where there is no other yet.
//
//     record | number of the call : 64 | what the call is : 64 | bytes : 64 | place of a piece : 32 | its bytes : 32 | short data |
//
// A record takes whole cache lines.
//
// Thread: one at a time per group. All ranks make the same calls in the same order.
// Invariants: each word and each pipe has one writer. `written` is stored with release after the data, `read` after the last look at them;
// both are loaded with acquire. Both count bytes from the beginning, so written - read is at most the pipe's size.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/goal/node/data_ring.hpp"
#include "engine/goal/node/waiting.hpp"

namespace portunus::goal::node {

class Pipes {
 public:
  // `ring`: of long data.
  Pipes(size_t rank, size_t size, DataRing& ring, Waiting& waiting)
      : rank_(rank), size_(size), small_ring_(kSmallRing, ring), long_ring_(ring), waiting_(waiting) {}
  // Bytes of each rank, a multiple of 64.
  static size_t bytes_each(size_t size) { return size * (2 * kLine + pipe(size)) + kSmallRing; }
  static size_t bytes(size_t size) { return size * bytes_each(size); }
  // Before lie_at(): takes the memory that this rank itself needs.
  void reserve();
  // bytes() bytes of memory that all ranks map; zeroed, or cleared by one of them.
  void lie_at(std::byte* start);
  [[nodiscard]] bool made() const { return made_; }
  // Between two calls, the same ones on all ranks: the rings of long data lie there, `apart` from each other.
  void lie_rings_at(std::byte* rings, size_t apart);
  // Zeroes the words of all ranks.
  static void clear(std::byte* start, size_t size);

  // One call: begin(), then give() and take() once at most for each other rank, and end(). Data stay where they are until then.
  void begin(uint64_t what) {
    ++number_;
    what_ = what;
    differs_ = false;
  }
  void give(size_t to, const std::byte* data, size_t bytes);
  void take(size_t from, std::byte* to, size_t bytes) { incoming_.push_back({&ends_[from], to, bytes}); }
  // GOAL_SUCCESS; GOAL_MISMATCH: another rank's call or length is another one, or was in an earlier call; GOAL_ERR_FAILED: a rank will
  // never come.
  int end();

 private:
  static constexpr size_t kLine = 64, kAll = size_t{1} << 20, kPiece = 16 * 1024, kSmallRing = 2 * kPiece;

  // One end's place in a pipe, which that end writes. Each lies in a line of its own.
  using Word = std::atomic<uint64_t>;
  static_assert(Word::is_always_lock_free);
  struct Head {
    uint64_t number, what, bytes;
    uint32_t at, piece;
  };

  // A pipe, as the end sees it that writes or that reads it.
  struct Pipe {
    std::byte* data = nullptr;
    size_t size = 0;  // a power of two
    Word *written = nullptr, *read = nullptr;
    uint64_t at = 0;    // of this end
    uint64_t seen = 0;  // of the other end, at least
    uint64_t told = 0;  // what `read` holds

    // Whether so many bytes may be written; how many may be read.
    bool has_room(size_t bytes);
    size_t there();
    void put(const void* from, size_t bytes);
    // Into nothing, where `to` is nullptr.
    void get(void* to, size_t bytes);
    // Tells who writes, `now` or if a quarter is free that it does not know of. Whether it did.
    bool release(bool now);

   private:
    [[nodiscard]] size_t place() const { return at & (size - 1); }
  };
  struct Ends {
    Pipe out, in;
    std::byte *small_ring = nullptr, *long_ring = nullptr;  // of the other rank
  };
  struct Outgoing {
    Ends* ends;
    const std::byte* data;
    size_t bytes, left;
  };
  struct Incoming {
    Ends* ends;
    std::byte* to;
    size_t expected;     // bytes
    size_t taken = 0;    // of its pieces
    bool wrong = false;  // they are left out
  };

  static size_t pipe(size_t size) { return std::clamp(std::bit_floor(kAll / size / size), size_t{512}, size_t{8192}); }
  [[nodiscard]] static size_t of_record(size_t bytes) { return (sizeof(Head) + bytes + kLine - 1) / kLine * kLine; }
  // Whether so many bytes lie behind their head.
  [[nodiscard]] bool is_short(size_t bytes) const { return bytes <= pipe(size_) / 4; }
  // The ring in which so many bytes lie that are not short, and its place in a rank's memory.
  [[nodiscard]] bool goes_long(size_t bytes) const { return bytes > kPiece && has_long_; }
  [[nodiscard]] DataRing& ring_of(size_t bytes) { return goes_long(bytes) ? long_ring_ : small_ring_; }
  [[nodiscard]] std::byte* ring_at(const Ends& ends, size_t bytes) const { return goes_long(bytes) ? ends.long_ring : ends.small_ring; }
  // The length of the next piece of so many bytes.
  [[nodiscard]] size_t piece(size_t bytes, size_t left) {
    return std::min({left, waiting_.crowded() ? 4 * kPiece : kPiece, ring_of(bytes).bytes() / 2});
  }
  // Whether the next step may be taken.
  [[nodiscard]] bool may_push(const Outgoing& one);
  [[nodiscard]] static bool may_pull(const Incoming& one) { return one.ends->in.there() > 0; }
  // One step, if it may be taken. True: nothing is left.
  bool push(Outgoing& one);
  bool pull(Incoming& one);
  // Wakes those who may sleep for what was stored.
  void tell() {
    if (std::exchange(news_, false)) waiting_.ring();
  }

  size_t rank_, size_;
  DataRing small_ring_;
  DataRing& long_ring_;
  Waiting& waiting_;
  uint64_t number_ = 0, what_ = 0;
  bool differs_ = false;
  bool made_ = false, has_long_ = false;
  bool moved_ = false;
  bool news_ = false;  // somebody may sleep for what was stored
  std::vector<Ends> ends_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
};

}  // namespace portunus::goal::node
