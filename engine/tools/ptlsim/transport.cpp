// transport.cpp: see transport.hpp.
#include "engine/tools/ptlsim/transport.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>

namespace portunus::ptlsim {

constexpr double kLook = 20;  // ns for a look at the network

ModelTransport::ModelTransport(Sink& sink, Network& network, RankClock& clock, uint32_t rank)
    : sink_(sink), net_(network), clock_(clock), rank_(rank), links_(network.ranks) {}

// One through which nothing ever comes: ranks sleep on the simulation's clock.
int ModelTransport::wait_fd() const {
  static const int fd = eventfd(0, EFD_CLOEXEC);
  return fd;
}

Link* ModelTransport::connect(ProcessId process) {
  const uint32_t peer = Network::rank_of(process);
  if (peer >= links_.size() || peer == rank_) return nullptr;
  if (!links_[peer]) {
    links_[peer] = std::make_unique<Link>();
    links_[peer]->process = process;
    links_[peer]->uid = 1000;
    if (lost_.erase(peer)) net_.announce_loss(clock_.time(), peer, rank_);
  }
  return links_[peer].get();
}

Sent ModelTransport::send(Link& link, const wire::Header& header, std::span<const iovec> payload) {
  const uint32_t peer = Network::rank_of(link.process);
  clock_.synchronize();
  if (lost_.contains(peer)) return Sent::failed;
  std::vector<std::byte> bytes;
  bytes.reserve(wire::payload_of(header));
  for (const iovec& part : payload) {
    const auto* const from = static_cast<const std::byte*>(part.iov_base);
    bytes.insert(bytes.end(), from, from + part.iov_len);
  }
  clock_.charge(overhead(bytes.size()));
  net_.send(clock_.time(), rank_, peer, header, std::move(bytes));
  return Sent::done;
}

bool ModelTransport::expose(Link&, const void* start, size_t size, bool, Exposed& out) {
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(start));
  out.region = {reinterpret_cast<uint64_t>(bytes), net_.open(bytes, size)};
  return true;
}

Moved ModelTransport::pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) {
  return start({Network::rank_of(link.process), from, static_cast<std::byte*>(to), size, context, false});
}

Moved ModelTransport::push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) {
  return start({Network::rank_of(link.process), to, static_cast<std::byte*>(const_cast<void*>(from)), size, context, true});
}

Moved ModelTransport::start(const Move& move) {
  clock_.synchronize();
  clock_.charge(overhead(move.outward ? move.size : 0));
  if (lost_.contains(move.peer)) return Moved::failed;
  moves_.emplace(++last_move_, move);
  ++net_.under_way;
  if (move.outward) net_.push(clock_.time(), rank_, move.peer, move.size, last_move_);
  else net_.pull(clock_.time(), rank_, move.peer, move.size, last_move_);
  return Moved::started;
}

// Ranks that are cut off, or dead, do not answer: the move fails when that is known.
int ModelTransport::end_moves() {
  int ended = 0;
  while (net_.has_landed(rank_, clock_.time())) {
    const auto found = moves_.find(net_.take_landed(rank_));
    if (found == moves_.end() || net_.is_dead(found->second.peer) || net_.is_cut(rank_, found->second.peer)) continue;
    const Move move = found->second;
    moves_.erase(found);
    --net_.under_way;
    std::byte* const remote = net_.opened(move.remote.key, move.remote.address, move.size);
    if (remote) std::memcpy(move.outward ? remote : move.local, move.outward ? move.local : remote, move.size);
    sink_.moved(move.context, remote != nullptr);
    ++ended;
  }
  return ended;
}

int ModelTransport::poll(int budget) {
  clock_.synchronize();
  int work = end_moves();
  for (; work < budget && net_.has_packet(rank_, clock_.time()); ++work) deliver();
  if (work == 0) clock_.charge(kLook);
  return work;
}

void ModelTransport::deliver() {
  const Packet packet = net_.take(rank_);
  if (packet.is_loss) return lose(packet.from);
  clock_.charge(overhead(packet.payload.size()));
  Link& link = *connect(Network::id(packet.from));
  if (!link.peer) sink_.introduced(link, *this);
  sink_.arrived(link, packet.header, packet.payload.data());
}

void ModelTransport::lose(uint32_t peer) {
  if (!lost_.insert(peer).second || !links_[peer]) return;
  sink_.lost(*links_[peer]);
  for (auto each = moves_.begin(); each != moves_.end();) {
    if (each->second.peer != peer) {
      ++each;
      continue;
    }
    void* const context = each->second.context;
    each = moves_.erase(each);
    --net_.under_way;
    sink_.moved(context, false);
  }
}

}  // namespace portunus::ptlsim
