// interface.hpp: the seam to what carries messages: one matching, physical interface of Portals and what is opened on it.
//
// Owns: interface, event queue, descriptors, portal table entries. Everything above speaks of packets, entries and events.
// Thread: open and close: one at a time, nobody else inside; the rest: any.
// Source: Giloi and Schroeder-Preikschat, chapter 10 (COSY encapsulates the communication processor's driver).
#pragma once

#include "engine/client/numbers.hpp"
#include "engine/client/objects.hpp"
#include "mpi-adi/ipc/packet.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::peace {

constexpr ptl_pt_index_t kReceives = client::kPeaceReceivesPortal, kTokens = client::kPeaceTokensPortal,
                         kSignals = client::kPeaceSignalsPortal;
constexpr size_t kEagerBytes = 8192;  // longer data stay at the sender until they are asked for
// Requests and buffers, and beside them one of each thread: each has two events at most, and the queue has room for all.
constexpr int kMostPending = 32'768, kMostKeepers = 32'768;
constexpr ptl_size_t kEventSlots = ptl_size_t{2} * (kMostPending + kMostKeepers);

struct Interface {
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_handle_eq_t eq = PTL_EQ_NONE;
  ptl_handle_md_t md = PTL_INVALID_HANDLE;                                              // all memory; ACK and REPLY events, no SEND
  ptl_handle_md_t md_long = PTL_INVALID_HANDLE;                                         // the same; the header goes first
  ptl_handle_md_t md_layout = PTL_INVALID_HANDLE, md_long_layout = PTL_INVALID_HANDLE;  // as both, for pieces (E9)
  ptl_handle_md_t md_posted = PTL_INVALID_HANDLE;                                       // volatile; ACK events
  ptl_handle_ct_t counted = PTL_CT_NONE;
  ptl_handle_md_t md_counted = PTL_INVALID_HANDLE;  // volatile; acknowledgements are counted there, no events
  ptl_handle_md_t md_copied = PTL_INVALID_HANDLE;   // volatile, no events: complete when the call returns
  ptl_process_t self{};
  ptl_uid_t uid = PTL_UID_ANY;
  ptlx_job_t job{};
  bool joined = false;
  uint64_t recorded = 0;  // records that holders of the turn have heard of
  uint32_t opening = 0;   // how often it has been closed before: handles of an earlier opening mean nothing

  // PEACE_OK, or an error that is explained.
  int open();
  void close();
};
extern Interface interface;

inline ptl_process_t process_of(uint64_t process) {
  ptl_process_t id;
  id.phys = {static_cast<ptl_nid_t>(process >> 32), static_cast<ptl_pid_t>(process)};
  return id;
}
inline uint64_t number_of(ptl_process_t id) { return uint64_t{id.phys.nid} << 32 | id.phys.pid; }
inline ptl_process_t anybody() {
  ptl_process_t id;
  id.phys = {PTL_NID_ANY, PTL_PID_ANY};
  return id;
}
inline ptl_size_t offset_of(const void* memory) { return reinterpret_cast<ptl_size_t>(memory); }

inline ptl_me_t entry_for(void* memory, size_t bytes, unsigned options, uint64_t bits, uint64_t ignore, ptl_process_t from) {
  ptl_me_t me{};
  me.start = memory;
  me.length = bytes;
  me.ct_handle = PTL_CT_NONE;
  me.uid = interface.uid;
  me.options = options | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
  me.match_id = from;
  me.match_bits = bits;
  me.ignore_bits = ignore;
  return me;
}
// One message that may have come before it.
constexpr unsigned kOnce = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED;

// A short put of which nothing is heard.
inline int tell(uint64_t to, ptl_pt_index_t portal, uint64_t bits, const void* data, size_t bytes, uint64_t hdr_data) {
  return PtlPut(interface.md_copied, offset_of(data), bytes, PTL_NO_ACK_REQ, process_of(to), portal, bits, 0, nullptr, hdr_data);
}

}  // namespace portunus::peace
