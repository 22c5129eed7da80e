// Portals 4.3, initialisation and clean-up: PtlInit and PtlFini are counted, nothing works outside of them, and they may come
// again.
#include "tests/portals/alone.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

namespace portals_test {
namespace {

struct Call {
  const char* name;
  std::function<int()> call;
};

// Every function that returns a code, with arguments that would be good.
std::vector<Call> all_calls() {
  static ptl_process_t id;
  static ptl_ni_limits_t limits;
  static ptl_event_t event;
  static ptl_ct_event_t count;
  static ptl_me_t me = Alone::any_me();
  static ptl_le_t le{nullptr, 0, PTL_CT_NONE, PTL_UID_ANY, 0};
  static ptl_md_t md{nullptr, 0, 0, PTL_EQ_NONE, PTL_CT_NONE};
  static uint32_t handle, which;
  static ptl_sr_value_t status;
  static ptl_size_t size, one = 1;
  return {
      {"PtlNIInit", [] { return PtlNIInit(PTL_IFACE_DEFAULT, kMatching, PTL_PID_ANY, nullptr, &limits, &handle); }},
      {"PtlNIFini", [] { return PtlNIFini(handle); }},
      {"PtlNIStatus", [] { return PtlNIStatus(handle, PTL_SR_DROP_COUNT, &status); }},
      {"PtlNIHandle", [] { return PtlNIHandle(handle, &handle); }},
      {"PtlSetMap", [] { return PtlSetMap(handle, 1, &id); }},
      {"PtlGetMap", [] { return PtlGetMap(handle, 1, &id, &size); }},
      {"PtlPTAlloc", [] { return PtlPTAlloc(handle, 0, PTL_EQ_NONE, PTL_PT_ANY, &which); }},
      {"PtlPTFree", [] { return PtlPTFree(handle, 0); }},
      {"PtlPTDisable", [] { return PtlPTDisable(handle, 0); }},
      {"PtlPTEnable", [] { return PtlPTEnable(handle, 0); }},
      {"PtlGetUid", [] { return PtlGetUid(handle, &which); }},
      {"PtlGetId", [] { return PtlGetId(handle, &id); }},
      {"PtlGetPhysId", [] { return PtlGetPhysId(handle, &id); }},
      {"PtlMDBind", [] { return PtlMDBind(handle, &md, &which); }},
      {"PtlMDRelease", [] { return PtlMDRelease(which); }},
      {"PtlLEAppend", [] { return PtlLEAppend(handle, 0, &le, PTL_PRIORITY_LIST, nullptr, &which); }},
      {"PtlLEUnlink", [] { return PtlLEUnlink(which); }},
      {"PtlLESearch", [] { return PtlLESearch(handle, 0, &le, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlMEAppend", [] { return PtlMEAppend(handle, 0, &me, PTL_PRIORITY_LIST, nullptr, &which); }},
      {"PtlMEUnlink", [] { return PtlMEUnlink(which); }},
      {"PtlMESearch", [] { return PtlMESearch(handle, 0, &me, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlCTAlloc", [] { return PtlCTAlloc(handle, &which); }},
      {"PtlCTFree", [] { return PtlCTFree(which); }},
      {"PtlCTCancelTriggered", [] { return PtlCTCancelTriggered(which); }},
      {"PtlCTGet", [] { return PtlCTGet(which, &count); }},
      {"PtlCTWait", [] { return PtlCTWait(which, 0, &count); }},
      {"PtlCTPoll", [] { return PtlCTPoll(&which, &one, 1, 0, &count, &which); }},
      {"PtlCTSet",
       [] {
         return PtlCTSet(which, {0, 0});
       }},
      {"PtlCTInc",
       [] {
         return PtlCTInc(which, {1, 0});
       }},
      {"PtlPut", [] { return PtlPut(which, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, nullptr, 0); }},
      {"PtlGet", [] { return PtlGet(which, 0, 0, id, 0, 0, 0, nullptr); }},
      {"PtlAtomic", [] { return PtlAtomic(which, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, nullptr, 0, PTL_SUM, PTL_INT8_T); }},
      {"PtlFetchAtomic", [] { return PtlFetchAtomic(which, 0, which, 0, 0, id, 0, 0, 0, nullptr, 0, PTL_SUM, PTL_INT8_T); }},
      {"PtlSwap", [] { return PtlSwap(which, 0, which, 0, 0, id, 0, 0, 0, nullptr, 0, nullptr, PTL_SWAP, PTL_INT8_T); }},
      {"PtlAtomicSync", [] { return PtlAtomicSync(); }},
      {"PtlEQAlloc", [] { return PtlEQAlloc(handle, 1, &which); }},
      {"PtlEQFree", [] { return PtlEQFree(which); }},
      {"PtlEQGet", [] { return PtlEQGet(which, &event); }},
      {"PtlEQWait", [] { return PtlEQWait(which, &event); }},
      {"PtlEQPoll", [] { return PtlEQPoll(&which, 1, 0, &event, &which); }},
      {"PtlTriggeredPut", [] { return PtlTriggeredPut(which, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, nullptr, 0, which, 1); }},
      {"PtlTriggeredGet", [] { return PtlTriggeredGet(which, 0, 0, id, 0, 0, 0, nullptr, which, 1); }},
      {"PtlTriggeredAtomic",
       [] { return PtlTriggeredAtomic(which, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, nullptr, 0, PTL_SUM, PTL_INT8_T, which, 1); }},
      {"PtlTriggeredFetchAtomic",
       [] { return PtlTriggeredFetchAtomic(which, 0, which, 0, 0, id, 0, 0, 0, nullptr, 0, PTL_SUM, PTL_INT8_T, which, 1); }},
      {"PtlTriggeredSwap",
       [] { return PtlTriggeredSwap(which, 0, which, 0, 0, id, 0, 0, 0, nullptr, 0, nullptr, PTL_SWAP, PTL_INT8_T, which, 1); }},
      {"PtlTriggeredCTInc",
       [] {
         return PtlTriggeredCTInc(which, {1, 0}, which, 1);
       }},
      {"PtlTriggeredCTSet",
       [] {
         return PtlTriggeredCTSet(which, {1, 0}, which, 1);
       }},
      {"PtlTriggeredMEAppend", [] { return PtlTriggeredMEAppend(handle, 0, &me, PTL_PRIORITY_LIST, nullptr, &which, which, 1); }},
      {"PtlTriggeredMEUnlink", [] { return PtlTriggeredMEUnlink(which, which, 1); }},
      {"PtlStartBundle", [] { return PtlStartBundle(handle); }},
      {"PtlEndBundle", [] { return PtlEndBundle(handle); }},
  };
}

TEST(Initialisation, EveryCallBeforeTheFirstInitAndAfterTheLastFiniAnswersNoInit) {
  for (int round = 0; round < 2; ++round) {
    for (const Call& one : all_calls()) EXPECT_EQ(one.call(), PTL_NO_INIT) << one.name;
    PtlAbort();  // neither of these has anything to answer
    PtlFini();
    ASSERT_EQ(PtlInit(), PTL_OK);
    ASSERT_EQ(PtlInit(), PTL_OK);
    PtlFini();
    EXPECT_EQ(PtlAtomicSync(), PTL_OK);
    PtlFini();
  }
}

TEST(Initialisation, HandlesCompareAlways) {
  EXPECT_NE(PtlHandleIsEqual(PTL_INVALID_HANDLE, PTL_INVALID_HANDLE), 0);
  EXPECT_EQ(PtlHandleIsEqual(PTL_INVALID_HANDLE, PTL_EQ_NONE), 0);
}

// Puts a word to ourselves by a fresh interface, and leaves it open.
void put_to_self(uint64_t value) {
  const ptl_handle_ni_t ni = Library::open(kMatching);
  ptl_process_t self;
  ASSERT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
  const ptl_handle_ct_t ct = Alone::counter(ni);
  ptl_pt_index_t pt;
  ASSERT_EQ(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt), PTL_OK);
  EXPECT_EQ(pt, 0u);
  uint64_t to = 0;
  const ptl_me_t me = Alone::any_me(&to, sizeof to, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, ct);
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  const ptl_md_t from{&value, sizeof value, 0, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t md;
  ASSERT_EQ(PtlMDBind(ni, &from, &md), PTL_OK);
  ASSERT_EQ(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, self, pt, 0, 0, nullptr, 0), PTL_OK);
  ptl_ct_event_t count;
  ASSERT_EQ(PtlCTWait(ct, 1, &count), PTL_OK);
  EXPECT_EQ(to, value);
}

TEST(Initialisation, TheLibraryMayBeInitialisedAgainAndLeavesNothingOfItsLastLife) {
  ptl_handle_ct_t old = PTL_INVALID_HANDLE;
  for (uint64_t life = 1; life <= 5; ++life) {
    ASSERT_EQ(PtlInit(), PTL_OK);
    put_to_self(life);
    ptl_ct_event_t count;
    EXPECT_EQ(PtlCTGet(old, &count), PTL_ARG_INVALID);
    old = Alone::counter(Library::open(kMatching));
    PtlFini();  // closes the interfaces, opened twice or not
  }
}

TEST(Initialisation, AForkedChildIsRefusedAndHarmsNobody) {
  ASSERT_EQ(PtlInit(), PTL_OK);
  const ptl_handle_ni_t ni = Library::open(kMatching);
  const pid_t child = fork();
  if (child == 0) {
    ptl_handle_ct_t ct;
    const bool refused = PtlCTAlloc(ni, &ct) == PTL_NO_INIT && PtlInit() == PTL_FAIL;
    PtlFini();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  put_to_self(7);
  PtlFini();
}

}  // namespace
}  // namespace portals_test
