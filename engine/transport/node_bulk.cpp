// node_bulk.cpp: bulk data between the processes of a node, by process_vm_readv and process_vm_writev. See node.hpp.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "engine/transport/node.hpp"

namespace portunus {

bool NodeTransport::expose(Link& to, const void* start, size_t size, bool peer_writes, Exposed& out) {
  auto& link = static_cast<NodeLink&>(to);
  out = {{reinterpret_cast<uint64_t>(start), 0}, nullptr};
  if (!link.cma || !cma_) return false;
  if (link.box.lines && size >= SharedCopy::kLeast) {
    if (link.exposed.empty()) helping_.push_back(&link);
    link.exposed.push_back({out.region.address, size, peer_writes});
    out.registration = &link;
  }
  return true;
}

void NodeTransport::withdraw(Exposed& exposed) {
  auto* link = static_cast<NodeLink*>(exposed.registration);
  if (!link) return;
  const auto is_this = [&](const NodeLink::Piece& piece) { return piece.start == exposed.region.address; };
  const auto found = std::find_if(link->exposed.begin(), link->exposed.end(), is_this);
  if (found != link->exposed.end()) link->exposed.erase(found);
  if (link->exposed.empty()) std::erase(helping_, link);
  exposed.registration = nullptr;
}

// The peer has ended, or the kernel does not let us: then the data is streamed, to this peer from now on.
Moved NodeTransport::no_access(NodeLink& link) {
  if (errno == ESRCH || !link.segment->owner_alive()) {
    note_death(link);
    return Moved::again;  // until it is buried: the engine fails the transfer then
  }
  link.cma = false;
  return Moved::failed;
}

// False: errno says why.
bool NodeTransport::copy(NodeLink& link, uint64_t ours, uint64_t theirs, size_t size, bool to_us) {
  for (size_t done = 0; done < size;) {
    const iovec local{reinterpret_cast<void*>(ours + done), size - done};
    const iovec remote{reinterpret_cast<void*>(theirs + done), size - done};
    const int peer = link.segment->header().os_pid;
    const ssize_t moved = to_us ? process_vm_readv(peer, &local, 1, &remote, 1, 0) : process_vm_writev(peer, &local, 1, &remote, 1, 0);
    if (moved <= 0) return false;
    done += static_cast<size_t>(moved);
  }
  return true;
}

Moved NodeTransport::pull(Link& from, const wire::Region& region, void* to, size_t size, void* context) {
  return move(from, region, to, size, true, context);
}

Moved NodeTransport::push(Link& to, const wire::Region& region, const void* from, size_t size, void* context) {
  return move(to, region, from, size, false, context);
}

Moved NodeTransport::move(Link& other, const wire::Region& region, const void* memory, size_t size, bool to_us, void* context) {
  auto& link = static_cast<NodeLink&>(other);
  if (link.lost || (!link.segment && !introduce(link)) || !link.cma) return Moved::failed;
  const uint64_t ours = reinterpret_cast<uint64_t>(memory);
  if (size < SharedCopy::kLeast || size > SharedCopy::kMost || link.sends_as >= kBoxes || link.owner.busy() || link.dying)
    return copy(link, ours, region.address, size, to_us) ? Moved::done : no_access(link);
  link.move = {ours, region.address, size, to_us, context, true};
  link.owner.open(segment_->header().copy[link.sends_as], ours, region.address, size, to_us);
  for (SharedCopy::Chunk chunk; link.owner.claim(chunk);)
    link.move.copied = link.move.copied && copy(link, chunk.owners, chunk.helpers, chunk.size, to_us);
  if (link.owner.finished()) return settle(link);
  sharing_.push_back(&link);
  return Moved::started;
}

// Nobody copies any more. What somebody could not copy is tried once more, and all else with it.
Moved NodeTransport::settle(NodeLink& link) {
  const bool helped = link.owner.close();
  link.move.copied = link.move.copied && helped;
  if (link.move.copied || copy(link, link.move.ours, link.move.theirs, link.move.size, link.move.to_us)) return Moved::done;
  return no_access(link);
}

// Moves whose peers have finished their share, or have died over it.
int NodeTransport::settle_shared() {
  int settled = 0;
  for (size_t i = 0; i < sharing_.size();) {
    NodeLink& link = *sharing_[i];
    if (!link.lost && !link.owner.finished()) {
      ++i;
      continue;
    }
    sharing_[i] = sharing_.back();
    sharing_.pop_back();
    const bool done = !link.lost && settle(link) == Moved::done;
    if (link.lost) link.owner.close();
    sink_.moved(link.move.context, done);
    ++settled;
  }
  return settled;
}

// Copies a chunk for each peer that moves memory of ours. What a peer says is believed as far as it was opened to it.
int NodeTransport::help() {
  int helped = 0;
  for (size_t i = 0; i < helping_.size(); ++i) {
    NodeLink& link = *helping_[i];
    if (!link.segment) continue;
    SharedCopy& shared = link.segment->header().copy[link.index];
    if (!shared.wanted()) continue;
    const auto copy_chunk = [&](const SharedCopy::Chunk& chunk) {
      const bool ours = std::any_of(link.exposed.begin(), link.exposed.end(), [&](const NodeLink::Piece& piece) {
        return chunk.helpers >= piece.start && chunk.helpers - piece.start <= piece.size && chunk.size <= piece.size - (chunk.helpers - piece.start) &&
               (chunk.to_owner || piece.peer_writes);
      });
      return ours && copy(link, chunk.helpers, chunk.owners, chunk.size, !chunk.to_owner);
    };
    if (!shared.help(copy_chunk)) continue;
    ring(link);  // this may have been the last one
    ++helped;
  }
  return helped;
}

// Asked before sleeping.
bool NodeTransport::may_help() const {
  return std::any_of(sharing_.begin(), sharing_.end(), [](const NodeLink* link) { return link->owner.finished(); }) ||
         std::any_of(helping_.begin(), helping_.end(), [](const NodeLink* link) {
           return link->segment && link->segment->header().copy[link->index].wanted();
         });
}

}  // namespace portunus
