// send.cpp: peer_send: a put from the user's memory, ended by its acknowledgement, which comes when the receiver has the
// data.
//
// A time limit withdraws it (E10): the target says whether it was taken.
// Source: Giloi and Schroeder-Preikschat, chapter 8.
#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {
namespace {

void ended(Send& send, uint32_t end) {
  if (send.needed != end) {  // another may come at the same time
    const uint32_t before = send.ends.fetch_or(end, std::memory_order_acq_rel);
    if (before == send.needed || (before | end) != send.needed) return;
  }
  if (send.forgotten) return send.forgotten(send);
  complete(send, send.taken > PEACE_CUT || send.after == PEACE_OK ? send.taken : send.after);
}

void acknowledged(Listener& listener, const ptl_event_t& event) {
  auto& send = static_cast<Send&>(listener);
  send.message.moved = event.mlength;
  switch (event.ni_fail_type) {
    case PTL_NI_OK: send.taken = event.mlength < send.bytes ? PEACE_CUT : PEACE_OK; break;
    case PTLX_NI_WITHDRAWN: send.taken = PEACE_CANCELLED; break;
    case PTL_NI_UNDELIVERABLE: send.taken = PEACE_DIED; break;
    case PTL_NI_DROPPED: send.taken = PEACE_GONE; break;
    default: send.taken = PEACE_NETWORK;
  }
  const bool nobody_will =
      event.ni_fail_type != PTL_NI_OK && (send.needed & Send::kConsumed) && PtlMEUnlink(send.consumption.entry) == PTL_OK;
  ended(send, nobody_will ? Send::kAcknowledged | Send::kConsumed : Send::kAcknowledged);
}

void consumed(Listener& listener, const ptl_event_t& event) {
  Send& send = *static_cast<Send::Consumption&>(listener).send;
  send.after = event.hdr_data == PEACE_GONE ? PEACE_GONE : event.hdr_data == PEACE_CUT ? PEACE_CUT : PEACE_OK;
  ended(send, Send::kConsumed);
}

// The one who unlinks the entry that waits for the consumption says how that ended.
bool give_up_consumption(Send& send, int why) {
  if (!(send.needed & Send::kConsumed) || PtlMEUnlink(send.consumption.entry) != PTL_OK) return false;
  send.after = why;
  ended(send, Send::kConsumed);
  return true;
}

void receiver_died(Request& request) { give_up_consumption(static_cast<Send&>(request), PEACE_DIED); }

int expect_consumption(Send& send, uint64_t token) {
  send.consumption.heard = consumed;
  send.consumption.send = &send;
  const ptl_me_t entry =
      entry_for(nullptr, 0, PTL_ME_OP_PUT | PTL_ME_USE_ONCE, token_bits(Kept::answer, token), 0, process_of(send.to.process));
  const int code = PtlMEAppend(interface.ni, kTokens, &entry, PTL_PRIORITY_LIST, &send.consumption, &send.consumption.entry);
  return code == PTL_OK ? send.watched.begin(send.to.process, send, receiver_died) : portals_failed("wait for a consumption", code);
}

}  // namespace

int begin_send(Send& send, peace_address_t to, uint32_t type, const Data& data, unsigned flags, bool only_now, ptl_handle_md_t md) {
  if (!admit()) return fail(PEACE_NO_SPACE, "more than %d requests are under way", kMostPending);
  send.heard = acknowledged;
  send.bytes = data.bytes;
  send.to = to;
  send.only_now = only_now;
  send.message = {to, type, data.bytes, 0};
  send.doing = "sends to";
  send.with = to.process;
  send.port = to.port;
  send.md = md != PTL_INVALID_HANDLE ? md : data.descriptor();
  const bool wants_consumed = flags & PEACE_CONSUMED;
  if (wants_consumed) send.needed |= Send::kConsumed;
  const uint64_t token = wants_consumed ? new_token() : 0;
  if (wants_consumed)
    if (const int code = expect_consumption(send, token); code != PEACE_OK) {
      if (send.consumption.entry != PTL_INVALID_HANDLE) PtlMEUnlink(send.consumption.entry);
      dismiss();
      return code;
    }
  const Form form = wants_consumed ? Form::consumed : Form::send;
  const int code =
      PtlPut(send.md, offset_of(data.start), data.bytes, PTL_ACK_REQ, process_of(to.process), kReceives,
             match_bits(form, only_now, to.port, to.generation, type), 0, static_cast<Listener*>(&send), own_header_data(token));
  if (code == PTL_OK) return PEACE_OK;
  if (wants_consumed) PtlMEUnlink(send.consumption.entry);
  dismiss();
  return portals_failed("send", code);
}

void withdraw_send(Send& send) {
  PtlxPutWithdraw(send.md, static_cast<Listener*>(&send));
  give_up_consumption(send, PEACE_CANCELLED);
}

int result_of_send(Send& send, int given_up) {
  dismiss();
  switch (send.result) {
    case PEACE_OK: return PEACE_OK;
    case PEACE_CUT:
      return fail(PEACE_CUT, "the receiver had room for %llu bytes of %zu", static_cast<unsigned long long>(send.message.moved),
                  send.bytes);
    case PEACE_CANCELLED:
      return fail(given_up, given_up == PEACE_CANCELLED ? "the send was cancelled" : "nobody received the message in time");
    case PEACE_DIED: return fail(PEACE_DIED, "the receiver's process has ended, or cannot be reached");
    case PEACE_GONE: return send.only_now ? busy_or_gone(send.to) : fail(PEACE_GONE, "port %u is closed", send.to.port);
    default: return fail(PEACE_NETWORK, "the message could not be delivered");
  }
}

int end_send(Send& send, int64_t limit) {
  if (!wait(send, limit > 0 ? deadline_of(limit) : kNever)) {
    withdraw_send(send);
    wait(send);
  }
  return result_of_send(send, PEACE_TIMEOUT);
}

}  // namespace portunus::peace

using namespace portunus::peace;

namespace {

int check_send(peace_address_t to, unsigned flags, int64_t limit) {
  if (const int code = check_address(to); code != PEACE_OK) return code;
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  return flags & ~unsigned{PEACE_CONSUMED} ? fail(PEACE_ARG, "flags have bits that are not PEACE_CONSUMED") : static_cast<int>(PEACE_OK);
}

// Inlined: most messages lie in one run, and a rendezvous is short.
[[gnu::always_inline]] inline int send_data(peace_address_t to, uint32_t type, const Data& data, unsigned flags, int64_t limit,
                                            size_t* moved) {
  if (moved) *moved = 0;
  Send send;
  if (const int code = begin_send(send, to, type, data, flags, limit == 0); code != PEACE_OK) return code;
  const int result = end_send(send, limit);
  if (moved) *moved = send.message.moved;
  return result;
}

}  // namespace

int peace_send(peace_address_t to, uint32_t type, const void* data, size_t bytes, unsigned flags, int64_t limit, size_t* moved) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (const int code = check_send(to, flags, limit); code != PEACE_OK) return code;
  if (const int code = check_memory("data", data, bytes, Access::read); code != PEACE_OK) return code;
  return send_data(to, type, {data, bytes}, flags, limit, moved);
}
PEACE_BARRIER

int peace_send_pieces(peace_address_t to, uint32_t type, const peace_piece_t* list, size_t count, unsigned flags, int64_t limit,
                      size_t* moved) try {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (const int code = check_send(to, flags, limit); code != PEACE_OK) return code;
  Pieces pieces;
  if (const int code = pieces.open("pieces", list, count, Access::read); code != PEACE_OK) return code;
  return send_data(to, type, pieces.data(), flags, limit, moved);
}
PEACE_BARRIER
