// Bytes to messages and back.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/channel.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace portunus::launch {

void Channel::shut() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  out_.clear();
  pushed_ = 0;
}

bool Channel::receive() {
  char bytes[65536];
  const ssize_t got = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got > 0) in_.append(bytes, static_cast<size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool Channel::push() {
  const ssize_t put = ::send(fd_, out_.data() + pushed_, out_.size() - pushed_, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (put > 0) pushed_ += static_cast<size_t>(put);
  if (pushed_ == out_.size()) {
    out_.clear();
    pushed_ = 0;
  }
  return put >= 0 || errno == EAGAIN || errno == EINTR;
}

bool Channel::next(Message& message) {
  if (garbled_ || in_.size() < kHeadBytes) return false;
  const size_t size = number_at(in_.data());
  const auto word = static_cast<uint8_t>(in_[4]);
  if (size > kMaxBody || word < static_cast<uint8_t>(kFirstWord) || word > static_cast<uint8_t>(kLastWord)) {
    garbled_ = true;
    return false;
  }
  if (in_.size() < kHeadBytes + size) return false;
  message.word = static_cast<Word>(word);
  message.from = static_cast<unsigned char>(in_[5]);
  message.to = static_cast<unsigned char>(in_[6]);
  message.body = in_.substr(kHeadBytes, size);
  in_.erase(0, kHeadBytes + size);
  return true;
}

}  // namespace portunus::launch
