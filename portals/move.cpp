// move.cpp: PtlPut, PtlGet, PtlAtomic, PtlFetchAtomic, PtlSwap. Check, fill a Command, hand it over; no protocol here.
// Source: Portals 4.3, data movement.
#include "portals/move.hpp"

#include <algorithm>
#include <cstring>

using namespace portunus;

namespace portunus::api {

namespace {

bool fill_remote(Command& command, Interface& interface, const Remote& remote) {
  if (interface.logical() && remote.target.rank >= interface.map_size.load(std::memory_order_acquire)) return false;
  command.ni = static_cast<uint8_t>(interface.index);
  command.target = remote.target;
  // An index that no portal table has is the target's to refuse.
  command.pt_index = static_cast<uint16_t>(std::min<ptl_pt_index_t>(remote.pt_index, 0xffff));
  command.match_bits = remote.match_bits;
  command.remote_offset = remote.offset;
  command.user_ptr = remote.user_ptr;
  command.hdr_data = remote.hdr_data;
  return true;
}

bool acceptable_ack(const Descriptor& descriptor, ptl_ack_req_t ack) {
  if (ack > PTL_OC_ACK_REQ) return false;
  if (ack == PTL_ACK_REQ && (descriptor.md.eq_handle == PTL_EQ_NONE || (descriptor.md.options & PTL_MD_UNRELIABLE))) return false;
  return ack != PTL_CT_ACK_REQ || descriptor.md.ct_handle != PTL_CT_NONE;
}

// The checks that put, atomic, fetch and swap share on their data source.
Interface* fill_source(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_size_t ptl_ni_limits_t::*limit) {
  Descriptor* descriptor = client().objects().descriptors.find(md);
  if (!descriptor || !local_memory(*descriptor, offset, length, command.source)) return nullptr;
  Interface& interface = client().interface(descriptor->ni);
  if (length > interface.limits.*limit) return nullptr;
  if ((descriptor->md.options & PTL_MD_VOLATILE) && length > interface.limits.max_volatile_size) return nullptr;
  command.length = length;
  return &interface;
}

}  // namespace

int prepare_put(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, const Remote& remote) {
  Interface* interface = fill_source(command, md, offset, length, &ptl_ni_limits_t::max_msg_size);
  if (!interface || !acceptable_ack(*client().objects().descriptors.find(md), ack) || !fill_remote(command, *interface, remote))
    return PTL_ARG_INVALID;
  command.verb = Verb::put;
  command.ack = ack;
  return PTL_OK;
}

int prepare_get(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, const Remote& remote) {
  Descriptor* descriptor = client().objects().descriptors.find(md);
  if (!descriptor || !local_memory(*descriptor, offset, length, command.source)) return PTL_ARG_INVALID;
  Interface& interface = client().interface(descriptor->ni);
  if (length > interface.limits.max_msg_size || !fill_remote(command, interface, remote)) return PTL_ARG_INVALID;
  command.verb = Verb::get;
  command.length = length;
  return PTL_OK;
}

int prepare_atomic(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, const Remote& remote,
                   ptl_op_t op, ptl_datatype_t type) {
  if (!atomic_allowed(op, type)) return PTL_ARG_INVALID;
  Interface* interface = fill_source(command, md, offset, length, &ptl_ni_limits_t::max_atomic_size);
  if (!interface || !acceptable_ack(*client().objects().descriptors.find(md), ack) || !fill_remote(command, *interface, remote))
    return PTL_ARG_INVALID;
  command.verb = Verb::atomic;
  command.ack = ack;
  command.op = op;
  command.datatype = type;
  return PTL_OK;
}

namespace {

int prepare_return(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                   ptl_size_t length, const Remote& remote, ptl_op_t op, ptl_datatype_t type) {
  Descriptor* result = client().objects().descriptors.find(get_md);
  Interface* interface = fill_source(command, put_md, put_offset, length, &ptl_ni_limits_t::max_fetch_atomic_size);
  if (!interface || !result || result->ni != interface->index || !local_memory(*result, get_offset, length, command.result) ||
      !fill_remote(command, *interface, remote))
    return PTL_ARG_INVALID;
  command.op = op;
  command.datatype = type;
  return PTL_OK;
}

}  // namespace

int prepare_fetch(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                  ptl_size_t length, const Remote& remote, ptl_op_t op, ptl_datatype_t type) {
  if (!atomic_allowed(op, type)) return PTL_ARG_INVALID;
  command.verb = Verb::fetch_atomic;
  return prepare_return(command, get_md, get_offset, put_md, put_offset, length, remote, op, type);
}

int prepare_swap(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                 ptl_size_t length, const Remote& remote, const void* operand, ptl_op_t op, ptl_datatype_t type) {
  if (!swap_allowed(op, type)) return PTL_ARG_INVALID;
  if (op != PTL_SWAP && (!operand || length > datatype_size(type))) return PTL_ARG_INVALID;
  command.verb = Verb::swap;
  if (operand) std::memcpy(command.extra.operand, operand, datatype_size(type));
  return prepare_return(command, get_md, get_offset, put_md, put_offset, length, remote, op, type);
}

}  // namespace portunus::api

extern "C" {

int PtlPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
           ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_put(command, md_handle, local_offset, length, ack_req,
                                    {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data});
  if (code == PTL_OK) api::client().submit(command);
  return code;
}

int PtlGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_get(command, md_handle, local_offset, length, {target_id, pt_index, match_bits, remote_offset, user_ptr, 0});
  if (code == PTL_OK) api::client().submit(command);
  return code;
}

int PtlAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
              ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
              ptl_op_t operation, ptl_datatype_t datatype) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_atomic(command, md_handle, local_offset, length, ack_req,
                                       {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  if (code == PTL_OK) api::client().submit(command);
  return code;
}

int PtlFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
                   ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                   ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_fetch(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                                      {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operation, datatype);
  if (code == PTL_OK) api::client().submit(command);
  return code;
}

int PtlSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
            ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
            void* user_ptr, ptl_hdr_data_t hdr_data, const void* operand, ptl_op_t operation, ptl_datatype_t datatype) {
  if (!api::initialized()) return PTL_NO_INIT;
  Command command;
  const int code = api::prepare_swap(command, get_md_handle, local_get_offset, put_md_handle, local_put_offset, length,
                                     {target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data}, operand, operation, datatype);
  if (code == PTL_OK) api::client().submit(command);
  return code;
}

// Atomics are done with CPU atomics by whoever steps the engine, so what has been reported can be read at once.
int PtlAtomicSync(void) {
  if (!api::initialized()) return PTL_NO_INIT;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return PTL_OK;
}

// A hint: nothing is deferred, so there is nothing to flush.
int PtlStartBundle(ptl_handle_ni_t ni_handle) {
  if (!api::initialized()) return PTL_NO_INIT;
  return api::find_interface(ni_handle) ? PTL_OK : PTL_ARG_INVALID;
}

int PtlEndBundle(ptl_handle_ni_t ni_handle) { return PtlStartBundle(ni_handle); }

}  // extern "C"
