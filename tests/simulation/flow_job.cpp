// flow_job.cpp: see flow_job.hpp.
#include "tests/simulation/flow_job.hpp"

#include <algorithm>
#include <climits>

#include "tests/simulation/ledger.hpp"

namespace portunus::simulation {
namespace {

constexpr uint16_t kPortal = 0;
constexpr uint64_t kAddBits = 1, kMessageBits = 2;
constexpr uint64_t kLongest = 8448;
constexpr uint32_t kMostReceives = 6;

}  // namespace

FlowJob::FlowJob(uint64_t seed, Mutant mutant)
    : world_(draw_weather(seed), seed, mutant), ranks_(world_.ranks()), gap_(draw(2) ? 2'000 : 100'000) {
  faults_left_ = draw(3) ? 0 : 1 + draw(2);
  for (uint32_t r = 0; r < world_.ranks(); ++r) set_up(r);
}

void FlowJob::set_up(uint32_t rank) {
  // Events of unexpected messages that appends bring need some room more; else there is one slot besides, for PT_DISABLED.
  constexpr uint64_t kRoomy[] = {4, 8, 16}, kTight[] = {3, 7, 15};
  Rank& mine = ranks_[rank];
  test::Node& node = world_.node(rank);
  mine.eq = node.queue(4096);
  mine.holds = draw(2);
  mine.flow_eq = node.queue((mine.holds ? kRoomy : kTight)[draw(3)]);
  mine.tells_ends = draw(2);
  mine.left = 5 + draw(40);
  node.portal(mine.flow_eq, PTL_PT_FLOWCTRL);
  mine.window = node.append(
      {.start = &mine.sum, .length = sizeof mine.sum, .options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, .match_bits = kAddBits},
      kPortal);
  if (!mine.holds) return;
  node.engine.interface(0).limits.max_unexpected_headers = 1 + static_cast<int>(draw(3));
  mine.hold = node.append(
      {.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE, .match_bits = kMessageBits, .list = PTL_OVERFLOW_LIST},
      kPortal);
}

void FlowJob::violated(const Message& message, const char* what) {
  world_.net.violated(std::string(what) + " (" + (message.adds ? "addition " : "message ") + std::to_string(message.id) + " of " +
                      std::to_string(message.data.size()) + " bytes from " + std::to_string(message.from) + " to " +
                      std::to_string(message.to) + ')');
}

void FlowJob::send(uint32_t rank) {
  --ranks_[rank].left;
  Message& message = messages_.emplace_back();
  message.id = messages_.size() - 1;
  message.from = rank;
  message.to = world_.other(rank);
  message.adds = one_in(4);
  const auto eager = static_cast<uint32_t>(world_.net.weather.eager);
  message.data.resize(message.adds ? 8 : one_in(3) ? draw(static_cast<uint32_t>(kLongest)) : draw(eager + 2));
  for (uint64_t i = 0; i < message.data.size(); ++i) message.data[i] = message.adds ? i == 0 : byte_of(message.id, i);
  try_it(message);
}

void FlowJob::try_it(Message& message) {
  message.waits = false;
  Try& attempt = tries_.emplace_back(Try{&message});
  Command command =
      world_.node(message.from).put(message.data.data(), message.data.size(), message.to, message.adds ? kAddBits : kMessageBits);
  if (message.adds) {
    command.verb = Verb::atomic;
    command.op = PTL_SUM;
    command.datatype = PTL_UINT64_T;
  }
  command.pt_index = kPortal;
  command.ack = PTL_ACK_REQ;
  command.hdr_data = tries_.size() - 1;
  command.user_ptr = &attempt;
  command.source.eq = ranks_[message.from].eq;
  command.source.options = PTL_MD_EVENT_SEND_DISABLE;
  world_.node(message.from).run(command);
}

void FlowJob::receive(uint32_t rank) {
  Rank& mine = ranks_[rank];
  Receive& fresh = mine.receives.emplace_back();
  fresh.memory.assign(kLongest, uint8_t{0xaa});
  fresh.handle =
      world_.node(rank).append({.start = fresh.memory.data(),
                                .length = fresh.memory.size(),
                                .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED | PTL_ME_EVENT_LINK_DISABLE |
                                           (mine.tells_ends ? 0u : unsigned{PTL_ME_EVENT_UNLINK_DISABLE}),
                                .match_bits = kMessageBits,
                                .user_ptr = &fresh},
                               kPortal);
}

uint64_t FlowJob::act(uint32_t rank) {
  ++acts_;
  Rank& mine = ranks_[rank];
  if (faults_left_ && one_in(60)) {
    --faults_left_;
    stopped_in_all_ += world_.strike(rank);
    if (!world_.alive(rank)) return kNever;
  }
  const uint64_t before = happened_;
  const auto open =
      static_cast<uint32_t>(std::count_if(mine.receives.begin(), mine.receives.end(), [](const Receive& r) { return !r.done; }));
  switch (draw(8)) {
    case 0:
    case 1:
    case 2:
      if (mine.left) send(rank), ++happened_;
      break;
    case 3:
    case 4:
      if (mine.waiting.empty()) break;
      std::swap(mine.waiting[draw(static_cast<uint32_t>(mine.waiting.size()))], mine.waiting.back());
      try_it(*mine.waiting.back());
      mine.waiting.pop_back();
      break;
    case 5: read(rank, 1 + draw(4)); break;
    case 6:
      read(rank, UINT_MAX);
      if (mine.closed) open_again(rank);
      break;
    // An event that an append brings itself is not subject to flow control: there must be room.
    default:
      if (open < kMostReceives && (!mine.holds || has_room(rank))) receive(rank);
  }
  world_.node(rank).engine.settle();
  world_.wake(rank);
  stepped(rank);
  if (over(rank)) return kNever;
  mine.pause = happened_ != before ? gap_ : std::min(2 * mine.pause + 1, kMillisecond);
  return world_.net.now + 1 + draw(static_cast<uint32_t>(mine.pause));
}

void FlowJob::open_again(uint32_t rank) {
  for (uint32_t more = ranks_[rank].holds ? 1 : draw(4); more > 0; --more) receive(rank);
  ranks_[rank].closed = false;
  if (!world_.net.strikes(Mutant::opening_forgotten, 8)) world_.node(rank).engine.table().enable(0, kPortal);
}

void FlowJob::read(uint32_t rank, uint32_t most) {
  ptl_event_t event;
  EventQueue& queue = *world_.node(rank).objects.queues.find(ranks_[rank].flow_eq);
  for (; most > 0; --most) {
    const int code = queue.take(event);
    if (code == PTL_EQ_EMPTY) return;
    if (code == PTL_EQ_DROPPED) world_.net.violated("a portal with flow control loses an event");
    reported(rank, event);
  }
}

void FlowJob::reported(uint32_t rank, const ptl_event_t& event) {
  Rank& mine = ranks_[rank];
  Network& net = world_.net;
  if (event.type == PTL_EVENT_PT_DISABLED) {
    if (net.strikes(Mutant::closing_untold, 8)) return;
    if (mine.closed) net.violated("a portal that is closed says that it closes");
    mine.closed = true;
    return;
  }
  if (event.type == PTL_EVENT_AUTO_UNLINK && mine.tells_ends) return;
  if (event.type != PTL_EVENT_PUT && event.type != PTL_EVENT_ATOMIC)
    return net.violated("an event that nobody asked for: " + std::to_string(int{event.type}));
  // A held message came before.
  if (mine.closed && (event.type == PTL_EVENT_ATOMIC || !mine.holds)) net.violated("a portal that is closed reports a message");
  auto* const receive = static_cast<Receive*>(event.user_ptr);
  if (event.type == PTL_EVENT_PUT) {
    if (receive->done) net.violated("a receive ends twice");
    receive->done = true;
  }
  if (event.hdr_data >= tries_.size()) return net.violated("something arrives that nobody sent");
  Try& attempt = tries_[event.hdr_data];
  Message& message = *attempt.message;
  if (event.ni_fail_type != PTL_NI_OK) {
    if (!net.pair(message.from, rank).lost) violated(message, "fails at its target, although its sender is there");
    return;
  }
  ++happened_;
  if (message.to != rank || message.from != event.initiator.rank) violated(message, "is received from, or by, the wrong process");
  if (attempt.refused) violated(message, "was refused, and is received");
  attempt.received = true;
  if (++message.received > 1) violated(message, "is received twice");
  if (event.rlength != message.data.size() || event.mlength != message.data.size()) violated(message, "is received with the wrong length");
  if (event.type == PTL_EVENT_PUT && !std::equal(message.data.begin(), message.data.end(), receive->memory.begin()))
    violated(message, "is received with the wrong data");
}

void FlowJob::stepped(uint32_t rank) {
  ptl_event_t event;
  EventQueue& queue = *world_.node(rank).objects.queues.find(ranks_[rank].eq);
  while (queue.take(event) != PTL_EQ_EMPTY) {
    if (event.type != PTL_EVENT_ACK) return world_.net.violated("an event that nobody asked for: " + std::to_string(int{event.type}));
    answered(*static_cast<Try*>(event.user_ptr), event);
  }
}

void FlowJob::answered(Try& attempt, const ptl_event_t& event) {
  Message& message = *attempt.message;
  Network& net = world_.net;
  if (std::exchange(attempt.answered, true)) violated(message, "is answered twice");
  switch (event.ni_fail_type) {
    case PTL_NI_OK:
      ++happened_;
      message.taken = true;
      if (event.mlength != message.data.size()) violated(message, "is answered with the wrong length");
      if (!net.strikes(Mutant::taken_repeated, 20)) return;
      break;
    case PTL_NI_PT_DISABLED:
      attempt.refused = true;
      if (attempt.received) violated(message, "is received, and refused");
      if (!net.strikes(Mutant::refusal_ignored, 20)) break;
      message.taken = true;
      return;
    case PTL_NI_UNDELIVERABLE:
      ++happened_;
      message.lost = true;
      if (!anything_lost(message.from, message.to)) violated(message, "fails, although its target is there");
      return;
    default: return violated(message, "is answered with the wrong failure type");
  }
  message.waits = true;
  ranks_[message.from].waiting.push_back(&message);
}

bool FlowJob::anything_lost(uint32_t a, uint32_t b) {
  return world_.net.pair(a, b).ended_at != kNever || world_.net.pair(b, a).ended_at != kNever;
}

bool FlowJob::over(const Message& message) const {
  if (!world_.alive(message.from) || message.lost) return true;
  return message.taken && (message.received || !world_.alive(message.to));
}

// It has nothing more to do, and nobody anything more with it.
bool FlowJob::over(uint32_t rank) {
  Rank& mine = ranks_[rank];
  mine.over = mine.left == 0 && std::all_of(messages_.begin(), messages_.end(),
                                            [&](const Message& each) { return (each.from != rank && each.to != rank) || over(each); });
  // A rank that has not begun yet may still send to it.
  for (uint32_t r = 0; r < world_.ranks(); ++r)
    if (world_.alive(r) && ranks_[r].left) return false;
  return mine.over;
}

// Events that nobody has waited for, of ranks that are gone.
void FlowJob::finish() {
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    if (!world_.alive(r)) continue;
    test::Node& node = world_.node(r);
    for (uint32_t most = 2 * static_cast<uint32_t>(messages_.size()) + 1; most > 0 && node.engine.interface(0).unexpected_headers; --most) {
      read(r, UINT_MAX);
      world_.wake(r);
      if (!has_room(r)) {
        world_.go_on_in_call();
        continue;
      }
      receive(r);
      node.engine.settle();
    }
    world_.wake(r);
  }
  for (const uint64_t until = world_.net.now + 4 * world_.net.weather.timeout; world_.net.now < until && world_.go_on(*this, until);) {
  }
  for (uint32_t r = 0; r < world_.ranks(); ++r)
    if (world_.alive(r)) read(r, UINT_MAX);
}

void FlowJob::look_at_messages() {
  std::vector<uint64_t> least(world_.ranks()), most(world_.ranks());
  for (const Message& each : messages_) {
    const bool received = each.received > 0;
    if (each.adds) least[each.to] += received, most[each.to] += received || each.lost || !world_.alive(each.from);
    if (!world_.alive(each.from)) continue;
    if (!each.taken && !each.lost) violated(each, "is neither taken nor lost in the end");
    if (each.taken && !received && world_.alive(each.to)) violated(each, "was taken, and is never received");
  }
  for (uint32_t r = 0; r < world_.ranks(); ++r)
    if (world_.alive(r) && (ranks_[r].sum < least[r] || ranks_[r].sum > most[r]))
      world_.net.violated("an addition is not applied once at rank " + std::to_string(r));
}

void FlowJob::clear_up() {
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    if (!world_.alive(r)) continue;
    Rank& mine = ranks_[r];
    PortalTable& table = world_.node(r).engine.table();
    for (const Receive& each : mine.receives)
      if (!each.done && table.unlink(each.handle) != PTL_OK) world_.net.violated("a receive that nobody matched cannot be unlinked");
    if (table.unlink(mine.window) != PTL_OK || (mine.holds && table.unlink(mine.hold) != PTL_OK))
      world_.net.violated("an entry is in use at the end");
  }
}

std::string FlowJob::run() {
  Network& net = world_.net;
  uint64_t happened = 0, since = 0;
  const auto patience = [&] { return net.weather.timeout + stopped_in_all_; };
  for (;;) {
    if (happened != happened_) happened = happened_, since = net.now;
    if (!net.violation.empty()) return net.violation;
    if (!world_.go_on(*this, since + 4 * patience()) || net.now > since + 5 * patience()) break;
  }
  finish();
  if (net.violation.empty()) look_at_messages();
  if (net.violation.empty()) clear_up();
  const std::string left = world_.close();
  if (net.violation.empty() && !left.empty()) net.violated(left);
  return net.violation;
}

}  // namespace portunus::simulation
