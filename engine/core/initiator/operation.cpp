// operation.cpp: claiming and giving back.
#include "engine/core/initiator/operation.hpp"

#include <cassert>

namespace portunus {

Operation& Operations::take(Peer& peer) {
  Operation* operation = free_;
  if (operation) {
    assert(operation->peer == nullptr && live_ < pool_.size());
    free_ = operation->next_free;
  } else {
    assert(live_ == pool_.size());
    operation = &pool_.emplace_back();
    operation->index = static_cast<uint32_t>(pool_.size() - 1);
  }
  operation->peer = &peer;
  operation->bulk = operation->source_read = operation->is_exposed = operation->withdrawing = false;
  operation->owned_payload = nullptr;
  ++live_;
  return *operation;
}

Operation& Operations::claim(Peer& peer, const Command& command) {
  Operation& operation = take(peer);
  operation.verb = command.verb;
  operation.ack = command.ack;
  operation.ni = command.ni;
  operation.pt_index = command.pt_index;
  operation.source = command.source;
  operation.result = command.result;
  operation.length = command.length;
  operation.user_ptr = command.user_ptr;
  return operation;
}

Operation& Operations::claim(Peer& peer, const wire::Header& put, const Local& source, void* user_ptr) {
  Operation& operation = take(peer);
  operation.verb = Verb::put;
  operation.ack = (put.flags & wire::kAckMask) >> wire::kAckShift;
  operation.source_read = true;
  operation.ni = put.flags & wire::kNiMask;
  operation.pt_index = put.pt_index;
  operation.source = source;
  operation.result = {};
  operation.length = put.rlength;
  operation.user_ptr = user_ptr;
  return operation;
}

void Operations::give_back(Operation& operation) {
  assert(operation.peer != nullptr && live_ > 0 && &pool_[operation.index] == &operation);
  assert(operation.owned_payload == nullptr && !operation.staging.open());
  operation.peer = nullptr;
  ++operation.generation;
  operation.next_free = free_;
  free_ = &operation;
  --live_;
}

}  // namespace portunus
