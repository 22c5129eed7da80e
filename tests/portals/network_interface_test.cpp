// Portals 4.3, network interfaces, identification and maps, in a process alone.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <vector>

#include "tests/portals/alone.hpp"

namespace portals_test {
namespace {

constexpr unsigned kKinds[] = {kMatching, kNonMatching, kMatchingLogical, kNonMatchingLogical};

struct Interfaces : Library {};

TEST_F(Interfaces, OpeningTheSameKindAgainGivesTheSameHandleAndIsCounted) {
  ptl_ni_limits_t first{}, desired{}, actual{};
  const ptl_handle_ni_t ni = open(kMatching, nullptr, &first);
  desired.max_mds = 3;
  ptl_handle_ni_t again;
  ASSERT_EQ(PtlNIInit(0, kMatching, 4711, &desired, &actual, &again), PTL_OK);  // pid and desired are ignored
  EXPECT_EQ(again, ni);
  EXPECT_EQ(std::memcmp(&first, &actual, sizeof first), 0);
  EXPECT_EQ(PtlNIFini(ni), PTL_OK);
  ptl_process_t id;
  EXPECT_EQ(PtlGetId(ni, &id), PTL_OK);
  EXPECT_EQ(PtlNIFini(ni), PTL_OK);
  EXPECT_EQ(PtlGetId(ni, &id), PTL_ARG_INVALID);
  EXPECT_EQ(PtlNIFini(ni), PTL_ARG_INVALID);
}

TEST_F(Interfaces, PollersAreLookedAtFromTheCallThatAddsThemToTheLastFini) {
  static const uint32_t pending = 1;
  static std::atomic<int> looks;  // the engine's thread may look, too
  static const auto look = [](void*) { return ++looks, 0; };
  static const ptlx_poller_t pollers[PTLX_MOST_POLLERS + 1] = {{look, nullptr, &pending, 0},
                                                               {look, nullptr, &pending, 0},
                                                               {look, nullptr, &pending, 0},
                                                               {look, nullptr, &pending, 0},
                                                               {look, nullptr, &pending, 0}};
  looks = 0;
  EXPECT_EQ(PtlxPollerAdd(&pollers[0]), PTL_OK);
  open(kMatching);
  for (int i = 0; i < PTLX_MOST_POLLERS; ++i) EXPECT_EQ(PtlxPollerAdd(&pollers[i]), PTL_OK);
  EXPECT_EQ(PtlxPollerAdd(&pollers[PTLX_MOST_POLLERS]), PTL_NO_SPACE);
  PtlxProgress();
  EXPECT_GE(looks, PTLX_MOST_POLLERS);
  PtlFini();
  const int before = looks;
  ASSERT_EQ(PtlInit(), PTL_OK);
  open(kMatching);
  PtlxProgress();
  EXPECT_EQ(looks, before);
}

TEST_F(Interfaces, AllFourShareNidAndPidAndNothingElse) {
  std::set<ptl_handle_ni_t> handles;
  std::set<uint64_t> processes;
  for (unsigned kind : kKinds) {
    const ptl_handle_ni_t ni = open(kind);
    handles.insert(ni);
    ptl_process_t id;
    ASSERT_EQ(PtlGetPhysId(ni, &id), PTL_OK);  // before any map
    processes.insert(uint64_t{id.phys.nid} << 32 | id.phys.pid);
    EXPECT_NE(id.phys.nid, PTL_NID_ANY);
    EXPECT_NE(id.phys.pid, PTL_PID_ANY);
    ptl_pt_index_t pt = 77;
    EXPECT_EQ(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt), PTL_OK);
    EXPECT_EQ(pt, 0u);
    ptl_handle_ni_t owner;
    EXPECT_EQ(PtlNIHandle(ni, &owner), PTL_OK);
    EXPECT_EQ(owner, ni);
  }
  EXPECT_EQ(handles.size(), 4u);
  EXPECT_EQ(processes.size(), 1u);
}

TEST_F(Interfaces, AHandlesValueDependsOnTheKindAndNotOnTheOrderOfOpening) {
  std::vector<ptl_handle_ni_t> values;
  for (unsigned kind : kKinds) values.push_back(open(kind));
  for (ptl_handle_ni_t ni : values) ASSERT_EQ(PtlNIFini(ni), PTL_OK);
  for (size_t i = 4; i-- > 0;) EXPECT_EQ(open(kKinds[i]), values[i]);
}

TEST_F(Interfaces, ClosingOneFreesAllThatBelongsToItAndLeavesTheOthers) {
  const ptl_handle_ni_t going = open(kMatching), staying = open(kNonMatching);
  const ptl_handle_ct_t ct = Alone::counter(going), kept = Alone::counter(staying);
  const ptl_handle_eq_t eq = Alone::queue_of(going);
  ptl_pt_index_t pt;
  ASSERT_EQ(PtlPTAlloc(going, 0, eq, PTL_PT_ANY, &pt), PTL_OK);
  const ptl_md_t all{nullptr, PTL_SIZE_MAX, 0, eq, ct};
  ptl_handle_md_t md;
  ASSERT_EQ(PtlMDBind(going, &all, &md), PTL_OK);
  const ptl_me_t me = Alone::any_me();
  ptl_handle_me_t entry, parked;
  ASSERT_EQ(PtlMEAppend(going, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  ASSERT_EQ(PtlTriggeredCTInc(ct, {1, 0}, ct, 5), PTL_OK);
  ASSERT_EQ(PtlxTriggeredMEAppend(going, pt, &me, PTL_PRIORITY_LIST, nullptr, &parked, ct, 5), PTL_OK);
  ASSERT_EQ(PtlNIFini(going), PTL_OK);
  ptl_ct_event_t count;
  ptl_event_t event;
  EXPECT_EQ(PtlCTGet(ct, &count), PTL_ARG_INVALID);
  EXPECT_EQ(PtlEQGet(eq, &event), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMDRelease(md), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMEUnlink(entry), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMEUnlink(parked), PTL_ARG_INVALID);
  EXPECT_EQ(PtlPTFree(going, pt), PTL_ARG_INVALID);
  EXPECT_EQ(PtlCTInc(kept, {1, 0}), PTL_OK);
  // And it may be opened again, with other limits and an empty portal table.
  ptl_ni_limits_t desired{}, actual{};
  desired.max_cts = 1;
  EXPECT_EQ(open(kMatching, &desired, &actual), going);
  EXPECT_EQ(actual.max_cts, 1);
  Alone::counter(going);
  ASSERT_EQ(PtlPTAlloc(going, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt), PTL_OK);
  EXPECT_EQ(pt, 0u);
}

TEST_F(Interfaces, APidThatIsAskedForIsGivenUnlessItIsTaken) {
  ptl_handle_ni_t ni;
  ptl_process_t id;
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kMatching, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
  ASSERT_EQ(PtlGetPhysId(ni, &id), PTL_OK);
  const ptl_pid_t free_now = id.phys.pid;
  ptl_handle_ni_t second;
  EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kNonMatching, free_now ^ 1, nullptr, nullptr, &second), PTL_PID_IN_USE);  // there is one pid
  EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kNonMatching, free_now, nullptr, nullptr, &second), PTL_OK);
  PtlFini();  // the engine ends, and the pid is free
  ASSERT_EQ(PtlInit(), PTL_OK);
  const int rival = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(id.phys.nid);
  ASSERT_EQ(bind(rival, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(rival, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kMatching, ntohs(address.sin_port), nullptr, nullptr, &ni), PTL_PID_IN_USE);
  close(rival);
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kMatching, ntohs(address.sin_port), nullptr, nullptr, &ni), PTL_OK);
  ASSERT_EQ(PtlGetPhysId(ni, &id), PTL_OK);
  EXPECT_EQ(id.phys.pid, ntohs(address.sin_port));
}

TEST_F(Interfaces, ALogicalOneIsNamedByRankOnceItHasAMap) {
  const ptl_handle_ni_t ni = open(kMatchingLogical);
  ptl_process_t self, id;
  ptl_size_t size = 99;
  ASSERT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
  EXPECT_EQ(PtlGetId(ni, &id), PTL_OK);
  EXPECT_EQ(id.rank, PTL_RANK_ANY);
  EXPECT_EQ(PtlGetMap(ni, 0, nullptr, &size), PTL_NO_SPACE);
  EXPECT_EQ(size, 99u);
  const ptl_process_t map[3] = {{.phys = {1, 2}}, {.phys = {self.phys.nid, self.phys.pid}}, {.phys = {3, 4}}};
  EXPECT_EQ(PtlSetMap(ni, 1, map), PTL_ARG_INVALID);  // we are not in it
  EXPECT_EQ(PtlSetMap(ni, 3, map), PTL_OK);
  EXPECT_EQ(PtlSetMap(ni, 2, map), PTL_IGNORED);
  EXPECT_EQ(PtlGetId(ni, &id), PTL_OK);
  EXPECT_EQ(id.rank, 1u);
  ptl_process_t got[4] = {};
  EXPECT_EQ(PtlGetMap(ni, 2, got, &size), PTL_OK);
  EXPECT_EQ(size, 3u);
  EXPECT_EQ(got[1].phys.pid, self.phys.pid);
  EXPECT_EQ(got[2].phys.nid, 0u);  // not asked for
  EXPECT_EQ(PtlGetMap(ni, 4, got, nullptr), PTL_OK);
  EXPECT_EQ(got[2].phys.pid, 4u);
  EXPECT_EQ(got[3].phys.nid, 0u);  // there is none
  const ptl_handle_ni_t physical = open(kMatching);
  EXPECT_EQ(PtlGetId(physical, &id), PTL_OK);
  EXPECT_EQ(id.phys.nid, self.phys.nid);
  EXPECT_EQ(id.phys.pid, self.phys.pid);
}

TEST_F(Interfaces, TheUidIsTheEffectiveUser) {
  ptl_uid_t uid = 12345;
  EXPECT_EQ(PtlGetUid(open(kMatching), &uid), PTL_OK);
  EXPECT_EQ(uid, geteuid());
}

using StatusRegisters = Alone;

TEST_F(StatusRegisters, CountDropsPermissionsAndOperationsEachAndSearchesNot) {
  const ptl_handle_eq_t eq = queue();
  const ptl_pt_index_t pt = portal(eq);
  uint64_t word = 0;
  ptl_me_t me = any_me(&word, 8, PTL_ME_OP_GET);  // no puts
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  me.match_bits = 1;
  me.uid = geteuid() + 1;
  me.options |= PTL_ME_OP_PUT;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, eq);
  const auto outcome = [&](ptl_match_bits_t bits, ptl_pt_index_t index) {
    EXPECT_EQ(PtlPut(md, at(&word), 8, PTL_ACK_REQ, self, index, bits, 0, nullptr, 0), PTL_OK);
    ptl_event_t event{};
    EXPECT_EQ(PtlEQWait(eq, &event), PTL_OK);
    EXPECT_EQ(event.type, PTL_EVENT_ACK);
    return event.ni_fail_type;
  };
  EXPECT_EQ(outcome(0, pt), PTL_NI_OP_VIOLATION);
  EXPECT_EQ(outcome(1, pt), PTL_NI_PERM_VIOLATION);
  EXPECT_EQ(outcome(2, pt), PTL_NI_DROPPED);
  EXPECT_EQ(outcome(0, pt + 1), PTL_NI_DROPPED);
  EXPECT_EQ(outcome(0, PTL_PT_ANY), PTL_NI_DROPPED);
  EXPECT_EQ(PtlMESearch(ni, pt, &me, PTL_SEARCH_ONLY, nullptr), PTL_OK);
  ptl_sr_value_t drops, permissions, operations;
  EXPECT_EQ(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &drops), PTL_OK);
  EXPECT_EQ(PtlNIStatus(ni, PTL_SR_PERMISSION_VIOLATIONS, &permissions), PTL_OK);
  EXPECT_EQ(PtlNIStatus(ni, PTL_SR_OPERATION_VIOLATIONS, &operations), PTL_OK);
  EXPECT_EQ(drops, 3);
  EXPECT_EQ(permissions, 1);
  EXPECT_EQ(operations, 1);
}

using Handles = Alone;

TEST_F(Handles, LeadToTheirInterface) {
  const ptl_pt_index_t pt = portal();
  const ptl_me_t me = any_me();
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  for (ptl_handle_any_t handle : {ni, queue(), counter(), descriptor(), entry}) {
    ptl_handle_ni_t owner = PTL_INVALID_HANDLE;
    EXPECT_EQ(PtlNIHandle(handle, &owner), PTL_OK);
    EXPECT_EQ(owner, ni);
    EXPECT_NE(PtlHandleIsEqual(handle, handle), 0);
    EXPECT_EQ(PtlHandleIsEqual(handle, PTL_INVALID_HANDLE), 0);
    EXPECT_NE(handle, PTL_EQ_NONE);
    EXPECT_NE(handle, PTL_CT_NONE);
  }
}

TEST_F(Handles, OfFreedObjectsStayStaleForLong) {
  std::set<uint32_t> seen;
  ptl_ct_event_t value;
  ptl_event_t event;
  for (int i = 0; i < 200; ++i) {
    const ptl_handle_ct_t ct = counter();
    const ptl_handle_eq_t eq = queue(2);
    const ptl_handle_md_t md = descriptor();
    ASSERT_TRUE(seen.insert(ct).second && seen.insert(eq).second && seen.insert(md).second);
    ASSERT_EQ(PtlMDRelease(md), PTL_OK);
    ASSERT_EQ(PtlEQFree(eq), PTL_OK);
    ASSERT_EQ(PtlCTFree(ct), PTL_OK);
    ASSERT_EQ(PtlCTGet(ct, &value), PTL_ARG_INVALID);
    ASSERT_EQ(PtlEQGet(eq, &event), PTL_ARG_INVALID);
    ASSERT_EQ(PtlPut(md, 0, 0, PTL_NO_ACK_REQ, self, 0, 0, 0, nullptr, 0), PTL_ARG_INVALID);
  }
}

}  // namespace
}  // namespace portals_test
