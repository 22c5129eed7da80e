// local_work.cpp: walking operands in pieces; the arithmetic is atomic_ops.cpp's.
#include "engine/core/triggered/local_work.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus {

void LocalWork::Cursor::open(void* base, uint64_t count, uint64_t bytes) {
  if (count == 0) {
    at = static_cast<std::byte*>(base);
    here = bytes;
    return;
  }
  next = static_cast<const ptl_iovec_t*>(base);
  pieces = count;
  advance(0);
}

// The sum of the pieces was checked when the operation was issued.
void LocalWork::Cursor::advance(uint64_t bytes) {
  while (bytes >= here && pieces > 0) {
    bytes -= here;
    at = static_cast<std::byte*>(next->iov_base);
    here = next->iov_len;
    ++next;
    --pieces;
  }
  if (bytes > 0) at += bytes;
  here -= std::min(bytes, here);
}

void LocalWork::Cursor::gather(std::byte* to, uint64_t bytes) const {
  for (Cursor from = *this; bytes > 0;) {
    const uint64_t n = std::min(bytes, from.here);
    copy_run(to, from.at, n);
    from.advance(n);
    to += n;
    bytes -= n;
  }
}

void LocalWork::Cursor::scatter(const std::byte* from, uint64_t bytes) const {
  for (Cursor to = *this; bytes > 0;) {
    const uint64_t n = std::min(bytes, to.here);
    copy_run(to.at, from, n);
    to.advance(n);
    from += n;
    bytes -= n;
  }
}

LocalWork::LocalWork(const Command& command)
    : left_(command.length),
      width_(static_cast<uint32_t>(local_size(command.datatype))),
      completion_(command.handle),
      op_(static_cast<ptlx_local_op_t>(command.op)),
      datatype_(command.datatype),
      ni_(command.ni) {
  const uint64_t bytes = left_ * width_;
  dst_.open(command.source.base, command.source.iov_count, bytes);
  a_.open(command.extra.operand_a.base, command.extra.operand_a.pieces, bytes);
  if (op_ == PTLX_COPY) b_ = a_;  // not read
  else b_.open(command.result.base, command.result.iov_count, bytes);
}

LocalWork::Outcome LocalWork::run(uint64_t& budget) {
  while (left_ > 0) {
    if (budget < width_) return Outcome::more;
    uint64_t n = std::min({left_, budget / width_, dst_.here / width_, a_.here / width_, b_.here / width_});
    if (n == 0) {  // an element that lies in two pieces
      if (!one_element()) return Outcome::failed;
      n = 1;
    } else if (!apply_local(op_, datatype_, dst_.at, a_.at, b_.at, n)) {
      return Outcome::failed;
    }
    const uint64_t bytes = n * width_;
    assert(n > 0 && n <= left_ && bytes <= budget);
    dst_.advance(bytes);
    a_.advance(bytes);
    b_.advance(bytes);
    left_ -= n;
    budget -= bytes;
  }
  return Outcome::done;
}

bool LocalWork::one_element() {
  alignas(16) std::byte to[32], x[32], y[32];
  a_.gather(x, width_);
  b_.gather(y, width_);
  if (!apply_local(op_, datatype_, to, x, y, 1)) return false;
  dst_.scatter(to, width_);
  return true;
}

}  // namespace portunus
