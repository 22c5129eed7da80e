// self.hpp: messages to the own process, and the hand-stepped network of the tests.
//
// A Hub joins any number of SelfTransports of one process; `send` puts the message in the receiver's queue, `poll`
// delivers it. In a program there is one hub with one transport; in tests several engines share a hub and are
// stepped in any order.
// Thread: transports of one hub are used by one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/transport/transport.hpp"

namespace portunus {

class SelfTransport;

class SelfHub {
 public:
  std::map<std::pair<uint32_t, uint32_t>, SelfTransport*> members;
  size_t capacity = 1u << 20;  // messages a queue holds before `send` answers `again`
};

class SelfTransport final : public Transport {
 public:
  SelfTransport(Sink& sink, SelfHub& hub, ProcessId self, uint32_t uid);
  ~SelfTransport() override;

  TransportName name() const override { return {PTLX_TRANSPORT_SELF, "self"}; }
  TransportLimits limits() const override { return {kEager, size_t{1} << 62}; }
  Link* connect(ProcessId process) override { return link_to(process); }
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link&, const void* start, size_t, bool, Exposed& out) override;
  void withdraw(Exposed&) override {}
  Moved pull(Link&, const wire::Region& from, void* to, size_t size, void*) override;
  Moved push(Link&, const wire::Region& to, const void* from, size_t size, void*) override;
  int poll(int budget) override;
  bool idle() override { return !inbox_; }

 private:
  static constexpr size_t kEager = 32 * 1024;
  struct Message {
    ProcessId from;
    wire::Header header;             // with up to kInlinePayload bytes of data,
    std::vector<std::byte> payload;  // or more
    Message* next = nullptr;
  };
  static constexpr size_t kSpare = 64;
  SelfTransport* find(ProcessId process) { return process == self_ ? this : find_member(process); }
  SelfTransport* find_member(ProcessId process);
  Link* link_to(ProcessId process) { return own_ && process == self_ ? own_ : new_link(process); }
  Link* new_link(ProcessId process);
  static Message* take_first(Message*& list) {
    Message* const first = list;
    list = first->next;
    return first;
  }

  Sink& sink_;
  SelfHub& hub_;
  ProcessId self_;
  uint32_t uid_;
  // Both chains own their messages.
  Message* inbox_ = nullptr;
  Message* last_ = nullptr;    // of the inbox, if there is one
  size_t waiting_ = 0;         // in the inbox
  Message* spares_ = nullptr;  // with the room that their payloads had, so that messages to oneself allocate nothing
  size_t spare_ = 0;           // how many
  Link* own_ = nullptr;        // to this process itself
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Link>> links_;
};

}  // namespace portunus
