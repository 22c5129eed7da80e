// triggered.cpp: the same verbs, parked on a counter. All arguments are checked and captured at the call; the data is
// read when the operation fires. Source: Portals 4.3, triggered operations; extensions E2 and E3.
#include "portals/list_entries.hpp"
#include "portals/move.hpp"
#include "portals/portals4_ext.h"

using namespace portunus;

namespace portunus::api {

int submit_triggered(Command& command, ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  const Counter* counter = client().objects().counters.find(trig_ct);
  if (!counter || counter->ni != command.ni) return PTL_ARG_INVALID;
  Interface& interface = client().interface(command.ni);
  if (!take(interface.triggers, interface.limits.max_triggered_ops)) return PTL_NO_SPACE;
  command.armed = command.verb;
  command.verb = Verb::arm;
  command.trigger_ct = trig_ct;
  command.threshold = threshold;
  client().submit(command);
  return PTL_OK;
}

namespace {

int triggered_change(Verb verb, ptl_handle_ct_t ct, ptl_ct_event_t value, ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  const Counter* counter = client().objects().counters.find(ct);
  if (!counter) return PTL_ARG_INVALID;
  Command command;
  command.verb = verb;
  command.ni = counter->ni;
  command.handle = ct;
  command.extra.count = value;
  return submit_triggered(command, trig_ct, threshold);
}

}  // namespace
}  // namespace portunus::api

extern "C" {

int PtlTriggeredPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
                    ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr,
                    ptl_hdr_data_t hdr_data, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_put(command, md_handle, local_offset, length, ack_req,
                                    {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data});
  return code == PTL_OK ? api::submit_triggered(command, trig_ct_handle, threshold) : code;
}

int PtlTriggeredGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_handle_ct_t trig_ct_handle,
                    ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_get(command, md_handle, local_offset, length, {target_id, pt_index, match_bits, remote_offset, user_ptr, 0});
  return code == PTL_OK ? api::submit_triggered(command, trig_ct_handle, threshold) : code;
}

int PtlTriggeredAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
                       ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
                       void* user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype,
                       ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_atomic(command, md_handle, local_offset, length, ack_req,
                                       {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  return code == PTL_OK ? api::submit_triggered(command, trig_ct_handle, threshold) : code;
}

int PtlTriggeredFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
                            ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                            ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
                            ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_fetch(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                                      {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  return code == PTL_OK ? api::submit_triggered(command, trig_ct_handle, threshold) : code;
}

int PtlTriggeredSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
                     ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                     ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data, const void* operand,
                     ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_swap(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                                     {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operand, operation, datatype);
  return code == PTL_OK ? api::submit_triggered(command, trig_ct_handle, threshold) : code;
}

int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  if (increment.success != 0 && increment.failure != 0) return PTL_ARG_INVALID;
  return api::triggered_change(Verb::counter_add, ct_handle, increment, trig_ct_handle, threshold);
}

int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::triggered_change(Verb::counter_set, ct_handle, new_ct, trig_ct_handle, threshold);
}

int PtlxTriggeredMEAppend(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_list_t list, void* user_ptr,
                          ptl_handle_me_t* me_handle, ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni);
  const Counter* counter = api::client().objects().counters.find(trig_ct);
  if (!interface || !me || !me_handle || !counter || counter->ni != interface->index) return PTL_ARG_INVALID;
  const int code = api::claim_entry(*interface, pt_index, *me, true, api::kMeOptions, list, user_ptr, *me_handle);
  if (code != PTL_OK) return code;
  Command command;
  command.verb = Verb::append;
  command.ni = static_cast<uint8_t>(interface->index);
  command.handle = *me_handle;
  const int parked = api::submit_triggered(command, trig_ct, threshold);
  if (parked != PTL_OK) api::client().locked([&](Engine& engine) { return engine.discard_entry(*me_handle); });
  return parked;
}

// The reference implementation's spelling of E2. Its structure and handle pointers may be used until it fires; ours are
// read and written at the call, which satisfies every such caller.
int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_me_t* me_init, ptl_list_t ptl_list, void* user_ptr,
                         ptl_handle_me_t* me_handle_p, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  return PtlxTriggeredMEAppend(ni_handle, pt_index, me_init, ptl_list, user_ptr, me_handle_p, trig_ct_handle, threshold);
}

int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  const ListEntry* entry = api::client().objects().entries.find(me_handle);
  if (!entry) return PTL_ARG_INVALID;
  Command command;
  command.verb = Verb::unlink;
  command.ni = entry->ni;
  command.handle = me_handle;
  return api::submit_triggered(command, trig_ct_handle, threshold);
}

int PtlxTriggeredLocal(ptl_handle_ni_t ni, ptlx_local_op_t op, ptl_datatype_t type, void* dst, const void* a, const void* b,
                       ptl_size_t count, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct, ptl_size_t threshold) {
  if (!api::initialized()) return PTL_NO_INIT;
  Interface* interface = api::find_interface(ni);
  if (!interface || static_cast<unsigned>(op) > PTLX_DELAY || !api::counter_or_none(completion, interface->index)) return PTL_ARG_INVALID;
  const bool needs_memory = op != PTLX_DELAY && (count > 0 || op == PTLX_TIMESTAMP);
  if (op < PTLX_TIMESTAMP && !local_allowed(op, type)) return PTL_ARG_INVALID;
  if (needs_memory && (!dst || (op != PTLX_TIMESTAMP && !a) || (op < PTLX_COPY && !b))) return PTL_ARG_INVALID;
  Command command;
  command.verb = Verb::local;
  command.ni = static_cast<uint8_t>(interface->index);
  command.op = static_cast<uint8_t>(op);
  command.datatype = type;
  command.handle = completion;
  command.length = count;
  command.source.base = dst;
  command.extra.third = const_cast<void*>(a);
  command.result.base = const_cast<void*>(b);
  return api::submit_triggered(command, trig_ct, threshold);
}

}  // extern "C"
