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
    if (lost_.erase(peer)) {
      net_.announce_loss(clock_.time(), peer, rank_);
      clock_.expect(rank_, net_.next_due(rank_));
    }
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
  clock_.expect(peer, net_.next_due(peer));
  return Sent::done;
}

bool ModelTransport::expose(Link&, const void* start, size_t size, bool, Exposed& out) {
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(start));
  out.region = {reinterpret_cast<uint64_t>(bytes), net_.open(bytes, size)};
  return true;
}

// The wish travels first, then the data.
Moved ModelTransport::pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) {
  const uint32_t peer = Network::rank_of(link.process);
  clock_.synchronize();
  clock_.charge(overhead(0));
  const uint64_t due = net_.carry(net_.carry(clock_.time(), rank_, peer, 0), peer, rank_, size);
  return start({peer, from, static_cast<std::byte*>(to), size, context, due, false});
}

// The data travel first, then the answer.
Moved ModelTransport::push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) {
  const uint32_t peer = Network::rank_of(link.process);
  clock_.synchronize();
  clock_.charge(overhead(size));
  const uint64_t due = net_.carry(net_.carry(clock_.time(), rank_, peer, size), peer, rank_, 0);
  return start({peer, to, static_cast<std::byte*>(const_cast<void*>(from)), size, context, due, true});
}

Moved ModelTransport::start(const Move& move) {
  if (lost_.contains(move.peer)) return Moved::failed;
  moves_.push_back(move);
  ++net_.under_way;
  clock_.expect(rank_, move.due);
  return Moved::started;
}

uint64_t ModelTransport::next_due() const {
  uint64_t first = net_.next_due(rank_);
  for (const Move& move : moves_) first = std::min(first, move.due);
  return first;
}

// Ranks that are cut off, or dead, do not answer: the move fails when that is known.
int ModelTransport::end_moves() {
  int ended = 0;
  for (size_t i = 0; i < moves_.size();) {
    const Move move = moves_[i];
    if (move.due > clock_.time()) {
      ++i;
      continue;
    }
    if (net_.is_dead(move.peer) || net_.is_cut(rank_, move.peer)) {
      moves_[i++].due = kNever;
      continue;
    }
    moves_.erase(moves_.begin() + static_cast<ptrdiff_t>(i));
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
  int work = moves_.empty() ? 0 : end_moves();
  for (; work < budget && net_.next_due(rank_) <= clock_.time(); ++work) deliver();
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
  for (size_t i = 0; i < moves_.size();) {
    if (moves_[i].peer != peer) {
      ++i;
      continue;
    }
    void* const context = moves_[i].context;
    moves_.erase(moves_.begin() + static_cast<ptrdiff_t>(i));
    --net_.under_way;
    sink_.moved(context, false);
  }
}

}  // namespace portunus::ptlsim
