// interface.cpp: opens and closes what interface.hpp names.
#include "mpi-adi/ipc/interface.hpp"

#include <climits>
#include <initializer_list>

#include "mpi-adi/ipc/explain.hpp"

namespace portunus::peace {

Interface interface;

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
  return client::bind_all(interface.ni, options, ct, eq, md);
}

int open_all() {
  ptl_pt_index_t got;
  int code = PtlGetPhysId(interface.ni, &interface.self);
  if (code == PTL_OK) code = PtlGetUid(interface.ni, &interface.uid);
  if (code == PTL_OK) code = PtlEQAlloc(interface.ni, kEventSlots, &interface.eq);
  for (const ptl_pt_index_t portal : {kReceives, kTokens, kSignals})
    if (code == PTL_OK) code = PtlPTAlloc(interface.ni, 0, interface.eq, portal, &got);
  if (code == PTL_OK) code = PtlxPTLimitHeld(interface.ni, kReceives, kHeadersOnlyFrom, kMostHeld);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_SEND_DISABLE, interface.eq, interface.md);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_SEND_DISABLE | PTLX_MD_HEADER_FIRST, interface.eq, interface.md_long);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_SEND_DISABLE | PTLX_MD_LAYOUT, interface.eq, interface.md_layout);
  if (code == PTL_OK)
    code = bind(PTL_MD_EVENT_SEND_DISABLE | PTLX_MD_HEADER_FIRST | PTLX_MD_LAYOUT, interface.eq, interface.md_long_layout);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_SEND_DISABLE | PTL_MD_VOLATILE, interface.eq, interface.md_posted);
  if (code == PTL_OK) code = PtlCTAlloc(interface.ni, &interface.counted);
  if (code == PTL_OK) code = bind(PTL_MD_EVENT_CT_ACK | PTL_MD_VOLATILE, PTL_EQ_NONE, interface.md_counted, interface.counted);
  if (code == PTL_OK) code = bind(PTL_MD_VOLATILE, PTL_EQ_NONE, interface.md_copied);
  if (code != PTL_OK) return code;
  // Signals to oneself end here; only their events matter.
  const ptl_me_t signals = entry_for(nullptr, 0, PTL_ME_OP_PUT, 0, ~uint64_t{0}, interface.self);
  ptl_handle_me_t handle;
  return PtlMEAppend(interface.ni, kSignals, &signals, PTL_PRIORITY_LIST, nullptr, &handle);
}

}  // namespace

int Interface::open() {
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

void Interface::close() {
  PtlNIFini(ni);
  PtlFini();
  if (joined) PtlxJobFini();
  const uint32_t next = opening + 1;
  *this = Interface{};
  opening = next;
}

}  // namespace portunus::peace
