// tcp.cpp: the data path: messages out and in.
//
// Thread: the holder of the baton.
#include "engine/transport/tcp.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "engine/transport/tcp_tags.hpp"

namespace portunus {

using fabric::LinkState;
using tcp::Frame;
using tcp::TcpLink;

namespace {

constexpr size_t kOutMost = 256 * 1024;  // more is not taken from the engine while the socket takes nothing
constexpr size_t kInput = 128 * 1024;    // holds any message
constexpr size_t kTogether = 4096;       // longer messages are not copied to wait for others
constexpr size_t kGlimpse = 1024;        // read where bulk data is expected, which is to be received where it belongs
constexpr int kReadsAtOnce = 8;
constexpr size_t kPieces = 16;
constexpr size_t kHeader = sizeof(wire::Header);

TcpLink& own(Link& link) { return static_cast<TcpLink&>(link); }

}  // namespace

// --- out ---

Sent TcpTransport::send(Link& to, const wire::Header& header, std::span<const iovec> payload) {
  TcpLink& link = own(to);
  if (link.state != LinkState::ready) return link.state == LinkState::failed ? Sent::failed : Sent::again;
  assert(header.payload_size <= kEager);
  if (link.out.size() >= kOutMost) return Sent::again;
  wire::Header head = header;
  head.ready = static_cast<uint32_t>(Frame::message);
  head.source = 0;
  if (tcp::Exposure* data = (header.flags & wire::kBulk) ? data_of(link, header, payload) : nullptr) {
    head.ready = static_cast<uint32_t>(Frame::message_with_data);
    const std::array<iovec, 2> parts{iovec{&head, kHeader}, payload.front()};
    link.out.copy(parts);
    link.out.refer(data->start, data->size, &data->users);
    mark(link);
    if (bundling == 0 && !link.blocked) write(link);
    return Sent::done;
  }
  std::array<iovec, kPieces + 1> parts;
  size_t count = 1;
  parts[0] = {&head, kHeader};
  std::vector<std::byte> gathered;
  if (header.payload_size <= wire::kInlinePayload) {
    std::byte* into = head.inline_payload;
    for (const iovec& piece : payload) into = std::copy_n(static_cast<const std::byte*>(piece.iov_base), piece.iov_len, into);
    return post(link, {parts.data(), 1}, kHeader);
  }
  if (payload.size() <= kPieces) {
    for (const iovec& piece : payload) parts[count++] = piece;
  } else {
    for (const iovec& piece : payload) {
      const auto* from = static_cast<const std::byte*>(piece.iov_base);
      gathered.insert(gathered.end(), from, from + piece.iov_len);
    }
    parts[count++] = {gathered.data(), gathered.size()};
  }
  return post(link, {parts.data(), count}, kHeader + header.payload_size);
}

// `parts` are copied if they do not leave at once.
Sent TcpTransport::post(TcpLink& link, std::span<const iovec> parts, size_t size) {
  if (!link.out.empty() || (bundling > 0 && size <= kTogether)) {
    link.out.copy(parts);
    if (!link.blocked) {
      mark(link);
      if (bundling == 0 || link.out.size() > kTogether) write(link);
    }
    return Sent::done;
  }
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  ssize_t n;
  do n = sendmsg(link.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) {
    condemn(link);
    return Sent::again;  // after Sink::lost: failed
  }
  const size_t sent = n < 0 ? 0 : static_cast<size_t>(n);
  if (sent < size) {
    link.out.copy(parts, sent);
    write(link);
  }
  return Sent::done;
}

void TcpTransport::mark(TcpLink& link) {
  keeps_back = true;
  if (link.dirty) return;
  link.dirty = true;
  dirty_.push_back(&link);
}

// What the socket does not take now, epoll will ask for.
void TcpTransport::write(TcpLink& link) {
  if (link.fd < 0 || link.connecting || link.state != LinkState::ready) return;
  const int error = link.out.write(link.fd);
  if (error != 0 && error != EAGAIN && error != EWOULDBLOCK && error != ENOBUFS) {
    condemn(link);
    return;
  }
  const bool blocked = error != 0;
  if (blocked != link.blocked) watch(link.fd, tcp::tag_of(tcp::Tag::link, link.slot), EPOLLIN | (blocked ? EPOLLOUT : 0u), false);
  link.blocked = blocked;
}

void TcpTransport::flush() {
  for (TcpLink* link : dirty_) {
    link->dirty = false;
    if (!link->blocked && !link->out.empty()) write(*link);
  }
  dirty_.clear();
  keeps_back = false;
}

// --- in ---

int TcpTransport::poll(int budget) {
  int done = 0;
  // By index, and from the end: delivering may call back into us, but adds nobody here.
  for (size_t i = backlog_.size(); i-- > 0 && done < budget;) {
    TcpLink& link = *backlog_[i];
    done += deliver(link, budget - done);
    if (link.backlog) continue;
    backlog_[i] = backlog_.back();
    backlog_.pop_back();
  }
  std::array<epoll_event, 16> events;
  const int n = done < budget ? epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0) : 0;
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    const uint32_t number = tcp::number_of(event.data.u64);
    switch (tcp::tag_in(event.data.u64)) {
      case tcp::Tag::guard: done += guard_.poll(*this); break;
      case tcp::Tag::door: done += accept_guests(); break;
      case tcp::Tag::guest: done += receive_guest(static_cast<int>(number)); break;
      case tcp::Tag::link: {
        TcpLink& link = *links_[number];
        if (link.connecting) {
          done += connected(link);
        } else {
          if (event.events & EPOLLOUT) {
            write(link);
            ++done;  // whoever was told `again` may try
          }
          if ((event.events & ~uint32_t{EPOLLOUT}) && !link.backlog && done < budget) done += read(link, budget - done);
        }
        break;
      }
    }
  }
  if (!condemned_.empty()) done += bury();
  if (bundling == 0 && keeps_back) flush();
  return done;
}

// At most `budget` frames. A connection with input left is in the backlog, and is not read before that is delivered.
int TcpTransport::read(TcpLink& link, int budget) {
  int done = 0;
  for (int i = 0; i < kReadsAtOnce && link.fd >= 0 && done < budget && !link.backlog; ++i) {
    size_t offered = 0;
    const ssize_t n = receive(link, offered);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) {
      hang_up(link);
      return done + 1;
    }
    done += deliver(link, budget - done);
    if (link.backlog) backlog_.push_back(&link);
    if (static_cast<size_t>(n) < offered) break;  // that was all
  }
  return done;
}

// Bulk data goes where it belongs, the rest to the input.
ssize_t TcpTransport::receive(TcpLink& link, size_t& offered) {
  tcp::Input& in = link.in;
  if (!in.bytes) {
    if (inputs_.empty()) inputs_.push_back(std::make_unique_for_overwrite<std::byte[]>(kInput));
    in.bytes = std::move(inputs_.back());
    inputs_.pop_back();
    in.begin = in.end = 0;
  }
  if (in.begin > 0 && (in.begin == in.end || kInput - in.end < kInput / 2)) {
    std::memmove(in.bytes.get(), in.bytes.get() + in.begin, in.end - in.begin);
    in.end -= in.begin;
    in.begin = 0;
  }
  std::array<iovec, 2> parts;
  size_t count = 0;
  const size_t direct = link.landing ? link.landing_left : 0;
  if (direct > 0) parts[count++] = {link.landing, direct};
  const bool dropped = link.landing_left > 0 && direct == 0;
  const bool glimpse = direct > 0 || (!dropped && in.begin == in.end && (link.pulls > 0 || link.bulky > 0));
  const size_t room = glimpse ? std::min(kGlimpse, kInput - in.end) : kInput - in.end;
  parts[count++] = {in.bytes.get() + in.end, room};
  offered = direct + room;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t n = count == 1 ? recv(link.fd, parts[0].iov_base, room, MSG_DONTWAIT) : recvmsg(link.fd, &message, MSG_DONTWAIT);
  if (n <= 0) return n;
  const size_t arrived = std::min(static_cast<size_t>(n), direct);
  in.end += static_cast<size_t>(n) - arrived;
  if (arrived > 0) land(link, arrived);
  return n;
}

// What of the input is whole. Afterwards `backlog` says whether the budget ended before it.
int TcpTransport::deliver(TcpLink& link, int budget) {
  tcp::Input& in = link.in;
  int done = 0;
  bool whole = true;
  while (in.bytes && whole) {
    const size_t there = in.end - in.begin;
    const std::byte* const at = in.bytes.get() + in.begin;
    if (link.landing_left > 0) {
      const size_t part = std::min(there, link.landing_left);
      if (part == 0) break;
      if (link.landing) std::memcpy(link.landing, at, part);
      in.begin += part;
      land(link, part);
      continue;
    }
    if (link.early_size > 0) {
      take_early(link);
      continue;
    }
    if (there < kHeader) break;
    if (done == budget) {
      link.backlog = true;
      return done;
    }
    wire::Header header;
    std::memcpy(&header, at, kHeader);
    const bool with_data = header.ready == static_cast<uint32_t>(Frame::message_with_data);
    if (header.ready != static_cast<uint32_t>(Frame::message) && !with_data) {
      in.begin += kHeader;
      ++done;
      if (bulk_frame(link, header)) continue;
      ++malformed_;
      hang_up(link);
      break;
    }
    const bool inside = header.payload_size <= wire::kInlinePayload;
    const size_t size = kHeader + (inside ? 0 : header.payload_size);
    if (header.kind == wire::Kind::none || header.kind > wire::Kind::last_kind || header.payload_size > kEager) {
      ++malformed_;
      hang_up(link);
      break;
    }
    whole = there >= size;
    if (!whole) break;
    if (with_data && !announces_data(link, header, at + kHeader)) {
      ++malformed_;
      hang_up(link);
      break;
    }
    if (!with_data && link.bulky > 0) --link.bulky;
    in.begin += size;
    ++done;
    header.ready = header.source = 0;
    if (!link.known) {
      link.known = true;
      sink_.introduced(link, *this);
    }
    sink_.arrived(link, header, inside ? header.inline_payload : at + kHeader);
    if (!with_data) continue;
    link.backlog = true;  // until the engine has had its step
    return done;
  }
  link.backlog = false;
  if (in.bytes && in.begin == in.end) inputs_.push_back(std::move(in.bytes));
  return done;
}

bool TcpTransport::idle() {
  if (keeps_back) flush();
  if (!backlog_.empty() || !condemned_.empty()) return false;
  epoll_event event;
  return epoll_wait(epoll_, &event, 1, 0) <= 0;
}

}  // namespace portunus
