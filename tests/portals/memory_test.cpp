// Memory that cannot be had is PTL_NO_SPACE, and the call has done nothing: made again, it works.
//
// Each call of the table is made again and again, and its first, second .. allocation fails until none is left. What the engine needs for
// messages that it takes in is another matter: without it the process ends.
// Source: Portals 4.3, return codes.
#include <functional>
#include <vector>

#include "tests/allocation_probe.hpp"
#include "tests/portals/alone.hpp"

namespace {
bool armed = false, refused = false;
int before = 0;

bool refuses() {
  if (!armed || before-- != 0) return false;
  armed = false;
  return refused = true;
}
const auto asked = portunus::allocation_probe::refuses = refuses;
}  // namespace

namespace portals_test {
namespace {

struct Row {
  const char* name;
  std::function<int()> call;
  std::function<void()> undo = [] {};
};

// True: the call needed no more than `n` allocations.
bool attempt(const Row& row, int n) {
  before = n;
  refused = false;
  armed = true;
  int code = row.call();
  armed = false;
  if (code != PTL_OK) {
    EXPECT_TRUE(refused) << row.name;
    EXPECT_EQ(code, PTL_NO_SPACE) << row.name << ", allocation " << n;
    EXPECT_EQ(code = row.call(), PTL_OK) << row.name << ", after allocation " << n;
  }
  if (code == PTL_OK) row.undo();
  return !refused;
}

struct NoMemory : Alone {};

TEST_F(NoMemory, IsToldByEachCallWhichHasDoneNothing) {
  static char from[1000], to[1000];
  static ptl_handle_ni_t other;
  static ptl_handle_eq_t eq;
  static ptl_handle_ct_t ct;
  static ptl_handle_md_t md;
  static ptl_handle_me_t me;
  static ptl_pt_index_t fresh;
  static ptl_process_t map[3];
  const ptl_handle_ct_t arrived = counter(), fires = counter();
  ptl_md_t all{};
  all.start = from;
  all.length = sizeof from;
  all.eq_handle = PTL_EQ_NONE;
  all.ct_handle = PTL_CT_NONE;
  ASSERT_EQ(PtlMDBind(ni, &all, &md), PTL_OK);
  const ptl_handle_md_t source = md;
  const ptl_pt_index_t pt = portal();
  ptl_me_t entry{};
  entry.start = to;
  entry.length = sizeof to;
  entry.ct_handle = arrived;
  entry.uid = PTL_UID_ANY;
  entry.options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_CT_COMM;
  entry.match_id = self;
  entry.match_bits = 7;
  ASSERT_EQ(PtlMEAppend(ni, pt, &entry, PTL_PRIORITY_LIST, nullptr, &me), PTL_OK);
  ptl_me_t unheard = entry;
  unheard.match_bits = 1000;
  ptl_size_t arrivals = 0;
  const auto put = [&](ptl_size_t bytes) { return PtlPut(source, 0, bytes, PTL_NO_ACK_REQ, self, pt, 7, 0, nullptr, 0); };
  const auto await = [&] {
    ptl_ct_event_t value;
    ASSERT_EQ(PtlCTWait(arrived, ++arrivals, &value), PTL_OK);
    EXPECT_EQ(value.success, arrivals);
    EXPECT_EQ(value.failure, 0u);
  };
  const std::vector<Row> rows{
      {"PtlNIInit", [&] { return PtlNIInit(PTL_IFACE_DEFAULT, kMatchingLogical, PTL_PID_ANY, nullptr, nullptr, &other); },
       [] { PtlNIFini(other); }},
      {"PtlNIInit and PtlSetMap",
       [&] {
         if (const int code = PtlNIInit(PTL_IFACE_DEFAULT, kMatchingLogical, PTL_PID_ANY, nullptr, nullptr, &other)) return code;
         map[1] = self;
         const int code = PtlSetMap(other, 3, map);
         if (code != PTL_OK) PtlNIFini(other);
         return code;
       },
       [] { PtlNIFini(other); }},
      {"PtlPTAlloc", [&] { return PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &fresh); }, [&] { PtlPTFree(ni, fresh); }},
      {"PtlEQAlloc", [&] { return PtlEQAlloc(ni, 100, &eq); }, [] { PtlEQFree(eq); }},
      {"PtlCTAlloc", [&] { return PtlCTAlloc(ni, &ct); }, [] { PtlCTFree(ct); }},
      {"PtlMDBind", [&] { return PtlMDBind(ni, &all, &md); }, [] { PtlMDRelease(md); }},
      {"PtlMEAppend", [&] { return PtlMEAppend(ni, pt, &unheard, PTL_PRIORITY_LIST, nullptr, &me); }, [] { PtlMEUnlink(me); }},
      {"PtlMEAppend to the overflow list", [&] { return PtlMEAppend(ni, pt, &unheard, PTL_OVERFLOW_LIST, nullptr, &me); },
       [] { PtlMEUnlink(me); }},
      {"PtlMESearch", [&] { return PtlMESearch(ni, pt, &unheard, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlPut of 8 bytes", [&] { return put(8); }, await},
      {"PtlPut of 1000 bytes", [&] { return put(1000); }, await},
      {"PtlTriggeredPut", [&] { return PtlTriggeredPut(source, 0, 8, PTL_NO_ACK_REQ, self, pt, 7, 0, nullptr, 0, fires, 1); },
       [&] {
         EXPECT_EQ(PtlCTInc(fires, {1, 0}), PTL_OK);
         await();
         EXPECT_EQ(PtlCTSet(fires, {0, 0}), PTL_OK);
       }},
      {"PtlTriggeredCTInc",
       [&] {
         return PtlTriggeredCTInc(arrived, {1, 0}, fires, 1);
       },
       [&] {
         EXPECT_EQ(PtlCTInc(fires, {1, 0}), PTL_OK);
         await();
         EXPECT_EQ(PtlCTSet(fires, {0, 0}), PTL_OK);
       }},
  };
  for (const Row& row : rows)
    for (int n = 0; !attempt(row, n);) ++n;
}

}  // namespace
}  // namespace portals_test
