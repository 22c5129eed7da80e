// engine.cpp: the duty cycle, and who is reachable how.
#include "engine/engine.hpp"

#include <algorithm>
#include <new>

namespace portunus {
namespace {

constexpr int kCommandsPerStep = 16;
constexpr int kArrivalsPerPoll = 16;
constexpr int kReadyPerStep = 64;
constexpr int kHeldPerStep = 32;
constexpr uint32_t kCostlyInterval = 32;  // busy steps between two looks at a transport whose poll is costly

}  // namespace

Engine::Engine(Objects& objects, uint32_t uid, Stats* stats) : objects_(objects), uid_(uid), stats_(stats ? *stats : own_stats_) {
  for (uint32_t i = 0; i < kInterfaces; ++i) interfaces_[i].index = i;
  scratch_.resize(64 * 1024);
  spare_headers_.reserve(kSpareHeaders);
  while (spare_headers_.size() < kFirstHeaders) spare_headers_.push_back(std::make_unique<KeptHeader>());
}

Engine::~Engine() {
  for (uint32_t i = 0; i < kInterfaces; ++i)
    if (interfaces_[i].open.load(std::memory_order_relaxed)) close_interface(i);
}

void Engine::add_transport(std::unique_ptr<Transport> transport, bool costly_to_poll) {
  if (transport->can().bundling) bundler_ = transport.get();
  carriers_.push_back({std::move(transport), costly_to_poll, 0});
}

int Engine::step(uint64_t now_ns) {
  if (bundler_) ++bundler_->state.bundling;
  if (!new_delays_.empty()) begin_delays(now_ns);
  local_budget_ = kLocalBytesPerStep;
  int work = 0;
  if (commands_.maybe_filled()) work += run_commands();
  for (Carrier& carrier : carriers_) {
    if (!carrier.transport->state.may_deliver) continue;
    if (carrier.costly && work > 0 && ++carrier.passed_over % kCostlyInterval != 0) continue;
    work += carrier.transport->poll(kArrivalsPerPoll);
  }
  if (ready_) work += run_ready();
  if (!works_.empty()) work += run_works();
  if (!transfers_.empty()) work += run_transfers();
  if (!fills_.empty()) work += run_fills();
  if (!stalled_.empty()) work += run_stalled();
  if (!delays_.empty()) work += run_delays(now_ns);
  if (now_ns >= look_due_ns_) housekeeping(now_ns);
  if (bundler_) {
    --bundler_->state.bundling;
    flush();
  }
  if (work) ++stats_.steps;
  return work;
}

int Engine::run_commands() {
  Command command;
  int done = 0;
  while (done < kCommandsPerStep && commands_.pop(command)) {
    execute(command);
    ++done;
  }
  return done;
}

void Engine::settle_now() {
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds && (ready_ || carriers_.front().transport->state.may_deliver); ++round) {
    carriers_.front().transport->poll(kArrivalsPerPoll);
    if (ready_) run_ready();
  }
  if (!transfers_.empty()) run_transfers();
}

void Engine::housekeeping(uint64_t now_ns) {
  look_due_ns_ = now_ns + look_interval_ns_;
  for (Carrier& carrier : carriers_) carrier.transport->housekeeping(waiting());
}

int64_t Engine::patience_ns() {
  bool looks = waiting();
  for (Carrier& carrier : carriers_) looks = looks || carrier.transport->needs_housekeeping();
  int64_t patience = looks ? static_cast<int64_t>(look_interval_ns_) : -1;
  for (Carrier& carrier : carriers_) {
    if (!carrier.transport->state.holding) continue;
    const int64_t due = carrier.transport->can().holding->due_in_ns();
    patience = patience < 0 ? due : std::min(patience, due);
  }
  return patience;
}

bool Engine::idle() {
  if (commands_.maybe_filled() || ready_ || !works_.empty()) return false;
  if ((!fills_.empty() || !transfers_.empty()) && staging_ready()) return false;
  for (Carrier& carrier : carriers_)
    if (!carrier.transport->idle()) return false;
  return true;
}

void Engine::execute(Command& command) {
  switch (command.verb) {
    case Verb::put:
    case Verb::get:
    case Verb::atomic:
    case Verb::fetch_atomic:
    case Verb::swap: {
      const unsigned lazy = bundler_ && (command.source.options & PTLX_MD_LAZY) ? 1 : 0;
      if (lazy) ++bundler_->state.bundling;
      start_message(command);
      if (lazy) --bundler_->state.bundling;
      break;
    }
    case Verb::counter_add:
      if (Counter* counter = objects_.counters.find(command.handle))
        add_to_counter(*counter, command.extra.count.success, command.extra.count.failure);
      break;
    case Verb::counter_set:
      if (Counter* counter = objects_.counters.find(command.handle)) {
        counter->set(command.extra.count);
        posted = true;
        ripen(*counter);
      }
      break;
    case Verb::append:
      append(command.handle, command.match_bits);
      break;
    case Verb::unlink:
      unlink(command.handle);
      break;
    case Verb::local:
      run_local(command);
      break;
    case Verb::arm:
      arm(command);
      break;
    case Verb::none:
      break;
  }
}

int Engine::run_ready() {
  int done = 0;
  for (; ready_ && done < kReadyPerStep; ++done) run_first_ready();
  return done;
}

void Engine::run_first_ready() {
  Trigger* trigger = ready_;
  ready_ = trigger->next;
  if (!ready_) ready_tail_ = nullptr;
  ++stats_.triggers;
  execute(trigger->command);
  if (trigger->stride) {
    run_again(*trigger);
    return;
  }
  interfaces_[trigger->command.ni].triggers.give_held();
  objects_.triggers.give_back_held(objects_.triggers.index_of(*trigger));
}

int Engine::run_delays(uint64_t now_ns) {
  auto later = [](const Delay& a, const Delay& b) { return a.due_ns > b.due_ns; };
  int done = 0;
  while (!delays_.empty() && delays_.front().due_ns <= now_ns) {
    uint32_t ct = delays_.front().ct;
    std::pop_heap(delays_.begin(), delays_.end(), later);
    delays_.pop_back();
    count(ct, 1, 0);
    ++done;
  }
  return done;
}

// Messages that a transport refused go out in the order they came, as far as the transport takes them.
int Engine::run_stalled() {
  int sent = 0;
  for (size_t i = 0; i < stalled_.size();) {
    Peer& peer = *stalled_[i];
    auto& held = *peer.held;
    for (int burst = 0; !held.empty() && burst < kHeldPerStep; ++burst) {
      HeldMessage& first = held.front();
      if (peer.failed) {
        if (first.command) undeliverable(*first.command);
      } else {
        Sent result;
        if (first.command) {
          result = transmit(peer, *first.command);
        } else {
          iovec part{first.payload.data(), first.payload.size()};
          result = peer.transport->send(*peer.link, first.header, {&part, first.payload.empty() ? 0u : 1u});
        }
        if (result == Sent::again) break;
        if (result == Sent::failed) {
          fail_peer(peer);
          if (first.command) undeliverable(*first.command);
        }
      }
      held.pop_front();
      ++sent;
    }
    if (held.empty()) {
      peer.stalled = false;
      stalled_[i] = stalled_.back();
      stalled_.pop_back();
    } else {
      ++i;
    }
  }
  return sent;
}

// Whether what is held back needs steps although nobody rings: a transport with a descriptor wakes who sleeps when it takes more.
bool Engine::stalled_go_on() const {
  return std::any_of(stalled_.begin(), stalled_.end(), [](const Peer* peer) { return peer->failed || peer->transport->wait_fd() < 0; });
}

Peer* Engine::peer(ProcessId process) {
  auto [found, fresh] = peers_.try_emplace(packed(process));
  if (fresh) {
    found->second = std::make_unique<Peer>();
    found->second->id = process;
  }
  Peer& peer = *found->second;
  if (!peer.link && !peer.failed) {
    for (Carrier& carrier : carriers_) {
      if (Link* link = carrier.transport->connect(process)) {
        peer.link = link;
        peer.transport = carrier.transport.get();
        link->peer = &peer;
        break;
      }
    }
    if (!peer.link) peer.failed = true;
  }
  return &peer;
}

// The address of a lost process may be another's by now; only who asks its transport finds out before that one speaks.
bool Engine::revive(Peer& peer) {
  if (peer.held && !peer.held->empty()) return false;  // what was meant for the lost one has yet to fail
  for (Carrier& carrier : carriers_) {
    Link* link = carrier.transport->connect(peer.id);
    if (!link) continue;
    if (link == peer.link) return false;
    peer.link = link;
    peer.transport = carrier.transport.get();
    link->peer = &peer;
    peer.failed = false;
    return true;
  }
  return false;
}

Peer* Engine::target(uint32_t ni, ptl_process_t id) {
  Interface& interface = interfaces_[ni];
  if (!interface.logical()) return peer({id.phys.nid, id.phys.pid});
  if (id.rank >= interface.peer_of_rank.size()) return nullptr;
  Peer*& known = interface.peer_of_rank[id.rank];
  if (!known) known = peer(interface.map[id.rank]);
  return known;
}

std::string Engine::transport_names() const {
  std::string names;
  for (const Carrier& carrier : carriers_) names += (names.empty() ? "" : ", ") + std::string(carrier.transport->name().text);
  return names;
}

std::vector<int> Engine::wait_fds() const {
  std::vector<int> fds;
  for (const Carrier& carrier : carriers_)
    if (int fd = carrier.transport->wait_fd(); fd >= 0) fds.push_back(fd);
  return fds;
}

int Engine::set_map(uint32_t ni, const ptl_process_t* mapping, size_t size) {
  Interface& interface = interfaces_[ni];
  if (!interface.logical()) return PTL_ARG_INVALID;
  if (interface.map_size.load(std::memory_order_relaxed) != 0) return PTL_IGNORED;
  bool present = false;
  for (size_t i = 0; i < size; ++i) present |= ProcessId{mapping[i].phys.nid, mapping[i].phys.pid} == self_;
  if (!present) return PTL_ARG_INVALID;
  try {
    interface.map.reserve(size);
    interface.rank_of.reserve(size);
    for (size_t i = 0; i < size; ++i) {
      interface.map.push_back({mapping[i].phys.nid, mapping[i].phys.pid});
      interface.rank_of.try_emplace(packed(interface.map.back()), static_cast<uint32_t>(i));
    }
    interface.peer_of_rank.assign(size, nullptr);
  } catch (const std::bad_alloc&) {
    interface.map.clear();
    interface.rank_of.clear();
    return PTL_NO_SPACE;
  }
  for (auto& [id, peer] : peers_) peer->rank[ni] = kRankUnknown;
  interface.map_size.store(static_cast<uint32_t>(size), std::memory_order_release);
  return PTL_OK;
}

void Engine::arrived(Link& from, const wire::Header& header, const std::byte* payload) {
  ++stats_.arrivals;
  switch (header.kind) {
    case wire::Kind::put:
    case wire::Kind::get:
    case wire::Kind::atomic:
    case wire::Kind::fetch_atomic:
    case wire::Kind::swap:
      request(from, header, payload);
      break;
    case wire::Kind::ack:
    case wire::Kind::reply:
      answered(from, header, payload);
      break;
    case wire::Kind::stream_request:
      stream_out(from, header);
      break;
    case wire::Kind::stream_data:
      stream_in(from, header, payload);
      break;
    case wire::Kind::restrain:
      restrained(from, header);
      break;
    case wire::Kind::withdraw:
      withdraw_kept(from, header);
      break;
    default:
      ++stats_.malformed;
  }
}

void Engine::introduced(Link& link, Transport& by) {
  Peer& known = *[&] {
    auto [found, fresh] = peers_.try_emplace(packed(link.process));
    if (fresh) {
      found->second = std::make_unique<Peer>();
      found->second->id = link.process;
    }
    return found->second.get();
  }();
  link.peer = &known;
  if (known.link && !known.failed) return;
  // A new process; maybe with the address of one that is gone, maybe gone itself already: then only its last words remain.
  known.link = &link;
  known.transport = &by;
  known.failed = by.connect(link.process) != &link;
}

void Engine::lost(Link& link) {
  // Another process may have the peer's address by now.
  if (link.peer && link.peer->link == &link) fail_peer(*link.peer);
}

// Everything that waits for this peer ends now: events say so, nobody hangs.
void Engine::fail_peer(Peer& peer) {
  if (peer.failed) return;
  peer.failed = true;
  posted = true;
  ++stats_.lost_peers;
  for (Operation& operation : operation_pool_)
    if (operation.peer == &peer) finish(operation, 0, 0, PTL_NI_UNDELIVERABLE, PTL_PRIORITY_LIST);
  drop_paused(peer, -1, true);
  for (const uint32_t ct : peer.watchers) count(ct, 0, 1);
  watches_ -= peer.watchers.size();
  peer.watchers.clear();
  for (size_t i = 0; i < transfers_.size(); ++i)
    if (transfers_[i]->delivery.peer == &peer) transfers_[i]->failed = true;
  if (peer.held && !peer.held->empty() && !peer.stalled) {
    peer.stalled = true;
    stalled_.push_back(&peer);
    restless_ = true;
  }
}

}  // namespace portunus
