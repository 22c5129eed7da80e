// Messages over one stream socket, without blocking.
//
// Thread: ptlrun's main thread.
// Invariants: what is sent leaves whole and in order; a message with an impossible head makes the channel garbled for
// good.
#pragma once

#include <string>

#include "engine/tools/ptlrun/wire.hpp"

namespace portunus::launch {

class Channel {
 public:
  explicit Channel(int fd = -1) : fd_(fd) {}

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void shut();  // drops what is queued

  void send(const Message& message) { out_ += framed(message); }
  bool sending() const { return !out_.empty(); }

  // Both return false when the other side has gone.
  bool receive();
  bool push();

  // Takes the next message that has come whole.
  bool next(Message& message);
  bool garbled() const { return garbled_; }
  size_t unread() const { return in_.size(); }

 private:
  int fd_;
  std::string in_;
  std::string out_;
  size_t pushed_ = 0;  // bytes of out_ that have left
  bool garbled_ = false;
};

}  // namespace portunus::launch
