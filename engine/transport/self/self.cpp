// self.cpp: see self.hpp. Bulk data is a memcpy: all ends lie in one address space.
#include "engine/transport/self/self.hpp"

#include <cstring>

#include "engine/transport/table.hpp"

namespace portunus {

SelfTransport::SelfTransport(Sink& sink, SelfHub& hub, ProcessId self, uint32_t uid) : sink_(sink), hub_(hub), self_(self), uid_(uid) {
  hub_.members[{self.nid, self.pid}] = this;
}

SelfTransport::~SelfTransport() {
  hub_.members.erase({self_.nid, self_.pid});
  for (std::unique_ptr<Message>* chain : {&first_, &spares_})
    while (*chain) *chain = std::move((*chain)->next);  // one by one: a chain may be long
}

SelfTransport* SelfTransport::find(ProcessId process) {
  if (process == self_) return this;
  const auto member = hub_.members.find({process.nid, process.pid});
  return member == hub_.members.end() ? nullptr : member->second;
}

std::unique_ptr<SelfTransport::Message> SelfTransport::fresh() {
  if (!spares_) return std::make_unique<Message>();
  std::unique_ptr<Message> message = std::move(spares_);
  spares_ = std::move(message->next);
  --spared_;
  return message;
}

void SelfTransport::append(std::unique_ptr<Message> message) {
  Message* const last = message.get();
  (first_ ? last_->next : first_) = std::move(message);
  last_ = last;
  ++queued_;
}

void SelfTransport::spare(std::unique_ptr<Message> message) {
  if (spared_ == kSpare) return;
  message->payload.clear();
  message->next = std::move(spares_);
  spares_ = std::move(message);
  ++spared_;
}

Link* SelfTransport::connect(ProcessId process) {
  if (own_ && process == self_) return own_;
  SelfTransport* const member = find(process);
  if (!member) return nullptr;
  std::unique_ptr<Link>& link = links_[{process.nid, process.pid}];
  if (!link) {
    link = std::make_unique<Link>();
    link->process = process;
    link->uid = member->uid_;
  }
  if (member == this) own_ = link.get();
  return link.get();
}

Sent SelfTransport::send(Link& link, const wire::Header& header, std::span<const iovec> payload) {
  SelfTransport* const receiver = find(link.process);
  if (!receiver) return Sent::failed;
  if (receiver->queued_ >= hub_.capacity) return Sent::again;
  std::unique_ptr<Message> message = receiver->fresh();
  message->from = self_;
  message->header = header;
  message->payload.reserve(header.payload_size);
  for (const iovec& part : payload) {
    const auto* bytes = static_cast<const std::byte*>(part.iov_base);
    message->payload.insert(message->payload.end(), bytes, bytes + part.iov_len);
  }
  receiver->append(std::move(message));
  receiver->state.may_deliver = true;
  return Sent::done;
}

bool SelfTransport::expose(Link&, const void* start, size_t, bool, Exposed& out) {
  out.region = {reinterpret_cast<uint64_t>(start), 0};
  return true;
}

Moved SelfTransport::pull(Link&, const wire::Region& from, void* to, size_t size, void*) {
  std::memmove(to, reinterpret_cast<const void*>(from.address), size);
  return Moved::done;
}

Moved SelfTransport::push(Link&, const wire::Region& to, const void* from, size_t size, void*) {
  std::memmove(reinterpret_cast<void*>(to.address), from, size);
  return Moved::done;
}

int SelfTransport::poll(int budget) {
  int delivered = 0;
  for (; delivered < budget && first_; ++delivered) {
    std::unique_ptr<Message> message = std::move(first_);
    first_ = std::move(message->next);
    --queued_;
    if (Link* link = connect(message->from)) {
      if (!link->peer) sink_.introduced(*link, *this);
      sink_.arrived(*link, message->header, message->payload.data());
    }
    spare(std::move(message));
  }
  state.may_deliver = first_ != nullptr;
  return delivered;
}

extern const TransportType self_transport{.name = "self",
                                          .tells_loss = false,
                                          .wanted = [](const TransportOpening&) { return true; },
                                          .open = [](TransportOpening& opening) -> std::unique_ptr<Transport> {
                                            return std::make_unique<SelfTransport>(opening.sink, opening.hub, opening.self, opening.uid);
                                          }};

}  // namespace portunus
