// triggered.cpp: the same verbs, parked on a counter. All arguments are checked and captured at the call; the data is
// read when the operation fires. Source: Portals 4.3, triggered operations; extensions E2 and E3.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/core/triggered/atomic_ops.hpp"
#include "portals/list_entries.hpp"
#include "portals/move.hpp"
#include "portals/portals4_ext.h"

using namespace portunus;

namespace portunus::api {

int submit_triggered(const char* function, Command& command, ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  Fault fault;
  const Counter* counter = object(runtime().objects().counters, "trig_ct_handle", trig_ct, fault);
  if (!counter) return refuse(function, fault);
  if (counter->ni != command.ni) return refuse(function, {"trig_ct_handle", kOtherInterface});
  Interface& interface = runtime().interface(command.ni);
  if (!interface.triggers.take(interface.limits.max_triggered_ops)) return PTL_NO_SPACE;
  command.armed = command.verb;
  command.verb = Verb::arm;
  command.trigger_ct = trig_ct;
  command.threshold = threshold;
  progress().submit(command);
  return PTL_OK;
}

namespace {

int triggered_change(const char* function, Verb verb, ptl_handle_ct_t ct, ptl_ct_event_t value, ptl_handle_ct_t trig_ct,
                     ptl_size_t threshold) {
  Fault fault;
  const Counter* counter = object(runtime().objects().counters, "ct_handle", ct, fault);
  if (!counter) return refuse(function, fault);
  Command command;
  command.verb = verb;
  command.ni = counter->ni;
  command.handle = ct;
  command.extra.count = value;
  return submit_triggered(function, command, trig_ct, threshold);
}

int triggered_append(const char* function, ptl_handle_ni_t ni, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_list_t list, void* user_ptr,
                     ptl_handle_me_t* me_handle, ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  Interface* interface = find_interface(ni);
  if (!interface) return refuse(function, bad_interface(ni));
  if (!me || !me_handle) return refuse(function, {me ? "me_handle" : "me", kIsNull});
  Fault fault;
  const Counter* counter = object(runtime().objects().counters, "trig_ct_handle", trig_ct, fault);
  if (!counter) return refuse(function, fault);
  if (counter->ni != interface->index) return refuse(function, {"trig_ct_handle", kOtherInterface});
  uint32_t handle;
  const int code = claim_entry(function, *interface, pt_index, *me, true, kMeOptions, list, user_ptr, handle);
  if (code != PTL_OK) return code;
  Command command;
  command.verb = Verb::append;
  command.ni = static_cast<uint8_t>(interface->index);
  command.handle = handle;
  const int parked = submit_triggered(function, command, trig_ct, threshold);
  if (parked == PTL_OK) *me_handle = handle;
  else progress().locked([&](Engine& engine) UNDER_BATON { return engine.discard(handle), PTL_OK; });
  return parked;
}

Fault check_memory(const char* argument, const ptlx_memory_t* memory, ptl_size_t bytes) {
  if (!memory || (memory->pieces == 0 && bytes > 0 && !memory->start)) return {argument, kIsNull};
  if (memory->pieces == 0) return {};
  if (!memory->start || memory->pieces > UINT32_MAX) return {argument, "has no list of so many pieces"};
  const auto* iov = static_cast<const ptl_iovec_t*>(memory->start);
  for (ptl_size_t i = 0; i < memory->pieces && bytes > 0; ++i) bytes -= std::min<ptl_size_t>(bytes, iov[i].iov_len);
  return bytes > 0 ? Fault{argument, "has pieces that hold fewer elements than count"} : Fault{};
}

// The fault of the arguments of a local operation.
Fault check_local(ptlx_local_op_t op, ptl_datatype_t type, const ptlx_memory_t* dst, const ptlx_memory_t* a, const ptlx_memory_t* b,
                  ptl_size_t count) {
  if (static_cast<unsigned>(op) > PTLX_DELAY) return {"op", "is no local operation"};
  if (op < PTLX_TIMESTAMP && !local_allowed(op, type)) return {"op", "and type do not go together"};
  if (op == PTLX_DELAY) return {};
  if (op == PTLX_TIMESTAMP) {
    const Fault fault = check_memory("dst", dst, sizeof(uint64_t));
    return fault || dst->pieces == 0 ? fault : Fault{"dst", "has pieces, which a timestamp must not have"};
  }
  ptl_size_t bytes;
  if (__builtin_mul_overflow(count, local_size(type), &bytes)) return {"count", "is more elements than memory holds"};
  if (const Fault fault = check_memory("dst", dst, bytes)) return fault;
  if (const Fault fault = check_memory("a", a, bytes)) return fault;
  return op < PTLX_COPY ? check_memory("b", b, bytes) : Fault{};
}

int triggered_local(const char* function, ptl_handle_ni_t ni, ptlx_local_op_t op, ptl_datatype_t type, const ptlx_memory_t* dst,
                    const ptlx_memory_t* a, const ptlx_memory_t* b, ptl_size_t count, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct,
                    ptl_size_t threshold) {
  Interface* interface = find_interface(ni);
  if (!interface) return refuse(function, bad_interface(ni));
  if (Fault fault = check_local(op, type, dst, a, b, count)) return refuse(function, fault);
  if (Fault fault = counter_or_none("completion", completion, interface->index)) return refuse(function, fault);
  Command command;
  command.verb = Verb::local;
  command.ni = static_cast<uint8_t>(interface->index);
  command.op = static_cast<uint8_t>(op);
  command.datatype = type;
  command.handle = completion;
  command.length = count;
  if (op != PTLX_DELAY) {
    command.source.base = dst->start;
    command.source.iov_count = static_cast<uint32_t>(dst->pieces);
  }
  if (op < PTLX_TIMESTAMP) {
    command.extra.operand_a.base = a->start;
    command.extra.operand_a.pieces = a->pieces;
  }
  if (op < PTLX_COPY) {
    command.result.base = b->start;
    command.result.iov_count = static_cast<uint32_t>(b->pieces);
  }
  return submit_triggered(function, command, trig_ct, threshold);
}

int triggered_await(const char* function, ptl_handle_ni_t ni, const void* word, ptl_datatype_t type, ptlx_comparison_t comparison,
                    const void* value, uint32_t watched, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  Interface* interface = find_interface(ni);
  if (!interface) return refuse(function, bad_interface(ni));
  if (!await_allowed(type)) return refuse(function, {"type", "is no integer"});
  const size_t width = datatype_size(type);
  if (!word) return refuse(function, {"word", kIsNull});
  if (reinterpret_cast<uintptr_t>(word) % width != 0) return refuse(function, {"word", "is not aligned as its type"});
  if (static_cast<unsigned>(comparison) > PTLX_LESS_EQUAL) return refuse(function, {"comparison", "is none"});
  if (!value) return refuse(function, {"value", kIsNull});
  if (completion == PTL_CT_NONE) return refuse(function, {"completion", "is no counter"});
  if (Fault fault = counter_or_none("completion", completion, interface->index)) return refuse(function, fault);
  Command command;
  command.verb = Verb::local;
  command.ni = static_cast<uint8_t>(interface->index);
  command.op = kAwait;
  command.datatype = type;
  command.handle = completion;
  command.source.base = const_cast<void*>(word);
  command.extra.awaited = {0, static_cast<uint32_t>(comparison), watched};
  std::memcpy(&command.extra.awaited.value, value, width);
  return submit_triggered(function, command, trig_ct, threshold);
}

int triggered_call(const char* function, ptl_handle_ni_t ni, int (*work)(void* argument), void* argument, ptl_handle_ct_t completion,
                   ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  Interface* interface = find_interface(ni);
  if (!interface) return refuse(function, bad_interface(ni));
  if (!work) return refuse(function, {"work", kIsNull});
  if (Fault fault = counter_or_none("completion", completion, interface->index)) return refuse(function, fault);
  Command command;
  command.verb = Verb::local;
  command.ni = static_cast<uint8_t>(interface->index);
  command.op = kCall;
  command.handle = completion;
  command.extra.call = {work, argument};
  return submit_triggered(function, command, trig_ct, threshold);
}

// Runs work(engine, counter), which answers with a Fault, while holding the baton, if there is such a counter.
template <class Work>
int change_counter(const char* function, ptl_handle_ct_t ct, Work&& work) {
  const Fault fault = progress().locked([&](Engine& engine) UNDER_BATON {
    Fault found;
    Counter* counter = object(runtime().objects().counters, "ct", ct, found);
    return counter ? work(engine, *counter) : found;
  });
  return fault ? refuse(function, fault) : static_cast<int>(PTL_OK);
}

}  // namespace
}  // namespace portunus::api

extern "C" {

int PtlTriggeredPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
                    ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
                    ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault = api::prepare_put(command, md_handle, local_offset, length, ack_req,
                                            {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data});
  if (fault) return api::refuse(__func__, fault);
  return api::submit_triggered(__func__, command, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlTriggeredGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_handle_ct_t trig_ct_handle,
                    ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault =
      api::prepare_get(command, md_handle, local_offset, length, {target_id, pt_index, match_bits, remote_offset, user_ptr, 0});
  if (fault) return api::refuse(__func__, fault);
  return api::submit_triggered(__func__, command, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlTriggeredAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
                       ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
                       void* user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle,
                       ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault = api::prepare_atomic(command, md_handle, local_offset, length, ack_req,
                                               {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  if (fault) return api::refuse(__func__, fault);
  return api::submit_triggered(__func__, command, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlTriggeredFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
                            ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                            ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
                            ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault = api::prepare_fetch(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                                              {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  if (fault) return api::refuse(__func__, fault);
  return api::submit_triggered(__func__, command, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlTriggeredSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
                     ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                     ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data, const void* operand, ptl_op_t operation,
                     ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault =
      api::prepare_swap(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                        {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operand, operation, datatype);
  if (fault) return api::refuse(__func__, fault);
  return api::submit_triggered(__func__, command, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (increment.success != 0 && increment.failure != 0) return api::refuse(__func__, {"increment", api::kBothNonZero});
  return api::triggered_change(__func__, Verb::counter_add, ct_handle, increment, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::triggered_change(__func__, Verb::counter_set, ct_handle, new_ct, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlxTriggeredMEAppend(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_list_t list, void* user_ptr,
                          ptl_handle_me_t* me_handle, ptl_handle_ct_t trig_ct, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::triggered_append("PtlxTriggeredMEAppend", ni, pt_index, me, list, user_ptr, me_handle, trig_ct, threshold);
}
PTL_BARRIER

// The reference implementation's spelling of E2. Its structure and handle pointers may be used until it fires; ours are
// read and written at the call, which satisfies every such caller.
int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_me_t* me_init, ptl_list_t ptl_list, void* user_ptr,
                         ptl_handle_me_t* me_handle_p, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::triggered_append("PtlTriggeredMEAppend", ni_handle, pt_index, me_init, ptl_list, user_ptr, me_handle_p, trig_ct_handle,
                               threshold);
}
PTL_BARRIER

int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  api::Fault fault;
  const ListEntry* entry = api::object(api::runtime().objects().entries, "me_handle", me_handle, fault);
  if (!entry) return api::refuse(__func__, fault);
  Command command;
  command.verb = Verb::unlink;
  command.ni = entry->ni;
  command.handle = me_handle;
  return api::submit_triggered(__func__, command, trig_ct_handle, threshold);
}
PTL_BARRIER

int PtlxTriggeredLocal(ptl_handle_ni_t ni, ptlx_local_op_t op, ptl_datatype_t type, void* dst, const void* a, const void* b,
                       ptl_size_t count, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  const ptlx_memory_t to{dst, 0}, first{const_cast<void*>(a), 0}, second{const_cast<void*>(b), 0};
  return api::triggered_local(__func__, ni, op, type, &to, &first, &second, count, completion, trig_ct, threshold);
}
PTL_BARRIER

int PtlxTriggeredLocalVector(ptl_handle_ni_t ni, ptlx_local_op_t op, ptl_datatype_t type, const ptlx_memory_t* dst, const ptlx_memory_t* a,
                             const ptlx_memory_t* b, ptl_size_t count, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct,
                             ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::triggered_local(__func__, ni, op, type, dst, a, b, count, completion, trig_ct, threshold);
}
PTL_BARRIER

int PtlxTriggeredAwait(ptl_handle_ni_t ni, const void* word, ptl_datatype_t type, ptlx_comparison_t comparison, const void* value,
                       uint32_t watched, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct, ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::triggered_await(__func__, ni, word, type, comparison, value, watched, completion, trig_ct, threshold);
}
PTL_BARRIER

int PtlxTriggeredCall(ptl_handle_ni_t ni, int (*work)(void* argument), void* argument, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct,
                      ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::triggered_call(__func__, ni, work, argument, completion, trig_ct, threshold);
}
PTL_BARRIER

int PtlxTriggeredNotify(ptl_handle_ni_t ni, uint64_t* word, int descriptor, unsigned int flags, ptl_handle_ct_t trig_ct,
                        ptl_size_t threshold) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni);
  if (!interface) return api::refuse(__func__, api::bad_interface(ni));
  if (!word) return api::refuse(__func__, {"word", api::kIsNull});
  if (reinterpret_cast<uintptr_t>(word) % sizeof *word != 0) return api::refuse(__func__, {"word", "is not aligned to 8 bytes"});
  if (descriptor < -1) return api::refuse(__func__, {"descriptor", "is neither -1 nor a descriptor"});
  if (flags & ~PTLX_NOTIFY_FUTEX) return api::refuse(__func__, {"flags", "has bits that are no PTLX_NOTIFY_ flag"});
  Command command;
  command.verb = Verb::local;
  command.ni = static_cast<uint8_t>(interface->index);
  command.op = kNotify;
  command.handle = PTL_CT_NONE;
  command.extra.notice = {word, flags, descriptor};
  return api::submit_triggered(__func__, command, trig_ct, threshold);
}
PTL_BARRIER

int PtlxCTRepeat(ptl_handle_ct_t ct, ptl_size_t stride, ptl_match_bits_t match_field) try {
  if (!api::initialized()) return PTL_NO_INIT;
  const uint64_t lowest = match_field & (~match_field + 1);
  if (match_field & (match_field + lowest)) return api::refuse(__func__, {"match_field", "names bits that are not adjacent"});
  return api::change_counter(__func__, ct, [&](Engine&, Counter& counter) {
    counter.stride = stride;
    counter.match_field = match_field;
    return api::Fault{};
  });
}
PTL_BARRIER

int PtlxCTGuard(ptl_handle_ct_t ct, ptl_handle_ct_t errors) try {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::change_counter(__func__, ct, [&](Engine& engine, Counter& counter) UNDER_BATON {
    if (api::Fault fault = api::counter_or_none("errors", errors, counter.ni)) return fault;
    const Counter* other = errors == PTL_CT_NONE ? nullptr : api::runtime().objects().counters.find(errors);
    if (other == &counter) return api::Fault{"errors", "is ct itself"};
    if (other && other->success_only) return api::Fault{"errors", "is guarded itself"};
    engine.guard(counter, other ? errors : 0);
    return api::Fault{};
  });
}
PTL_BARRIER

int PtlxCTWatch(ptl_handle_ct_t ct, ptl_process_t peer) try {
  if (!api::initialized()) return PTL_NO_INIT;
  int code = PTL_OK;
  const int found = api::change_counter(__func__, ct, [&](Engine& engine, Counter& counter) UNDER_BATON {
    Peer* known = engine.peers().target(counter.ni, peer);
    if (!known) return api::Fault{"peer", "is a rank outside of the map"};
    code = engine.watch(ct, *known);
    return api::Fault{};
  });
  if (found == PTL_OK && code == PTL_OK) {
    // The engine's thread may sleep for as long as it likes, since nobody was watched before: from now on it has to look for deaths.
    Command nothing;
    api::progress().leave_to_engine(nothing);
  }
  return found == PTL_OK ? code : found;
}
PTL_BARRIER

int PtlxCTBusy(ptl_handle_ct_t ct, int* busy) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!busy) return api::refuse(__func__, {"busy", api::kIsNull});
  return api::change_counter(__func__, ct, [&](Engine& engine, Counter&) UNDER_BATON {
    *busy = static_cast<int>(engine.counts_on(ct));
    return api::Fault{};
  });
}
PTL_BARRIER

}  // extern "C"
