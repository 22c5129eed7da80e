// portals_job.cpp: see portals_job.hpp.
#include "tests/simulation/portals_job.hpp"

#include <cstring>

namespace portunus::simulation {
namespace {

constexpr uint64_t kWindowBits = 1, kIdShift = 8;

}  // namespace

PortalsJob::PortalsJob(uint64_t seed, Mutant mutant)
    : world_(draw_weather(seed), seed, mutant), ledger_(world_.net), ranks_(world_.ranks()), gap_(draw(2) ? 2'000 : 100'000) {
  faults_left_ = draw(2) ? 0 : 1 + draw(3);
  const Weather& weather = world_.net.weather;  // where no area is to be had such messages go in small ones: not too small, nor too late
  long_ = weather.stages && weather.eager >= 512 && weather.capacity >= 16 && weather.slowness == 0 && one_in(2);
  for (uint32_t r = 0; r < world_.ranks(); ++r) set_up(r);
  world_.tap.arrives = [this](uint32_t at, uint32_t from, const wire::Header& header) { ledger_.arrived(at, from, header); };
}

void PortalsJob::set_up(uint32_t rank) {
  Rank& mine = ranks_[rank];
  test::Node& node = world_.node(rank);
  mine.eq = node.queue(4096);
  mine.trigger = node.counter();
  mine.left = 10 + draw(60);
  mine.slots.resize(size_t{world_.ranks()} * kSlots);
  mine.memory.resize(kSlotsAt + uint64_t{world_.ranks()} * kSlots * kSlot);
  for (uint64_t i = 0; i < kPattern; ++i) mine.memory[kPatternAt + i] = byte_of(rank, i);
  node.portal(mine.eq);
  node.portal(mine.eq);
  mine.hold = node.append(
      {.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = ~uint64_t{0}, .list = PTL_OVERFLOW_LIST},
      kMessages);
  if (one_in(3)) node.engine.flow().limit_held(0, kMessages, 512, 4096);
  mine.window = node.append({.start = mine.memory.data(),
                             .length = mine.memory.size(),
                             .options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE,
                             .match_bits = kWindowBits,
                             .ignore_bits = ~uint64_t{0} << kIdShift},
                            kWindow);
}

uint64_t PortalsJob::length() {
  const auto eager = static_cast<uint32_t>(world_.net.weather.eager);
  switch (draw(6)) {
    case 0: return draw(9);
    case 1: return draw(eager + 1);
    case 2: return eager + draw(3);
    case 3: return draw(static_cast<uint32_t>(kSlot));
    default: return draw(64);
  }
}

uint64_t PortalsJob::act(uint32_t rank) {
  ++acts_;
  switch (draw(12)) {
    case 0:
    case 1:
    case 2: send(rank, false); break;
    case 3:
    case 4:
    case 5: receive(rank, false); break;
    case 6:
    case 7: put_or_get(rank); break;
    case 8:
    case 9: atomic(rank); break;
    case 10: send(rank, true); break;
    default: count(rank, 1 + draw(2));
  }
  if (faults_left_ && one_in(40)) fault(rank);
  if (!world_.alive(rank)) return kNever;
  world_.node(rank).engine.settle();
  world_.wake(rank);
  stepped(rank);
  return --ranks_[rank].left ? world_.net.now + draw(static_cast<uint32_t>(gap_)) : kNever;
}

void PortalsJob::send(uint32_t rank, bool triggered) {
  constexpr ptl_ack_req_t kAcks[] = {PTL_NO_ACK_REQ, PTL_ACK_REQ, PTL_CT_ACK_REQ, PTL_OC_ACK_REQ};
  Operation wanted;
  wanted.from = rank;
  wanted.to = other(rank);
  wanted.tag = draw(3);
  wanted.length = long_ && one_in(8) ? Staging::kBytes / 2 + draw(Staging::kBytes) : length();
  wanted.ack = kAcks[draw(4)];
  wanted.triggered = triggered;
  Operation& operation = ledger_.add(std::move(wanted));
  if (!triggered) return issue(operation);
  Rank& mine = ranks_[rank];
  operation.threshold = mine.triggered + 1 + draw(4);
  mine.promised = std::max(mine.promised, operation.threshold);
  const bool early = operation.threshold > 1 && world_.net.strikes(Mutant::trigger_early, 1);
  world_.node(rank).arm(command_of(operation), mine.trigger, operation.threshold - early);
}

void PortalsJob::count(uint32_t rank, uint64_t by) {
  Rank& mine = ranks_[rank];
  mine.triggered += by;
  for (auto& each : ledger_.operations())
    if (each->from == rank && each->triggered && !each->begun && each->threshold <= mine.triggered) ledger_.begin(*each);
  if (!world_.net.strikes(Mutant::count_lost, 2)) world_.node(rank).add(mine.trigger, by);
}

void PortalsJob::receive(uint32_t rank, bool any) {
  test::Node::Entry entries[2];
  Receive* receives[2];
  const uint32_t count = 1 + draw(2);
  for (uint32_t i = 0; i < count; ++i) {
    Receive wanted;
    wanted.at = rank;
    if (!any && !one_in(3)) wanted.source = other(rank);
    if (!any && !one_in(3)) wanted.tag = draw(3);
    wanted.memory.assign(one_in(4) ? length() : long_ ? 2 * Staging::kBytes : kSlot, uint8_t{0xaa});
    Receive& mine = *(receives[i] = &ledger_.add(std::move(wanted)));
    entries[i] = {
        .start = mine.memory.data(),
        .length = mine.memory.size(),
        .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE,
        .match_bits = mine.tag == kAnyTag ? 0 : mine.tag,
        .ignore_bits = mine.tag == kAnyTag ? ~uint64_t{0} : 0,
        .rank = mine.source == kAnybody ? PTL_RANK_ANY : mine.source,
        .user_ptr = &mine};
  }
  if (count == 2 && world_.net.strikes(Mutant::append_swapped, 1)) std::swap(entries[0], entries[1]), std::swap(receives[0], receives[1]);
  for (uint32_t i = 0; i < count; ++i) receives[i]->handle = world_.node(rank).append(entries[i], kMessages);
}

void PortalsJob::put_or_get(uint32_t rank) {
  Operation wanted;
  wanted.from = rank;
  wanted.to = other(rank);
  wanted.slot = draw(kSlots);
  Slot& place = slot(rank, wanted.to, wanted.slot);
  const bool from_pattern = one_in(4);
  if (one_in(8)) {
    wanted.kind = Operation::Kind::put;
    wanted.unwanted = true;
    wanted.length = length();
  } else if (from_pattern) {
    wanted.kind = Operation::Kind::get;
    wanted.slot = kSlots;
    wanted.offset = kPatternAt;
    wanted.length = std::min(length(), kPattern);
  } else if (place.busy) {
    return;
  } else {
    place.busy = true;
    wanted.kind = place.filled && one_in(2) ? Operation::Kind::get : Operation::Kind::put;
    wanted.offset = kSlotsAt + (uint64_t{rank} * kSlots + wanted.slot) * kSlot;
    wanted.length = wanted.kind == Operation::Kind::get ? place.length : length();
  }
  wanted.result.resize(wanted.kind == Operation::Kind::get ? wanted.length : 0);
  issue(ledger_.add(std::move(wanted)));
}

void PortalsJob::atomic(uint32_t rank) {
  Operation wanted;
  wanted.from = rank;
  wanted.to = other(rank);
  wanted.kind = one_in(2) ? Operation::Kind::add : Operation::Kind::fetch;
  wanted.length = 8 * (1 + draw(kWords));
  wanted.offset = wanted.kind == Operation::Kind::add ? 8 * kWords : 0;
  if (wanted.kind == Operation::Kind::fetch) wanted.result.resize(wanted.length);
  Operation& operation = ledger_.add(std::move(wanted));
  const uint64_t one = 1;
  for (uint64_t at = 0; at < operation.length; at += 8) std::memcpy(&operation.data[at], &one, 8);
  issue(operation);
}

Command PortalsJob::command_of(Operation& operation) {
  using Kind = Operation::Kind;
  constexpr Verb kVerbs[] = {Verb::put, Verb::put, Verb::get, Verb::atomic, Verb::fetch_atomic};
  const bool message = operation.kind == Kind::message, get = operation.kind == Kind::get;
  const uint64_t bits = message ? operation.tag : operation.id << kIdShift | (operation.unwanted ? kNobodysBits : kWindowBits);
  Command command =
      world_.node(operation.from).put(get ? operation.result.data() : operation.data.data(), operation.length, operation.to, bits);
  command.verb = kVerbs[static_cast<int>(operation.kind)];
  command.pt_index = message ? kMessages : kWindow;
  command.ack = operation.replies() ? static_cast<ptl_ack_req_t>(PTL_NO_ACK_REQ) : operation.ack;
  command.hdr_data = operation.id;
  command.remote_offset = operation.offset;
  command.user_ptr = &operation;
  command.source.eq = ranks_[operation.from].eq;
  if (operation.kind == Kind::add || operation.kind == Kind::fetch) {
    command.op = PTL_SUM;
    command.datatype = PTL_UINT64_T;
    command.result.base = operation.result.data();
    command.result.eq = command.source.eq;
  } else if (operation.length > 0 && (one_in(4) || operation.length > kSlot)) {
    auto* const bytes = static_cast<uint8_t*>(command.source.base);
    for (uint64_t at = 0; at < operation.length;) {
      const uint64_t size = std::min<uint64_t>(operation.length - at, 1 + draw(static_cast<uint32_t>(operation.length)));
      operation.pieces.push_back({bytes + at, size});
      at += size;
    }
    command.source.base = operation.pieces.data();
    command.source.iov_count = static_cast<uint32_t>(operation.pieces.size());
    command.source.options |= PTL_IOVEC;
  }
  if (message && one_in(8)) command.source.options |= PTLX_MD_HEADER_FIRST;
  return command;
}

void PortalsJob::issue(Operation& operation) {
  Command command = command_of(operation);
  ledger_.begin(operation);
  test::Node& node = world_.node(operation.from);
  if (operation.kind == Operation::Kind::message && operation.pieces.empty() && command.source.options == 0 && one_in(2) &&
      (operation.ack == PTL_ACK_REQ || operation.ack == PTL_NO_ACK_REQ)) {
    wire::Header header{};
    header.kind = wire::Kind::put;
    header.flags = static_cast<uint8_t>(command.ack << wire::kAckShift);
    header.pt_index = command.pt_index;
    header.match_bits = command.match_bits;
    header.hdr_data = command.hdr_data;
    header.rlength = command.length;
    if (node.engine.initiator().put_at_once(header, command.target, command.source, command.user_ptr)) return;
  }
  node.run(command);
}

void PortalsJob::fault(uint32_t rank) {
  --faults_left_;
  ledger_.stopped_in_all += world_.strike(rank);
}

void PortalsJob::stepped(uint32_t rank) {
  ptl_event_t event;
  EventQueue& queue = *world_.node(rank).objects.queues.find(ranks_[rank].eq);
  for (int code = queue.take(event); code != PTL_EQ_EMPTY; code = queue.take(event)) {
    if (code == PTL_EQ_DROPPED) world_.net.violated("an event is lost");
    ledger_.event(rank, event);
    if (event.type == PTL_EVENT_ACK || event.type == PTL_EVENT_REPLY) ended(*static_cast<const Operation*>(event.user_ptr), event);
  }
}

void PortalsJob::ended(const Operation& operation, const ptl_event_t& event) {
  if (event.ni_fail_type != PTL_NI_OK) return;  // its slot is given up
  Network& net = world_.net;
  using Kind = Operation::Kind;
  if (operation.kind == Kind::fetch)
    for (uint32_t word = 0; word * 8 < operation.length; ++word) {
      uint64_t old;
      std::memcpy(&old, &operation.result[word * 8], 8);
      if (!ranks_[operation.to].fetched[word].insert(old).second) net.violated("two fetched the same value");
    }
  if (operation.kind != Kind::put && operation.kind != Kind::get) return;
  const bool pattern = operation.slot == kSlots;
  if (operation.kind == Kind::get) {
    const uint64_t content = pattern ? operation.to : slot(operation.from, operation.to, operation.slot).content;
    for (uint64_t i = 0; i < operation.length; ++i)
      if (operation.result[i] != byte_of(content, i)) return net.violated("a get returns the wrong data");
  }
  if (pattern || operation.unwanted) return;
  Slot& place = slot(operation.from, operation.to, operation.slot);
  place.busy = false;
  if (operation.kind == Kind::put) place.filled = true, place.content = operation.id, place.length = operation.length;
}

// Counts and posts what is still missing for everything to end; false: nothing.
bool PortalsJob::drain() {
  bool more = false;
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    if (!world_.alive(r)) continue;
    Rank& mine = ranks_[r];
    if (mine.promised > mine.triggered) more = true, count(r, mine.promised - mine.triggered);
    while (ledger_.waits_for_receive(r)) more = true, receive(r, true);
    world_.node(r).engine.settle();
    world_.wake(r);
    stepped(r);
  }
  return more;
}

bool PortalsJob::anything_lost() const {
  for (const auto& host : world_.hosts)
    if (host->node->engine.stats().lost_peers.read() || !host->alive) return true;
  return false;
}

// Each atomic counts once; whose initiator is lost, perhaps.
void PortalsJob::look_at_windows() {
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    if (!world_.alive(r)) continue;
    for (uint32_t word = 0; word < 2 * kWords; ++word) {
      const bool fetch = word < kWords;
      uint64_t value, least = 0, most = 0;
      std::memcpy(&value, &ranks_[r].memory[8 * word], 8);
      for (const auto& each : ledger_.operations()) {
        const bool mine =
            each->to == r && each->kind == (fetch ? Operation::Kind::fetch : Operation::Kind::add) && each->length > 8 * (word % kWords);
        least += mine && each->answers == 1 && !each->failed;
        most += mine && each->arrivals == 1;
      }
      if (value < least || value > most || (!anything_lost() && least != most)) world_.net.violated("an atomic is not applied once");
      if (fetch && !ranks_[r].fetched[word].empty() && *ranks_[r].fetched[word].rbegin() >= value)
        world_.net.violated("a value was fetched that was never there");
    }
  }
}

void PortalsJob::clear_up() {
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    if (!world_.alive(r)) continue;
    PortalTable& table = world_.node(r).engine.table();
    for (const Receive* each : ledger_.posted(r))
      if (table.unlink(each->handle) != PTL_OK) world_.net.violated("a receive that nobody matched cannot be unlinked");
    if (table.unlink(ranks_[r].hold) != PTL_OK || table.unlink(ranks_[r].window) != PTL_OK)
      world_.net.violated("an entry is in use at the end");
  }
}

std::string PortalsJob::run() {
  Network& net = world_.net;
  uint64_t happened = 0, since = 0;
  for (;;) {
    if (happened != ledger_.happened()) happened = ledger_.happened(), since = net.now;
    if (!net.violation.empty()) break;
    if (world_.go_on(*this, since + 4 * net.weather.timeout + ledger_.stopped_in_all) &&
        net.now < since + 5 * net.weather.timeout + ledger_.stopped_in_all)
      continue;
    if (!drain()) break;
    ++happened;
    since = net.now;
  }
  if (net.violation.empty()) {
    std::vector<bool> alive;
    for (const auto& host : world_.hosts) alive.push_back(host->alive);
    ledger_.unfinished(alive);
  }
  if (net.violation.empty()) {
    ledger_.look_again();
    look_at_windows();
    clear_up();
  }
  const std::string left = world_.close();
  if (net.violation.empty() && !left.empty()) net.violated(left);
  return net.violation;
}

}  // namespace portunus::simulation
