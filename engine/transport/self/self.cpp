// self.cpp: see self.hpp. Bulk data is a memcpy: all ends lie in one address space.
#include "engine/transport/self/self.hpp"

#include <cstring>

#include "engine/transport/table.hpp"

namespace portunus {

SelfTransport::SelfTransport(Sink& sink, SelfHub& hub, ProcessId self, uint32_t uid) : sink_(sink), hub_(hub), self_(self), uid_(uid) {
  hub_.members[{self.nid, self.pid}] = this;
}

SelfTransport::~SelfTransport() { hub_.members.erase({self_.nid, self_.pid}); }

SelfTransport* SelfTransport::find(ProcessId process) {
  if (process == self_) return this;
  const auto member = hub_.members.find({process.nid, process.pid});
  return member == hub_.members.end() ? nullptr : member->second;
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
  if (receiver->inbox_.size() >= hub_.capacity) return Sent::again;
  std::list<Message>& spares = receiver->spares_;
  if (spares.empty()) spares.emplace_back();
  Message& message = spares.front();
  message.from = self_;
  message.header = header;
  message.payload.clear();
  message.payload.reserve(header.payload_size);
  for (const iovec& part : payload) {
    const auto* bytes = static_cast<const std::byte*>(part.iov_base);
    message.payload.insert(message.payload.end(), bytes, bytes + part.iov_len);
  }
  receiver->inbox_.splice(receiver->inbox_.end(), spares, spares.begin());
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
  for (std::list<Message> now; delivered < budget && !inbox_.empty(); ++delivered) {
    now.splice(now.begin(), inbox_, inbox_.begin());  // whoever hears of it may send
    const Message& message = now.front();
    if (Link* link = connect(message.from)) {
      if (!link->peer) sink_.introduced(*link, *this);
      sink_.arrived(*link, message.header, message.payload.data());
    }
    if (spares_.size() < kSpare) spares_.splice(spares_.begin(), now);
    else now.clear();
  }
  state.may_deliver = !inbox_.empty();
  return delivered;
}

extern const TransportType self_transport{.name = "self",
                                          .tells_loss = false,
                                          .wanted = [](const TransportOpening&) { return true; },
                                          .open = [](TransportOpening& opening) -> std::unique_ptr<Transport> {
                                            return std::make_unique<SelfTransport>(opening.sink, opening.hub, opening.self, opening.uid);
                                          }};

}  // namespace portunus
