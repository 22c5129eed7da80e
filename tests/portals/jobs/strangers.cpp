// strangers.cpp: a peer that runs as another user. It can neither attach our segment nor be reached through its own, so both
// talk by the network; entries that name our user refuse it, entries for anybody take it.
//
// Started as root, as two ranks (peers.hpp says how); the last one becomes another user first. Otherwise it says why not, and
// returns 77.
// Source: Portals 4.3, uid of list entries, permission violations.
#include <sys/prctl.h>

#include <cstdint>

#include "tests/portals/peers.hpp"

using namespace portals_test;

namespace {

constexpr uid_t kStranger = 65534;

int failures = 0;
void expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "strangers.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(holds) expect((holds), #holds, __LINE__)

}  // namespace

int main(int argc, char** argv) {
  if (geteuid() != 0) {
    std::puts("only root can become another user");
    return 77;
  }
  std::unique_ptr<Peers> peers = find_peers(argc, argv, 1);
  const bool stranger = peers->rank == peers->size - 1;
  if (stranger && (setresgid(kStranger, kStranger, kStranger) != 0 || setresuid(kStranger, kStranger, kStranger) != 0))
    give_up("cannot become another user");
  prctl(PR_SET_DUMPABLE, 1);  // a change of user clears it, and leak checkers and /proc then refuse us
  EXPECT(PtlInit() == PTL_OK);
  ptl_handle_ni_t ni;
  EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni) == PTL_OK);
  const std::vector<ptl_process_t> all = addresses(*peers, ni, "address");
  ptl_uid_t uid;
  EXPECT(PtlGetUid(ni, &uid) == PTL_OK && uid == (stranger ? kStranger : 0));
  ptl_handle_eq_t eq;
  EXPECT(PtlEQAlloc(ni, 64, &eq) == PTL_OK);
  ptl_pt_index_t pt;
  EXPECT(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt) == PTL_OK);
  uint64_t memory[2] = {};
  for (const ptl_match_bits_t bits : {0, 1}) {
    ptl_me_t me{};
    me.start = &memory[bits];
    me.length = sizeof memory[bits];
    me.ct_handle = PTL_CT_NONE;
    me.uid = bits == 0 ? uid : PTL_UID_ANY;
    me.options = PTL_ME_OP_PUT | PTL_ME_OP_GET;
    me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
    me.match_bits = bits;
    ptl_handle_me_t handle;
    EXPECT(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle) == PTL_OK);
  }
  peers->meet("offered");
  uint64_t value = 7;
  ptl_md_t md{&value, sizeof value, PTL_MD_EVENT_SEND_DISABLE, eq, PTL_CT_NONE};
  ptl_handle_md_t handle;
  EXPECT(PtlMDBind(ni, &md, &handle) == PTL_OK);
  for (const ptl_process_t& peer : all) {
    const bool same_user = (&peer == &all.back()) == stranger;
    for (const ptl_match_bits_t bits : {0, 1}) {
      const int wanted = bits == 1 || same_user ? PTL_NI_OK : PTL_NI_PERM_VIOLATION;
      ptl_event_t event;
      EXPECT(PtlPut(handle, 0, sizeof value, PTL_ACK_REQ, peer, pt, bits, 0, nullptr, 0) == PTL_OK);
      EXPECT(PtlEQWait(eq, &event) == PTL_OK && event.type == PTL_EVENT_ACK && event.ni_fail_type == wanted);
      EXPECT(PtlGet(handle, 0, sizeof value, peer, pt, bits, 0, nullptr) == PTL_OK);
      EXPECT(PtlEQWait(eq, &event) == PTL_OK && event.type == PTL_EVENT_REPLY && event.ni_fail_type == wanted);
    }
  }
  peers->meet("done");
  ptl_sr_value_t violations = 0;
  EXPECT(PtlNIStatus(ni, PTL_SR_PERMISSION_VIOLATIONS, &violations) == PTL_OK && violations == 2 * (stranger ? peers->size - 1 : 1));
  EXPECT(memory[0] == 7 && memory[1] == 7);
  EXPECT(PtlNIFini(ni) == PTL_OK);
  PtlFini();
  return failures != 0;
}
