// call.cpp: the client's side of a service: one message there, one back. What is too long to come along lies in entries of
// the table of tokens, where the server moves it by itself while the client waits.
//
// Invariants: when a call returns its entries are gone, so nobody touches its memory any more.
#include <sched.h>

#include <memory>
#include <vector>

#include "mpi-adi/ipc/internal.hpp"
#include "mpi-adi/ipc/memory.hpp"

namespace portunus::peace {
namespace {

struct Call : Request {
  struct Part : Listener {
    Call* call = nullptr;
  };
  static constexpr uint32_t kAcknowledged = 1, kAnswered = 2;
  std::atomic<uint32_t> ends{0};  // whoever adds the second completes it (acquire and release)
  Part acknowledgement, answer;
  int taken = 0, after = 0;  // the result of each
  ptl_handle_me_t answer_entry = PTL_INVALID_HANDLE, out_entry = PTL_INVALID_HANDLE, in_entry = PTL_INVALID_HANDLE;
  std::vector<ptl_iovec_t> out_runs;      // of pieces
  std::unique_ptr<std::byte[]> out_copy;  // the same, where a run is short
  Watched watched;
};

// The data that a call takes along, or lets the server read, and the room for its answer.
struct Exchange {
  Data out;
  Room in;
  const Pieces* out_pieces = nullptr;  // of `out`, if it is laid out
};

void ended(Call& call, uint32_t end) {
  const uint32_t before = call.ends.fetch_or(end, std::memory_order_acq_rel);
  if (before == (Call::kAcknowledged | Call::kAnswered) || (before | end) != (Call::kAcknowledged | Call::kAnswered)) return;
  complete(call, call.taken != PEACE_OK ? call.taken : call.after);
}

// The one who unlinks the entry of the answer says how the call ended.
bool give_up(Call& call, int why) {
  if (PtlMEUnlink(call.answer_entry) != PTL_OK) return false;
  call.after = why;
  ended(call, Call::kAnswered);
  return true;
}

void acknowledged(Listener& listener, const ptl_event_t& event) {
  Call& call = *static_cast<Call::Part&>(listener).call;
  switch (event.ni_fail_type) {
    case PTL_NI_OK: break;
    case PTLX_NI_WITHDRAWN: call.taken = PEACE_TIMEOUT; break;
    case PTL_NI_UNDELIVERABLE: call.taken = PEACE_DIED; break;
    default: call.taken = PEACE_GONE;
  }
  if (call.taken != PEACE_OK) give_up(call, call.taken);
  ended(call, Call::kAcknowledged);
}

void answered(Listener& listener, const ptl_event_t& event) {
  Call& call = *static_cast<Call::Part&>(listener).call;
  const Answer answer = answer_of(event.hdr_data);
  const peace_address_t from = call.message.from;
  call.message = message_of_answer(event.hdr_data, event.mlength, event.rlength);
  call.message.from = from;
  if (answer == Answer::none) call.after = PEACE_GONE;
  else if (event.ni_fail_type != PTL_NI_OK) call.after = event.ni_fail_type == PTL_NI_SEGV ? PEACE_ARG : PEACE_DIED;
  else call.after = call.message.moved < call.message.sent ? PEACE_CUT : PEACE_OK;
  ended(call, Call::kAnswered);
}

void server_died(Request& request) { give_up(static_cast<Call&>(request), PEACE_DIED); }

// Pieces that the server reads by itself: run by run, with a transfer for each, so short runs are packed.
void lay_out(Call& call, const Exchange& exchange) {
  constexpr size_t kLongRun = 16'384;
  const Data& out = exchange.out;
  if (!out.laid_out || out.bytes <= kInline) return;
  if (out.bytes / exchange.out_pieces->runs() >= kLongRun) {
    call.out_runs.reserve(exchange.out_pieces->runs());
    exchange.out_pieces->for_runs([&](void* memory, size_t bytes) { call.out_runs.push_back({memory, bytes}); });
  } else {
    call.out_copy = std::make_unique_for_overwrite<std::byte[]>(out.bytes);
    out.copy_out(call.out_copy.get(), out.bytes);
  }
}

ptl_me_t entry_for_out(Call& call, const Data& out, uint64_t token, ptl_process_t server) {
  constexpr unsigned kOptions = PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE;
  const uint64_t bits = token_bits(Kept::out, token);
  if (!call.out_runs.empty()) return entry_for(call.out_runs.data(), call.out_runs.size(), kOptions | PTL_IOVEC, bits, 0, server);
  void* const start = call.out_copy ? static_cast<void*>(call.out_copy.get()) : const_cast<void*>(out.start);
  return entry_for(start, out.bytes, kOptions, bits, 0, server);
}

int expose(Call& call, peace_address_t to, uint64_t token, const Exchange& exchange) {
  const ptl_process_t server = process_of(to.process);
  const Room& in = exchange.in;
  const ptl_me_t answer =
      entry_for(in.start, in.bytes, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | in.entry_options(), token_bits(Kept::answer, token), 0, server);
  int code = PtlMEAppend(interface.ni, kTokens, &answer, PTL_PRIORITY_LIST, static_cast<Listener*>(&call.answer), &call.answer_entry);
  if (code == PTL_OK && exchange.out.bytes > kInline) {
    const ptl_me_t entry = entry_for_out(call, exchange.out, token, server);
    code = PtlMEAppend(interface.ni, kTokens, &entry, PTL_PRIORITY_LIST, nullptr, &call.out_entry);
  }
  if (code == PTL_OK && in.bytes > kInline) {
    const ptl_me_t entry = entry_for(in.start, in.bytes, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | in.entry_options(),
                                     token_bits(Kept::in, token), 0, server);
    code = PtlMEAppend(interface.ni, kTokens, &entry, PTL_PRIORITY_LIST, nullptr, &call.in_entry);
  }
  return code;
}

// A move that is under way is let end first: it ends, or its process does.
void close_entry(ptl_handle_me_t& entry) {
  if (entry == PTL_INVALID_HANDLE) return;
  client::take_out(entry);
  entry = PTL_INVALID_HANDLE;
}

int send_call(Call& call, peace_address_t to, uint32_t type, const Exchange& exchange, bool only_now) {
  call.heard = nullptr;
  call.acknowledgement.heard = acknowledged;
  call.answer.heard = answered;
  call.acknowledgement.call = call.answer.call = &call;
  call.message.from = to;
  call.doing = "calls";
  call.with = to.process;
  call.port = to.port;
  const uint64_t token = new_token();
  CallPacket packet;
  const Data& out = exchange.out;
  packet.header = {out.bytes, exchange.in.bytes, out.bytes > kInline && !out.laid_out ? place_in_block(out.start, out.bytes) : 0};
  const size_t along = out.bytes > kInline ? 0 : out.bytes;
  out.copy_out(packet.data, along);
  int code = expose(call, to, token, exchange);
  int result = PEACE_OK;
  if (code == PTL_OK) result = call.watched.begin(to.process, call, server_died);
  if (code == PTL_OK && result == PEACE_OK)
    code = PtlPut(interface.md_posted, offset_of(&packet), sizeof packet.header + along, PTL_ACK_REQ, process_of(to.process), kReceives,
                  match_bits(Form::call, only_now, to.port, to.generation, type), 0, static_cast<Listener*>(&call.acknowledgement),
                  own_header_data(token));
  if (code == PTL_OK && result == PEACE_OK) return PEACE_OK;
  close_entry(call.answer_entry);
  close_entry(call.out_entry);
  close_entry(call.in_entry);
  return result != PEACE_OK ? result : portals_failed("call", code);
}

}  // namespace
}  // namespace portunus::peace

using namespace portunus::peace;

namespace {

int check_call(peace_address_t to, int64_t limit) {
  if (const int code = check_state(); code != PEACE_OK) return code;
  if (const int code = check_address(to); code != PEACE_OK) return code;
  return check_limit(limit);
}

int exchange_by_call(peace_address_t to, uint32_t type, const Exchange& exchange, int64_t limit, peace_message_t* reply) {
  Call call;
  lay_out(call, exchange);
  if (!admit_counted(2)) return fail(PEACE_NO_SPACE, "more than %d requests are under way", kMostPending);
  int result = send_call(call, to, type, exchange, limit == 0);
  if (result == PEACE_OK) {
    if (!wait(call, limit > 0 ? deadline_of(limit) : kNever)) {
      PtlxPutWithdraw(interface.md_posted, static_cast<Listener*>(&call.acknowledgement));
      give_up(call, PEACE_TIMEOUT);
      wait(call);
    }
    close_entry(call.out_entry);
    close_entry(call.in_entry);
    result = call.result;
  }
  dismiss_counted(2);
  if (reply) *reply = call.message;
  switch (result) {
    case PEACE_OK: return PEACE_OK;
    case PEACE_CUT:
      return fail(PEACE_CUT, "the answer had %llu bytes, %zu had room", static_cast<unsigned long long>(call.message.sent),
                  exchange.in.bytes);
    case PEACE_TIMEOUT: return fail(PEACE_TIMEOUT, "no answer came in time");
    case PEACE_DIED: return fail(PEACE_DIED, "the server's process has ended, or cannot be reached");
    case PEACE_GONE:
      return limit == 0 && call.taken == PEACE_GONE ? busy_or_gone(to)
                                                    : fail(PEACE_GONE, "port %u is closed, or the server let the call go", to.port);
    case PEACE_ARG: return fail(PEACE_ARG, "`in` cannot be written");
    default: return result;
  }
}

}  // namespace

int peace_call(peace_address_t to, uint32_t type, const void* out, size_t out_bytes, void* in, size_t in_room, int64_t limit,
               peace_message_t* reply) try {
  if (const int code = check_call(to, limit); code != PEACE_OK) return code;
  if (const int code = check_memory("out", out, out_bytes, Access::read); code != PEACE_OK) return code;
  if (const int code = check_memory("in", in, in_room, Access::write); code != PEACE_OK) return code;
  return exchange_by_call(to, type, {{out, out_bytes}, {in, in_room}}, limit, reply);
}
PEACE_BARRIER

int peace_call_pieces(peace_address_t to, uint32_t type, const peace_piece_t* out, size_t out_count, const peace_piece_t* in,
                      size_t in_count, int64_t limit, peace_message_t* reply) try {
  if (const int code = check_call(to, limit); code != PEACE_OK) return code;
  Pieces out_pieces, in_pieces;
  if (const int code = out_pieces.open("out", out, out_count, Access::read); code != PEACE_OK) return code;
  if (const int code = in_pieces.open("in", in, in_count, Access::write); code != PEACE_OK) return code;
  return exchange_by_call(to, type, {out_pieces.data(), in_pieces.room(), &out_pieces}, limit, reply);
}
PEACE_BARRIER
