// self.cpp: see self.hpp. Bulk data is a memcpy: all ends lie in one address space.
#include "engine/transport/self/self.hpp"

#include <cstring>

#include "engine/transport/table.hpp"

namespace portunus {

SelfTransport::SelfTransport(Sink& sink, SelfHub& hub, ProcessId self, uint32_t uid) : sink_(sink), hub_(hub), self_(self), uid_(uid) {
  hub_.members[{self.nid, self.pid}] = this;
}

SelfTransport::~SelfTransport() { hub_.members.erase({self_.nid, self_.pid}); }

Link* SelfTransport::connect(ProcessId process) {
  auto member = hub_.members.find({process.nid, process.pid});
  if (member == hub_.members.end()) return nullptr;
  std::unique_ptr<Link>& link = links_[member->first];
  if (!link) {
    link = std::make_unique<Link>();
    link->process = process;
    link->uid = member->second->uid_;
  }
  return link.get();
}

Sent SelfTransport::send(Link& link, const wire::Header& header, std::span<const iovec> payload) {
  auto member = hub_.members.find({link.process.nid, link.process.pid});
  if (member == hub_.members.end()) return Sent::failed;
  SelfTransport& receiver = *member->second;
  if (receiver.inbox_.size() >= hub_.capacity) return Sent::again;
  receiver.state.may_deliver = true;
  Message& message = receiver.inbox_.emplace_back(Message{self_, header, {}});
  message.payload.reserve(header.payload_size);
  for (const iovec& part : payload) {
    const auto* bytes = static_cast<const std::byte*>(part.iov_base);
    message.payload.insert(message.payload.end(), bytes, bytes + part.iov_len);
  }
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
  for (; delivered < budget && !inbox_.empty(); ++delivered) {
    Message message = std::move(inbox_.front());
    inbox_.pop_front();
    Link* link = connect(message.from);
    if (!link) continue;
    if (!link->peer) sink_.introduced(*link, *this);
    sink_.arrived(*link, message.header, message.payload.data());
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
