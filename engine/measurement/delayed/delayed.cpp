// delayed.cpp: see delayed.hpp.
#include "engine/measurement/delayed/delayed.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/transport/node/node.hpp"
#include "engine/transport/table.hpp"

namespace portunus {

Sent DelayedTransport::send(Link& link, const wire::Header& header, std::span<const iovec> payload) {
  uint64_t& free_at = times_[&link].free_at;
  const uint64_t taken = std::max(free_at, clock_()) + time_on_wire(sizeof header + header.payload_size);
  uint64_t due = taken + wire_.latency_ns;
  wire::Header stamped = header;
  stamped.kind = static_cast<wire::Kind>(static_cast<uint8_t>(header.kind) | kStamped);
  stamped.payload_size = static_cast<uint16_t>(header.payload_size + kStamp);
  std::vector<iovec> parts(payload.begin(), payload.end());
  parts.push_back({&due, kStamp});
  const Sent sent = carrier_->send(link, stamped, parts);
  if (sent == Sent::done) free_at = taken;
  return sent;
}

void DelayedTransport::hold(Held held) {
  uint64_t& last = times_[held.link].last;
  last = std::max(last, held.due_ns);
  held.number = number_++;
  held_.push(std::move(held));
  state.holding = static_cast<uint32_t>(held_.size());
}

// A message without a stamp is one of a process without the wire: there is nothing to wait for.
void DelayedTransport::arrived(Link& from, const wire::Header& header, const std::byte* payload) {
  Held held{.link = &from, .what = Held::What::message, .header = header};
  uint64_t due = 0;
  const auto kind = static_cast<uint8_t>(header.kind);
  size_t size = header.payload_size;
  if ((kind & kStamped) != 0) {
    held.header.kind = size < kStamp ? wire::Kind::none : static_cast<wire::Kind>(kind & ~kStamped);
    if (size >= kStamp) std::memcpy(&due, payload + (size -= kStamp), kStamp);
    held.header.payload_size = static_cast<uint16_t>(size);
  }
  held.payload.assign(payload, payload + size);
  uint64_t& last = times_[&from].last_message;
  last = held.due_ns = std::max(last, due);
  hold(std::move(held));
}

// The request travels, and then the data.
Moved DelayedTransport::later(Link& link, size_t size, void* context, Moved outcome) {
  if (outcome != Moved::done && outcome != Moved::started) return outcome;
  const uint64_t due = clock_() + 2 * wire_.latency_ns + time_on_wire(size);
  if (outcome == Moved::started) moving_[context] = {&link, due};
  else hold({.link = &link, .what = Held::What::end_of_move, .due_ns = due, .context = context});
  return Moved::started;
}

void DelayedTransport::moved(void* context, bool ok) {
  const auto found = moving_.find(context);
  if (ok && found != moving_.end())
    hold({.link = found->second.link, .what = Held::What::end_of_move, .due_ns = found->second.due_ns, .context = context});
  else sink_.moved(context, ok);
  if (found != moving_.end()) moving_.erase(found);
}

int DelayedTransport::poll(int budget) {
  if (held_.size() < kMostHeld) carrier_->poll(budget);
  int delivered = 0;
  for (const uint64_t now = held_.empty() ? 0 : clock_(); delivered < budget && !held_.empty() && held_.top().due_ns <= now; ++delivered) {
    const Held first = std::move(const_cast<Held&>(held_.top()));  // its place in the heap does not change by that
    held_.pop();
    switch (first.what) {
      case Held::What::message: sink_.arrived(*first.link, first.header, first.payload.data()); break;
      case Held::What::end_of_move: sink_.moved(first.context, true); break;
      case Held::What::loss: sink_.lost(*first.link); break;
    }
  }
  state.holding = static_cast<uint32_t>(held_.size());
  return delivered;
}

int64_t DelayedTransport::due_in_ns() {
  if (held_.empty()) return -1;
  const uint64_t now = clock_(), due = held_.top().due_ns;
  return due > now ? static_cast<int64_t>(due - now) : 0;
}

namespace {

constexpr TransportType::Variant kVariants[] = {
    {"wire of 20 us", [](Options& options) { options.node_wire = {.latency_ns = 20'000, .bytes_per_us = 1000}; }}};

std::unique_ptr<Transport> open_delayed(TransportOpening& opening) {
  prctl(PR_SET_TIMERSLACK, 1);  // threads made from here on, too, wake when something is due
  return std::make_unique<DelayedTransport>(opening.sink, opening.options.node_wire, [&](Sink& sink) {
    const Options& options = opening.options;
    auto node =
        std::make_unique<NodeTransport>(sink, opening.stats, opening.self, opening.uid, options.ring_bytes, options.cma, opening.others);
    opening.node = node.get();
    return node;
  });
}

}  // namespace

extern const TransportType delayed_transport{
    .name = "delayed",
    .wanted = [](const TransportOpening& opening) { return opening.options.node && opening.options.node_wire.bytes_per_us != 0; },
    .open = open_delayed,
    .variants = kVariants};

}  // namespace portunus
