// operations.cpp: requests that await an answer, their answers, and data streamed by messages where a transport has
// no remote memory access.
//
// Invariants: an answer is believed only if its token names a live operation towards the peer that sent it; lengths in
// it never exceed what was asked.
// Source: Portals 4.3, SEND, ACK and REPLY events; ack requests.
#include "engine/engine.hpp"

#include <cstdlib>

namespace portunus {

Operation& Engine::new_operation(Peer& peer, const Command& command) {
  Operation* operation = free_operation_;
  if (operation) {
    free_operation_ = operation->next_free;
  } else {
    operation = &operation_pool_.emplace_back();
    operation->index = static_cast<uint32_t>(operation_pool_.size() - 1);
  }
  operation->peer = &peer;
  operation->verb = command.verb;
  operation->ack = command.ack;
  operation->ni = command.ni;
  operation->pt_index = command.pt_index;
  operation->bulk = operation->source_read = operation->failed = operation->is_exposed = operation->withdrawing = false;
  operation->source = command.source;
  operation->result = command.result;
  operation->length = command.length;
  operation->user_ptr = command.user_ptr;
  operation->owned_payload = nullptr;
  ++operations_;
  return *operation;
}

Operation* Engine::operation(uint64_t token, const Peer* peer) {
  uint32_t index = static_cast<uint32_t>(token) - 1;
  if (index >= operation_pool_.size()) return nullptr;
  Operation& operation = operation_pool_[index];
  return operation.peer == peer && operation.token() == token ? &operation : nullptr;
}

void Engine::end_operation(Operation& operation) {
  if (operation.is_exposed) operation.peer->transport->withdraw(operation.exposed);
  if (operation.staging.open()) end_fill(operation);
  std::free(operation.owned_payload);
  operation.owned_payload = nullptr;
  operation.peer = nullptr;
  ++operation.generation;
  operation.next_free = free_operation_;
  free_operation_ = &operation;
  --operations_;
}

void Engine::send_event(const Local& local, uint64_t length, void* user_ptr, ptl_ni_fail_t fail) {
  if (local.options & PTL_MD_EVENT_CT_SEND) {
    if (fail != PTL_NI_OK)
      count(local.ct, 0, 1);
    else
      count(local.ct, local.options & PTL_MD_EVENT_CT_BYTES ? length : 1, 0);
  }
  if (local.eq == PTL_EQ_NONE || (local.options & PTL_MD_EVENT_SEND_DISABLE)) return;
  if (fail == PTL_NI_OK && (local.options & PTL_MD_EVENT_SUCCESS_DISABLE)) return;
  ptl_event_t event{};
  event.type = PTL_EVENT_SEND;
  event.user_ptr = user_ptr;
  event.mlength = length;
  event.ni_fail_type = fail;
  post(local.eq, event);
}

void Engine::answered(Link& from, const wire::Header& header, const std::byte* payload) {
  Operation* pending = operation(header.token, from.peer);
  const bool is_reply = header.kind == wire::Kind::reply;
  if (!pending || (header.op > PTL_NI_SEGV && !(header.op == PTLX_NI_WITHDRAWN && pending->withdrawing)) || header.rlength > pending->length ||
      is_reply != (pending->verb == Verb::get || pending->verb == Verb::fetch_atomic || pending->verb == Verb::swap)) {
    if (pending) ++stats_.malformed;
    return;
  }
  if (header.flags & wire::kSourceRead) {
    if (is_reply || pending->ack != PTL_NO_ACK_REQ) {  // an acknowledgement is still due
      ++stats_.malformed;
      return;
    }
    if (!pending->source_read) send_event(pending->source, pending->length, pending->user_ptr, header.op);
    pending->source_read = true;
    end_operation(*pending);
    return;
  }
  if (is_reply && header.payload_size) {
    if (header.payload_size != header.rlength) {
      ++stats_.malformed;
      return;
    }
    Memory{pending->result.base, pending->result.iov_count}.copy_in(pending->result.offset, payload, header.payload_size);
  }
  finish(*pending, header.rlength, header.remote_offset, header.op,
         header.flags & wire::kOverflow ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST);
}

// The operation ends: SEND if it is still due, then ACK or REPLY as asked.
void Engine::finish(Operation& operation, uint64_t mlength, uint64_t offset, ptl_ni_fail_t fail, ptl_list_t list) {
  const bool reply = operation.verb == Verb::get || operation.verb == Verb::fetch_atomic || operation.verb == Verb::swap;
  if (!operation.source_read)
    send_event(operation.source, operation.length, operation.user_ptr,
               fail == PTL_NI_UNDELIVERABLE ? fail : static_cast<ptl_ni_fail_t>(PTL_NI_OK));
  operation.source_read = true;
  const Local& local = reply ? operation.result : operation.source;
  const uint32_t counts = reply ? PTL_MD_EVENT_CT_REPLY : PTL_MD_EVENT_CT_ACK;
  if (reply || operation.ack != PTL_NO_ACK_REQ) {
    if (local.options & counts) {
      if (fail != PTL_NI_OK)
        count(local.ct, 0, 1);
      else
        count(local.ct, (local.options & PTL_MD_EVENT_CT_BYTES) && operation.ack != PTL_OC_ACK_REQ ? mlength : 1, 0);
    }
    const bool full = (reply || operation.ack == PTL_ACK_REQ) && local.eq != PTL_EQ_NONE &&
                      !(fail == PTL_NI_OK && (local.options & PTL_MD_EVENT_SUCCESS_DISABLE));
    if (full) {
      ptl_event_t event{};
      event.type = reply ? PTL_EVENT_REPLY : PTL_EVENT_ACK;
      event.user_ptr = operation.user_ptr;
      event.mlength = mlength;
      event.rlength = operation.length;
      event.remote_offset = offset;
      event.ptl_list = list;
      event.ni_fail_type = fail;
      post(local.eq, event);
    }
  }
  if (operation.peer) end_operation(operation);
}

// The target asks for bytes of a bulk put's source.
void Engine::stream_out(Link& from, const wire::Header& header) {
  Operation* pending = operation(header.token, from.peer);
  const size_t most = from.peer->transport->limits().eager;
  if (!pending || !pending->bulk || pending->staging.open() || header.remote_offset > pending->length ||
      header.rlength > pending->length - header.remote_offset || header.rlength > kWindowMessages * most) {
    ++stats_.malformed;
    return;
  }
  const Memory memory{pending->source.base, pending->source.iov_count};
  wire::Header data{};
  data.kind = wire::Kind::stream_data;
  data.token = header.match_bits;
  uint64_t offset = header.remote_offset;
  for (uint64_t left = header.rlength; left;) {
    const size_t piece = std::min<uint64_t>(left, most);
    iovec part = memory.first_part(pending->source.offset + offset, piece);
    if (part.iov_len < piece) {  // many small parts travel together
      memory.copy_out(pending->source.offset + offset, scratch_.data(), piece);
      part = {scratch_.data(), piece};
    }
    data.remote_offset = offset;
    send(*from.peer, data, part.iov_base, part.iov_len);
    offset += part.iov_len;
    left -= part.iov_len;
  }
}

void Engine::stream_in(Link& from, const wire::Header& header, const std::byte* payload) {
  if (header.op == wire::kToOperation) {
    Operation* pending = operation(header.token, from.peer);
    const bool awaits = pending && (pending->verb == Verb::get || (pending->bulk && (pending->verb == Verb::fetch_atomic || pending->verb == Verb::swap)));
    if (!awaits || header.remote_offset > pending->length ||
        header.payload_size > pending->length - header.remote_offset) {
      ++stats_.malformed;
      return;
    }
    Memory{pending->result.base, pending->result.iov_count}
        .copy_in(pending->result.offset + header.remote_offset, payload, header.payload_size);
    return;
  }
  for (auto& transfer : transfers_) {
    if (transfer->id != header.token || transfer->delivery.peer != from.peer) continue;
    if (!transfer->stream || transfer->push || header.remote_offset != transfer->moved || header.payload_size == 0 ||
        header.payload_size > transfer->delivery.mlength - transfer->moved)
      break;
    Delivery& delivery = transfer->delivery;
    if (transfer->scratch)
      std::memcpy(transfer->scratch.get() + transfer->moved, payload, header.payload_size);
    else
      delivery.entry->memory.copy_in(delivery.offset + transfer->moved, payload, header.payload_size);
    transfer->moved += header.payload_size;
    return;
  }
  ++stats_.malformed;
}

}  // namespace portunus
