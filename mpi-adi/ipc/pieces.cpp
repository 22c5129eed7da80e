// pieces.cpp: see pieces.hpp; and the calls that copy pieces by themselves.
#include "mpi-adi/ipc/pieces.hpp"

#include <algorithm>
#include <cstdio>

#include "mpi-adi/ipc/explain.hpp"
#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {
namespace {

constexpr size_t kFewPieces = 8;  // each has its own place among the ranges that a thread remembers

size_t size_of(const peace_piece_t& piece) { return piece.bytes == 0 ? 0 : piece.bytes * piece.again + piece.bytes; }

// The ends of a piece, its gaps included. False: it is not within memory that addresses can name.
struct Reach {
  uintptr_t begin, end;
};
bool reach_of(const peace_piece_t& piece, Reach& reach) {
  const auto first = reinterpret_cast<uintptr_t>(piece.memory);
  ptrdiff_t distance = 0;
  if (piece.again > PTRDIFF_MAX || __builtin_mul_overflow(static_cast<ptrdiff_t>(piece.again), piece.stride, &distance)) return false;
  const uintptr_t last = first + static_cast<uintptr_t>(distance);
  if (distance < 0 ? last > first : last < first) return false;
  reach.begin = std::min(first, last);
  return !__builtin_add_overflow(std::max(first, last), piece.bytes, &reach.end);
}

bool is_one_run(const peace_piece_t& piece) {
  return piece.again == 0 || (piece.stride >= 0 && static_cast<size_t>(piece.stride) == piece.bytes);
}

// The size is the compiler's, or `bytes` where kSize is 0.
template <bool kToPacked, size_t kSize>
void copy_blocks(std::byte* there, ptrdiff_t stride, size_t count, std::byte* packed, size_t bytes) {
  const size_t size = kSize ? kSize : bytes;
  for (size_t i = 0; i < count; ++i, packed += size) {
    std::byte* const block = there + static_cast<ptrdiff_t>(i) * stride;
    if constexpr (kToPacked) std::memcpy(packed, block, size);
    else std::memcpy(block, packed, size);
  }
}

template <bool kToPacked>
void copy_whole_blocks(std::byte* there, ptrdiff_t stride, size_t count, std::byte* packed, size_t bytes) {
  switch (bytes) {
    case 1: return copy_blocks<kToPacked, 1>(there, stride, count, packed, bytes);
    case 2: return copy_blocks<kToPacked, 2>(there, stride, count, packed, bytes);
    case 4: return copy_blocks<kToPacked, 4>(there, stride, count, packed, bytes);
    case 8: return copy_blocks<kToPacked, 8>(there, stride, count, packed, bytes);
    case 16: return copy_blocks<kToPacked, 16>(there, stride, count, packed, bytes);
    default: return copy_blocks<kToPacked, 0>(there, stride, count, packed, bytes);
  }
}

// Bytes offset .. offset + size of a piece.
template <bool kToPacked>
void copy_piece(const peace_piece_t& piece, size_t offset, size_t size, std::byte* packed) {
  auto* const memory = static_cast<std::byte*>(piece.memory);
  if (is_one_run(piece)) return copy_blocks<kToPacked, 0>(memory + offset, 0, 1, packed, size);
  const auto block_at = [&](size_t block) { return memory + static_cast<ptrdiff_t>(block) * piece.stride; };
  size_t block = offset / piece.bytes;
  if (const size_t within = offset % piece.bytes; within > 0) {
    const size_t rest = std::min(size, piece.bytes - within);
    copy_blocks<kToPacked, 0>(block_at(block) + within, 0, 1, packed, rest);
    packed += rest;
    size -= rest;
    ++block;
  }
  const size_t whole = size / piece.bytes;
  if (whole > 0) copy_whole_blocks<kToPacked>(block_at(block), piece.stride, whole, packed, piece.bytes);
  if (const size_t rest = size % piece.bytes; rest > 0)
    copy_blocks<kToPacked, 0>(block_at(block + whole), 0, 1, packed + whole * piece.bytes, rest);
}

void copy_by_layout(const void* context, ptl_size_t offset, ptl_size_t bytes, void* packed, int to_packed) {
  const_cast<Pieces*>(static_cast<const Pieces*>(context))->copy(offset, bytes, packed, to_packed != 0);
}

}  // namespace

ptlx_layout_t* Pieces::layout() {
  layout_ = {copy_by_layout, this};
  return &layout_;
}

void Pieces::copy(size_t offset, size_t bytes, void* packed, bool to_packed) {
  if (offset < before_) at_ = before_ = 0;
  auto* other = static_cast<std::byte*>(packed);
  size_t skipped = offset - before_;
  while (bytes > 0 && at_ < count_) {
    const peace_piece_t& piece = list_[at_];
    const size_t size = size_of(piece);
    if (skipped >= size) {
      skipped -= size;
      before_ += size;
      ++at_;
      continue;
    }
    const size_t here = std::min(bytes, size - skipped);
    if (to_packed) copy_piece<true>(piece, skipped, here, other);
    else copy_piece<false>(piece, skipped, here, other);
    bytes -= here;
    other += here;
    skipped += here;
  }
}

int Pieces::measure(const char* argument) {
  for (size_t i = 0; i < count_; ++i) {
    const peace_piece_t& piece = list_[i];
    if (piece.bytes == 0) continue;
    size_t size;
    Reach reach;
    if (!piece.memory) return fail(PEACE_ARG, "piece %zu of %s is NULL with a length of %zu bytes", i, argument, piece.bytes);
    if (__builtin_mul_overflow(piece.bytes, piece.again, &size) || __builtin_add_overflow(size, piece.bytes, &size) ||
        size > PTL_SIZE_MAX / 2 || size > PTL_SIZE_MAX / 2 - bytes_)
      return fail(PEACE_ARG, "%s are more bytes than there can be, from piece %zu on", argument, i);
    if (!reach_of(piece, reach)) return fail(PEACE_ARG, "piece %zu of %s reaches beyond all memory", i, argument);
    is_run_ = bytes_ == 0 && is_one_run(piece);
    run_ = piece.memory;
    bytes_ += size;
    runs_ += piece.again + 1;
    lowest_ = std::min(lowest_, reach.begin);
    beyond_ = std::max(beyond_, reach.end);
  }
  return PEACE_OK;
}

int Pieces::check(const char* argument, Access access) const {
  const auto page = static_cast<ptrdiff_t>(page_bytes());
  if (count_ > kFewPieces && may_touch(reinterpret_cast<void*>(lowest_), beyond_ - lowest_, access)) return PEACE_OK;
  for (size_t i = 0; i < count_; ++i) {
    const peace_piece_t& piece = list_[i];
    Reach reach;
    if (piece.bytes == 0 || !reach_of(piece, reach)) continue;
    if (may_touch(reinterpret_cast<void*>(reach.begin), reach.end - reach.begin, access)) continue;
    char name[64];
    std::snprintf(name, sizeof name, "piece %zu of %s", i, argument);
    // Gaps that hold a page may be no memory.
    const bool has_holes = piece.again > 0 && (piece.stride > page || piece.stride < -page);
    if (!has_holes) {
      if (const int code = check_memory(name, reinterpret_cast<void*>(reach.begin), reach.end - reach.begin, access); code != PEACE_OK)
        return code;
      continue;
    }
    for (size_t block = 0; block <= piece.again; ++block) {
      const auto* const memory = static_cast<const std::byte*>(piece.memory) + static_cast<ptrdiff_t>(block) * piece.stride;
      if (const int code = check_memory(name, memory, piece.bytes, access); code != PEACE_OK) return code;
    }
  }
  return PEACE_OK;
}

int Pieces::open(const char* argument, const peace_piece_t* list, size_t count, Access access) {
  if (count > PTL_SIZE_MAX / 2 / sizeof *list) return fail(PEACE_ARG, "%s are more pieces than memory can list: %zu", argument, count);
  if (const int code = check_memory(argument, list, count * sizeof *list, Access::read); code != PEACE_OK) return code;
  list_ = list;
  count_ = count;
  if (const int code = measure(argument); code != PEACE_OK) return code;
  return bytes_ == 0 ? static_cast<int>(PEACE_OK) : check(argument, access);
}

}  // namespace portunus::peace

using namespace portunus::peace;

namespace {

int copy_pieces(const peace_piece_t* list, size_t count, size_t offset, void* packed, size_t bytes, bool to_packed) {
  Pieces pieces;
  if (const int code = pieces.open("pieces", list, count, to_packed ? Access::read : Access::write); code != PEACE_OK) return code;
  if (const int code = check_memory("memory", packed, bytes, to_packed ? Access::write : Access::read); code != PEACE_OK) return code;
  if (!lies_within(offset, bytes, pieces.bytes()))
    return fail(PEACE_ARG, "bytes %zu to %zu + %zu reach beyond the %zu bytes of the pieces", offset, offset, bytes, pieces.bytes());
  pieces.copy(offset, bytes, packed, to_packed);
  return PEACE_OK;
}

}  // namespace

int peace_gather(const peace_piece_t* list, size_t count, size_t offset, void* memory, size_t bytes) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  return copy_pieces(list, count, offset, memory, bytes, true);
}
PEACE_BARRIER

int peace_scatter(const peace_piece_t* list, size_t count, size_t offset, const void* memory, size_t bytes) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  return copy_pieces(list, count, offset, const_cast<void*>(memory), bytes, false);
}
PEACE_BARRIER
