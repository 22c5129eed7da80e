// receive.cpp: peer_receive and cp_receive: an entry that takes one message, also one that came before it.
//
// Source: Giloi and Schroeder-Preikschat, chapter 8.
#include <algorithm>

#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {
namespace {

// `told`: an event, or a record.
template <class Told>
void take_message(Receive& receive, const Told& told, ptl_process_t initiator, uint64_t hdr_data) {
  receive.message.from = sender_of(number_of(initiator), hdr_data);
  receive.message.type = type_of(told.match_bits);
  receive.message.sent = told.rlength;
  receive.message.moved = told.mlength;
  receive.hdr_data = hdr_data;
  if (receive.form == Form::send && receive.message.from.process == number_of(interface.self)) told_of_end(hdr_data, receive.message.from);
  receive.token = form_of(told.match_bits) == Form::consumed ? token_of(hdr_data) : 0;
}

int append(Receive& receive);

template <class Told>
void ended(Receive& receive, const Told& told, ptl_process_t initiator, uint64_t hdr_data, ptl_list_t list) {
  if (list == PTL_OVERFLOW_LIST) {
    const std::lock_guard lock(receive.port->mutex);
    count_taken(*receive.port);
  }
  switch (told.ni_fail_type) {
    case PTL_NI_OK:
      take_message(receive, told, initiator, hdr_data);
      complete(receive, told.mlength < told.rlength ? PEACE_CUT : PEACE_OK);
      return;
    case PTL_NI_SEGV: complete(receive, PEACE_ARG); return;
    default: break;
  }
  // Its sender died with the message half moved: it never was. The receive goes on, if it may.
  if (!any_process(receive.which) || receive.at_once) {
    complete(receive, PEACE_DIED);
    return;
  }
  const std::lock_guard lock(receive.port->mutex);
  if (!receive.port->open()) complete(receive, PEACE_GONE);
  else if (receive.given_up != PEACE_OK) complete(receive, receive.given_up);
  else if (append(receive) != PTL_OK) complete(receive, PEACE_NO_SPACE);
}

void heard(Listener& listener, const ptl_event_t& event) {
  ended(static_cast<Receive&>(listener), event, event.initiator, event.hdr_data, event.ptl_list);
}

// Whether it is recorded, by now. This thread's own, which has the turn.
void look(Request& request) {
  auto& receive = static_cast<Receive&>(request);
  Lwp& self = receive.turn->self();
  if (receive.over() || std::atomic_ref(self.record.message.state).load(std::memory_order_acquire) != PTLX_RECORDED) return;
  ended(receive, self.record.message, self.record.initiator, self.record.hdr_data, self.record.ptl_list);
}

// False: its message has come, or is coming. An entry that was kept is gone in any case, unless the latter.
bool take_back(Receive& receive) {
  const int code = PtlMEUnlink(receive.entry);
  if (receive.turn != nullptr && code != PTL_IN_USE) receive.turn->self().kept = PTL_INVALID_HANDLE;
  return code == PTL_OK;
}

void sender_died(Request& request) {
  auto& receive = static_cast<Receive&>(request);
  const std::lock_guard lock(receive.port->mutex);
  if (take_back(receive)) complete(receive, PEACE_DIED);
}

int append_kept(Receive& receive, uint64_t bits, uint64_t ignore, ptl_process_t from) {
  constexpr unsigned kOptions = kOnce | PTLX_ME_RECORD | PTLX_ME_RECORD_SENDER | PTLX_ME_KEEP;
  Lwp& self = receive.turn->self();
  self.record.message.state = 0;
  receive.look = look;
  if (self.kept != PTL_INVALID_HANDLE && self.kept_in == interface.opening) {
    receive.entry = self.kept;
    return PtlxMEAppendAgain(self.kept, receive.room.start, receive.room.bytes, from, bits, ignore);
  }
  const ptl_me_t entry = entry_for(receive.room.start, receive.room.bytes, kOptions, bits, ignore, from);
  const int code = PtlMEAppend(interface.ni, kReceives, &entry, PTL_PRIORITY_LIST, &self.record, &receive.entry);
  self.kept = code == PTL_OK ? receive.entry : ptl_handle_me_t{PTL_INVALID_HANDLE};
  self.kept_in = interface.opening;
  return code;
}

// The port's mutex is held.
int append(Receive& receive) {
  const peace_address_t& address = receive.port->address;
  const uint64_t ignore = kTryBit | (receive.form == Form::send ? kConsumedBit : 0) | receive.which.ignore;
  const uint64_t bits = match_bits(receive.form, false, address.port, address.generation, receive.which.type);
  const ptl_process_t from = any_process(receive.which) ? anybody() : process_of(receive.which.from.process);
  if (receive.turn != nullptr) return append_kept(receive, bits, ignore, from);
  const Room& room = receive.room;
  const ptl_me_t entry = entry_for(room.start, room.bytes, kOnce | room.entry_options(), bits, ignore, from);
  return PtlMEAppend(interface.ni, kReceives, &entry, PTL_PRIORITY_LIST, static_cast<Listener*>(&receive), &receive.entry);
}

bool wait_for(Receive& receive, int64_t deadline) {
  return receive.turn != nullptr ? receive.turn->wait(receive, deadline) : wait(receive, deadline);
}

}  // namespace

int begin_receive(Receive& receive, Port& port, peace_pattern_t which, const Room& room, Form form) {
  if (!admit()) return fail(PEACE_NO_SPACE, "more than %d requests are under way", kMostPending);
  receive.heard = heard;
  receive.port = &port;
  receive.room = room;
  receive.which = which;
  receive.form = form;
  receive.doing = "receives at its";
  receive.Request::port = port.address.port;
  receive.with = which.from.process;
  int code;
  {
    const std::lock_guard lock(port.mutex);
    if (!port.open()) {
      dismiss();
      return fail(PEACE_GONE, "the port was closed");
    }
    code = append(receive);
    if (code == PTL_OK) port.receives.push_back(&receive);
  }
  if (code != PTL_OK) {
    dismiss();
    return portals_failed("receive", code);
  }
  if (receive.at_once) return PEACE_OK;
  code = receive.watched.begin(which.from.process, receive, sender_died);
  if (code == PEACE_OK) return PEACE_OK;
  withdraw_receive(receive, code);
  wait_for(receive, kNever);
  leave_port(receive);
  dismiss();
  return code;
}

void withdraw_receive(Receive& receive, int why) {
  bool back;
  {
    const std::lock_guard lock(receive.port->mutex);
    back = take_back(receive);
    receive.given_up = why;
  }
  if (back) complete(receive, why);
}

void leave_port(Receive& receive) {
  const std::lock_guard lock(receive.port->mutex);
  if (receive.turn != nullptr && receive.entry_is_gone) receive.turn->self().kept = PTL_INVALID_HANDLE;
  auto& all = receive.port->receives;
  const auto found = std::find(all.begin(), all.end(), &receive);
  if (found == all.end()) return;
  *found = all.back();
  all.pop_back();
}

namespace {

void end_within(Receive& receive, int64_t limit) {
  if (limit == 0) poll_for(receive);
  if (limit == 0 ? !receive.over() : !wait_for(receive, deadline_of(limit))) {
    withdraw_receive(receive, limit == 0 ? PEACE_BUSY : PEACE_TIMEOUT);
    wait_for(receive, kNever);
  }
  leave_port(receive);
  dismiss();
  if (receive.turn != nullptr) receive.turn->give_back();
  if (receive.token) tell_consumed(receive.message, receive.token, receive.result);
}

int explained_result(Receive& receive) {
  switch (receive.result) {
    case PEACE_OK: return PEACE_OK;
    case PEACE_CUT:
      return fail(PEACE_CUT, "%llu bytes were sent, %llu had room", static_cast<unsigned long long>(receive.message.sent),
                  static_cast<unsigned long long>(receive.message.moved));
    case PEACE_BUSY: resettle(*receive.port); return fail(PEACE_BUSY, "no message is there now");
    case PEACE_TIMEOUT: return fail(PEACE_TIMEOUT, "no message came in time");
    case PEACE_DIED: return fail(PEACE_DIED, "the process that was to send has ended, or cannot be reached");
    case PEACE_GONE: return fail(PEACE_GONE, "the port was closed meanwhile");
    case PEACE_CANCELLED: return fail(PEACE_CANCELLED, "the receive was cancelled");
    case PEACE_ARG: return fail(PEACE_ARG, "the memory to receive in cannot be written");
    default: return fail(receive.result, "the receive failed");
  }
}

}  // namespace

int end_receive(Receive& receive, int64_t limit) {
  end_within(receive, limit);
  return explained_result(receive);
}

int end_at_once(Receive& receive) {
  end_within(receive, 0);
  return receive.result == PEACE_BUSY ? static_cast<int>(PEACE_BUSY) : explained_result(receive);
}

void tell_consumed(const peace_message_t& message, uint64_t token, int result) {
  tell(message.from.process, kTokens, token_bits(Kept::answer, token), nullptr, 0, static_cast<uint64_t>(result));
}

}  // namespace portunus::peace

using namespace portunus::peace;

namespace {

int receive_from_buffer(Port& port, peace_pattern_t which, const Room& room, int64_t limit, peace_message_t* message) {
  if (which.from.process != 0 || which.ignore != ~uint32_t{0})
    return fail(PEACE_STATE, "a port with buffers is a queue: the pattern has to be any process, and ignore all of the type");
  peace_message_t got{};
  const int code = wait_for_full(port, limit, [&](std::unique_lock<Mutex>& lock) { return take_now(port, room, lock, got); });
  if (code != PEACE_OK) return code;
  if (message) *message = got;
  if (got.moved == got.sent) return PEACE_OK;
  return fail(PEACE_CUT, "%llu bytes were sent, %llu had room", static_cast<unsigned long long>(got.sent),
              static_cast<unsigned long long>(got.moved));
}

// Inlined: most messages lie in one run, and a rendezvous is short.
[[gnu::always_inline]] inline int receive_into(const Room& room, Port& port, peace_pattern_t which, int64_t limit,
                                               peace_message_t* message) {
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  if (!port.buffers.empty()) return receive_from_buffer(port, which, room, limit, message);
  EventPump turn(limit != 0 && !room.laid_out);  // outlives the receive, which others may hear of until the end
  Receive receive;
  if (turn) receive.turn = &turn;
  if (const int code = begin_receive(receive, port, which, room, Form::send); code != PEACE_OK) return code;
  const int result = end_receive(receive, limit);
  if (message) *message = receive.message;
  return result;
}

}  // namespace

int peace_receive(peace_port_t given, peace_pattern_t which, void* memory, size_t bytes, int64_t limit, peace_message_t* message) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (const int code = check_memory("memory", memory, bytes, Access::write); code != PEACE_OK) return code;
  return receive_into({memory, bytes}, *port, which, limit, message);
}
PEACE_BARRIER

int peace_receive_pieces(peace_port_t given, peace_pattern_t which, const peace_piece_t* list, size_t count, int64_t limit,
                         peace_message_t* message) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  Pieces pieces;
  if (const int code = pieces.open("pieces", list, count, Access::write); code != PEACE_OK) return code;
  return receive_into(pieces.room(), *port, which, limit, message);
}
PEACE_BARRIER
