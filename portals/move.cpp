// move.cpp: PtlPut, PtlGet, PtlAtomic, PtlFetchAtomic, PtlSwap. Check, fill a Command, hand it over; no protocol here.
// Source: Portals 4.3, data movement.
#include "portals/move.hpp"

#include <algorithm>
#include <cstring>

#include "portals/portals4_ext.h"

using namespace portunus;

namespace portunus::api {

namespace {

// PtlStartBundle without their PtlEndBundle, of this thread. Read by every message: without a call for its address.
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
thread_local constinit unsigned bundle_depth = 0;

constexpr const char* kNoTarget = "is a rank outside of the map (or PtlSetMap was not called)";

[[gnu::always_inline]] inline Fault check_target(const Interface& interface, const Remote& remote) {
  if (interface.logical() && remote.target.rank >= interface.map_size.load(std::memory_order_acquire)) return {"target_id", kNoTarget};
  return {};
}
// An index that no portal table has is the target's to refuse.
uint16_t portal_of(const Remote& remote) { return static_cast<uint16_t>(std::min<ptl_pt_index_t>(remote.pt_index, 0xffff)); }

Fault fill_remote(Command& command, const Interface& interface, const Remote& remote) {
  if (Fault fault = check_target(interface, remote)) return fault;
  command.ni = static_cast<uint8_t>(interface.index);
  command.target = remote.target;
  command.pt_index = portal_of(remote);
  command.match_bits = remote.match_bits;
  command.remote_offset = remote.offset;
  command.user_ptr = remote.user_ptr;
  command.hdr_data = remote.hdr_data;
  return {};
}

[[gnu::always_inline]] inline Fault check_ack(const Descriptor& descriptor, ptl_ack_req_t ack) {
  if (ack == PTL_NO_ACK_REQ) return {};
  if (ack > PTL_OC_ACK_REQ) return {"ack_req", "is none of PTL_NO_ACK_REQ, PTL_ACK_REQ, PTL_CT_ACK_REQ, PTL_OC_ACK_REQ"};
  if (ack == PTL_ACK_REQ) {
    if (descriptor.md.eq_handle == PTL_EQ_NONE) return {"ack_req", "is PTL_ACK_REQ, and the memory descriptor has no event queue"};
    if (descriptor.md.options & PTL_MD_UNRELIABLE) return {"ack_req", "is PTL_ACK_REQ, and the memory descriptor is PTL_MD_UNRELIABLE"};
  }
  if (ack == PTL_CT_ACK_REQ && descriptor.md.ct_handle == PTL_CT_NONE)
    return {"ack_req", "is PTL_CT_ACK_REQ, and the memory descriptor has no counting event"};
  return {};
}

struct Limit {
  ptl_size_t ptl_ni_limits_t::*member;
  const char* exceeded;
};
constexpr Limit kMessage{&ptl_ni_limits_t::max_msg_size, "is above max_msg_size"};
constexpr Limit kAtomic{&ptl_ni_limits_t::max_atomic_size, "is above max_atomic_size"};
constexpr Limit kFetch{&ptl_ni_limits_t::max_fetch_atomic_size, "is above max_fetch_atomic_size"};

// The checks that put, atomic, fetch and swap share on their data source.
template <bool plain>
[[gnu::always_inline]] inline Fault check_source(Local& source, const Descriptor& descriptor, const char* argument, ptl_size_t offset,
                                                 ptl_size_t length, const ptl_ni_limits_t& limits, const Limit& limit) {
  if (Fault fault = local_memory<plain>(descriptor, argument, offset, length, source)) return fault;
  return length > limits.*limit.member ? Fault{"length", limit.exceeded} : Fault{};
}

Fault fill_source(Command& command, const Descriptor& descriptor, const char* argument, ptl_size_t offset, ptl_size_t length,
                  const Limit& limit) {
  const ptl_ni_limits_t& limits = runtime().interface(descriptor.ni).limits;
  if (Fault fault = check_source<false>(command.source, descriptor, argument, offset, length, limits, limit)) return fault;
  if (length > limits.max_volatile_size) command.source.options &= ~unsigned{PTL_MD_VOLATILE};  // no copy was promised
  command.length = length;
  return {};
}

// Put and atomic: one descriptor, and an acknowledgement.
Fault prepare_send(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, const Remote& remote,
                   const Limit& limit) {
  Fault fault;
  const Descriptor* descriptor = object(runtime().objects().descriptors, "md_handle", md, fault);
  if (!descriptor) return fault;
  if ((fault = fill_source(command, *descriptor, "local_offset", offset, length, limit))) return fault;
  if ((fault = check_ack(*descriptor, ack))) return fault;
  command.ack = ack;
  return fill_remote(command, runtime().interface(descriptor->ni), remote);
}

constexpr const char* kNotAtomic = "and datatype do not go together in an atomic";
constexpr const char* kNotSwap = "and datatype do not go together in a swap";

// The short way of most puts: the same checks, and the message leaves without a Command. False: something about this one is unusual, or
// wrong, which prepare_put finds out; nothing was done.
[[gnu::always_inline]] inline bool put_at_once(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack,
                                               const Remote& remote) {
  constexpr unsigned kUnusual = PTL_IOVEC | PTLX_MD_LAZY | PTLX_MD_HEADER_FIRST | PTLX_MD_LAYOUT;
  Runtime& process = runtime();
  const Descriptor* descriptor = process.objects().descriptors.find(md_handle);
  if (!descriptor || bundle_depth > 0 || (descriptor->md.options & kUnusual)) return false;
  const Interface& interface = process.interface(descriptor->ni);
  Local source;
  if (check_source<true>(source, *descriptor, "local_offset", local_offset, length, interface.limits, kMessage) ||
      check_ack(*descriptor, ack) || check_target(interface, remote))
    return false;
  if (!process.progress().try_enter()) return false;
  wire::Header header{};
  header.set_kind(wire::Kind::put, descriptor->ni | unsigned{ack} << wire::kAckShift);
  header.pt_index = portal_of(remote);
  header.match_bits = remote.match_bits;
  header.hdr_data = remote.hdr_data;
  header.rlength = length;
  header.remote_offset = remote.offset;
  const bool done = process.progress().run_or_leave(
      [&](Engine& engine) UNDER_BATON { return engine.initiator().put_at_once(header, remote.target, source, remote.user_ptr); });
  process.progress().leave();
  return done;
}

}  // namespace

Fault prepare_put(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, const Remote& remote) {
  command.verb = Verb::put;
  return prepare_send(command, md, offset, length, ack, remote, kMessage);
}

Fault prepare_get(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, const Remote& remote) {
  Fault fault;
  const Descriptor* descriptor = object(runtime().objects().descriptors, "md_handle", md, fault);
  if (!descriptor) return fault;
  if ((fault = local_memory(*descriptor, "local_offset", offset, length, command.source))) return fault;
  Interface& interface = runtime().interface(descriptor->ni);
  if (length > interface.limits.max_msg_size) return {"length", kMessage.exceeded};
  command.verb = Verb::get;
  command.length = length;
  return fill_remote(command, interface, remote);
}

Fault prepare_atomic(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, const Remote& remote,
                     ptl_op_t op, ptl_datatype_t type) {
  if (!atomic_allowed(op, type)) return {"operation", kNotAtomic};
  command.verb = Verb::atomic;
  command.op = op;
  command.datatype = type;
  return prepare_send(command, md, offset, length, ack, remote, kAtomic);
}

namespace {

Fault prepare_return(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                     ptl_size_t length, const Remote& remote, ptl_op_t op, ptl_datatype_t type) {
  auto& descriptors = runtime().objects().descriptors;
  Fault fault;
  const Descriptor* result = object(descriptors, "get_md_handle", get_md, fault);
  const Descriptor* source = result ? object(descriptors, "put_md_handle", put_md, fault) : nullptr;
  if (!source) return fault;
  if (result->ni != source->ni) return {"get_md_handle", "and put_md_handle belong to different interfaces"};
  if ((fault = fill_source(command, *source, "local_put_offset", put_offset, length, kFetch))) return fault;
  if ((fault = local_memory(*result, "local_get_offset", get_offset, length, command.result))) return fault;
  command.op = op;
  command.datatype = type;
  return fill_remote(command, runtime().interface(source->ni), remote);
}

}  // namespace

Fault prepare_fetch(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                    ptl_size_t length, const Remote& remote, ptl_op_t op, ptl_datatype_t type) {
  if (!atomic_allowed(op, type)) return {"operation", kNotAtomic};
  command.verb = Verb::fetch_atomic;
  return prepare_return(command, get_md, get_offset, put_md, put_offset, length, remote, op, type);
}

Fault prepare_swap(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                   ptl_size_t length, const Remote& remote, const void* operand, ptl_op_t op, ptl_datatype_t type) {
  if (!swap_allowed(op, type)) return {"operation", kNotSwap};
  if (op != PTL_SWAP) {  // the plain swap has no operand, whatever the pointer says
    if (!operand) return {"operand", kIsNull};
    if (length > datatype_size(type)) return {"length", "is more than one item of datatype"};
    std::memcpy(command.extra.operand, operand, datatype_size(type));
  }
  command.verb = Verb::swap;
  return prepare_return(command, get_md, get_offset, put_md, put_offset, length, remote, op, type);
}

}  // namespace portunus::api

namespace {

// Returns when half of what is held back for targets that do not take it has gone, so that whoever only sends cannot use up the memory.
// A condition of a wait must not wait. What a bundle has kept back goes with the first step.
[[gnu::cold, gnu::noinline]] void wait_for_room(const Engine& engine) {
  if (thread_state.waits) return;
  api::progress().wait([&] { return !engine.overfull(); }, -1);
}
inline void wait_while_overfull() {
  if (const Engine& engine = api::runtime().engine(); engine.overfull()) [[unlikely]]
    wait_for_room(engine);
}

void hand_over(Command& command) {
  if (api::bundle_depth > 0) [[unlikely]]
    command.source.options |= PTLX_MD_LAZY;
  api::progress().submit(command);
  wait_while_overfull();
}

}  // namespace

extern "C" {

int PtlPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
           ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data) try {
  if (!api::initialized()) return PTL_NO_INIT;
  const api::Remote remote{target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data};
  if (api::put_at_once(md_handle, local_offset, length, ack_req, remote)) return PTL_OK;
  Command command;
  const api::Fault fault = api::prepare_put(command, md_handle, local_offset, length, ack_req, remote);
  if (fault) return api::refuse(__func__, fault);
  hand_over(command);
  return PTL_OK;
}
PTL_BARRIER

int PtlGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault =
      api::prepare_get(command, md_handle, local_offset, length, {target_id, pt_index, match_bits, remote_offset, user_ptr, 0});
  if (fault) return api::refuse(__func__, fault);
  hand_over(command);
  return PTL_OK;
}
PTL_BARRIER

int PtlAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
              ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
              ptl_op_t operation, ptl_datatype_t datatype) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault = api::prepare_atomic(command, md_handle, local_offset, length, ack_req,
                                               {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  if (fault) return api::refuse(__func__, fault);
  hand_over(command);
  return PTL_OK;
}
PTL_BARRIER

int PtlFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
                   ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                   ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault = api::prepare_fetch(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                                              {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  if (fault) return api::refuse(__func__, fault);
  hand_over(command);
  return PTL_OK;
}
PTL_BARRIER

int PtlSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
            ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
            void* user_ptr, ptl_hdr_data_t hdr_data, const void* operand, ptl_op_t operation, ptl_datatype_t datatype) try {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const api::Fault fault =
      api::prepare_swap(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                        {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operand, operation, datatype);
  if (fault) return api::refuse(__func__, fault);
  hand_over(command);
  return PTL_OK;
}
PTL_BARRIER

// Atomics are done with CPU atomics by whoever steps the engine, so what has been reported can be read at once.
int PtlAtomicSync(void) try {
  if (!api::initialized()) return PTL_NO_INIT;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return PTL_OK;
}
PTL_BARRIER

int PtlStartBundle(ptl_handle_ni_t ni_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni_handle)) return api::refuse(__func__, api::bad_interface(ni_handle));
  ++api::bundle_depth;
  return PTL_OK;
}
PTL_BARRIER

int PtlEndBundle(ptl_handle_ni_t ni_handle) try {
  if (!api::initialized()) return PTL_NO_INIT;
  if (!api::find_interface(ni_handle)) return api::refuse(__func__, api::bad_interface(ni_handle));
  if (api::bundle_depth == 0 || --api::bundle_depth > 0) return PTL_OK;
  const int code = api::progress().locked([](Engine& engine) UNDER_BATON {
    engine.peers().flush();
    return static_cast<int>(PTL_OK);
  });
  wait_while_overfull();
  return code;
}
PTL_BARRIER

}  // extern "C"
