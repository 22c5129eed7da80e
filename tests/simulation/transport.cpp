// transport.cpp: see transport.hpp.
#include "tests/simulation/transport.hpp"

#include <cassert>
#include <cstring>
#include <utility>

namespace portunus::simulation {

Capabilities SimulatedTransport::capabilities(SimulatedTransport& self, const Weather& weather) {
  Capabilities can;
  if (weather.bundles) can.bundling = &self;
  if (weather.in_place) can.in_place = &self;
  if (weather.stages) can.staging = &self, can.notify = &self;
  return can;
}

SimulatedTransport::SimulatedTransport(Sink& sink, Network& network, Tap& tap, uint32_t rank)
    : Transport(capabilities(*this, network.weather)), sink_(sink), net_(network), tap_(tap), rank_(rank), links_(network.weather.ranks) {}

Link* SimulatedTransport::connect(ProcessId process) {
  const uint32_t peer = Network::rank_of(process);
  if (peer >= links_.size() || peer == rank_) return nullptr;
  if (!links_[peer]) {
    links_[peer] = std::make_unique<Link>();
    links_[peer]->process = process;
    links_[peer]->uid = 1000;
  }
  return links_[peer].get();
}

Sent SimulatedTransport::send(Link& link, const wire::Header& header, std::span<const iovec> payload) {
  const uint32_t peer = rank_of(link);
  if (from(peer).lost || net_.strikes(Mutant::send_failed, 400)) return Sent::failed;
  const bool whole = header.payload_size == wire::kWhole;
  if (whole && net_.one_in(3)) return Sent::again;  // no room for so much
  if (full(peer)) {
    if (net_.strikes(Mutant::refusal_taken, 4)) return Sent::done;
    to(peer).refused = true;
    return Sent::again;
  }
  Kept message{peer, header, {}};
  for (const iovec& part : payload) {
    const auto* bytes = static_cast<const std::byte*>(part.iov_base);
    message.payload.insert(message.payload.end(), bytes, bytes + part.iov_len);
  }
  if (message.payload.size() != wire::payload_of(header)) net_.violated("a message is not as long as its header says");
  if (message.payload.size() > (whole ? limits().whole : net_.weather.eager)) net_.violated("a message is longer than may be");
  const bool others = std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.to == peer; });
  if (others || (state.bundling && net_.one_in(2))) {
    kept_.push_back(std::move(message));
    state.keeps_back = true;
  } else {
    net_.put_on_the_way(rank_, peer, header, std::move(message.payload));
  }
  return Sent::done;
}

void SimulatedTransport::flush() {
  if (net_.strikes(Mutant::flush_forgotten, 20)) kept_.clear();
  for (Kept& kept : kept_) net_.put_on_the_way(rank_, kept.to, kept.header, std::move(kept.payload));
  kept_.clear();
  state.keeps_back = false;
}

std::byte* SimulatedTransport::begin(Link& link, const wire::Header& header) {
  const uint32_t peer = rank_of(link);
  if (from(peer).lost || full(peer) || !kept_.empty() || net_.one_in(3)) return nullptr;
  place_ = {peer, header, std::vector<std::byte>(header.payload_size)};
  return place_.payload.data();
}

void SimulatedTransport::commit(Link&) {
  if (net_.strikes(Mutant::commit_forgotten, 10)) return;
  net_.put_on_the_way(rank_, place_.to, place_.header, std::move(place_.payload));
}

bool SimulatedTransport::stage(Link& link, StagingFiller& filler, wire::Region& out) {
  if (from(rank_of(link)).lost || net_.one_in(16)) return false;
  const size_t number = net_.take_area(rank_);
  Network::Area& area = *net_.area(number, rank_);
  out = {number, filler.begin(area.shared, area.memory.get())};
  return true;
}

bool SimulatedTransport::open_stage(Link& link, const wire::Region& region, StagingTaker& taker) {
  Network::Area* const area = from(rank_of(link)).lost ? nullptr : net_.area(region.address, rank_of(link));
  if (!area) return false;
  taker.begin(area->shared, area->memory.get(), region.key + (net_.strikes(Mutant::area_mistaken, 20) ? 1 : 0));
  return true;
}

void SimulatedTransport::unstage(Link& link, StagingFiller& filler) {
  if (!net_.strikes(Mutant::area_kept, 10)) net_.give_area_back(filler.shared());
  if (filler.end()) notify(link);
}

// Wakes the other end; there is nothing for it to poll. Were it forgotten, that one would find out when it next keeps house.
void SimulatedTransport::notify(Link& link) {
  SimulatedTransport* const other = (*all_)[rank_of(link)];
  if (other) other->room_ = true;
}

bool SimulatedTransport::expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) {
  if (!net_.weather.pull || (net_.weather.refuses_memory && net_.one_in(4))) return false;
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(start));
  out.region = {reinterpret_cast<uint64_t>(bytes), net_.open({rank_, rank_of(link), bytes, size, peer_writes})};
  return true;
}

void SimulatedTransport::withdraw(Exposed& exposed) {
  if (!net_.strikes(Mutant::withdrawal_forgotten, 10)) net_.withdraw(exposed.region.key);
}

Moved SimulatedTransport::move(Move wanted) {
  if (from(wanted.peer).lost) return Moved::failed;
  if (net_.one_in(8)) return Moved::again;
  if (net_.weather.refuses_memory && net_.one_in(16)) return Moved::failed;
  if (wanted.size > net_.weather.pull) net_.violated("a remote access is longer than may be");
  wanted.due = net_.now + 2 * net_.latency();
  if (net_.strikes(Mutant::move_forgotten, 10)) return Moved::started;
  moves_.push_back(wanted);
  return Moved::started;
}

// The way there must be open at the end; whoever ended does not answer.
uint64_t SimulatedTransport::due_of(const Move& move) const {
  if (net_.dead(move.peer)) return kNever;
  const Network::Pair& way = from(move.peer);
  return move.due >= way.cut_from && move.due < way.cut_until ? way.cut_until : move.due;
}

int SimulatedTransport::end_moves() {
  int ended = 0;
  for (size_t i = 0; i < moves_.size();) {
    if (due_of(moves_[i]) > net_.now) {
      ++i;
      continue;
    }
    const Move move = moves_[i];
    moves_.erase(moves_.begin() + static_cast<ptrdiff_t>(i));
    bool ok = !(net_.weather.refuses_memory && net_.one_in(16));
    if (ok && !net_.strikes(Mutant::move_empty, 10)) ok = carry_out(move);
    sink_.moved(move.context, ok);
    ++ended;
  }
  return ended;
}

bool SimulatedTransport::carry_out(const Move& move) {
  const size_t size = net_.strikes(Mutant::move_short, 10) ? move.size / 2 : move.size;
  std::byte* const remote = net_.opened(move.remote.key, move.peer, rank_, move.remote.address, move.size, move.outward);
  if (remote) std::memcpy(move.outward ? remote : move.local, move.outward ? move.local : remote, size);
  // Its owner may have lost us, and taken it back, while we still think the way is there.
  else if (!to(move.peer).lost) net_.violated("memory is reached that is not open");
  return remote != nullptr;
}

bool SimulatedTransport::loss_is_due(uint32_t peer) const {
  const Network::Pair& way = from(peer);
  return !way.lost && way.loss_due <= net_.now;
}

uint64_t SimulatedTransport::next_due() const {
  uint64_t first = kNever;
  for (const Move& move : moves_) first = std::min(first, due_of(move));
  for (uint32_t peer = 0; peer < links_.size(); ++peer) {
    const Network::Pair& way = from(peer);
    if (way.lost) continue;
    if (!way.queue.empty()) {
      const uint64_t due = way.queue.front().due;
      first = std::min(first, net_.cut(way) ? way.cut_until : due);
    }
    if (net_.weather.tells_by_poll && links_[peer] && way.loss_due != kNever) first = std::min(first, way.loss_due);
  }
  return first;
}

int SimulatedTransport::poll(int budget) {
  if (tap_.polls) tap_.polls(rank_);
  int work = end_moves();
  const auto peers = static_cast<uint32_t>(links_.size());
  const uint32_t first = net_.draw(peers);
  for (uint32_t i = 0; i < peers && work < budget; ++i) {
    const uint32_t peer = (first + i) % peers;
    for (uint32_t most = 1 + net_.draw(4); most > 0 && work < budget; --most) {
      const int done = deliver(peer);
      if (!done) break;
      work += done;
    }
    if (net_.weather.tells_by_poll && links_[peer] && loss_is_due(peer)) work += lose(peer);
  }
  return work;
}

int SimulatedTransport::deliver(uint32_t peer) {
  Network::Pair& way = from(peer);
  if (way.lost || way.queue.empty() || way.queue.front().due > net_.now || net_.cut(way)) return 0;
  if (way.queue.size() > 1 && way.queue[1].due <= net_.now && net_.strikes(Mutant::message_overtaken, 20))
    std::swap(way.queue[0], way.queue[1]);
  const Packet packet = std::move(way.queue.front());
  way.queue.pop_front();
  if (std::exchange(way.refused, false) && (*all_)[peer] && !net_.strikes(Mutant::room_untold, 1)) (*all_)[peer]->room_ = true;
  if (net_.strikes(Mutant::message_lost, 50)) return 1;
  hand_over(peer, packet);
  if (net_.strikes(Mutant::message_repeated, 50)) hand_over(peer, packet);
  return 1;
}

void SimulatedTransport::hand_over(uint32_t peer, const Packet& packet) {
  wire::Header header = packet.header;
  std::vector<std::byte> payload = packet.payload;
  const bool answer = header.kind == wire::Kind::ack || header.kind == wire::Kind::reply;
  if (answer && net_.strikes(Mutant::answer_swallowed, 50)) return;
  if (answer && header.op == PTL_NI_PT_DISABLED && net_.strikes(Mutant::refusal_lost, 4)) header.op = PTL_NI_OK;
  if (!payload.empty() && !(header.flags & wire::kBulk) && net_.strikes(Mutant::message_changed, 20))
    payload[net_.draw(static_cast<uint32_t>(payload.size()))] ^= std::byte{1};
  if (payload.size() > 8 && net_.strikes(Mutant::message_short, 20))
    std::fill(payload.begin() + static_cast<ptrdiff_t>(payload.size() / 2), payload.end(), std::byte{0});
  if (links_.size() > 2 && net_.strikes(Mutant::message_misled, 20)) {
    do peer = net_.draw(static_cast<uint32_t>(links_.size()));
    while (peer == rank_ || peer == packet.from);
  }
  Link& link = *connect(Network::id(peer));
  if (!link.peer) sink_.introduced(link, *this);
  if (tap_.arrives) tap_.arrives(rank_, peer, header);
  sink_.arrived(link, header, payload.data());
}

// Its last words come first: all that had arrived.
int SimulatedTransport::lose(uint32_t peer) {
  assert(links_[peer]);  // a loss that the engine hears of before it knows the peer is told to nobody
  Network::Pair& way = from(peer);
  int work = 1;
  while (deliver(peer)) ++work;
  way.lost = true;
  way.queue.clear();
  if (!net_.dead(peer)) net_.end(rank_, peer, net_.now + 1 + net_.draw(static_cast<uint32_t>(net_.weather.timeout)));
  if (tap_.loses) tap_.loses(rank_, peer);
  sink_.lost(*connect(Network::id(peer)));
  for (size_t i = 0; i < moves_.size();) {
    if (moves_[i].peer != peer) {
      ++i;
      continue;
    }
    void* const context = moves_[i].context;
    moves_.erase(moves_.begin() + static_cast<ptrdiff_t>(i));
    sink_.moved(context, false);
  }
  return work;
}

void SimulatedTransport::housekeeping(bool waiting) {
  for (uint32_t peer = 0; peer < links_.size(); ++peer) {
    if (peer == rank_ || from(peer).lost || !links_[peer]) continue;
    if (net_.strikes(Mutant::loss_invented, 400)) net_.pair(peer, rank_).loss_due = net_.now;
    if (waiting && loss_is_due(peer)) lose(peer);
  }
}

}  // namespace portunus::simulation
