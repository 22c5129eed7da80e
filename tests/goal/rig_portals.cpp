// The Portals calls of program.cpp on a rig's engines: see rig_portals.hpp. Arguments are the program's and not checked.
//
// Thread: one.
#include "tests/goal/rig_portals.hpp"

#include "engine/goal/program.hpp"

using namespace portunus;
using goal::Favour;
using goal::rig_portals;

namespace {

test::Node& node() { return *rig_portals.current; }

bool granted(Favour favour, ptl_me_t* me = nullptr) { return !rig_portals.grants || rig_portals.grants(favour, me); }

int park(Command command, ptl_handle_ct_t ct, ptl_size_t threshold) {
  for (int times = rig_portals.parks ? rig_portals.parks(command, threshold) : 1; times > 0; --times) node().arm(command, ct, threshold);
  return PTL_OK;
}

Counter& counter(ptl_handle_ct_t ct) { return *node().objects.counters.find(ct); }

uint32_t claim(const ptl_me_t& me, ptl_list_t list, ptl_pt_index_t index) {
  uint32_t options = me.options;
  if (!rig_portals.complete_unexpected && (options & PTLX_ME_COMPLETE_UNEXPECTED) && (options & PTL_ME_USE_ONCE))
    options = (options & ~PTLX_ME_COMPLETE_UNEXPECTED) | PTL_ME_EVENT_CT_OVERFLOW;
  static char overflow[1 << 16];  // what lands there is lost
  test::Node::Entry want{.start = me.start,
                         .length = me.length,
                         .options = options,
                         .match_bits = me.match_bits,
                         .ignore_bits = me.ignore_bits,
                         .rank = me.match_id.rank,
                         .ct = me.ct_handle,
                         .list = list};
  if (!rig_portals.complete_unexpected && list == PTL_OVERFLOW_LIST) {
    want.options &= ~PTLX_ME_HOLD;
    want.start = overflow;
    want.length = sizeof overflow;
  }
  return node().claim(want, index);
}

Command message(Verb verb, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_t target, ptl_pt_index_t index,
                ptl_match_bits_t bits, ptl_size_t remote_offset) {
  const ptl_md_t& memory = node().objects.descriptors.find(md)->md;
  Command command = node().put(reinterpret_cast<void*>(offset), length, target.rank, bits);
  command.verb = verb;
  command.pt_index = static_cast<uint16_t>(index);
  command.remote_offset = remote_offset;
  command.source.options = memory.options;
  command.source.ct = memory.ct_handle;
  return command;
}

}  // namespace

extern "C" {

int PtlPTAlloc(ptl_handle_ni_t, unsigned int options, ptl_handle_eq_t eq, ptl_pt_index_t wanted, ptl_pt_index_t* index) {
  return node().engine.table().alloc(0, options, eq, wanted, *index);
}
int PtlPTFree(ptl_handle_ni_t, ptl_pt_index_t index) { return node().engine.target().free_portal(0, index); }
int PtlMEAppend(ptl_handle_ni_t, ptl_pt_index_t index, const ptl_me_t* wanted, ptl_list_t list, void*, ptl_handle_me_t* handle) {
  ptl_me_t me = *wanted;
  Command command;
  command.verb = Verb::append;
  const bool kept = granted(Favour::append, &me);
  command.handle = *handle = claim(me, list, index);
  if (!kept) return PTL_OK;
  node().run(command);
  return PTL_OK;
}
int PtlxTriggeredMEAppend(ptl_handle_ni_t, ptl_pt_index_t index, const ptl_me_t* wanted, ptl_list_t list, void*, ptl_handle_me_t* handle,
                          ptl_handle_ct_t ct, ptl_size_t threshold) {
  ptl_me_t me = *wanted;
  Command command;
  command.verb = Verb::append;
  const bool kept = granted(Favour::append, &me);
  command.handle = *handle = claim(me, list, index);
  if (!kept) return PTL_OK;
  return park(command, ct, threshold);
}
int PtlMEUnlink(ptl_handle_me_t me) { return node().engine.table().unlink(me); }
int PtlMESearch(ptl_handle_ni_t, ptl_pt_index_t, const ptl_me_t* me, ptl_search_op_t op, void*) {
  ListEntry like;
  like.options = me->options;
  like.match_bits = me->match_bits;
  like.ignore_bits = me->ignore_bits;
  like.source_mask = 0;
  return node().engine.target().unexpected().search(0, 0, like, like, op);
}
int PtlCTAlloc(ptl_handle_ni_t, ptl_handle_ct_t* ct) {
  *ct = node().counter();
  return PTL_OK;
}
int PtlCTFree(ptl_handle_ct_t ct) {
  Counter* found = node().objects.counters.find(ct);
  if (!found) return PTL_ARG_INVALID;
  node().engine.cancel_triggers(*found, ct);
  node().engine.peers().unwatch(ct);
  node().objects.counters.retire(ct);
  node().objects.counters.give_back(handle_index(ct));
  return PTL_OK;
}
int PtlCTCancelTriggered(ptl_handle_ct_t ct) {
  node().engine.cancel_triggers(counter(ct), ct);
  return PTL_OK;
}
int PtlCTGet(ptl_handle_ct_t ct, ptl_ct_event_t* value) {
  *value = counter(ct).read();
  return PTL_OK;
}
int PtlxCTPeek(ptl_handle_ct_t ct, ptl_ct_event_t* value) { return PtlCTGet(ct, value); }
int PtlCTWait(ptl_handle_ct_t ct, ptl_size_t test, ptl_ct_event_t* value) {
  for (*value = counter(ct).read(); value->success < test && value->failure == 0; *value = counter(ct).read()) rig_portals.meanwhile();
  return PTL_OK;
}
int PtlCTInc(ptl_handle_ct_t ct, ptl_ct_event_t increment) {
  node().add(ct, increment.success, increment.failure);
  if (rig_portals.settles) node().engine.settle();
  return PTL_OK;
}
int PtlxCTIncSoon(ptl_handle_ct_t ct, ptl_ct_event_t increment) { return PtlCTInc(ct, increment); }
int PtlMDBind(ptl_handle_ni_t, const ptl_md_t* md, ptl_handle_md_t* handle) {
  const uint32_t index = node().objects.descriptors.claim();
  node().objects.descriptors.at(index).md = *md;
  node().objects.descriptors.at(index).ni = 0;
  *handle = node().objects.descriptors.publish(index);
  return PTL_OK;
}
int PtlMDRelease(ptl_handle_md_t md) {
  if (node().objects.descriptors.retire(md)) node().objects.descriptors.give_back(handle_index(md));
  return PTL_OK;
}
int PtlPut(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t target, ptl_pt_index_t index,
           ptl_match_bits_t bits, ptl_size_t remote_offset, void*, ptl_hdr_data_t) {
  Command put = message(Verb::put, md, offset, length, target, index, bits, remote_offset);
  put.ack = static_cast<uint8_t>(ack);
  node().run(put);
  return PTL_OK;
}
int PtlTriggeredPut(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t target, ptl_pt_index_t index,
                    ptl_match_bits_t bits, ptl_size_t remote_offset, void*, ptl_hdr_data_t, ptl_handle_ct_t ct, ptl_size_t threshold) {
  if (!rig_portals.tells_failures && ack != PTL_NO_ACK_REQ) return PTL_OK;
  Command put = message(Verb::put, md, offset, length, target, index, bits, remote_offset);
  put.ack = static_cast<uint8_t>(ack);
  return park(put, ct, threshold);
}
int PtlTriggeredGet(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_t target, ptl_pt_index_t index,
                    ptl_match_bits_t bits, ptl_size_t remote_offset, void*, ptl_handle_ct_t ct, ptl_size_t threshold) {
  return park(message(Verb::get, md, offset, length, target, index, bits, remote_offset), ct, threshold);
}
int PtlTriggeredAtomic(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t target,
                       ptl_pt_index_t index, ptl_match_bits_t bits, ptl_size_t remote_offset, void*, ptl_hdr_data_t, ptl_op_t op,
                       ptl_datatype_t type, ptl_handle_ct_t ct, ptl_size_t threshold) {
  Command atomic = message(Verb::atomic, md, offset, length, target, index, bits, remote_offset);
  atomic.ack = static_cast<uint8_t>(ack);
  atomic.op = static_cast<uint8_t>(op);
  atomic.datatype = static_cast<uint8_t>(type);
  return park(atomic, ct, threshold);
}
int PtlCTPoll(const ptl_handle_ct_t*, const ptl_size_t*, unsigned int, ptl_time_t, ptl_ct_event_t*, unsigned int*) {
  rig_portals.meanwhile();
  return PTL_CT_NONE_REACHED;
}
int PtlTriggeredCTInc(ptl_handle_ct_t ct, ptl_ct_event_t increment, ptl_handle_ct_t trigger, ptl_size_t threshold) {
  Command command;
  command.verb = Verb::counter_add;
  command.handle = ct;
  command.extra.count = increment;
  return park(command, trigger, threshold);
}
int PtlxTriggeredLocalVector(ptl_handle_ni_t, ptlx_local_op_t op, ptl_datatype_t type, const ptlx_memory_t* dst, const ptlx_memory_t* a,
                             const ptlx_memory_t* b, ptl_size_t count, ptl_handle_ct_t completion, ptl_handle_ct_t ct,
                             ptl_size_t threshold) {
  Command command;
  command.verb = Verb::local;
  command.op = static_cast<uint8_t>(op);
  command.datatype = type;
  command.handle = completion;
  command.length = count;
  command.source.base = dst->start;
  command.extra.operand_a.base = a->start;
  command.result.base = b->start;
  return park(command, ct, threshold);
}
int PtlxTriggeredNotify(ptl_handle_ni_t, uint64_t* word, int, unsigned int, ptl_handle_ct_t ct, ptl_size_t threshold) {
  Command command;
  command.verb = Verb::local;
  command.op = kNotify;
  command.extra.notice = {word, 0, -1};
  return park(command, ct, threshold);
}
int PtlxCTRepeat(ptl_handle_ct_t ct, ptl_size_t stride, ptl_match_bits_t field) {
  if (!granted(Favour::repeat)) return PTL_OK;
  counter(ct).stride = stride;
  counter(ct).match_field = field;
  return PTL_OK;
}
int PtlxCTGuard(ptl_handle_ct_t ct, ptl_handle_ct_t errors) {
  if (rig_portals.guard && granted(Favour::guard)) node().engine.guard(counter(ct), errors);
  return PTL_OK;
}
int PtlxCTWatch(ptl_handle_ct_t ct, ptl_process_t peer) {
  if (!granted(Favour::watch)) return PTL_OK;
  return node().engine.watch(ct, *node().engine.peers().target(0, peer));
}
int PtlxCTBusy(ptl_handle_ct_t ct, int* busy) {
  *busy = node().objects.counters.find(ct) ? static_cast<int>(node().engine.counts_on(ct)) : 0;
  return PTL_OK;
}
int PtlGetMap(ptl_handle_ni_t, ptl_size_t, ptl_process_t*, ptl_size_t* size) {
  *size = node().engine.interface(0).map_size.load();
  return PTL_OK;
}
int PtlGetId(ptl_handle_ni_t, ptl_process_t* id) {
  Interface& interface = node().engine.interface(0);
  id->rank = interface.rank_of.at(packed(node().engine.self()));
  return PTL_OK;
}
int PtlxEngineInfo(ptlx_engine_info_t* info) {
  *info = {};
  info->triggers = node().engine.stats().triggers.read();
  return PTL_OK;
}
int PtlxProgress(void) { return rig_portals.meanwhile(); }

}  // extern "C"
