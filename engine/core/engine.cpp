// engine.cpp: the duty cycle, and who gets what.
#include "engine/core/engine.hpp"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace portunus {
namespace {

constexpr int kCommandsPerStep = 16;
constexpr int kReadyPerStep = 64;
constexpr int kSettleRounds = 16;

}  // namespace

void out_of_memory() {
  std::fputs("portals: there is no memory left for messages that are under way; this process ends\n", stderr);
  std::_Exit(EXIT_FAILURE);
}

Engine::Engine(Objects& objects, uint32_t uid, Stats* stats)
    : Core(objects, stats ? *stats : own_stats_, uid),
      triggers_(*this),
      reports_(*this, triggers_),
      awaited_(*this, reports_),
      local_(*this, reports_, awaited_),
      peers_(*this),
      flow_(*this, peers_),
      table_(*this, reports_),
      initiator_(*this, reports_, peers_, flow_),
      target_(*this, reports_, peers_, flow_, table_) {}

Engine::~Engine() {
  for (uint32_t i = 0; i < kInterfaces; ++i)
    if (interfaces[i].open.load(std::memory_order_relaxed)) close_interface(i);
}

int Engine::step(uint64_t now_ns) try {
  if (peers_.bundles()) peers_.begin_bundle();
  local_.begin_step();
  if (maybe_busy && local_.has_delays()) local_.begin_delays(now_ns);
  int work = 0;
  if (commands_.maybe_filled()) work += run_commands();
  work += peers_.poll(work);
  if (stepper_pending()) [[unlikely]]
    work += run_stepper(nullptr);
  if (maybe_busy) work += go_on(now_ns);
  if (now_ns >= look_due_ns_) {
    look_due_ns_ = now_ns + look_interval_ns_;
    peers_.do_housekeeping(waiting());
    if (peers_.any_lost()) end_lost_peers();  // who was found dead just now ends with this step, too
  }
  if (peers_.bundles()) {
    peers_.end_bundle();
    peers_.flush();
  }
  if (work) ++Core::stats.steps;
  return work;
} catch (const std::bad_alloc&) {
  out_of_memory();
}

// Steps the lists of all parts; each part sets maybe_busy when it puts something there.
int Engine::go_on(uint64_t now_ns) {
  int work = 0;
  if (triggers_.ready()) work += run_ready();
  if (local_.working()) work += local_.advance();
  if (target_.moving()) work += target_.advance();
  if (initiator_.pending().packing()) work += initiator_.pending().advance();
  if (peers_.any_stalled()) work += initiator_.send_held();
  if (local_.delaying()) work += local_.run_delays(now_ns);
  if (awaited_.any()) work += awaited_.look();
  if (peers_.any_lost()) end_lost_peers();
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

void Engine::settle_now() try {
  for (int round = 0; round < kSettleRounds && (triggers_.ready() || peers_.self_may_deliver()); ++round) {
    peers_.poll_self();
    if (triggers_.ready()) run_ready();
  }
  if (target_.moving()) target_.advance();
  if (peers_.any_lost()) end_lost_peers();
} catch (const std::bad_alloc&) {
  out_of_memory();
}

void Engine::execute(Command& command) {
  switch (command.verb) {
    case Verb::put:
    case Verb::get:
    case Verb::atomic:
    case Verb::fetch_atomic:
    case Verb::swap: {
      const bool lazy = (command.source.options & PTLX_MD_LAZY) && peers_.bundles();
      if (lazy) peers_.begin_bundle();
      initiator_.start(command);
      if (lazy) peers_.end_bundle();
      break;
    }
    case Verb::counter_add:
      if (Counter* counter = objects.counters.find(command.handle))
        reports_.add(*counter, command.extra.count.success, command.extra.count.failure);
      break;
    case Verb::counter_set:
      if (Counter* counter = objects.counters.find(command.handle)) reports_.set(*counter, command.extra.count);
      break;
    case Verb::append: target_.append(command.handle, command.match_bits); break;
    case Verb::unlink: table_.unlink(command.handle); break;
    case Verb::local: local_.run(command); break;
    case Verb::arm: triggers_.arm(command); break;
    case Verb::none: break;
  }
}

void Engine::execute_queued(Command& command) try { execute(command); } catch (const std::bad_alloc&) {
  out_of_memory();
}

int Engine::run_ready() {
  int done = 0;
  for (; triggers_.ready() && done < kReadyPerStep; ++done) run_first_ready();
  return done;
}

void Engine::run_first_ready() {
  assert(!Core::scheduled);
  Trigger& trigger = triggers_.take_ready();
  Core::scheduled = true;
  execute(trigger.command);
  Core::scheduled = false;
  triggers_.has_run(trigger);
}

void Engine::arrived(Link& from, const wire::Header& header, const std::byte* payload) {
  ++Core::stats.arrivals;
  if (header.kind == wire::Kind::put) [[likely]]
    return target_.request(from, header, payload);
  switch (header.kind) {
    case wire::Kind::get:
    case wire::Kind::atomic:
    case wire::Kind::fetch_atomic:
    case wire::Kind::swap: target_.request(from, header, payload); break;
    case wire::Kind::ack:
    case wire::Kind::reply: initiator_.pending().answered(from, header, payload); break;
    case wire::Kind::stream_request: initiator_.pending().stream_out(*from.peer, header); break;
    case wire::Kind::stream_data:
      if (header.op == wire::kToOperation) initiator_.pending().stream_in(*from.peer, header, payload);
      else target_.stream_in(*from.peer, header, payload);
      break;
    case wire::Kind::throttle: throttled(*from.peer, header); break;
    case wire::Kind::withdraw: target_.withdraw(*from.peer, header); break;
    default: ++Core::stats.malformed;
  }
}

void Engine::throttled(Peer& by, const wire::Header& header) { initiator_.start(flow_.told(by, header)); }

void Engine::introduced(Link& link, Transport& by) {
  end_lost_peers();  // what waited for the former process at this address ends before there is another
  peers_.introduced(link, by);
}

void Engine::lost(Link& link) {
  // Another process may have the peer's address by now.
  if (link.peer && link.peer->link == &link) peers_.fail(*link.peer);
}

// Everything that waits for these peers ends now: events say so, nobody hangs.
void Engine::end_lost_peers() {
  while (Peer* peer = peers_.take_lost()) {
    initiator_.pending().peer_lost(*peer);
    initiator_.fail(flow_.drop(*peer, -1));
    for (const uint32_t ct : peers_.take_watchers(*peer)) reports_.count(ct, 0, 1);
    target_.peer_lost(*peer);
  }
}

bool Engine::waiting() const {
  return !initiator_.pending().empty() || target_.moving() || peers_.any_stalled() || peers_.any_watched() || flow_.any_paused();
}

int64_t Engine::max_idle_ns() {
  int64_t due = peers_.due_in_ns();
  if (awaited_.any()) {
    const int64_t look = awaited_.look_again_ns();
    due = due < 0 ? look : std::min(look, due);
  }
  if (!waiting() && !peers_.needs_housekeeping()) return due;
  const auto look = static_cast<int64_t>(look_interval_ns_);
  return due < 0 ? look : std::min(look, due);
}

bool Engine::idle() { return all_taken_up() && peers_.idle() && !(stepper_pending() && stepper_->ready(stepper_->arg)); }

// True: no work lies here that a step would take up. Arrivals are another question.
bool Engine::all_taken_up() {
  return !commands_.maybe_filled() && !triggers_.ready() && !local_.working() && !peers_.any_lost() && !initiator_.pending().has_room() &&
         !target_.bulk().staging_ready() && !awaited_.is_one_there();
}

// Whether go_on() has a list to look at.
bool Engine::anything_begun() const {
  return triggers_.ready() || local_.working() || has_delays() || target_.moving() || initiator_.pending().packing() ||
         peers_.any_stalled() || peers_.any_lost() || awaited_.any();
}

// Data in staging are announced by who fills or empties it; nothing else is.
bool Engine::goes_on_unrung() const {
  return target_.bulk().goes_on() || initiator_.pending().has_room() || target_.bulk().staging_ready() || peers_.stalled_go_on() ||
         has_delays() || triggers_.ready() || local_.working() || peers_.any_lost();
}

void Engine::cancel_triggers(Counter& counter, uint32_t handle) {
  const Trigger* last = triggers_.last_ready(handle);
  for (bool before = last != nullptr; before;) {
    before = !triggers_.is_first(last);
    run_first_ready();
  }
  triggers_.drop(counter, handle);
  awaited_.give_up(handle);
}

unsigned Engine::counts_on(uint32_t ct) const {
  const bool other = target_.bulk().will_count(ct) || triggers_.will_count(ct) || local_.will_count(ct);
  return (initiator_.will_count(ct) ? 1u : 0u) | (other ? 2u : 0u);
}

void Engine::guard(Counter& counter, uint32_t errors) {
  counter.success_only = true;
  counter.errors = errors;
}

int Engine::watch(uint32_t ct, Peer& peer) {
  if (peer.failed) reports_.count(ct, 0, 1);
  else peers_.watch(ct, peer);
  return PTL_OK;
}

int Engine::set_map(uint32_t ni, const ptl_process_t* mapping, size_t size) {
  Interface& interface = interfaces[ni];
  if (!interface.logical()) return PTL_ARG_INVALID;
  if (interface.map_size.load(std::memory_order_relaxed) != 0) return PTL_IGNORED;
  bool present = false;
  for (size_t i = 0; i < size; ++i) present |= ProcessId{mapping[i].phys.nid, mapping[i].phys.pid} == Core::self;
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
  peers_.forget_ranks(ni);
  interface.map_size.store(static_cast<uint32_t>(size), std::memory_order_release);
  return PTL_OK;
}

// An address may have been that of a process that has ended; who comes after it has another incarnation, and a rank of its own.
int Engine::extend_map(uint32_t ni, ProcessId process, uint32_t incarnation, ptl_rank_t& rank) {
  Interface& interface = interfaces[ni];
  const uint32_t size = interface.map_size.load(std::memory_order_relaxed);
  if (size == 0 || size + 1 >= kRankUnknown) return size == 0 ? PTL_ARG_INVALID : PTL_NO_SPACE;
  Peer* peer = peers_.find(process);
  const bool was_lost = peer->failed;
  if (was_lost && !peers_.revive(*peer)) return peer->lost || peer->holds_back() ? kNotYet : PTL_FAIL;
  const auto known = interface.rank_of.find(packed(process));
  if (known != interface.rank_of.end()) {
    const auto met = interface.incarnation_of.find(known->second);
    if (met == interface.incarnation_of.end() ? !was_lost : met->second == incarnation) {
      rank = known->second;
      return PTL_OK;
    }
  }
  try {
    interface.map.push_back(process);
    interface.peer_of_rank.push_back(nullptr);
    interface.incarnation_of[size] = incarnation;
    interface.rank_of[packed(process)] = size;
  } catch (const std::bad_alloc&) {
    interface.map.resize(size);
    interface.peer_of_rank.resize(size);
    return PTL_NO_SPACE;
  }
  assert(interface.map.size() == size + 1 && interface.peer_of_rank.size() == interface.map.size());
  peer->rank[ni] = size;
  interface.map_size.store(size + 1, std::memory_order_release);
  rank = size;
  return PTL_OK;
}

// Everything that belongs to the interface goes, whether or not the user freed it.
void Engine::close_interface(uint32_t ni) {
  local_.close(ni);
  awaited_.close(ni);
  initiator_.pending().close(ni);
  interfaces[ni].open.store(false, std::memory_order_release);
  for (uint32_t i = 0; i < objects.counters.used(); ++i) {
    const uint32_t handle = objects.counters.live_handle(i);
    Counter* counter = objects.counters.find(handle);
    if (!counter || counter->ni != ni) continue;
    triggers_.drop(*counter, handle);
    peers_.unwatch(handle);
    if (objects.counters.retire(handle)) objects.counters.give_back(i);
  }
  target_.close(ni);
  assert(interfaces[ni].unexpected_headers == 0);
  objects.close(ni);
  interfaces[ni].reset();
  peers_.for_each([&](Peer& peer) { Initiator::discard(flow_.drop(peer, static_cast<int>(ni))); });
  peers_.forget_ranks(ni);
  posted = true;  // who waits for an object of it finds that it is gone
}

}  // namespace portunus
