// ledger.cpp: see ledger.hpp.
#include "tests/simulation/ledger.hpp"

#include <algorithm>

namespace portunus::simulation {

Operation& Ledger::add(Operation operation) {
  operation.id = operations_.size();
  if (operation.kind != Operation::Kind::get) {
    operation.data.resize(operation.length);
    for (uint64_t i = 0; i < operation.length; ++i) operation.data[i] = byte_of(operation.id, i);
  }
  return *operations_.emplace_back(std::make_unique<Operation>(std::move(operation)));
}

void Ledger::begin(Operation& operation) {
  operation.begun = true;
  operation.issued_at = net_.now;
  if (!operation.triggered)
    operation.order = ++order(operation.from, operation.to, operation.kind == Operation::Kind::message ? kMessages : kWindow).issued;
  ++happened_;
}

Receive& Ledger::add(Receive fresh) {
  Receive& receive = *receives_.emplace_back(std::make_unique<Receive>(std::move(fresh)));
  auto& early = early_[receive.at];
  const auto found = std::find_if(early.begin(), early.end(), [&](const Operation* each) { return receive.matches(*each); });
  if (found == early.end()) {
    posted_[receive.at].push_back(&receive);
  } else {
    match(receive, **found);
    early.erase(found);
  }
  return receive;
}

void Ledger::match(Receive& receive, Operation& operation) {
  receive.operation = &operation;
  operation.receive = &receive;
}

void Ledger::violated(const Operation& operation, const char* what) const {
  constexpr const char* kNames[] = {"message", "put", "get", "add", "fetch"};
  net_.violated(std::string(what) + " (" + kNames[static_cast<int>(operation.kind)] + ' ' + std::to_string(operation.id) + " of " +
                std::to_string(operation.length) + " bytes from " + std::to_string(operation.from) + " to " + std::to_string(operation.to) +
                ')');
}

void Ledger::arrived(uint32_t at, uint32_t from, const wire::Header& header) {
  if (header.kind == wire::Kind::none || header.kind > wire::Kind::swap) return;
  ++happened_;
  // A get has no hdr_data: its match bits tell which it is.
  const uint64_t id = header.kind == wire::Kind::get ? header.match_bits >> 8 : header.hdr_data;
  if (id >= operations_.size()) return net_.violated("something arrives that nobody sent");
  Operation& operation = *operations_[id];
  if (operation.to != at || operation.from != from) violated(operation, "arrives at, or from, the wrong process");
  if (++operation.arrivals > 1) violated(operation, "arrives twice");
  if (!operation.begun) violated(operation, "leaves before its trigger");
  const bool message = operation.kind == Operation::Kind::message;
  if (operation.order != 0) {
    Order& so_far = order(from, at, message ? kMessages : kWindow);
    if (operation.order <= so_far.arrived) violated(operation, "is overtaken by what was sent after it");
    else if (operation.order != so_far.arrived + 1) violated(operation, "arrives before what was sent before it");
    so_far.arrived = operation.order;
  }
  if (!message) return;
  auto& posted = posted_[at];
  const auto found = std::find_if(posted.begin(), posted.end(), [&](const Receive* each) { return each->matches(operation); });
  if (found == posted.end()) {
    early_[at].push_back(&operation);
    return;
  }
  match(**found, operation);
  posted.erase(found);
}

void Ledger::event(uint32_t at, const ptl_event_t& event) {
  ++happened_;
  switch (event.type) {
    case PTL_EVENT_PUT: return message_received(at, event);
    case PTL_EVENT_SEND: {
      Operation& operation = *static_cast<Operation*>(event.user_ptr);
      if (++operation.sends > 1) violated(operation, "has two SEND events");
      if (operation.answers) violated(operation, "has SEND after its answer");
      if (event.ni_fail_type != PTL_NI_OK) operation.failed = true, may_fail(operation);
      std::fill(operation.data.begin(), operation.data.end(), uint8_t{0xee});  // it is its program's again
      return;
    }
    case PTL_EVENT_ACK:
    case PTL_EVENT_REPLY: return answered(*static_cast<Operation*>(event.user_ptr), event);
    default: net_.violated("an event that nobody asked for: " + std::to_string(int{event.type}));
  }
}

void Ledger::message_received(uint32_t at, const ptl_event_t& event) {
  Receive& receive = *static_cast<Receive*>(event.user_ptr);
  if (receive.at != at || receive.done) return net_.violated("a receive ends twice, or elsewhere");
  receive.done = true;
  if (!receive.operation) return net_.violated("a receive ends that no message matched");
  Operation& operation = *receive.operation;
  if (event.ni_fail_type != PTL_NI_OK) {
    // A rank that lost its target takes back what was staged for it, which may be found before the loss of the sender is told.
    if (!net_.pair(operation.from, at).lost && !net_.pair(at, operation.from).lost)
      violated(operation, "fails at its target, although its sender is there");
    receive.operation = nullptr;
    return;
  }
  const uint64_t mlength = std::min<uint64_t>(operation.length, receive.memory.size());
  if (event.hdr_data != operation.id) violated(operation, "should have had a receive that another message got");
  if (event.mlength != mlength || event.rlength != operation.length) violated(operation, "is received with the wrong length");
  if (event.initiator.rank != operation.from || event.match_bits != operation.tag)
    violated(operation, "is received with the wrong source or tag");
  for (uint64_t i = 0; i < mlength; ++i)
    if (receive.memory[i] != byte_of(operation.id, i)) return violated(operation, "is received with the wrong data");
}

void Ledger::may_fail(const Operation& operation) {
  const Network::Pair& way = net_.pair(operation.to, operation.from);
  if (way.ended_at == kNever) return violated(operation, "fails, although its target is there");
  const uint64_t since = std::max(way.ended_at, operation.issued_at);
  if (net_.now > since + 2 * net_.weather.timeout + stopped_in_all) violated(operation, "fails later than the limit");
}

void Ledger::answered(Operation& operation, const ptl_event_t& event) {
  if (++operation.answers > 1) violated(operation, "is answered twice");
  if (!operation.answered()) violated(operation, "is answered unasked");
  if ((event.type == PTL_EVENT_REPLY) != operation.replies()) violated(operation, "is answered by the wrong event");
  if (operation.kind != Operation::Kind::get && !operation.sends) violated(operation, "is answered before SEND");
  if (event.ni_fail_type == PTL_NI_UNDELIVERABLE) {
    operation.failed = true;
    return may_fail(operation);
  }
  const ptl_ni_fail_t expected = operation.unwanted ? PTL_NI_DROPPED : PTL_NI_OK;
  if (event.ni_fail_type != expected) violated(operation, "is answered with the wrong failure type");
  if (operation.arrivals != 1) violated(operation, "is answered before it arrived");
  uint64_t mlength = operation.unwanted ? 0 : operation.length;
  if (operation.kind == Operation::Kind::message && !operation.unwanted) {
    if (!operation.receive) return violated(operation, "is acknowledged before anybody received it");
    mlength = std::min<uint64_t>(mlength, operation.receive->memory.size());
  }
  if (event.mlength != mlength) violated(operation, "is answered with the wrong length");
}

std::string Ledger::unfinished(const std::vector<bool>& alive) const {
  for (const auto& each : operations_) {
    const Operation& operation = *each;
    if (!operation.begun || !alive[operation.from]) continue;
    if (!operation.over()) violated(operation, "never ends");
    const bool reachable = net_.pair(operation.to, operation.from).ended_at == kNever;
    if (reachable && !operation.failed && operation.arrivals != 1) violated(operation, "never arrives");
  }
  for (const auto& each : receives_)
    if (alive[each->at] && each->operation && !each->done) violated(*each->operation, "was matched, and its receive never ends");
  return net_.violation;
}

void Ledger::look_again() const {
  for (const auto& each : receives_) {
    const Receive& receive = *each;
    if (!receive.done || !receive.operation) continue;
    const uint64_t mlength = std::min<uint64_t>(receive.operation->length, receive.memory.size());
    for (uint64_t i = 0; i < receive.memory.size(); ++i)
      if (receive.memory[i] != (i < mlength ? byte_of(receive.operation->id, i) : 0xaa))
        return violated(*receive.operation, "changes its receive's memory later, or beside the message");
  }
}

}  // namespace portunus::simulation
