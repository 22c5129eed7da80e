// tcp_outbox.cpp: see tcp_outbox.hpp.
#include "engine/transport/tcp_outbox.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace portunus::tcp {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;      // copies are collected in one piece up to here
constexpr size_t kSpares = 16;
constexpr size_t kPartsAtOnce = 16;
constexpr size_t kBytesAtOnce = size_t{4} << 20;

}  // namespace

void Outbox::copy(std::span<const iovec> parts, size_t skip) {
  const bool fits = !pieces_.empty() && pieces_.back().memory == nullptr && pieces_.back().bytes.size() < kPieceBytes;
  if (!fits && !spares_.empty()) pieces_.splice(pieces_.end(), spares_, spares_.begin());
  else if (!fits) pieces_.emplace_back();
  std::vector<std::byte>& bytes = pieces_.back().bytes;
  for (const iovec& part : parts) {
    const size_t skipped = std::min(skip, part.iov_len);
    skip -= skipped;
    const auto* from = static_cast<const std::byte*>(part.iov_base);
    bytes.insert(bytes.end(), from + skipped, from + part.iov_len);
    size_ += part.iov_len - skipped;
  }
}

void Outbox::refer(const std::byte* memory, size_t size, uint32_t* users) {
  Piece& piece = pieces_.emplace_back();
  piece.memory = memory;
  piece.size = size;
  piece.users = users;
  if (users != nullptr) ++*users;
}

void Outbox::own(uint32_t* users) {
  for (Piece& piece : pieces_) {
    if (piece.users != users) continue;
    piece.bytes.assign(piece.rest(), piece.rest() + piece.left());
    piece.memory = nullptr;
    piece.sent = 0;
    size_ += piece.bytes.size();
    --*users;
    piece.users = nullptr;
  }
}

std::list<Outbox::Piece>::iterator Outbox::drop(std::list<Piece>::iterator piece) {
  const auto next = std::next(piece);
  if (piece->users != nullptr) --*piece->users;
  if (piece->memory != nullptr || spares_.size() >= kSpares) return pieces_.erase(piece);
  piece->bytes.clear();
  piece->sent = 0;
  spares_.splice(spares_.begin(), pieces_, piece);
  return next;
}

int Outbox::write(int fd) {
  for (size_t written = 0; !pieces_.empty() && written < kBytesAtOnce;) {
    std::array<iovec, kPartsAtOnce> parts;
    size_t count = 0, offered = 0;
    for (auto piece = pieces_.begin(); piece != pieces_.end() && count < kPartsAtOnce; ++piece, ++count) {
      parts[count] = {const_cast<std::byte*>(piece->rest()), piece->left()};
      offered += piece->left();
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    written += static_cast<size_t>(n);
    for (auto left = static_cast<size_t>(n); !pieces_.empty();) {
      Piece& first = pieces_.front();
      const size_t part = std::min(left, first.left());
      first.sent += part;
      if (first.memory == nullptr) size_ -= part;
      left -= part;
      if (first.left() > 0) break;
      drop(pieces_.begin());
    }
    if (static_cast<size_t>(n) < offered) return EAGAIN;
  }
  return pieces_.empty() ? 0 : EAGAIN;
}

void Outbox::clear() {
  while (!pieces_.empty()) drop(pieces_.begin());
  size_ = 0;
}

}  // namespace portunus::tcp
