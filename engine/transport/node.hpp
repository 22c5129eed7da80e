// node.hpp: the on-node cut-through: each process has one inbound ring of cache lines that all others of the node write.
//
// A record is 1 + ceil(payload / 64) lines, one line when the payload is at most 8 bytes. The first word of its first
// line says how many lines, and is written last (release); the reader clears the first word of every line it has
// consumed, so an old record is never taken for a new one. Bulk data is moved by the target with
// process_vm_readv/writev (CMA) where the kernel permits, else streamed by messages.
//
// Thread: the baton holder. Between processes: `tail` by compare-and-swap of the senders, `head` by the owner.
// Cost: one line written and one read per small message; a fence and a load for the doorbell.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/shared/stats.hpp"
#include "engine/transport/segment.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

class NodeTransport final : public Transport {
 public:
  NodeTransport(Sink& sink, Stats& stats, ProcessId self, uint32_t uid, size_t ring_bytes, bool cma = true);
  ~NodeTransport() override;

  const char* name() const override { return "node"; }
  TransportLimits limits() const override { return {kEager, cma_ ? size_t{1} << 30 : 0}; }
  Link* connect(ProcessId process) override;
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) override;
  void withdraw(Exposed&) override {}
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override;
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override;
  int poll(int budget) override;
  bool idle() override;

  Segment& segment() { return *segment_; }
  // The mapped segment of a process on this node, or nullptr.
  Segment* segment_of(ProcessId process);

  static constexpr size_t kEager = 8192;

 private:
  struct NodeLink : Link {
    std::unique_ptr<Segment> segment;  // the peer's; made when we first send
    uint64_t head_seen = 0;            // the peer's head when last looked at
    uint32_t index = 0;                // who we are in the peer's sender table
    bool cma = true;
  };
  NodeLink* link_of(ProcessId process);
  bool introduce(NodeLink& link);
  NodeLink* sender(uint32_t index);
  void ring(NodeLink& link);

  Sink& sink_;
  Stats& stats_;
  ProcessId self_;
  uint32_t uid_;
  bool cma_ = true;
  std::unique_ptr<Segment> segment_;
  uint64_t head_ = 0;
  uint64_t lines_;
  bool broken_ = false;  // the ring holds something no sender of ours would write
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<NodeLink>> links_;
  std::vector<NodeLink*> senders_;  // by index in our sender table
};

// Wakes sleepers of a process; `socket_name` is used when they wait for descriptors.
void wake_process(uint32_t* door, Sleeper who, bool by_socket, ProcessId process, uint32_t uid);

}  // namespace portunus
