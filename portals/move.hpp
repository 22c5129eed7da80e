// move.hpp: from the arguments of a data movement call to a checked Command, for the immediate and the triggered form.
#pragma once

#include "portals/arguments.hpp"

namespace portunus::api {

// Everything PtlPut and its relatives say about the far side.
struct Remote {
  ptl_process_t target;
  ptl_pt_index_t pt_index;
  ptl_match_bits_t match_bits;
  ptl_size_t offset;
  void* user_ptr;
  ptl_hdr_data_t hdr_data;
};

// Each fills `command`, or says what is wrong with the arguments.
Fault prepare_put(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, const Remote& remote);
Fault prepare_get(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, const Remote& remote);
Fault prepare_atomic(Command& command, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, const Remote& remote,
                     ptl_op_t op, ptl_datatype_t type);
// `operand` is nullptr for a fetch; for a swap it is read now.
Fault prepare_fetch(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                    ptl_size_t length, const Remote& remote, ptl_op_t op, ptl_datatype_t type);
Fault prepare_swap(Command& command, ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
                   ptl_size_t length, const Remote& remote, const void* operand, ptl_op_t op, ptl_datatype_t type);

// Parks a prepared command for the entry point `function`: PTL_OK, PTL_ARG_INVALID (no such counter, other interface), PTL_NO_SPACE.
int submit_triggered(const char* function, Command& command, ptl_handle_ct_t trig_ct, ptl_size_t threshold);

}  // namespace portunus::api
