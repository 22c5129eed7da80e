// One exchange through the buffers, as the collectives see it: what this rank gives, and what it reads of the others.
//
// Thread: one at a time per group.
// Invariants: the buffers' end() is called once, whatever happened, unless a rank will never come. Who chooses calls finish().
#pragma once

#include <algorithm>
#include <cassert>
#include <cstring>

#include "engine/goal/node/collectives.hpp"
#include "engine/host/clock.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

class Collectives::Exchange {
 public:
  Exchange(Collectives& all, uint64_t what) : buffers_(all.buffers_), what_(what) { buffers_.begin(); }
  ~Exchange() {
    if (end_ != End::never && !finished_) buffers_.end();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // This rank contributes `bytes`; give() them, in pieces, once at least.
  bool announce(size_t bytes) {
    if (buffers_.announce({what_, bytes})) return true;
    end_ = End::never;
    return false;
  }
  void give(const std::byte* data, size_t bytes) { buffers_.publish(data, bytes); }
  // All at once.
  bool contribute(const std::byte* data, size_t bytes) {
    if (!announce(bytes)) return false;
    give(data, bytes);
    return true;
  }

  // Whether this rank should offer what it contributes, of which each of the others gets `bytes`, rather than give it.
  bool choose(Ways& ways, size_t bytes) {
    if (bytes < Ways::kLeast || !buffers_.may_read_in_place()) return false;
    ways_ = &ways;
    chosen_for_ = bytes;
    if (ways.is_try(bytes)) begun_ = now_ns();
    return ways.next(bytes);
  }
  // `bytes` are read by the others from where they lie, and stay as they are until finish(). `at` says where what read() calls 0 lies.
  bool offer(const std::byte* at, size_t bytes) {
    if (!buffers_.offer({what_, bytes}, at)) end_ = End::never;
    return offered_ = !never();
  }
  // Behind all reading.
  void finish() {
    if (never()) return;
    assert(!finished_);
    buffers_.end();
    finished_ = true;
    if (offered_ && !buffers_.await_done()) end_ = End::never;
    if (ways_) ways_->took(chosen_for_, begun_ > 0 ? now_ns() - begun_ : 0);
  }

  // Waits until `rank` says what it contributes. False: it never will, or something else than is expected.
  bool meet(size_t rank) {
    if (!buffers_.await_announced(rank)) end_ = End::never;
    else if (buffers_.announcement(rank).what != what_) note_mismatch();
    else return true;
    return false;
  }
  bool meet(size_t rank, size_t bytes) {
    if (!meet(rank)) return false;
    if (buffers_.announcement(rank).bytes == bytes) return true;
    note_mismatch();
    return false;
  }
  // The same, and until all of it is there.
  bool await(size_t rank, size_t bytes) {
    if (!meet(rank, bytes)) return false;
    if (buffers_.await(rank, bytes)) return true;
    end_ = End::never;
    return false;
  }
  // After meet(): a range of its contribution goes to `to` as it comes. Of one that was offered, what lies `in_place` bytes further.
  void read(size_t rank, Range range, std::byte* to, size_t in_place) {
    if (buffers_.is_in_place(rank)) read_in_place(rank, {in_place, range.bytes}, to);
    else read(rank, range, to);
  }
  void read(size_t rank, Range range, std::byte* to) {
    constexpr size_t kStride = 16 * 1024;
    for (size_t done = 0; done < range.bytes;) {
      const size_t now = std::min(kStride, range.bytes - done);
      if (!buffers_.await(rank, range.from + done + now)) {
        end_ = End::never;
        return;
      }
      copy_run(to + done, buffers_.data(rank) + range.from + done, now);
      done += now;
    }
  }
  [[nodiscard]] const std::byte* data(size_t rank) const { return buffers_.data(rank); }
  void note_mismatch() {
    if (end_ == End::well) end_ = End::mismatch;
  }
  [[nodiscard]] bool never() const { return end_ == End::never; }
  [[nodiscard]] bool well() const { return end_ == End::well; }
  // The result, which makes that of former exchanges no better.
  [[nodiscard]] End result(End before) const { return std::max(before, end_); }

 private:
  void read_in_place(size_t rank, Range range, std::byte* to) {
    switch (buffers_.read_in_place(rank, range.from, range.bytes, to)) {
      case PeerMemory::Read::all: return;
      case PeerMemory::Read::gone: end_ = End::never; return;
      case PeerMemory::Read::refused: note_mismatch();  // no memory of its process is there
    }
  }

  ExchangeBuffers& buffers_;
  uint64_t what_;
  Ways* ways_ = nullptr;
  size_t chosen_for_ = 0;
  uint64_t begun_ = 0;
  bool offered_ = false, finished_ = false;
  End end_ = End::well;
};

}  // namespace portunus::goal::node
