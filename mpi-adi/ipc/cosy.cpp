// cosy.cpp: opens and closes what cosy.hpp names.
#include "mpi-adi/ipc/cosy.hpp"

#include <climits>
#include <initializer_list>

#include "mpi-adi/ipc/explain.hpp"

namespace portunus::peace {

Cosy cosy;

namespace {

// From here on the engine asks senders for less than all that they would have held here at a time.
constexpr ptl_size_t kHeadersOnlyFrom = 64 << 20, kMostHeld = 256 << 20;

ptl_ni_limits_t generous() {
  ptl_ni_limits_t limits{};
  for (int* count : {&limits.max_entries, &limits.max_unexpected_headers, &limits.max_mds, &limits.max_cts, &limits.max_eqs,
                     &limits.max_pt_index, &limits.max_iovecs, &limits.max_list_size, &limits.max_triggered_ops})
    *count = INT_MAX;
  for (ptl_size_t* size : {&limits.max_msg_size, &limits.max_volatile_size}) *size = PTL_SIZE_MAX;
  return limits;
}

int bind(unsigned options, ptl_handle_eq_t eq, ptl_handle_md_t& md, ptl_handle_ct_t ct = PTL_CT_NONE) {
  return client::bind_all(cosy.ni, options, ct, eq, md);
}

int open_all() {
  ptl_pt_index_t got;
  int code = PtlGetPhysId(cosy.ni, &cosy.self);
  if (code == PTL_OK) code = PtlGetUid(cosy.ni, &cosy.uid);
  if (code == PTL_OK) code = PtlEQAlloc(cosy.ni, kEventSlots, &cosy.eq);
  for (const ptl_pt_index_t portal : {kReceives, kTokens, kSignals})
    if (code == PTL_OK) code = PtlPTAlloc(cosy.ni, 0, cosy.eq, portal, &got);
  if (code == PTL_OK) code = PtlxPTLimitHeld(cosy.ni, kReceives, kHeadersOnlyFrom, kMostHeld);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_SEND_DISABLE, cosy.eq, cosy.md);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_SEND_DISABLE | PTLX_MD_HEADER_FIRST, cosy.eq, cosy.md_long);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_SEND_DISABLE | PTL_MD_VOLATILE, cosy.eq, cosy.md_posted);
  if (code == PTL_OK) code = PtlCTAlloc(cosy.ni, &cosy.counted);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_CT_ACK | PTL_MD_VOLATILE, PTL_EQ_NONE, cosy.md_counted, cosy.counted);
  if (code == PTL_OK) code = bind(PTL_MD_VOLATILE, PTL_EQ_NONE, cosy.md_copied);
  if (code != PTL_OK) return code;
  // Signals to oneself end here; only their events matter.
  const ptl_me_t signals = entry_for(nullptr, 0, PTL_ME_OP_PUT, 0, ~uint64_t{0}, cosy.self);
  ptl_handle_me_t handle;
  return PtlMEAppend(cosy.ni, kSignals, &signals, PTL_PRIORITY_LIST, nullptr, &handle);
}

}  // namespace

int Cosy::open() {
  if (PtlxJobInit(&job) != PTL_OK) return fail(PEACE_NETWORK, "the launcher's job cannot be joined");
  // Alone, it must not pass for a job whose ranks all share the node: peers are found by their addresses.
  joined = job.launched && job.size > 1;
  if (!joined) PtlxJobFini();
  const ptl_ni_limits_t desired = generous();
  int code = PtlInit();
  if (code == PTL_OK) {
    code = PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &desired, nullptr, &ni);
    if (code == PTL_OK) {
      code = open_all();
      if (code == PTL_OK && joined) {
        const uint64_t self_number = number_of(self);
        code = PtlxJobPut("peace.process", &self_number, sizeof self_number);
        if (code == PTL_OK) code = PtlxJobFence();
      }
      if (code == PTL_OK) return PEACE_OK;
      PtlNIFini(ni);
    }
    PtlFini();
  }
  if (joined) PtlxJobFini();
  return portals_failed("open an interface", code);
}

void Cosy::close() {
  PtlNIFini(ni);
  PtlFini();
  if (joined) PtlxJobFini();
  const uint32_t next = opening + 1;
  *this = Cosy{};
  opening = next;
}

}  // namespace portunus::peace
