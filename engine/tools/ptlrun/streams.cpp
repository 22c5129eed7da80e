// Output and input that pass through ptlrun.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/streams.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/tools/ptlrun/options.hpp"

namespace portunus::launch {
namespace {

constexpr size_t kQueueLimit = 1 << 20;  // above it the ranks wait for whoever reads our output
constexpr size_t kLineLimit = 16 << 20;  // a longer line is cut in pieces: memory must end somewhere

void pipe_or_refuse(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Refusal(1, std::string("no pipe can be made (") + std::strerror(errno) +
                         "); start fewer ranks, or raise the limit of open files (ulimit -n)");
}

// poll's answer for a descriptor and an event; 0 when it was not asked.
short answer(const std::vector<pollfd>& list, int fd, short events) {
  for (const pollfd& entry : list)
    if (entry.fd == fd && (entry.events & events) != 0) return entry.revents;
  return 0;
}

}  // namespace

TaggedOutput::~TaggedOutput() {
  for (const Stream& stream : streams_) close(stream.fd);
}

int TaggedOutput::open_stream(std::string tag, int target) {
  int ends[2];
  pipe_or_refuse(ends);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  streams_.push_back({ends[0], target, std::move(tag), ""});
  return ends[1];
}

void TaggedOutput::watch(std::vector<pollfd>& list) const {
  if (!queue_.empty()) list.push_back({queue_.front().target, POLLOUT, 0});
  if (queued_bytes_ >= kQueueLimit) return;
  for (const Stream& stream : streams_) list.push_back({stream.fd, POLLIN, 0});
}

void TaggedOutput::service(const std::vector<pollfd>& list) {
  if (!queue_.empty() && answer(list, queue_.front().target, POLLOUT) != 0) write_some();
  for (size_t i = streams_.size(); i-- > 0;)
    if (answer(list, streams_[i].fd, POLLIN) != 0 && !take(streams_[i])) {
      end_stream(streams_[i]);
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

// Reads once; false at the end of the stream.
bool TaggedOutput::take(Stream& stream) {
  char bytes[65536];
  const ssize_t got = read(stream.fd, bytes, sizeof bytes);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  const size_t searched = stream.line.size();
  stream.line.append(bytes, static_cast<size_t>(got));
  size_t from = 0;
  for (size_t end; (end = stream.line.find('\n', std::max(from, searched))) != std::string::npos; from = end + 1)
    add_line(stream.target, stream.tag, std::string_view(stream.line).substr(from, end - from));
  stream.line.erase(0, from);
  if (stream.line.size() > kLineLimit) {
    add_line(stream.target, stream.tag, stream.line);
    stream.line.clear();
  }
  return true;
}

void TaggedOutput::end_stream(Stream& stream) {
  if (!stream.line.empty()) add_line(stream.target, stream.tag, stream.line);
  close(stream.fd);
}

void TaggedOutput::add_line(int target, std::string_view tag, std::string_view line) {
  if (queue_.empty() || queue_.back().target != target || queue_.back().text.size() > PIPE_BUF) queue_.push_back({target, "", 0});
  queue_.back().text.append(tag).append(line).push_back('\n');
  queued_bytes_ += tag.size() + line.size() + 1;
}

// A pipe that poll() calls writable takes PIPE_BUF bytes without blocking, even where it is shared and not O_NONBLOCK.
void TaggedOutput::write_some() {
  Chunk& chunk = queue_.front();
  const size_t left = chunk.text.size() - chunk.written;
  const ssize_t put = write(chunk.target, chunk.text.data() + chunk.written, std::min<size_t>(left, PIPE_BUF));
  if (put < 0) {
    if (errno != EAGAIN && errno != EINTR) reader_left(chunk.target);
    return;
  }
  queued_bytes_ -= static_cast<size_t>(put);
  chunk.written += static_cast<size_t>(put);
  if (chunk.written == chunk.text.size()) queue_.pop_front();
}

// Nobody reads any more: the ranks learn it as they would from a pipe of their own.
void TaggedOutput::reader_left(int target) {
  std::erase_if(streams_, [target](const Stream& stream) {
    if (stream.target == target) close(stream.fd);
    return stream.target == target;
  });
  std::erase_if(queue_, [target](const Chunk& chunk) { return chunk.target == target; });
  queued_bytes_ = 0;
  for (const Chunk& chunk : queue_) queued_bytes_ += chunk.text.size() - chunk.written;
}

void TaggedOutput::close_streams() {
  for (Stream& stream : streams_) {
    pollfd ready{stream.fd, POLLIN, 0};
    while (poll(&ready, 1, 0) > 0 && take(stream)) {
    }
    end_stream(stream);
  }
  streams_.clear();
}

TerminalInput::~TerminalInput() {
  rank_started();
  close_pipe();
}

int TerminalInput::open_for_rank() {
  if (isatty(0) == 0) return 0;
  int ends[2];
  pipe_or_refuse(ends);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  rank_end_ = ends[0];
  our_end_ = ends[1];
  return rank_end_;
}

void TerminalInput::rank_started() {
  if (rank_end_ >= 0) close(rank_end_);
  rank_end_ = -1;
}

void TerminalInput::close_pipe() {
  if (our_end_ >= 0) close(our_end_);
  our_end_ = -1;
  pending_.clear();
}

void TerminalInput::watch(std::vector<pollfd>& list) const {
  if (our_end_ < 0) return;
  if (!pending_.empty()) list.push_back({our_end_, POLLOUT, 0});
  else if (tcgetpgrp(0) == getpgrp()) list.push_back({0, POLLIN, 0});  // in the background a read would stop ptlrun
}

void TerminalInput::service(const std::vector<pollfd>& list) {
  if (our_end_ < 0) return;
  if (pending_.empty()) {
    if (answer(list, 0, POLLIN) == 0 || tcgetpgrp(0) != getpgrp()) return;
    char bytes[4096];
    const ssize_t got = read(0, bytes, sizeof bytes);
    if (got <= 0) return errno == EINTR && got < 0 ? void() : close_pipe();
    pending_.assign(bytes, static_cast<size_t>(got));
  } else if (answer(list, our_end_, POLLOUT) == 0) {
    return;
  }
  const ssize_t put = write(our_end_, pending_.data(), pending_.size());
  if (put < 0) return errno == EAGAIN || errno == EINTR ? void() : close_pipe();
  pending_.erase(0, static_cast<size_t>(put));
}

}  // namespace portunus::launch
