// receive.cpp: peer_receive and cp_receive: an entry that takes one message, also one that came before it.
//
// Source: Giloi and Schroeder-Preikschat, chapter 8.
#include <algorithm>

#include "mpi-adi/ipc/internal.hpp"

namespace portunus::peace {
namespace {

void take_message(Receive& receive, const ptl_event_t& event) {
  receive.message.from = sender_of(number_of(event.initiator), event.hdr_data);
  receive.message.type = type_of(event.match_bits);
  receive.message.sent = event.rlength;
  receive.message.moved = event.mlength;
  receive.hdr_data = event.hdr_data;
  if (receive.form == Form::send && receive.message.from.process == number_of(cosy.self)) told_of_end(event.hdr_data, receive.message.from);
  receive.token = form_of(event.match_bits) == Form::consumed ? token_of(event.hdr_data) : 0;
}

int append(Receive& receive);

void heard(Listener& listener, const ptl_event_t& event) {
  auto& receive = static_cast<Receive&>(listener);
  if (event.ptl_list == PTL_OVERFLOW_LIST) {
    const std::lock_guard lock(receive.port->mutex);
    count_taken(*receive.port);
  }
  switch (event.ni_fail_type) {
    case PTL_NI_OK:
      take_message(receive, event);
      complete(receive, event.mlength < event.rlength ? PEACE_CUT : PEACE_OK);
      return;
    case PTL_NI_SEGV: complete(receive, PEACE_ARG); return;
    default: break;
  }
  // Its sender died with the message half moved: it never was. The receive goes on.
  if (!any_process(receive.which) || receive.at_once) {
    complete(receive, PEACE_DIED);
    return;
  }
  const std::lock_guard lock(receive.port->mutex);
  if (!receive.port->open()) complete(receive, PEACE_GONE);
  else if (append(receive) != PTL_OK) complete(receive, PEACE_NO_SPACE);
}

void sender_died(Request& request) {
  auto& receive = static_cast<Receive&>(request);
  const std::lock_guard lock(receive.port->mutex);
  if (PtlMEUnlink(receive.entry) == PTL_OK) complete(receive, PEACE_DIED);
}

// The port's mutex is held.
int append(Receive& receive) {
  const peace_address_t& address = receive.port->address;
  const uint64_t ignore = kTryBit | (receive.form == Form::send ? kConsumedBit : 0) | receive.which.ignore;
  const ptl_me_t entry =
      entry_for(receive.memory, receive.bytes, kOnce, match_bits(receive.form, false, address.port, address.generation, receive.which.type),
                ignore, any_process(receive.which) ? anybody() : process_of(receive.which.from.process));
  return PtlMEAppend(cosy.ni, kReceives, &entry, PTL_PRIORITY_LIST, static_cast<Listener*>(&receive), &receive.entry);
}

}  // namespace

int begin_receive(Receive& receive, Port& port, peace_pattern_t which, void* memory, size_t bytes, Form form) {
  if (!admit()) return fail(PEACE_NO_SPACE, "more than %d requests are under way", kMostUnderWay);
  receive.heard = heard;
  receive.port = &port;
  receive.memory = memory;
  receive.bytes = bytes;
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
  wait(receive);
  leave_port(receive);
  dismiss();
  return code;
}

void withdraw_receive(Receive& receive, int why) {
  bool back;
  {
    const std::lock_guard lock(receive.port->mutex);
    back = PtlMEUnlink(receive.entry) == PTL_OK;
  }
  if (back) complete(receive, why);
}

void leave_port(Receive& receive) {
  const std::lock_guard lock(receive.port->mutex);
  auto& all = receive.port->receives;
  const auto found = std::find(all.begin(), all.end(), &receive);
  if (found == all.end()) return;
  *found = all.back();
  all.pop_back();
}

namespace {

void end_within(Receive& receive, int64_t limit) {
  if (limit == 0) poll_for(receive);
  if (limit == 0 ? !receive.over() : !wait(receive, deadline_of(limit))) {
    withdraw_receive(receive, limit == 0 ? PEACE_BUSY : PEACE_TIMEOUT);
    wait(receive);
  }
  leave_port(receive);
  dismiss();
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

int receive_from_buffer(Port& port, peace_pattern_t which, void* memory, size_t bytes, int64_t limit, peace_message_t* message) {
  if (which.from.process != 0 || which.ignore != ~uint32_t{0})
    return fail(PEACE_STATE, "a port with buffers is a queue: the pattern has to be any process, and ignore all of the type");
  peace_message_t got{};
  const int code = wait_for_full(port, limit, [&](std::unique_lock<Mutex>& lock) { return take_now(port, memory, bytes, lock, got); });
  if (code != PEACE_OK) return code;
  if (message) *message = got;
  if (got.moved == got.sent) return PEACE_OK;
  return fail(PEACE_CUT, "%llu bytes were sent, %llu had room", static_cast<unsigned long long>(got.sent),
              static_cast<unsigned long long>(got.moved));
}

}  // namespace

int peace_receive(peace_port_t given, peace_pattern_t which, void* memory, size_t bytes, int64_t limit, peace_message_t* message) {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (const int code = check_memory("memory", memory, bytes, Access::write); code != PEACE_OK) return code;
  if (const int code = check_limit(limit); code != PEACE_OK) return code;
  if (!port->buffers.empty()) return receive_from_buffer(*port, which, memory, bytes, limit, message);
  Receive receive;
  if (const int code = begin_receive(receive, *port, which, memory, bytes, Form::send); code != PEACE_OK) return code;
  const int result = end_receive(receive, limit);
  if (message) *message = receive.message;
  return result;
}
