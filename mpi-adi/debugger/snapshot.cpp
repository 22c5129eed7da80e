// snapshot.cpp: see snapshot.hpp. Source: request.hpp and match_bits.hpp for what a request and its match bits say.
#include "mpi-adi/debugger/snapshot.hpp"

#include <algorithm>

namespace portunus::mpi::debugger {
namespace {

constexpr uint64_t kMostRequests = uint64_t{1} << 20, kMostRanks = kMostRequests, kMostHeaders = uint64_t{1} << 24;
constexpr uint32_t kWhole = 0xffff;  // as bytes that a header carries: all

uint64_t address_of(const void* in_target) { return reinterpret_cast<uint64_t>(in_target); }

Field word(uint32_t offset) { return {offset, sizeof(int)}; }

}  // namespace

Snapshot::Snapshot(const Target& target, const Description& mpi, const client::EngineDescription& engine)
    : target_(target), mpi_(mpi), engine_(engine) {
  target_.fetch(address_of(engine_.roots), &roots_, sizeof roots_);
  // Before MPI_Init and after MPI_Finalize there is nothing.
  if (roots_.interfaces == nullptr || target_.pointer_at(address_of(mpi_.predefined_count)) == 0) return;
  source_bits_ = static_cast<uint32_t>(target_.number_at(address_of(mpi_.source_bits), sizeof(int)));
  if (source_bits_ >= 64 || mpi_.tag_bits >= 64 - source_bits_) throw kDamaged;
  interface_ = static_cast<uint32_t>(target_.number_at(address_of(mpi_.interface), 4)) & engine_.index_mask;
  const uint32_t slot = mpi_.portal * sizeof(uint64_t);
  if (interface_ >= 4 || slot >= engine_.interface.portals.bytes) throw kDamaged;
  const uint64_t portal = target_.pointer_at(address_of(roots_.interfaces) + uint64_t{interface_} * engine_.interface.size +
                                             engine_.interface.portals.offset + slot);
  read_communicators();
  read_operations(target_.pointer_at(address_of(roots_.newest)));
  read_requests();
  if (portal != 0) read_unexpected(portal);
  std::stable_sort(messages_.begin(), messages_.end(), [](const MessageSeen& a, const MessageSeen& b) { return a.order < b.order; });
}

std::vector<MessageSeen> Snapshot::messages(const CommunicatorSeen& comm, mqs_op_class op_class) const {
  std::vector<MessageSeen> all;
  for (const MessageSeen& one : messages_)
    if (one.op_class == op_class && one.context == comm.context) all.push_back(one);
  return all;
}

void Snapshot::read_communicators() {
  const auto& pool = mpi_.communicator_pool;
  const auto& at = mpi_.communicator;
  const uint64_t slots = target_.pointer_at(address_of(mpi_.communicators) + pool.slots.offset);
  const uint64_t used = target_.number_at(address_of(mpi_.communicators) + pool.used.offset, pool.used.bytes);
  if (used > pool.most) throw kDamaged;
  for (uint64_t i = 0; i < used; ++i) {
    const uint64_t address = slots + i * pool.slot;
    const Object slot = target_.object(address, pool.slot);
    if (target_.number(slot, pool.in_use) == 0) continue;
    CommunicatorSeen seen;
    seen.address = address;
    seen.context = static_cast<uint32_t>(target_.number(slot, at.context));
    seen.inter = target_.number(slot, at.inter) != 0;
    seen.rank = signed_number(target_.number(slot, at.rank));
    seen.size = signed_number(target_.number(slot, at.ranks));
    seen.peers = signed_number(target_.number(slot, at.peers));
    seen.first = signed_number(target_.number(slot, at.first));
    seen.peer_ranks = target_.number(slot, at.peer_ranks);
    seen.group = target_.number(slot, at.group);
    seen.local = target_.number(slot, at.local);
    seen.name = Target::text(slot, at.name);
    if (static_cast<uint64_t>(seen.size) > kMostRanks || static_cast<uint64_t>(seen.peers) > kMostRanks) throw kDamaged;
    communicators_.push_back(std::move(seen));
  }
  // The members of an intercommunicator's own group have one of their own beside it, which no user knows.
  std::vector<uint64_t> hidden;
  for (const CommunicatorSeen& one : communicators_) hidden.push_back(one.local);
  std::erase_if(communicators_, [&](const CommunicatorSeen& one) { return std::count(hidden.begin(), hidden.end(), one.address) != 0; });
}

// From the one made last to the first, whose numbers decrease.
void Snapshot::read_operations(uint64_t newest) {
  const auto& at = engine_.operation;
  uint64_t before = kMostRequests * 16;
  for (uint64_t address = newest; address != 0;) {
    const Object operation = target_.object(address, at.size);
    const uint64_t index = target_.number(operation, at.index);
    if (index >= before) throw kDamaged;
    before = index;
    address = target_.number(operation, at.earlier);
    if (target_.number(operation, at.peer) == 0 || target_.number(operation, at.ni) != interface_ ||
        target_.number(operation, at.pt_index) != mpi_.portal)
      continue;
    operations_.push_back({target_.number(operation, at.user_ptr), target_.number(operation, at.base), target_.number(operation, at.length),
                           static_cast<uint32_t>(target_.number(operation, at.pieces)), target_.number(operation, at.source_read) != 0});
  }
  std::sort(operations_.begin(), operations_.end(), [](const auto& a, const auto& b) { return a.request < b.request; });
}

void Snapshot::read_requests() {
  const uint64_t pool = address_of(mpi_.pool);
  const uint64_t slots = target_.pointer_at(pool + mpi_.requests.slots.offset);
  const uint64_t used = target_.number_at(pool + mpi_.requests.used.offset, mpi_.requests.used.bytes);
  if (used > target_.number_at(pool + mpi_.requests.most.offset, mpi_.requests.most.bytes) || used > kMostRequests) throw kDamaged;
  constexpr uint64_t kAtOnce = 1024;
  const uint32_t size = mpi_.request.size;
  for (uint64_t i = 0; i < used; i += kAtOnce) {
    const uint64_t count = std::min(kAtOnce, used - i);
    const Object some = target_.object(slots + i * size, count * size);
    for (uint64_t j = 0; j < count; ++j) read_request(slots + (i + j) * size, some.data() + j * size);
  }
  if (const uint64_t blocked = target_.pointer_at(address_of(mpi_.blocked)); blocked != 0)
    read_request(blocked, target_.object(blocked, size).data());
}

void Snapshot::read_request(uint64_t address, const std::byte* request) {
  const auto& at = mpi_.request;
  const auto state = static_cast<uint32_t>(target_.number(request, at.state));
  if ((state != at.active && state != at.detached && state != at.pending && state != at.done) || target_.number(request, at.cancelled) != 0)
    return;
  const uint64_t comm = target_.number(request, at.comm);
  const auto of = std::find_if(communicators_.begin(), communicators_.end(), [comm](const auto& one) { return one.address == comm; });
  if (of == communicators_.end()) return;
  if (target_.number(request, at.receives) != 0) read_receive(address, request, state, *of);
  else read_send(address, request, state, *of);
}

// The entry with this handle, if it is MPI's and the request's; else empty.
Object Snapshot::entry_of(uint64_t request, uint64_t handle) const {
  const auto& at = engine_.entry;
  const uint64_t index = handle & engine_.index_mask;
  if (index >= roots_.entry_capacity) return {};
  Object entry = target_.object(address_of(roots_.entries) + index * at.slot, at.size);
  const bool is_its = target_.number(entry, at.handle) == handle && target_.number(entry, at.user_ptr) == request &&
                      target_.number(entry, at.ni) == interface_ && target_.number(entry, at.pt_index) == mpi_.portal;
  return is_its ? entry : Object();
}

// Other requests that say they receive, parts of collectives for one, have no entry of this portal, or another context.
void Snapshot::read_receive(uint64_t address, const std::byte* request, uint32_t state, const CommunicatorSeen& comm) {
  const auto& at = engine_.entry;
  const bool is_plain = target_.number(request, mpi_.request.attached) == 0, is_done = is_plain && state == mpi_.request.done;
  const Object entry = entry_of(address, target_.number(request, mpi_.request.entry));
  MessageSeen seen;
  if (!entry.empty()) {
    const bool waits = target_.number(entry, at.on_list) != 0 || (is_plain && target_.number(entry, at.served) == 0);
    const bool moves = target_.number(entry, at.moving) != 0;
    if (!is_plain && !waits && !moves) return;  // an entry of an earlier use
    const uint64_t bits = target_.number(entry, at.match_bits), ignored = target_.number(entry, at.ignore_bits);
    seen.status = waits ? mqs_st_pending : mqs_st_matched;
    seen.context = context_of(bits);
    seen.peer = ((ignored >> mpi_.tag_bits) & 1) != 0 ? kAny : source_of(bits);
    seen.tag = (ignored & 1) != 0 ? kAny : tag_of(bits);
    seen.room = target_.number(entry, at.length);
    seen.order = target_.number(entry, at.sequence);
    seen.buffer = buffer_of(target_.number(entry, at.base), static_cast<uint32_t>(target_.number(entry, at.pieces)), seen.notes);
  }
  if (is_done) {
    const uint64_t bits = target_.number(request, mpi_.request.match_bits);
    seen.status = mqs_st_complete;
    seen.actual_peer = source_of(bits);
    seen.actual_tag = tag_of(bits);
    seen.length = target_.number(request, mpi_.request.sent);
    seen.notes.emplace_back("The program has yet to complete the request.");
    if (entry.empty()) {  // used again; what it was is forgotten
      seen.context = context_of(bits);
      seen.peer = seen.actual_peer;
      seen.tag = seen.actual_tag;
      seen.room = target_.number(request, mpi_.request.length);
      seen.order = ~uint64_t{0};
    }
  } else if (entry.empty()) {
    return;
  } else if (seen.status == mqs_st_matched) {
    seen.notes.emplace_back("Its message has come, or is coming now.");
  }
  if (seen.context == comm.context) messages_.push_back(std::move(seen));
}

void Snapshot::read_send(uint64_t address, const std::byte* request, uint32_t state, const CommunicatorSeen& comm) {
  const auto found = std::lower_bound(operations_.begin(), operations_.end(), address,
                                      [](const OperationSeen& one, uint64_t sought) { return one.request < sought; });
  const bool has_operation = found != operations_.end() && found->request == address;
  if (!has_operation && (target_.number(request, mpi_.request.attached) != 0 || state == mpi_.request.done)) return;
  const uint64_t bits = target_.number(request, mpi_.request.match_bits);
  MessageSeen seen;
  seen.op_class = mqs_pending_sends;
  seen.context = context_of(bits);
  if (seen.context != comm.context || source_of(bits) != comm.rank) return;
  seen.peer = seen.actual_peer = peer_of(comm, signed_number(target_.number(request, mpi_.request.sent)));
  if (seen.peer == kAny) return;
  seen.tag = seen.actual_tag = tag_of(bits);
  if (has_operation) {
    seen.room = seen.length = found->length;
    seen.buffer = buffer_of(found->buffer, found->pieces, seen.notes);
    seen.notes.emplace_back(found->is_read ? "Its data have been sent; nobody has received them." : "Its data wait here for a receive.");
  } else {
    seen.notes.emplace_back("It waits to be sent, or has just been; of unknown length.");
  }
  messages_.push_back(std::move(seen));
}

void Snapshot::read_unexpected(uint64_t portal) {
  const auto& at = engine_.header;
  uint64_t left = target_.number_at(portal + engine_.portal.count.offset, engine_.portal.count.bytes);
  uint64_t address = target_.pointer_at(portal + engine_.portal.first.offset);
  if (left > kMostHeaders) throw kDamaged;
  for (uint64_t order = 0; address != 0; ++order) {
    if (left-- == 0) throw kDamaged;
    const Object header = target_.object(address, at.size);
    const uint64_t bits = target_.number(header, at.match_bits);
    MessageSeen seen;
    seen.op_class = mqs_unexpected_messages;
    seen.order = order;
    seen.context = context_of(bits);
    seen.peer = seen.actual_peer = source_of(bits);
    seen.tag = seen.actual_tag = tag_of(bits);
    seen.room = seen.length = target_.number(header, at.length);
    if ((target_.number(header, at.flags) & engine_.header.bulk) != 0) {
      seen.notes.emplace_back("Its data are with the sender until it is received.");
    } else {
      const uint64_t carried = target_.number(header, at.carried);
      const bool is_long = (carried == kWhole ? seen.length : carried) > at.most_small;
      seen.is_system_buffer = true;
      seen.buffer = is_long ? target_.number(header, at.payload) : address + at.small.offset;
    }
    messages_.push_back(std::move(seen));
    address = target_.number(header, at.next);
  }
}

// The user's buffer, where the engine has the address of a layout or the first of many pieces.
uint64_t Snapshot::buffer_of(uint64_t base, uint32_t pieces, std::vector<std::string>& notes) const {
  if (pieces == 0) return base;
  if (pieces != engine_.pieces_of_layout) return target_.pointer_at(base);
  notes.emplace_back("Its data lie as a derived datatype says.");
  return target_.pointer_at(base + static_cast<uint64_t>(int64_t{mpi_.buffer_of_layout}));
}

int Snapshot::peer_of(const CommunicatorSeen& comm, int job_rank) const {
  if (comm.peer_ranks == 0) return job_rank >= comm.first && job_rank - comm.first < comm.peers ? job_rank - comm.first : kAny;
  const Object ranks = target_.object(comm.peer_ranks, static_cast<size_t>(comm.peers) * sizeof(int));
  for (int i = 0; i < comm.peers; ++i)
    if (signed_number(target_.number(ranks, word(static_cast<uint32_t>(i) * 4))) == job_rank) return i;
  return kAny;
}

std::vector<int> members_of(const Target& target, const Description& mpi, const CommunicatorSeen& comm) {
  const Object group = target.object(comm.group, mpi.group.size);
  const uint64_t begin = target.number(group, {mpi.group.members.offset, 8}), end = target.number(group, {mpi.group.members.offset + 8, 8});
  const auto size = static_cast<size_t>(comm.size);
  if (signed_number(target.number(group, mpi.group.ranks)) != comm.size || (begin != end && (end - begin) / sizeof(int) != size))
    throw kDamaged;
  std::vector<int> ranks(size);
  const int first = signed_number(target.number(group, mpi.group.first));
  if (begin != end) target.fetch(begin, ranks.data(), size * sizeof(int));
  else
    for (size_t i = 0; i < size; ++i) ranks[i] = first + static_cast<int>(i);
  return ranks;
}

int job_rank_of(const Target& target, const CommunicatorSeen& comm, int peer) {
  if (peer < 0 || peer >= comm.peers) return kAny;
  if (comm.peer_ranks == 0) return comm.first + peer;
  return signed_number(target.number_at(comm.peer_ranks + static_cast<uint64_t>(peer) * sizeof(int), sizeof(int)));
}

}  // namespace portunus::mpi::debugger
