// node.cpp: see node.hpp.
#include "engine/transport/node.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "engine/host/bell_socket.hpp"

namespace portunus {
namespace {

constexpr uint32_t kMaxRecordLines = 1 + 65536 / kLine;

std::atomic_ref<uint32_t> first_word(std::byte* line) { return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(line)); }

uint64_t lines_for(size_t payload) {
  return payload <= wire::kInlinePayload ? 1 : 1 + (payload + kLine - 1) / kLine;
}

}  // namespace

void wake_process(uint32_t* door, Sleeper who, bool by_socket, ProcessId process, uint32_t uid) {
  if (by_socket)
    BellSocket::ring(process, uid, who);
  else
    futex_wake(door, who);
}

NodeTransport::NodeTransport(Sink& sink, Stats& stats, ProcessId self, uint32_t uid, size_t ring_bytes, bool cma)
    : sink_(sink), stats_(stats), self_(self), uid_(uid), cma_(cma), segment_(Segment::create(self, uid, ring_bytes)), lines_(ring_bytes / kLine) {}

NodeTransport::~NodeTransport() = default;

NodeTransport::NodeLink* NodeTransport::link_of(ProcessId process) {
  std::unique_ptr<NodeLink>& link = links_[{process.nid, process.pid}];
  if (!link) {
    link = std::make_unique<NodeLink>();
    link->process = process;
    link->uid = uid_;  // the segment's mode and owner admit nobody else
  }
  return link.get();
}

Link* NodeTransport::connect(ProcessId process) {
  if (process.nid != self_.nid) return nullptr;
  auto known = links_.find({process.nid, process.pid});
  if (known != links_.end() && (known->second->segment || known->second->peer)) {
    if (!known->second->segment && !introduce(*known->second)) return nullptr;
    return known->second.get();
  }
  std::unique_ptr<Segment> segment = Segment::attach(process, uid_);
  if (!segment) return nullptr;
  NodeLink* link = link_of(process);
  link->segment = std::move(segment);
  return introduce(*link) ? link : nullptr;
}

// Maps the peer's segment if need be and enters us in its table of senders.
bool NodeTransport::introduce(NodeLink& link) {
  if (!link.segment) link.segment = Segment::attach(link.process, uid_);
  if (!link.segment) return false;
  SegmentHeader& header = link.segment->header();
  link.index = header.senders.fetch_add(1, std::memory_order_relaxed);
  if (link.index >= kMaxSenders) {
    link.segment.reset();
    return false;
  }
  SegmentHeader::Sender& entry = header.sender[link.index];
  entry.nid = self_.nid;
  entry.pid = self_.pid;
  entry.ready.store(1, std::memory_order_release);
  return true;
}

NodeTransport::NodeLink* NodeTransport::sender(uint32_t index) {
  if (index < senders_.size() && senders_[index]) return senders_[index];
  if (index >= kMaxSenders) return nullptr;
  SegmentHeader::Sender& entry = segment_->header().sender[index];
  if (entry.ready.load(std::memory_order_acquire) != 1) return nullptr;  // pairs with introduce
  if (senders_.size() <= index) senders_.resize(index + 1);
  NodeLink* link = link_of({entry.nid, entry.pid});
  senders_[index] = link;
  if (!link->peer) sink_.introduced(*link);
  return link;
}

Sent NodeTransport::send(Link& to, const wire::Header& header, std::span<const iovec> payload) {
  auto& link = static_cast<NodeLink&>(to);
  if (!link.segment) return Sent::failed;
  SegmentHeader& remote = link.segment->header();
  const uint64_t capacity = remote.ring_bytes / kLine;
  const uint64_t lines = lines_for(header.payload_size);
  uint64_t position = remote.tail.load(std::memory_order_relaxed);
  do {
    if (position + lines - link.head_seen > capacity) {
      // Acquire pairs with the owner's release of head: the lines are cleared and ours to write.
      link.head_seen = remote.head.load(std::memory_order_acquire);
      if (position + lines - link.head_seen > capacity) return Sent::again;
    }
  } while (!remote.tail.compare_exchange_weak(position, position + lines, std::memory_order_acq_rel, std::memory_order_relaxed));

  std::byte* record = link.segment->ring() + (position & (capacity - 1)) * kLine;
  auto* words = reinterpret_cast<wire::Header*>(record);
  // Everything but the first word, which publishes the record below.
  std::memcpy(record + sizeof(uint32_t), reinterpret_cast<const std::byte*>(&header) + sizeof(uint32_t), sizeof(wire::Header) - sizeof(uint32_t));
  words->source = link.index;
  std::byte* data = header.payload_size <= wire::kInlinePayload ? words->inline_payload : record + kLine;
  for (const iovec& part : payload) {
    if (part.iov_len == 0) continue;  // its address may be null
    std::memcpy(data, part.iov_base, part.iov_len);
    data += part.iov_len;
  }
  first_word(record).store(static_cast<uint32_t>(lines), std::memory_order_release);
  ring(link);
  return Sent::done;
}

void NodeTransport::ring(NodeLink& link) {
  Doorbell& door = link.segment->header().door;
  if (door.ring([&](Sleeper who, bool by_socket) { wake_process(door.word().address(), who, by_socket, link.process, uid_); }))
    ++stats_.rings;
}

int NodeTransport::poll(int budget) {
  std::byte* ring = segment_->ring();
  SegmentHeader& own = segment_->header();
  int delivered = 0;
  while (delivered < budget && !broken_) {
    std::byte* record = ring + (head_ & (lines_ - 1)) * kLine;
    const uint32_t lines = first_word(record).load(std::memory_order_acquire);  // pairs with the release in send
    if (lines == 0) break;
    if (lines > kMaxRecordLines || lines > lines_) {
      broken_ = true;
      ++stats_.malformed;
      break;
    }
    const auto& header = *reinterpret_cast<const wire::Header*>(record);
    NodeLink* from = sender(header.source);
    if (from && lines_for(header.payload_size) == lines)
      sink_.arrived(*from, header, lines == 1 ? header.inline_payload : record + kLine);
    else
      ++stats_.malformed;
    // Senders bring data into other first words than the record's own, so each line is cleared before it is handed back.
    for (uint32_t i = 0; i < lines; ++i) first_word(record + i * kLine).store(0, std::memory_order_relaxed);
    head_ += lines;
    own.head.store(head_, std::memory_order_release);
    ++delivered;
  }
  return delivered;
}

bool NodeTransport::idle() {
  std::byte* record = segment_->ring() + (head_ & (lines_ - 1)) * kLine;
  return broken_ || first_word(record).load(std::memory_order_acquire) == 0;
}

bool NodeTransport::expose(Link& link, const void* start, size_t, bool, Exposed& out) {
  out.region = {reinterpret_cast<uint64_t>(start), 0};
  return static_cast<NodeLink&>(link).cma && cma_;
}

Moved NodeTransport::pull(Link& from, const wire::Region& region, void* to, size_t size, void*) {
  auto& link = static_cast<NodeLink&>(from);
  if (!link.segment && !introduce(link)) return Moved::failed;
  auto* target = static_cast<std::byte*>(to);
  for (size_t done = 0; done < size;) {
    iovec local{target + done, size - done};
    iovec remote{reinterpret_cast<void*>(region.address + done), size - done};
    ssize_t moved = process_vm_readv(link.segment->header().os_pid, &local, 1, &remote, 1, 0);
    if (moved <= 0) {
      link.cma = false;
      return Moved::failed;
    }
    done += static_cast<size_t>(moved);
  }
  return Moved::done;
}

Moved NodeTransport::push(Link& to, const wire::Region& region, const void* from, size_t size, void*) {
  auto& link = static_cast<NodeLink&>(to);
  if (!link.segment && !introduce(link)) return Moved::failed;
  auto* source = static_cast<const std::byte*>(from);
  for (size_t done = 0; done < size;) {
    iovec local{const_cast<std::byte*>(source) + done, size - done};
    iovec remote{reinterpret_cast<void*>(region.address + done), size - done};
    ssize_t moved = process_vm_writev(link.segment->header().os_pid, &local, 1, &remote, 1, 0);
    if (moved <= 0) {
      link.cma = false;
      return Moved::failed;
    }
    done += static_cast<size_t>(moved);
  }
  return Moved::done;
}

Segment* NodeTransport::segment_of(ProcessId process) {
  if (process == self_) return segment_.get();
  auto* link = static_cast<NodeLink*>(connect(process));
  return link ? link->segment.get() : nullptr;
}

}  // namespace portunus
