// Portals 4.3, the portal table and memory descriptors, in a process alone.
#include "tests/portals/alone.hpp"

namespace portals_test {
namespace {

struct PortalTable : Alone {
  int alloc(ptl_pt_index_t wanted, ptl_pt_index_t& got, unsigned pt_options = 0) {
    return PtlPTAlloc(ni, pt_options, PTL_EQ_NONE, wanted, &got);
  }
};

TEST_F(PortalTable, GivesTheLowestFreeEntryBeginningWithZero) {
  ptl_pt_index_t got;
  for (ptl_pt_index_t i = 0; i < 5; ++i) {
    ASSERT_EQ(alloc(PTL_PT_ANY, got), PTL_OK);
    EXPECT_EQ(got, i);
  }
  EXPECT_EQ(PtlPTFree(ni, 2), PTL_OK);
  EXPECT_EQ(PtlPTFree(ni, 2), PTL_ARG_INVALID);
  ASSERT_EQ(alloc(PTL_PT_ANY, got), PTL_OK);
  EXPECT_EQ(got, 2u);
}

TEST_F(PortalTable, GivesTheEntryThatIsAskedForOnceUpToTheLast) {
  ptl_pt_index_t got = 0;
  const auto last = static_cast<ptl_pt_index_t>(limits.max_pt_index);
  for (ptl_pt_index_t wanted : {ptl_pt_index_t{12}, last}) {
    ASSERT_EQ(alloc(wanted, got), PTL_OK);
    EXPECT_EQ(got, wanted);
    EXPECT_EQ(alloc(wanted, got), PTL_PT_IN_USE);
  }
  EXPECT_EQ(alloc(last + 1, got), PTL_ARG_INVALID);
}

TEST_F(PortalTable, IsFullWhenAllIndicesAreTaken) {
  ptl_pt_index_t got;
  for (int i = 0; i <= limits.max_pt_index; ++i) ASSERT_EQ(alloc(PTL_PT_ANY, got), PTL_OK) << i;
  EXPECT_EQ(alloc(PTL_PT_ANY, got), PTL_PT_FULL);
  EXPECT_EQ(alloc(3, got), PTL_PT_IN_USE);
}

TEST_F(PortalTable, EntriesWithListEntriesAreInUse) {
  const ptl_pt_index_t pt = portal();
  for (ptl_list_t list : {PTL_PRIORITY_LIST, PTL_OVERFLOW_LIST}) {
    const ptl_me_t me = any_me();
    ptl_handle_me_t entry;
    ASSERT_EQ(PtlMEAppend(ni, pt, &me, list, nullptr, &entry), PTL_OK);
    EXPECT_EQ(PtlPTFree(ni, pt), PTL_PT_IN_USE);
    ASSERT_EQ(PtlMEUnlink(entry), PTL_OK);
  }
  EXPECT_EQ(PtlPTFree(ni, pt), PTL_OK);
}

TEST_F(PortalTable, ADisabledEntryRefusesUntilItIsEnabledAndTellsNobody) {
  const ptl_handle_eq_t own = queue();
  uint64_t word = 0;
  const uint64_t value = 5;
  ptl_pt_index_t pt = 0;
  ASSERT_EQ(PtlPTAlloc(ni, PTL_PT_ALLOC_DISABLED, own, PTL_PT_ANY, &pt), PTL_OK);
  const ptl_me_t me = any_me(&word, 8, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE);
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);  // appends work all the same
  const ptl_handle_eq_t eq = queue();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, eq);
  const auto outcome = [&] {
    EXPECT_EQ(PtlPut(md, at(&value), 8, PTL_ACK_REQ, self, pt, 0, 0, nullptr, 0), PTL_OK);
    ptl_event_t event{};
    EXPECT_EQ(PtlEQWait(eq, &event), PTL_OK);
    return event.ni_fail_type;
  };
  EXPECT_EQ(outcome(), PTL_NI_PT_DISABLED);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(PtlPTEnable(ni, pt), PTL_OK);  // twice: the second changes nothing
  EXPECT_EQ(word, 0u);
  EXPECT_EQ(outcome(), PTL_NI_OK);
  EXPECT_EQ(word, 5u);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(PtlPTDisable(ni, pt), PTL_OK);
  EXPECT_EQ(outcome(), PTL_NI_PT_DISABLED);
  EXPECT_EQ(PtlPTEnable(ni, pt), PTL_OK);
  EXPECT_EQ(outcome(), PTL_NI_OK);
  ptl_event_t none;
  EXPECT_EQ(PtlEQGet(own, &none), PTL_EQ_EMPTY);
}

using MemoryDescriptors = Alone;

TEST_F(MemoryDescriptors, OfReadOnlyMemoryAreSourcesOfPuts) {
  static const char text[] = "constant";
  char into[sizeof text] = {};
  const ptl_handle_ct_t arrived = counter();
  const ptl_pt_index_t pt = portal();
  const ptl_me_t me = any_me(into, sizeof into, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, arrived);
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  const ptl_md_t constant{const_cast<char*>(text), sizeof text, 0, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t md;
  ASSERT_EQ(PtlMDBind(ni, &constant, &md), PTL_OK);
  EXPECT_EQ(PtlPut(md, 0, sizeof text, PTL_NO_ACK_REQ, self, pt, 0, 0, nullptr, 0), PTL_OK);
  ptl_ct_event_t count;
  EXPECT_EQ(PtlCTWait(arrived, 1, &count), PTL_OK);
  EXPECT_STREQ(into, text);
}

TEST_F(MemoryDescriptors, DescribeNothingAndEverything) {
  for (ptl_size_t length : {ptl_size_t{0}, ptl_size_t{PTL_SIZE_MAX}}) {
    const ptl_md_t md{nullptr, length, 0, PTL_EQ_NONE, PTL_CT_NONE};
    ptl_handle_md_t handle;
    ASSERT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
    EXPECT_EQ(PtlPut(handle, 0, 0, PTL_NO_ACK_REQ, self, 0, 0, 0, nullptr, 0), PTL_OK);
    EXPECT_EQ(PtlPut(handle, length, 0, PTL_NO_ACK_REQ, self, 0, 0, 0, nullptr, 0), PTL_OK);
    EXPECT_EQ(PtlPut(handle, length, 1, PTL_NO_ACK_REQ, self, 0, 0, 0, nullptr, 0), PTL_ARG_INVALID);
    EXPECT_EQ(PtlMDRelease(handle), PTL_OK);
  }
}

TEST_F(MemoryDescriptors, MayBeReleasedWhileATriggeredOperationWaits) {
  uint64_t from = 9, to = 0;
  const ptl_handle_ct_t trigger = counter(), arrived = counter();
  const ptl_pt_index_t pt = portal();
  const ptl_me_t me = any_me(&to, 8, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, arrived);
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  const ptl_handle_md_t md = descriptor();
  ASSERT_EQ(PtlTriggeredPut(md, at(&from), 8, PTL_NO_ACK_REQ, self, pt, 0, 0, nullptr, 0, trigger, 1), PTL_OK);
  EXPECT_EQ(PtlMDRelease(md), PTL_OK);
  EXPECT_EQ(PtlCTInc(trigger, {1, 0}), PTL_OK);
  ptl_ct_event_t count;
  EXPECT_EQ(PtlCTWait(arrived, 1, &count), PTL_OK);
  EXPECT_EQ(to, 9u);
}

TEST_F(MemoryDescriptors, QueuesAndCountersMayBeFreedBeforeTheirLastReport) {
  const ptl_handle_eq_t eq = queue();
  const ptl_handle_ct_t ct = counter(), trigger = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK, ct, eq);
  ASSERT_EQ(PtlTriggeredPut(md, 0, 0, PTL_ACK_REQ, self, 0, 0, 0, nullptr, 0, trigger, 1), PTL_OK);
  EXPECT_EQ(PtlMDRelease(md), PTL_OK);
  EXPECT_EQ(PtlEQFree(eq), PTL_OK);
  EXPECT_EQ(PtlCTFree(ct), PTL_OK);
  const ptl_handle_ct_t next = counter();  // takes the place of the one that was freed, but not its counts
  EXPECT_EQ(PtlCTInc(trigger, {1, 0}), PTL_OK);
  ptl_ct_event_t value;
  EXPECT_EQ(PtlCTGet(next, &value), PTL_OK);
  EXPECT_EQ(value.success + value.failure, 0u);
}

}  // namespace
}  // namespace portals_test
