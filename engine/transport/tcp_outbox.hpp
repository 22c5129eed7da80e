// tcp_outbox.hpp: what a connection is still to send: copies of messages, and memory that is read when its turn comes.
//
// Thread: the holder of the baton.
// Invariants: bytes leave in the order of the calls. An empty outbox holds no memory.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace portunus::tcp {

class Outbox {
 public:
  // Where emptied pieces go and new ones come from: one for all connections.
  class Piece;
  using Spares = std::list<Piece>;

  explicit Outbox(Spares& spares) : spares_(spares) {}

  bool empty() const { return pieces_.empty(); }
  size_t size() const { return size_; }  // of the copies, in bytes
  // Copies what lies behind the first `skip` bytes of these.
  void copy(std::span<const iovec> parts, size_t skip = 0);
  // `memory` is read later; `*users`, if it is given, is one higher until then.
  void refer(const std::byte* memory, size_t size, uint32_t* users);
  // Copies what is left of the memory of these users, which is about to go.
  void own(uint32_t* users);
  // Hands to the connection what it takes, a bounded number of bytes. 0, or errno: EAGAIN when there is something left.
  int write(int fd);
  void clear();

 private:
  std::list<Piece>::iterator drop(std::list<Piece>::iterator piece);

  Spares& spares_;
  std::list<Piece> pieces_;
  size_t size_ = 0;
};

class Outbox::Piece {
 public:
  const std::byte* rest() const { return (memory ? memory : bytes.data()) + sent; }
  size_t left() const { return (memory ? size : bytes.size()) - sent; }

  std::vector<std::byte> bytes;
  const std::byte* memory = nullptr;  // instead of `bytes`
  size_t size = 0, sent = 0;
  uint32_t* users = nullptr;
};

}  // namespace portunus::tcp
