// pending_operations.cpp: see pending_operations.hpp.
#include "engine/core/initiator/pending_operations.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "engine/core/memory.hpp"

namespace portunus {

PendingOperations::PendingOperations(Core& core, Reports& reports, Peers& peers)
    : core_(core), reports_(reports), peers_(peers), packing_(core), scratch_(64 * 1024) {}

void PendingOperations::drop(Operation& operation) {
  if (operation.is_exposed) operation.peer->transport->withdraw(operation.exposed);
  if (operation.staging.open()) packing_.end(operation);
  std::free(operation.owned_payload);
  operation.owned_payload = nullptr;
  if (operation.answered_soon()) core_.shrink(unanswered_, 1);
  operations_.give_back(operation);
}

void PendingOperations::begin_packing(Operation& operation) {
  if (packing_.begin(operation)) packed(operation);
}

// All data are on their way: the source is free, whether or not the target takes them.
void PendingOperations::packed(Operation& operation) {
  assert(!operation.source_read && operation.staging.filled() == operation.length);
  operation.source_read = true;
  core_.posted = true;
  reports_.sent(operation.source, operation.length, operation.user_ptr, PTL_NI_OK);
}

int PendingOperations::advance() {
  const int work = packing_.advance(packed_);
  for (Operation* operation : packed_) packed(*operation);
  packed_.clear();
  return work;
}

void PendingOperations::end_unsent(const Command& command, ptl_ni_fail_t why) {
  Operation ended;
  ended.verb = command.verb;
  ended.ack = command.ack;
  ended.source = command.source;
  ended.result = command.verb == Verb::get ? command.source : command.result;
  ended.length = command.length;
  ended.user_ptr = command.user_ptr;
  ended.source_read = command.verb == Verb::get;
  core_.posted = true;
  finish(ended, 0, 0, why, PTL_PRIORITY_LIST);
}

void PendingOperations::answered(Link& from, const wire::Header& header, const std::byte* payload) {
  Operation* pending = operations_.find(header.token, from.peer);
  const bool is_reply = header.kind == wire::Kind::reply;
  if (!pending || (header.op > PTL_NI_SEGV && !(header.op == PTLX_NI_WITHDRAWN && pending->withdrawing)) ||
      header.rlength > pending->length || is_reply != pending->awaits_reply()) {
    if (pending) ++core_.stats.malformed;
    return;
  }
  if (header.flags & wire::kSourceRead) {
    if (is_reply || pending->ack != PTL_NO_ACK_REQ) {  // an acknowledgement is still due
      ++core_.stats.malformed;
      return;
    }
    if (!pending->source_read) reports_.sent(pending->source, pending->length, pending->user_ptr, header.op);
    pending->source_read = true;
    drop(*pending);
    return;
  }
  if (is_reply && header.payload_size) {
    if (header.payload_size != header.rlength) {
      ++core_.stats.malformed;
      return;
    }
    Memory{pending->result.base, pending->result.iov_count}.copy_in(pending->result.offset, payload, header.payload_size);
  }
  finish(*pending, header.rlength, header.remote_offset, header.op, header.flags & wire::kOverflow ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST);
}

// The operation ends: SEND if it is still due, then ACK or REPLY as asked.
void PendingOperations::finish(Operation& operation, uint64_t mlength, uint64_t offset, ptl_ni_fail_t fail, ptl_list_t list) {
  const bool reply = operation.awaits_reply();
  assert(mlength <= operation.length);
  // A source that was never read, and nothing else that would say so.
  const bool unsent = fail == PTL_NI_UNDELIVERABLE || (fail == PTLX_NI_WITHDRAWN && operation.ack == PTL_NO_ACK_REQ);
  if (!operation.source_read)
    reports_.sent(operation.source, operation.length, operation.user_ptr, unsent ? fail : static_cast<ptl_ni_fail_t>(PTL_NI_OK));
  operation.source_read = true;
  const Local& local = reply ? operation.result : operation.source;
  const uint32_t counts = reply ? PTL_MD_EVENT_CT_REPLY : PTL_MD_EVENT_CT_ACK;
  if (reply || operation.ack != PTL_NO_ACK_REQ) {
    if (local.options & counts) {
      if (fail != PTL_NI_OK) reports_.count(local.ct, 0, 1);
      else reports_.count(local.ct, (local.options & PTL_MD_EVENT_CT_BYTES) && operation.ack != PTL_OC_ACK_REQ ? mlength : 1, 0);
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
      reports_.post(local.eq, event);
    }
  }
  if (operation.peer) drop(operation);
}

void PendingOperations::stream_out(Peer& target, const wire::Header& header) {
  const Operation* pending = operations_.find(header.token, &target);
  const size_t most = target.transport->limits().eager;
  if (!pending || !pending->bulk || pending->staging.open() || header.remote_offset > pending->length ||
      header.rlength > pending->length - header.remote_offset || header.rlength > wire::kWindowMessages * most) {
    ++core_.stats.malformed;
    return;
  }
  const Memory memory{pending->source.base, pending->source.iov_count};
  wire::Header data{};
  data.kind = wire::Kind::stream_data;
  data.token = header.transfer;
  uint64_t offset = header.remote_offset;
  for (uint64_t left = header.rlength; left;) {
    const size_t piece = std::min<uint64_t>(left, most);
    iovec part = memory.first_part(pending->source.offset + offset, piece);
    if (part.iov_len < piece) {  // many small parts travel together
      memory.copy_out(pending->source.offset + offset, scratch_.data(), piece);
      part = {scratch_.data(), piece};
    }
    data.remote_offset = offset;
    assert(part.iov_len > 0 && part.iov_len <= left);
    peers_.send(target, data, part.iov_base, part.iov_len);
    offset += part.iov_len;
    left -= part.iov_len;
  }
}

void PendingOperations::stream_in(Peer& target, const wire::Header& header, const std::byte* payload) {
  const Operation* pending = operations_.find(header.token, &target);
  const bool awaits = pending && (pending->verb == Verb::get || (pending->bulk && pending->awaits_reply()));
  if (!awaits || header.remote_offset > pending->length || header.payload_size > pending->length - header.remote_offset) {
    ++core_.stats.malformed;
    return;
  }
  Memory{pending->result.base, pending->result.iov_count}.copy_in(pending->result.offset + header.remote_offset, payload,
                                                                  header.payload_size);
}

void PendingOperations::withdraw(const PutsOf& like) {
  operations_.for_each([&](Operation& operation) {
    if (operation.withdrawing || !like.include(operation)) return;
    operation.withdrawing = true;
    wire::Header header{};
    header.kind = wire::Kind::withdraw;
    header.flags = operation.ni;
    header.pt_index = operation.pt_index;
    header.token = operation.token();
    peers_.send(*operation.peer, header, nullptr, 0);
  });
}

void PendingOperations::peer_lost(Peer& peer) {
  operations_.for_each([&](Operation& operation) {
    if (operation.peer == &peer) finish(operation, 0, 0, PTL_NI_UNDELIVERABLE, PTL_PRIORITY_LIST);
  });
}

bool PendingOperations::will_count(uint32_t ct) const {
  return operations_.any_of([ct](const Operation& operation) { return operation.source.ct == ct || operation.result.ct == ct; });
}

void PendingOperations::close(uint32_t ni) {
  for (Operation* operation : packing_.unfinished(ni)) drop(*operation);
}

}  // namespace portunus
