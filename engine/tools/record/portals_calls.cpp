// The functions that stand before those of Portals that move data, or wait: each calls the one behind it, and records what it did.
#include <cstdlib>

#include "engine/tools/record/around.hpp"
#include "engine/tools/record/portals.hpp"
#include "engine/tools/record/portals_next.hpp"

using namespace portunus::record;
using namespace portunus::record::portals;
namespace next = portunus::record::portals::next;

namespace {

// Calls `original`, and record(call) if it succeeded.
template <class Original, class Hook>
[[gnu::always_inline]] inline int recorded(const Original& original, const Hook& record) {
  return around(original, [&](Call& call, int code) {
    if (code == PTL_OK) record(call);
  });
}

bool has_event(int code) { return code == PTL_OK || code == PTL_EQ_DROPPED; }

// The numbers that the launcher has given to the ranks of a program that does not ask for its job; all are on one host.
void begin_alone(Call& call) {
  const char* const rank = std::getenv("PTL_LOCAL_RANK");
  const char* const size = std::getenv("PTL_LOCAL_SIZE");
  if (rank != nullptr && size != nullptr) begin(call, std::atoi(rank), std::atoi(size));
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

// ---- start and end
int PtlxJobInit(ptlx_job_t* job) {
  return recorded([&] { return next::PtlxJobInit(job); }, [&](Call& call) { begin(call, job->rank, job->size); });
}
int PtlxJobMap(ptl_handle_ni_t ni) {
  return recorded([&] { return next::PtlxJobMap(ni); },
                  [&](Call& call) {
                    mapped(ni);
                    fenced(call);
                  });
}
int PtlxJobFence(void) {
  return recorded([] { return next::PtlxJobFence(); }, [](Call& call) { fenced(call); });
}
int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid, const ptl_ni_limits_t* desired, ptl_ni_limits_t* actual,
              ptl_handle_ni_t* ni_handle) {
  return recorded([&] { return next::PtlNIInit(iface, options, pid, desired, actual, ni_handle); },
                  [&](Call& call) {
                    begin_alone(call);
                    opened(call, *ni_handle, (options & PTL_NI_LOGICAL) != 0);
                  });
}
int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t* mapping) {
  return recorded([&] { return next::PtlSetMap(ni_handle, map_size, mapping); }, [&](Call&) { mapped(ni_handle); });
}
int PtlInit(void) {
  return recorded([] { return next::PtlInit(); }, [](Call&) { entered(); });
}
void PtlFini(void) {
  Call call;
  end(call);
  next::PtlFini();
}

// ---- memory
int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t* md, ptl_handle_md_t* md_handle) {
  return recorded([&] { return next::PtlMDBind(ni_handle, md, md_handle); }, [&](Call&) { bound(*md_handle, *md, ni_handle); });
}
int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t* le, ptl_list_t ptl_list, void* user_ptr,
                ptl_handle_le_t* le_handle) {
  const ptl_le_t facts = *le;
  Call call;
  const int code = next::PtlLEAppend(ni_handle, pt_index, le, ptl_list, user_ptr, le_handle);
  if (code == PTL_OK) appended(call, *le_handle, pt_index, ptl_list, facts.options, facts.ct_handle, 0, ~uint64_t{0});
  return code;
}
int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t* me, ptl_list_t ptl_list, void* user_ptr,
                ptl_handle_me_t* me_handle) {
  const ptl_me_t facts = *me;
  Call call;
  const int code = next::PtlMEAppend(ni_handle, pt_index, me, ptl_list, user_ptr, me_handle);
  if (code == PTL_OK) appended(call, *me_handle, pt_index, ptl_list, facts.options, facts.ct_handle, facts.match_bits, facts.ignore_bits);
  return code;
}
int PtlLEUnlink(ptl_handle_le_t le_handle) {
  return recorded([&] { return next::PtlLEUnlink(le_handle); }, [&](Call& call) { unlinked(call, le_handle); });
}
int PtlMEUnlink(ptl_handle_me_t me_handle) {
  return recorded([&] { return next::PtlMEUnlink(me_handle); }, [&](Call& call) { unlinked(call, me_handle); });
}

// ---- full events
int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t* event) {
  return around([&] { return next::PtlEQGet(eq_handle, event); },
                [&](Call& call, int code) {
                  if (has_event(code)) took(call, eq_handle, *event);
                  else call.found_nothing();
                });
}
int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t* event) {
  return around([&] { return next::PtlEQWait(eq_handle, event); },
                [&](Call& call, int code) {
                  if (has_event(code)) took(call, eq_handle, *event);
                });
}
int PtlEQPoll(const ptl_handle_eq_t* eq_handles, unsigned int size, ptl_time_t timeout, ptl_event_t* event, unsigned int* which) {
  return around([&] { return next::PtlEQPoll(eq_handles, size, timeout, event, which); },
                [&](Call& call, int code) {
                  if (has_event(code)) took(call, eq_handles[*which], *event);
                  else call.found_nothing();
                });
}

// ---- counting events
int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t* ct_handle) {
  return recorded([&] { return next::PtlCTAlloc(ni_handle, ct_handle); }, [&](Call& call) { counted(call, *ct_handle, 0, true); });
}
int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t* event) {
  return recorded([&] { return next::PtlCTGet(ct_handle, event); }, [&](Call& call) { looked(call, ct_handle, *event); });
}
int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t* event) {
  return recorded([&] { return next::PtlCTWait(ct_handle, test, event); }, [&](Call& call) { waited(call, ct_handle); });
}
int PtlCTPoll(const ptl_handle_ct_t* ct_handles, const ptl_size_t* tests, unsigned int size, ptl_time_t timeout, ptl_ct_event_t* event,
              unsigned int* which) {
  return around([&] { return next::PtlCTPoll(ct_handles, tests, size, timeout, event, which); },
                [&](Call& call, int code) {
                  if (code == PTL_OK) waited(call, ct_handles[*which]);
                  else call.found_nothing();
                });
}
// Recorded before it, so that what it sets off comes after it.
int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct) {
  Call call;
  counted(call, ct_handle, new_ct.success, true);
  return next::PtlCTSet(ct_handle, new_ct);
}
int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment) {
  Call call;
  counted(call, ct_handle, increment.success, false);
  return next::PtlCTInc(ct_handle, increment);
}
int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  return recorded([&] { return next::PtlTriggeredCTInc(ct_handle, increment, trig_ct_handle, threshold); },
                  [&](Call& call) {
                    counted(call, ct_handle, increment.success, false, {trig_ct_handle, threshold});
                  });
}
int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  return recorded([&] { return next::PtlTriggeredCTSet(ct_handle, new_ct, trig_ct_handle, threshold); },
                  [&](Call& call) {
                    counted(call, ct_handle, new_ct.success, true, {trig_ct_handle, threshold});
                  });
}

// ---- data movement
int PtlPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
           ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data) {
  return recorded(
      [&] {
        return next::PtlPut(md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data);
      },
      [&](Call& call) {
        issued(call, {md_handle, target_id, pt_index, match_bits, user_ptr, length, 0, ack_req != PTL_NO_ACK_REQ});
      });
}
int PtlGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
           ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr) {
  return recorded([&] { return next::PtlGet(md_handle, local_offset, length, target_id, pt_index, match_bits, remote_offset, user_ptr); },
                  [&](Call& call) {
                    issued(call, {md_handle, target_id, pt_index, match_bits, user_ptr, 0, length});
                  });
}
int PtlAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
              ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
              ptl_op_t operation, ptl_datatype_t datatype) {
  return recorded(
      [&] {
        return next::PtlAtomic(md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits, remote_offset, user_ptr, hdr_data,
                               operation, datatype);
      },
      [&](Call& call) {
        issued(call, {md_handle, target_id, pt_index, match_bits, user_ptr, length, 0, ack_req != PTL_NO_ACK_REQ});
      });
}
int PtlFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
                   ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                   ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype) {
  return recorded(
      [&] {
        return next::PtlFetchAtomic(get_md_handle, local_get_offset, put_md_handle, local_put_offset, length, target_id, pt_index,
                                    match_bits, remote_offset, user_ptr, hdr_data, operation, datatype);
      },
      [&](Call& call) {
        issued(call, {get_md_handle, target_id, pt_index, match_bits, user_ptr, length, length});
      });
}
int PtlSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
            ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
            void* user_ptr, ptl_hdr_data_t hdr_data, const void* operand, ptl_op_t operation, ptl_datatype_t datatype) {
  return recorded(
      [&] {
        return next::PtlSwap(get_md_handle, local_get_offset, put_md_handle, local_put_offset, length, target_id, pt_index, match_bits,
                             remote_offset, user_ptr, hdr_data, operand, operation, datatype);
      },
      [&](Call& call) {
        issued(call, {get_md_handle, target_id, pt_index, match_bits, user_ptr, length, length});
      });
}

// ---- the same, later
int PtlTriggeredPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id,
                    ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
                    ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  return recorded(
      [&] {
        return next::PtlTriggeredPut(md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits, remote_offset, user_ptr,
                                     hdr_data, trig_ct_handle, threshold);
      },
      [&](Call& call) {
        issued(call, {md_handle, target_id, pt_index, match_bits, user_ptr, length, 0, ack_req != PTL_NO_ACK_REQ},
               {trig_ct_handle, threshold});
      });
}
int PtlTriggeredGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_handle_ct_t trig_ct_handle,
                    ptl_size_t threshold) {
  return recorded(
      [&] {
        return next::PtlTriggeredGet(md_handle, local_offset, length, target_id, pt_index, match_bits, remote_offset, user_ptr,
                                     trig_ct_handle, threshold);
      },
      [&](Call& call) {
        issued(call, {md_handle, target_id, pt_index, match_bits, user_ptr, 0, length}, {trig_ct_handle, threshold});
      });
}
int PtlTriggeredAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
                       ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
                       void* user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle,
                       ptl_size_t threshold) {
  return recorded(
      [&] {
        return next::PtlTriggeredAtomic(md_handle, local_offset, length, ack_req, target_id, pt_index, match_bits, remote_offset, user_ptr,
                                        hdr_data, operation, datatype, trig_ct_handle, threshold);
      },
      [&](Call& call) {
        issued(call, {md_handle, target_id, pt_index, match_bits, user_ptr, length, 0, ack_req != PTL_NO_ACK_REQ},
               {trig_ct_handle, threshold});
      });
}
int PtlTriggeredFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
                            ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                            ptl_match_bits_t match_bits, ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data,
                            ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  return recorded(
      [&] {
        return next::PtlTriggeredFetchAtomic(get_md_handle, local_get_offset, put_md_handle, local_put_offset, length, target_id, pt_index,
                                             match_bits, remote_offset, user_ptr, hdr_data, operation, datatype, trig_ct_handle, threshold);
      },
      [&](Call& call) {
        issued(call, {get_md_handle, target_id, pt_index, match_bits, user_ptr, length, length}, {trig_ct_handle, threshold});
      });
}
int PtlTriggeredSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset,
                     ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                     ptl_size_t remote_offset, void* user_ptr, ptl_hdr_data_t hdr_data, const void* operand, ptl_op_t operation,
                     ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold) {
  return recorded(
      [&] {
        return next::PtlTriggeredSwap(get_md_handle, local_get_offset, put_md_handle, local_put_offset, length, target_id, pt_index,
                                      match_bits, remote_offset, user_ptr, hdr_data, operand, operation, datatype, trig_ct_handle,
                                      threshold);
      },
      [&](Call& call) {
        issued(call, {get_md_handle, target_id, pt_index, match_bits, user_ptr, length, length}, {trig_ct_handle, threshold});
      });
}

#pragma GCC visibility pop
}
