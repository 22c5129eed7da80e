// operation.cpp: claiming and giving back.
#include "engine/core/initiator/operation.hpp"

#include <cassert>

namespace portunus {

Operation& Operations::claim(Peer& peer, Verb verb, const wire::Header& request, const Local& source, const Local& result, void* user_ptr) {
  Operation* operation = free_;
  if (operation) {
    assert(operation->peer == nullptr && live_ < pool_.size());
    free_ = operation->next_free;
  } else {
    assert(live_ == pool_.size());
    operation = &pool_.emplace_back();
    operation->index = static_cast<uint32_t>(pool_.size() - 1);
    operation->earlier = newest_;
    newest_ = operation;
  }
  operation->peer = &peer;
  operation->verb = verb;
  operation->ack = (request.flags & wire::kAckMask) >> wire::kAckShift;
  operation->bulk = operation->source_read = operation->is_exposed = operation->withdrawing = false;
  operation->ni = request.flags & wire::kNiMask;
  operation->pt_index = request.pt_index;
  operation->source = source;
  operation->result = result;
  operation->length = request.rlength;
  operation->user_ptr = user_ptr;
  operation->owned_payload = nullptr;
  ++live_;
  return *operation;
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
