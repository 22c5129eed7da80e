// bulk.cpp: bulk data between the processes of a node, by process_vm_readv and process_vm_writev, or through staging. See node.hpp.
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "engine/transport/node/node.hpp"

namespace portunus {

bool NodeTransport::expose(Link& to, const void* start, size_t size, bool peer_writes, Exposed& out) {
  auto& link = static_cast<NodeLink&>(to);
  out = {{reinterpret_cast<uint64_t>(start), 0}, nullptr};
  if (!link.cma || !cma_) return false;
  if (link.box.capacity != 0 && size >= SharedCopy::kLeast) {
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
    return Moved::again;  // until it is reaped: the engine fails the transfer then
  }
  link.cma = false;
  return Moved::failed;
}

// False: errno says why.
bool NodeTransport::copy(NodeLink& link, uint64_t ours, uint64_t theirs, size_t size, bool to_us) {
  Detour* detour = nullptr;
  if (size >= Detour::kWorthIt && (to_us ? is_hard_to_move(ours, theirs) : is_hard_to_move(theirs, ours))) {
    if (!detour_) detour_.reset(new (std::nothrow) Detour);
    detour = detour_.get();  // without memory for it: the slow way
  }
  for (size_t done = 0; done < size;) {
    iovec local{reinterpret_cast<void*>(ours + done), size - done};
    if (detour) {
      local = {detour->beside(theirs + done), std::min(size - done, Detour::kBytes)};
      if (!to_us) copy_run(local.iov_base, reinterpret_cast<const void*>(ours + done), local.iov_len);
    }
    const iovec remote{reinterpret_cast<void*>(theirs + done), local.iov_len};
    const int peer = link.segment->header().place.os_pid;
    const ssize_t moved = to_us ? process_vm_readv(peer, &local, 1, &remote, 1, 0) : process_vm_writev(peer, &local, 1, &remote, 1, 0);
    if (moved <= 0) return false;
    if (detour && to_us) copy_run(reinterpret_cast<void*>(ours + done), local.iov_base, static_cast<size_t>(moved));
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
  const auto free =
      std::find_if(std::begin(link.moves), std::end(link.moves), [](const NodeLink::Move& move) { return !move.owner.busy(); });
  // A peer that has as much of ours to copy will not help, and chunks cost both sides more calls than copies of one piece.
  const size_t least = link.exposed.empty() ? SharedCopy::kLeast : SharedCopy::kLeastBothWays;
  if (size < least || size > SharedCopy::kMost || link.sends_as >= box_count_ || free == std::end(link.moves) || link.dead)
    return copy(link, ours, region.address, size, to_us) ? Moved::done : no_access(link);
  *free = {&link, {}, ours, region.address, size, to_us, context, true};
  free->owner.open(segment_->header().copy[link.sends_as][free - link.moves], ours, region.address, size, to_us);
  for (SharedCopy::Chunk chunk; free->owner.claim(chunk);)
    free->copied = free->copied && copy(link, chunk.owners, chunk.helpers, chunk.size, to_us);
  if (free->owner.finished()) return settle(*free);
  sharing_.push_back(free);
  return Moved::started;
}

// A region of this kind has the number of the memory for its address and that of the message for its key.
bool NodeTransport::stage(Link& to, StagingFiller& filler, wire::Region& out) {
  if (!static_cast<NodeLink&>(to).segment) return false;
  Staging* const all = segment_->header().staging;
  const auto free = std::find(std::begin(stagings_taken_), std::end(stagings_taken_), false);
  const auto number = static_cast<uint32_t>(free - std::begin(stagings_taken_));
  std::byte* const memory = free == std::end(stagings_taken_) ? nullptr : segment_->staging_memory(number);
  if (!memory) return false;
  *free = true;
  out = {number, filler.begin(all[number], memory)};
  return true;
}

void NodeTransport::unstage(Link& to, StagingFiller& filler) {
  stagings_taken_[filler.shared() - segment_->header().staging] = false;
  if (filler.end()) notify(to);
}

bool NodeTransport::open_stage(Link& from, const wire::Region& region, StagingTaker& taker) {
  auto& link = static_cast<NodeLink&>(from);
  if (link.lost || (!link.segment && !introduce(link)) || region.address >= kStagings) return false;
  std::byte* const memory = link.segment->staging_memory(static_cast<uint32_t>(region.address));
  if (!memory) return false;
  taker.begin(link.segment->header().staging[region.address], memory, region.key);
  return true;
}

void NodeTransport::notify(Link& to) {
  auto& link = static_cast<NodeLink&>(to);
  if (link.segment) ring(link);
}

// Nobody copies any more. What somebody could not copy is tried once more, and all else with it.
Moved NodeTransport::settle(NodeLink::Move& move) {
  const bool helped = move.owner.close();
  if ((helped && move.copied) || copy(*move.link, move.ours, move.theirs, move.size, move.to_us)) return Moved::done;
  return no_access(*move.link);
}

// Moves whose peers have finished their share, or have died over it.
int NodeTransport::settle_shared() {
  int settled = 0;
  for (size_t i = 0; i < sharing_.size();) {
    NodeLink::Move& move = *sharing_[i];
    if (!move.link->lost && !move.owner.finished()) {
      ++i;
      continue;
    }
    sharing_.erase(sharing_.begin() + static_cast<ptrdiff_t>(i));
    const bool done = !move.link->lost && settle(move) == Moved::done;
    if (move.owner.busy()) move.owner.close();
    sink_.moved(move.context, done);
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
    SharedCopy* const jobs = link.segment->header().copy[link.index];
    SharedCopy* const job = std::find_if(jobs, jobs + kSharedCopies, [](const SharedCopy& one) { return one.wanted(); });
    if (job == jobs + kSharedCopies) continue;
    const auto copy_chunk = [&](const SharedCopy::Chunk& chunk) {
      const bool ours = std::any_of(link.exposed.begin(), link.exposed.end(), [&](const NodeLink::Piece& piece) {
        return chunk.helpers >= piece.start && chunk.helpers - piece.start <= piece.size &&
               chunk.size <= piece.size - (chunk.helpers - piece.start) && (chunk.to_owner || piece.peer_writes);
      });
      return ours && copy(link, chunk.helpers, chunk.owners, chunk.size, !chunk.to_owner);
    };
    if (!job->help(copy_chunk)) continue;
    ring(link);  // this may have been the last one
    ++helped;
  }
  return helped;
}

// Asked before sleeping.
bool NodeTransport::may_help() const {
  return std::any_of(sharing_.begin(), sharing_.end(), [](const NodeLink::Move* move) { return move->owner.finished(); }) ||
         std::any_of(helping_.begin(), helping_.end(), [](const NodeLink* link) {
           const auto wanted = [](const SharedCopy& job) { return job.wanted(); };
           return link->segment && std::any_of(std::begin(link->segment->header().copy[link->index]),
                                               std::end(link->segment->header().copy[link->index]), wanted);
         });
}

}  // namespace portunus
