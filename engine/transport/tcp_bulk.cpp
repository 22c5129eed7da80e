// tcp_bulk.cpp: pulls and pushes: memory opened to a peer, and data on its way.
//
// Thread: the holder of the baton.
#include "engine/transport/tcp.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace portunus {

using fabric::LinkState;
using tcp::Exposure;
using tcp::Frame;
using tcp::Landing;
using tcp::TcpLink;

namespace {

constexpr uint32_t kAlone = 16;  // puts sent without their data after one whose data was not wanted
constexpr uint32_t kBulky = 8;   // messages after one with data until no more such are expected

wire::Header frame_header(Frame frame, uint64_t token, uint64_t size) {
  wire::Header header{};
  header.ready = static_cast<uint32_t>(frame);
  header.token = token;
  header.rlength = size;
  return header;
}

// Of what comes next. `to` null: it goes nowhere.
void begin_landing(TcpLink& link, Landing as, std::byte* to, size_t size, uint64_t token, Exposure* exposure = nullptr) {
  link.landing = to;
  link.landing_left = size;
  link.landing_token = token;
  link.landing_as = as;
  link.landing_exposure = exposure;
  if (exposure) ++exposure->users;
}

}  // namespace

bool TcpTransport::expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) {
  if (size == 0) return false;
  uint64_t key;
  do key = keys_();
  while (exposures_.contains(key));
  auto* memory = static_cast<std::byte*>(const_cast<void*>(start));
  Exposure& exposure = exposures_.emplace(key, Exposure{memory, size, peer_writes, &link, key}).first->second;
  out.registration = &exposure;
  out.region = {0, key};  // peers count from the start
  return true;
}

// Whoever still reads the memory or writes to it does so no more.
void TcpTransport::withdraw(Exposed& exposed) {
  auto* exposure = static_cast<Exposure*>(std::exchange(exposed.registration, nullptr));
  if (exposure == nullptr) return;
  for (size_t i = 0; i < links_.size() && exposure->users > 0; ++i) {
    TcpLink& link = *links_[i];
    link.out.own(&exposure->users);
    if (link.landing_exposure != exposure) continue;
    link.landing = nullptr;
    link.landing_exposure = nullptr;
    link.landing_as = Landing::refused;
    --exposure->users;
  }
  exposures_.erase(exposure->key);
}

Moved TcpTransport::pull(Link& to, const wire::Region& from, void* into, size_t size, void* context) {
  auto& link = static_cast<TcpLink&>(to);
  if (link.state < LinkState::failed && size > 0) {
    if (fetch_early(link, from, static_cast<std::byte*>(into), size, context)) return Moved::started;
    if (fetch_kept(link, from, static_cast<std::byte*>(into), size)) return Moved::done;
  }
  return start(link, Frame::pull, from, {&link, static_cast<std::byte*>(into), size, context}, nullptr);
}

Moved TcpTransport::push(Link& to, const wire::Region& into, const void* from, size_t size, void* context) {
  auto& link = static_cast<TcpLink&>(to);
  return start(link, Frame::push, into, {&link, nullptr, size, context}, static_cast<const std::byte*>(from));
}

Moved TcpTransport::start(TcpLink& link, Frame frame, const wire::Region& remote, const Move& move, const std::byte* from) {
  if (link.state != LinkState::ready) return link.state == LinkState::failed ? Moved::failed : Moved::again;
  if (move.size == 0) return Moved::done;
  const uint64_t token = next_token_++;
  wire::Header header = frame_header(frame, token, move.size);
  header.match_bits = remote.key;
  header.remote_offset = remote.address;
  const iovec part{&header, sizeof header};
  link.out.copy({&part, 1});
  if (from != nullptr) link.out.refer(from, move.size, nullptr);
  if (frame == Frame::pull) ++link.pulls;
  moves_.emplace(token, move);
  mark(link);
  if (bundling == 0) flush();
  return Moved::started;
}

void TcpTransport::answer(TcpLink& link, Frame frame, uint64_t token, const std::byte* data, size_t size, Exposure* exposure) {
  if (link.state != LinkState::ready) return;
  const wire::Header header = frame_header(frame, token, size);
  const iovec part{const_cast<wire::Header*>(&header), sizeof header};
  link.out.copy({&part, 1});
  if (data != nullptr) link.out.refer(data, size, &exposure->users);
  mark(link);
}

// The memory that a put's Region names, if its data is to be sent with it.
Exposure* TcpTransport::data_of(TcpLink& link, const wire::Header& header, std::span<const iovec> payload) {
  wire::Region region;
  if (header.kind != wire::Kind::put || (header.flags & wire::kNoRegion) || payload.size() != 1 || payload.front().iov_len != sizeof region)
    return nullptr;
  std::memcpy(&region, payload.front().iov_base, sizeof region);
  const auto found = exposures_.find(region.key);
  if (found == exposures_.end()) return nullptr;
  Exposure& exposure = found->second;
  if (exposure.to != &link || exposure.peer_writes || region.address != 0 || exposure.size != header.rlength || exposure.size > kEarlyMost) return nullptr;
  if (link.alone == 0) return &exposure;
  --link.alone;
  return nullptr;
}

// False: it cannot be.
bool TcpTransport::announces_data(TcpLink& link, const wire::Header& header, const std::byte* payload) {
  wire::Region region;
  if (header.kind != wire::Kind::put || header.payload_size != sizeof region || header.rlength == 0 || header.rlength > kEarlyMost) return false;
  std::memcpy(&region, payload, sizeof region);
  link.early_key = region.key;
  link.early_size = header.rlength;
  link.early_token = 0;
  link.bulky = kBulky;
  return true;
}

// The engine has had its step: the data that comes next has a place, or none.
void TcpTransport::take_early(TcpLink& link) {
  const auto found = moves_.find(link.early_token);
  const size_t size = std::exchange(link.early_size, 0);
  if (found != moves_.end()) {
    begin_landing(link, Landing::pulled, found->second.to, size, link.early_token);
    return;
  }
  auto* bytes = new (std::nothrow) std::byte[size];
  link.keeping = {&link, link.early_key, size, std::unique_ptr<std::byte[]>(bytes)};
  begin_landing(link, bytes ? Landing::kept : Landing::unwanted, bytes, size, 0);
}

// A pull of what a put has brought, if it is the next to come, or on its way: the rest goes there at once.
bool TcpTransport::fetch_early(TcpLink& link, const wire::Region& from, std::byte* into, size_t size, void* context) {
  const bool comes = link.landing_left > 0 && link.landing_as == Landing::kept;
  const bool next = link.early_size == size && link.early_token == 0 && link.early_key == from.key;
  if (from.address != 0 || !(next || (comes && link.keeping.size == size && link.keeping.key == from.key))) return false;
  const uint64_t token = next_token_++;
  moves_.emplace(token, Move{&link, into, size, context});
  ++link.pulls;
  if (next) {
    link.early_token = token;
    return true;
  }
  const size_t there = size - link.landing_left;
  std::memcpy(into, link.keeping.bytes.get(), there);
  link.keeping = {};
  begin_landing(link, Landing::pulled, into + there, size - there, token);
  return true;
}

bool TcpTransport::fetch_kept(const TcpLink& link, const wire::Region& from, std::byte* into, size_t size) {
  const auto found = std::ranges::find_if(kept_, [&](const tcp::Kept& one) { return one.from == &link && one.key == from.key; });
  if (found == kept_.end() || from.address > found->size || size > found->size - from.address) return false;
  std::memcpy(into, found->bytes.get() + from.address, size);
  if (from.address + size < found->size) return true;
  kept_bytes_ -= found->size;
  kept_.erase(found);
  return true;
}

void TcpTransport::keep(tcp::Kept kept) {
  kept_bytes_ += kept.size;
  kept_.push_back(std::move(kept));
  for (; kept_bytes_ > kKeptMost; kept_.pop_front()) {
    kept_bytes_ -= kept_.front().size;
    // Its memory there may still be open: the peer is told, and sends its next puts alone.
    auto& from = static_cast<TcpLink&>(*kept_.front().from);
    answer(from, Frame::unwanted, 0, nullptr, 0, nullptr);
  }
}

// What a peer names, if it may.
Exposure* TcpTransport::opened(const TcpLink& link, const wire::Header& header, bool writes) {
  const auto found = exposures_.find(header.match_bits);
  if (found == exposures_.end()) return nullptr;
  Exposure& exposure = found->second;
  if (exposure.to != &link || exposure.peer_writes != writes || header.remote_offset > exposure.size) return nullptr;
  return header.rlength <= exposure.size - header.remote_offset ? &exposure : nullptr;
}

// False: it makes no sense.
bool TcpTransport::bulk_frame(TcpLink& link, const wire::Header& header) {
  if (header.ready > static_cast<uint32_t>(Frame::last_frame)) return false;
  const auto frame = static_cast<Frame>(header.ready);
  if (frame == Frame::pull) {
    Exposure* exposure = opened(link, header, false);
    if (exposure != nullptr) answer(link, Frame::data, header.token, exposure->start + header.remote_offset, header.rlength, exposure);
    else answer(link, Frame::refused, header.token, nullptr, 0, nullptr);
    return header.rlength > 0;
  }
  if (frame == Frame::push) {
    if (header.rlength == 0) return false;
    Exposure* exposure = opened(link, header, true);
    if (exposure) begin_landing(link, Landing::pushed, exposure->start + header.remote_offset, header.rlength, header.token, exposure);
    else begin_landing(link, Landing::refused, nullptr, header.rlength, header.token);
    return true;
  }
  if (frame == Frame::unwanted) {
    link.alone = kAlone;
    return true;
  }
  const auto found = moves_.find(header.token);
  if (found == moves_.end() || found->second.link != &link) return false;
  const Move& move = found->second;
  if (frame == Frame::data) {
    if (move.to == nullptr || header.rlength != move.size) return false;
    begin_landing(link, Landing::pulled, move.to, move.size, header.token);
    return true;
  }
  if (frame == Frame::landed && move.to != nullptr) return false;
  end_move(header.token, frame == Frame::landed);
  return true;
}

// So many bytes have come.
void TcpTransport::land(TcpLink& link, size_t size) {
  if (link.landing) link.landing += size;
  link.landing_left -= size;
  if (link.landing_left == 0) landed(link);
}

void TcpTransport::landed(TcpLink& link) {
  link.landing = nullptr;
  if (Exposure* exposure = std::exchange(link.landing_exposure, nullptr)) --exposure->users;
  switch (link.landing_as) {
    case Landing::pulled: return end_move(link.landing_token, true);
    case Landing::kept: return keep(std::exchange(link.keeping, {}));
    case Landing::pushed: return answer(link, Frame::landed, link.landing_token, nullptr, 0, nullptr);
    case Landing::refused: return answer(link, Frame::refused, link.landing_token, nullptr, 0, nullptr);
    case Landing::unwanted: return answer(link, Frame::unwanted, 0, nullptr, 0, nullptr);
  }
}

void TcpTransport::end_move(uint64_t token, bool ok) {
  const auto found = moves_.find(token);
  const Move move = found->second;
  moves_.erase(found);
  if (move.to != nullptr) --move.link->pulls;
  sink_.moved(move.context, ok);
}

}  // namespace portunus
