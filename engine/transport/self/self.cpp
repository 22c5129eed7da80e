// self.cpp: see self.hpp. Bulk data is a memcpy: all ends lie in one address space.
#include "engine/transport/self/self.hpp"

#include <cstring>
#include <new>

#include "engine/transport/copy.hpp"
#include "engine/transport/table.hpp"

namespace portunus {

SelfTransport::SelfTransport(Sink& sink, SelfHub& hub, ProcessId self, uint32_t uid) : sink_(sink), hub_(hub), self_(self), uid_(uid) {
  hub_.members[{self.nid, self.pid}] = this;
}

SelfTransport::~SelfTransport() {
  hub_.members.erase({self_.nid, self_.pid});
  while (inbox_) delete take_first(inbox_);
  while (spares_) delete take_first(spares_);
}

SelfTransport* SelfTransport::find_member(ProcessId process) {
  const auto member = hub_.members.find({process.nid, process.pid});
  return member == hub_.members.end() ? nullptr : member->second;
}

Link* SelfTransport::new_link(ProcessId process) {
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
  if (receiver->waiting_ >= hub_.capacity) return Sent::again;
  if (!receiver->spares_ && !(receiver->spares_ = new (std::nothrow) Message{})) return Sent::again;
  if (header.payload_size > wire::kInlinePayload) {
    try {
      receiver->spares_->payload.reserve(header.payload_size);
    } catch (const std::bad_alloc&) {
      return Sent::again;
    }
  }
  Message* const message = take_first(receiver->spares_);
  receiver->spare_ -= receiver->spare_ > 0;
  message->next = nullptr;
  message->from = self_;
  message->header = header;
  if (header.payload_size <= wire::kInlinePayload) {
    std::byte* to = message->header.inline_payload;
    for (const iovec& part : payload) {
      if (part.iov_len == 0) continue;  // its address may be null
      copy_data(to, part.iov_base, part.iov_len);
      to += part.iov_len;
    }
  } else {
    message->payload.clear();
    for (const iovec& part : payload) {
      const auto* bytes = static_cast<const std::byte*>(part.iov_base);
      message->payload.insert(message->payload.end(), bytes, bytes + part.iov_len);
    }
  }
  (receiver->inbox_ ? receiver->last_->next : receiver->inbox_) = message;
  receiver->last_ = message;
  ++receiver->waiting_;
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
  for (; delivered < budget && inbox_; ++delivered) {
    Message* const now = take_first(inbox_);  // whoever hears of it may send
    --waiting_;
    if (Link* link = link_to(now->from)) {
      if (!link->peer) sink_.introduced(*link, *this);
      const bool is_inline = now->header.payload_size <= wire::kInlinePayload;
      sink_.arrived(*link, now->header, is_inline ? now->header.inline_payload : now->payload.data());
    }
    if (spare_ == kSpare) {
      delete now;
      continue;
    }
    now->next = spares_;
    spares_ = now;
    ++spare_;
  }
  state.may_deliver = inbox_ != nullptr;
  return delivered;
}

extern const TransportType self_transport{.name = "self",
                                          .tells_loss = false,
                                          .wanted = [](const TransportOpening&) { return true; },
                                          .open = [](TransportOpening& opening) -> std::unique_ptr<Transport> {
                                            return std::make_unique<SelfTransport>(opening.sink, opening.hub, opening.self, opening.uid);
                                          }};

}  // namespace portunus
