// Every argument error is answered by PTL_ARG_INVALID, changes nothing, and is explained by one line with PTL_DEBUG=1.
//
// One row for each thing that may be wrong with each argument of each function. The interface under test has room for
// exactly the objects that the rows need: a refused call that kept something would make a later one fail.
// Source: Portals 4.3, the return codes of each function.
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/portals/alone.hpp"

namespace portals_test {
namespace {

struct Row {
  const char* function;
  const char* argument;  // what the explanation begins with
  std::function<int()> call;
};

constexpr uint32_t kUnset = 0xabababab;

struct Arguments : Alone {
  ptl_handle_ni_t plain = 0, logical = 0, other = 0;  // not matching; with a map of one; of another kind than `ni`, with a CT and an EQ
  ptl_handle_ct_t ct = 0, other_ct = 0, stale_ct = 0;
  ptl_handle_eq_t eq = 0, other_eq = 0, stale_eq = 0;
  ptl_handle_md_t md = 0, bare = 0, small = 0, unreliable = 0, logical_md = 0, stale_md = 0;
  ptl_handle_me_t stale_me = 0;
  ptl_pt_index_t pt = 0, plain_pt = 0;
  uint64_t memory[8] = {};
  // Results: none may be written by a refused call.
  uint32_t handle = kUnset, number = kUnset, which = kUnset;
  ptl_process_t id{};
  ptl_ct_event_t count{};
  ptl_event_t event{};
  ptl_size_t size = kUnset;
  ptl_sr_value_t status = 77;
  ptl_process_t map[2] = {};
  const ptl_size_t test_one = 1;

  Arguments() { setenv("PTL_DEBUG", "1,no-fabric", 1); }
  ~Arguments() override { setenv("PTL_DEBUG", "no-fabric", 1); }

  void SetUp() override {
    Library::SetUp();
    ptl_ni_limits_t desired{};
    desired.max_mds = 5;
    desired.max_cts = desired.max_eqs = desired.max_entries = 2;
    desired.max_triggered_ops = 1;
    desired.max_iovecs = 4;
    desired.max_msg_size = 4096;
    desired.max_atomic_size = desired.max_fetch_atomic_size = 1024;
    ni = open(kMatching, &desired, &limits);
    plain = open(kNonMatching);
    logical = open(kMatchingLogical);
    other = plain;
    ASSERT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
    ASSERT_EQ(PtlSetMap(logical, 1, &self), PTL_OK);
    ct = counter();
    eq = queue();
    other_ct = counter(other);
    other_eq = queue_of(other);
    pt = portal();
    ASSERT_EQ(PtlPTAlloc(plain, 0, PTL_EQ_NONE, PTL_PT_ANY, &plain_pt), PTL_OK);
    md = descriptor(0, ct, eq);
    bare = descriptor();
    unreliable = descriptor(PTL_MD_UNRELIABLE, ct, eq);
    const ptl_md_t eight{memory, 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
    ASSERT_EQ(PtlMDBind(ni, &eight, &small), PTL_OK);
    const ptl_md_t all{nullptr, PTL_SIZE_MAX, 0, PTL_EQ_NONE, PTL_CT_NONE};
    ASSERT_EQ(PtlMDBind(logical, &all, &logical_md), PTL_OK);
    stale_ct = counter();
    stale_eq = queue();
    stale_md = descriptor();
    ASSERT_EQ(PtlCTFree(stale_ct), PTL_OK);
    ASSERT_EQ(PtlEQFree(stale_eq), PTL_OK);
    ASSERT_EQ(PtlMDRelease(stale_md), PTL_OK);
    const ptl_me_t me = any_me();
    ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &stale_me), PTL_OK);
    ASSERT_EQ(PtlMEUnlink(stale_me), PTL_OK);
  }

  // Nothing is left but what the set-up has left.
  void expect_nothing_taken() {
    EXPECT_EQ(handle, kUnset);
    EXPECT_EQ(number, kUnset);
    EXPECT_EQ(which, kUnset);
    EXPECT_EQ(size, kUnset);
    EXPECT_EQ(status, 77);
    EXPECT_EQ(id.phys.nid, 0u);
    EXPECT_EQ(map[0].phys.pid, 0u);
    ptl_ct_event_t value;
    ASSERT_EQ(PtlCTGet(ct, &value), PTL_OK);
    EXPECT_EQ(value.success + value.failure, 0u);
    ptl_event_t none;
    EXPECT_EQ(PtlEQGet(eq, &none), PTL_EQ_EMPTY);
    ptl_sr_value_t drops;
    ASSERT_EQ(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &drops), PTL_OK);
    EXPECT_EQ(drops, 0);
    counter();
    queue();
    descriptor();
    const ptl_me_t me = any_me();
    ptl_handle_me_t entries[2];
    for (auto& entry : entries) EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
    EXPECT_EQ(PtlTriggeredCTInc(ct, {1, 0}, ct, 5), PTL_OK);
    ptl_pt_index_t next;
    EXPECT_EQ(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &next), PTL_OK);
    EXPECT_EQ(next, pt + 1);
  }

  void check(const std::vector<Row>& rows) {
    expect_refusals(rows);
    expect_nothing_taken();
  }
  void expect_refusals(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      SCOPED_TRACE(std::string(row.function) + ", " + row.argument);
      testing::internal::CaptureStderr();
      EXPECT_EQ(row.call(), PTL_ARG_INVALID);
      const std::string said = testing::internal::GetCapturedStderr();
      EXPECT_TRUE(said.starts_with("portals: " + std::string(row.function) + ": " + row.argument + " ")) << said;
      EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
    }
  }

  // The data movement functions, all arguments but the tested ones good: `also` are added to each.
  struct Move {
    ptl_handle_md_t md, get_md;
    ptl_size_t offset, get_offset, length = 8;
    ptl_ack_req_t ack = PTL_NO_ACK_REQ;
    ptl_process_t target;
    ptl_op_t op = PTL_SUM, swap = PTL_CSWAP;
    ptl_datatype_t type = PTL_UINT64_T;
    const void* operand;
    ptl_handle_ct_t trigger;
  };
  Move good() { return {bare, bare, at(memory), at(memory), 8, PTL_NO_ACK_REQ, self, PTL_SUM, PTL_CSWAP, PTL_UINT64_T, memory, ct}; }
};

TEST_F(Arguments, OfInitialisationAndInterfaces) {
  const auto init = [&](unsigned with, ptl_interface_t iface = PTL_IFACE_DEFAULT, ptl_pid_t pid = PTL_PID_ANY) {
    return PtlNIInit(iface, with, pid, nullptr, nullptr, &handle);
  };
  const auto status_of = [&](unsigned which_one) { return PtlNIStatus(ni, static_cast<ptl_sr_index_t>(which_one), &status); };
  const ptl_process_t stranger[1] = {{.phys = {1, 1}}};
  check({
      {"PtlNIInit", "options", [&] { return init(0); }},
      {"PtlNIInit", "options", [&] { return init(PTL_NI_MATCHING); }},
      {"PtlNIInit", "options", [&] { return init(PTL_NI_PHYSICAL); }},
      {"PtlNIInit", "options", [&] { return init(PTL_NI_MATCHING | PTL_NI_NO_MATCHING | PTL_NI_LOGICAL); }},
      {"PtlNIInit", "options", [&] { return init(PTL_NI_MATCHING | PTL_NI_PHYSICAL | PTL_NI_LOGICAL); }},
      {"PtlNIInit", "options", [&] { return init(kMatching | 0x10); }},
      {"PtlNIInit", "iface", [&] { return init(kMatching, 1); }},
      {"PtlNIInit", "pid", [&] { return init(kNonMatchingLogical, PTL_IFACE_DEFAULT, 0); }},
      {"PtlNIInit", "pid", [&] { return init(kNonMatchingLogical, PTL_IFACE_DEFAULT, 0x10000); }},
      {"PtlNIInit", "ni_handle", [&] { return PtlNIInit(PTL_IFACE_DEFAULT, kMatching, PTL_PID_ANY, nullptr, nullptr, nullptr); }},
      {"PtlNIFini", "ni_handle", [&] { return PtlNIFini(PTL_INVALID_HANDLE); }},
      {"PtlNIFini", "ni_handle", [&] { return PtlNIFini(ct); }},
      {"PtlNIFini", "ni_handle", [&] { return PtlNIFini(ni + 3); }},
      {"PtlNIStatus", "ni_handle", [&] { return PtlNIStatus(PTL_INVALID_HANDLE, PTL_SR_DROP_COUNT, &status); }},
      {"PtlNIStatus", "status_register", [&] { return status_of(PTL_SR_LAST); }},
      {"PtlNIStatus", "status_register", [&] { return status_of(~0u); }},
      {"PtlNIStatus", "status", [&] { return PtlNIStatus(ni, PTL_SR_DROP_COUNT, nullptr); }},
      {"PtlNIHandle", "handle", [&] { return PtlNIHandle(PTL_INVALID_HANDLE, &handle); }},
      {"PtlNIHandle", "handle", [&] { return PtlNIHandle(PTL_EQ_NONE, &handle); }},
      {"PtlNIHandle", "handle", [&] { return PtlNIHandle(stale_ct, &handle); }},
      {"PtlNIHandle", "handle", [&] { return PtlNIHandle(stale_me, &handle); }},
      {"PtlNIHandle", "handle", [&] { return PtlNIHandle(0, &handle); }},
      {"PtlNIHandle", "ni_handle", [&] { return PtlNIHandle(ni, nullptr); }},
      {"PtlSetMap", "ni_handle", [&] { return PtlSetMap(PTL_INVALID_HANDLE, 1, &self); }},
      {"PtlSetMap", "ni_handle", [&] { return PtlSetMap(ni, 1, &self); }},
      {"PtlSetMap", "mapping", [&] { return PtlSetMap(logical, 1, nullptr); }},
      {"PtlSetMap", "map_size", [&] { return PtlSetMap(logical, 0, &self); }},
      {"PtlSetMap", "map_size", [&] { return PtlSetMap(logical, PTL_SIZE_MAX, &self); }},
      {"PtlGetMap", "ni_handle", [&] { return PtlGetMap(PTL_INVALID_HANDLE, 1, map, &size); }},
      {"PtlGetMap", "ni_handle", [&] { return PtlGetMap(ni, 1, map, &size); }},
      {"PtlGetMap", "mapping", [&] { return PtlGetMap(logical, 1, nullptr, &size); }},
      {"PtlGetUid", "ni_handle", [&] { return PtlGetUid(PTL_INVALID_HANDLE, &number); }},
      {"PtlGetUid", "uid", [&] { return PtlGetUid(ni, nullptr); }},
      {"PtlGetId", "ni_handle", [&] { return PtlGetId(PTL_INVALID_HANDLE, &id); }},
      {"PtlGetId", "id", [&] { return PtlGetId(ni, nullptr); }},
      {"PtlGetPhysId", "ni_handle", [&] { return PtlGetPhysId(ct, &id); }},
      {"PtlGetPhysId", "id", [&] { return PtlGetPhysId(ni, nullptr); }},
      {"PtlStartBundle", "ni_handle", [&] { return PtlStartBundle(PTL_INVALID_HANDLE); }},
      {"PtlEndBundle", "ni_handle", [&] { return PtlEndBundle(PTL_INVALID_HANDLE); }},
  });
  const ptl_handle_ni_t unmapped = open(kNonMatchingLogical);
  expect_refusals({{"PtlSetMap", "mapping", [&] { return PtlSetMap(unmapped, 1, stranger); }}});
}

TEST_F(Arguments, OfPortalTableEntries) {
  const auto alloc = [&](unsigned with, ptl_handle_eq_t queue, ptl_pt_index_t index) {
    return PtlPTAlloc(ni, with, queue, index, &number);
  };
  std::vector<Row> rows = {
      {"PtlPTAlloc", "ni_handle", [&] { return PtlPTAlloc(PTL_INVALID_HANDLE, 0, PTL_EQ_NONE, PTL_PT_ANY, &number); }},
      {"PtlPTAlloc", "pt_index", [&] { return PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, nullptr); }},
      {"PtlPTAlloc", "options", [&] { return alloc(PTL_PT_ALLOC_OPTIONS_MASK + 1, PTL_EQ_NONE, PTL_PT_ANY); }},
      {"PtlPTAlloc", "pt_index_req", [&] { return alloc(0, PTL_EQ_NONE, static_cast<ptl_pt_index_t>(limits.max_pt_index) + 1); }},
      {"PtlPTAlloc", "eq_handle", [&] { return alloc(0, PTL_INVALID_HANDLE, PTL_PT_ANY); }},
      {"PtlPTAlloc", "eq_handle", [&] { return alloc(0, PTL_CT_NONE, PTL_PT_ANY); }},
      {"PtlPTAlloc", "eq_handle", [&] { return alloc(0, stale_eq, PTL_PT_ANY); }},
      {"PtlPTAlloc", "eq_handle", [&] { return alloc(0, ct, PTL_PT_ANY); }},
      {"PtlPTAlloc", "eq_handle", [&] { return alloc(0, other_eq, PTL_PT_ANY); }},
  };
  struct OnEntry {
    const char* name;
    int (*call)(ptl_handle_ni_t, ptl_pt_index_t);
  };
  for (const OnEntry& function :
       {OnEntry{"PtlPTFree", PtlPTFree}, OnEntry{"PtlPTDisable", PtlPTDisable}, OnEntry{"PtlPTEnable", PtlPTEnable}}) {
    rows.push_back({function.name, "ni_handle", [=, this] { return function.call(PTL_INVALID_HANDLE, pt); }});
    rows.push_back({function.name, "pt_index", [=, this] { return function.call(ni, pt + 1); }});
    rows.push_back(
        {function.name, "pt_index", [=, this] { return function.call(ni, static_cast<ptl_pt_index_t>(limits.max_pt_index) + 1); }});
    rows.push_back({function.name, "pt_index", [=, this] { return function.call(ni, PTL_PT_ANY); }});
  }
  check(rows);
}

TEST_F(Arguments, OfMemoryDescriptors) {
  const std::array<ptl_iovec_t, 5> pieces{};
  const auto bind = [&](const ptl_md_t& like) { return PtlMDBind(ni, &like, &handle); };
  const auto with = [&](unsigned md_options, ptl_handle_eq_t queue, ptl_handle_ct_t count_in) {
    return bind({memory, sizeof memory, md_options, queue, count_in});
  };
  const ptl_md_t fine{memory, sizeof memory, 0, PTL_EQ_NONE, PTL_CT_NONE};
  check({
      {"PtlMDBind", "ni_handle", [&] { return PtlMDBind(PTL_INVALID_HANDLE, &fine, &handle); }},
      {"PtlMDBind", "md", [&] { return PtlMDBind(ni, nullptr, &handle); }},
      {"PtlMDBind", "md_handle", [&] { return PtlMDBind(ni, &fine, nullptr); }},
      {"PtlMDBind", "options", [&] { return with(0x200, PTL_EQ_NONE, PTL_CT_NONE); }},
      {"PtlMDBind", "options", [&] { return with(~static_cast<unsigned>(PTL_MD_OPTIONS_MASK), PTL_EQ_NONE, PTL_CT_NONE); }},
      {"PtlMDBind", "eq_handle", [&] { return with(0, PTL_INVALID_HANDLE, PTL_CT_NONE); }},
      {"PtlMDBind", "eq_handle", [&] { return with(0, PTL_CT_NONE, PTL_CT_NONE); }},
      {"PtlMDBind", "eq_handle", [&] { return with(0, stale_eq, PTL_CT_NONE); }},
      {"PtlMDBind", "eq_handle", [&] { return with(0, other_eq, PTL_CT_NONE); }},
      {"PtlMDBind", "ct_handle", [&] { return with(0, PTL_EQ_NONE, PTL_INVALID_HANDLE); }},
      {"PtlMDBind", "ct_handle", [&] { return with(0, PTL_EQ_NONE, PTL_EQ_NONE); }},
      {"PtlMDBind", "ct_handle", [&] { return with(0, PTL_EQ_NONE, eq); }},
      {"PtlMDBind", "ct_handle", [&] { return with(0, PTL_EQ_NONE, other_ct); }},
      {"PtlMDBind", "length",
       [&] {
         return bind({const_cast<ptl_iovec_t*>(pieces.data()), 5, PTL_IOVEC, PTL_EQ_NONE, PTL_CT_NONE});
       }},
      {"PtlMDBind", "start",
       [&] {
         return bind({nullptr, 1, PTL_IOVEC, PTL_EQ_NONE, PTL_CT_NONE});
       }},
      {"PtlMDRelease", "md_handle", [&] { return PtlMDRelease(PTL_INVALID_HANDLE); }},
      {"PtlMDRelease", "md_handle", [&] { return PtlMDRelease(stale_md); }},
      {"PtlMDRelease", "md_handle", [&] { return PtlMDRelease(ct); }},
      {"PtlMDRelease", "md_handle", [&] { return PtlMDRelease(md + 1000); }},
  });
}

TEST_F(Arguments, OfListEntries) {
  ptl_le_t le{};
  le.ct_handle = PTL_CT_NONE;
  ptl_me_t me = any_me();
  const std::array<ptl_iovec_t, 5> pieces{};
  const auto changed = [&](auto&& change) {
    ptl_me_t like = me;
    change(like);
    return like;
  };
  const ptl_me_t odd = changed([](ptl_me_t& like) { like.options |= 0x80000000u; });
  const ptl_me_t no_counter = changed([](ptl_me_t& like) { like.ct_handle = PTL_INVALID_HANDLE; });
  const ptl_me_t foreign = changed([&](ptl_me_t& like) { like.ct_handle = other_ct; });
  const ptl_me_t stale = changed([&](ptl_me_t& like) { like.ct_handle = stale_ct; });
  const ptl_me_t pieced =
      changed([&](ptl_me_t& like) { like.options |= PTL_IOVEC, like.start = const_cast<ptl_iovec_t*>(pieces.data()), like.length = 5; });
  const ptl_me_t nowhere = changed([](ptl_me_t& like) { like.options |= PTL_IOVEC, like.length = 1; });
  ptl_le_t le_with_me_option = le;
  le_with_me_option.options = PTL_ME_MANAGE_LOCAL;
  std::vector<Row> rows = {
      {"PtlMEAppend", "ni_handle", [&] { return PtlMEAppend(plain, plain_pt, &me, PTL_PRIORITY_LIST, nullptr, &handle); }},
      {"PtlMESearch", "ni_handle", [&] { return PtlMESearch(plain, plain_pt, &me, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlLEAppend", "ni_handle", [&] { return PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, nullptr, &handle); }},
      {"PtlLEAppend", "ni_handle", [&] { return PtlLEAppend(PTL_INVALID_HANDLE, pt, &le, PTL_PRIORITY_LIST, nullptr, &handle); }},
      {"PtlLEAppend", "le", [&] { return PtlLEAppend(plain, plain_pt, nullptr, PTL_PRIORITY_LIST, nullptr, &handle); }},
      {"PtlLEAppend", "le_handle", [&] { return PtlLEAppend(plain, plain_pt, &le, PTL_PRIORITY_LIST, nullptr, nullptr); }},
      {"PtlLEAppend", "pt_index", [&] { return PtlLEAppend(plain, plain_pt + 1, &le, PTL_PRIORITY_LIST, nullptr, &handle); }},
      {"PtlLEAppend", "ptl_list", [&] { return PtlLEAppend(plain, plain_pt, &le, 2, nullptr, &handle); }},
      {"PtlLEAppend", "options", [&] { return PtlLEAppend(plain, plain_pt, &le_with_me_option, PTL_PRIORITY_LIST, nullptr, &handle); }},
      {"PtlLESearch", "ni_handle", [&] { return PtlLESearch(ni, pt, &le, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlLESearch", "le", [&] { return PtlLESearch(plain, plain_pt, nullptr, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlLESearch", "pt_index", [&] { return PtlLESearch(plain, plain_pt + 1, &le, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlLESearch", "ptl_search_op", [&] { return PtlLESearch(plain, plain_pt, &le, 2, nullptr); }},
      {"PtlLESearch", "options", [&] { return PtlLESearch(plain, plain_pt, &le_with_me_option, PTL_SEARCH_ONLY, nullptr); }},
      {"PtlLEUnlink", "le_handle", [&] { return PtlLEUnlink(PTL_INVALID_HANDLE); }},
      {"PtlLEUnlink", "le_handle", [&] { return PtlLEUnlink(stale_me); }},
      {"PtlMEUnlink", "me_handle", [&] { return PtlMEUnlink(PTL_INVALID_HANDLE); }},
      {"PtlMEUnlink", "me_handle", [&] { return PtlMEUnlink(stale_me); }},
      {"PtlMEUnlink", "me_handle", [&] { return PtlMEUnlink(md); }},
      {"PtlTriggeredMEUnlink", "me_handle", [&] { return PtlTriggeredMEUnlink(stale_me, ct, 1); }},
  };
  struct Form {  // the three functions that take an ME to append it, and the one that takes it to search
    const char* name;
    std::function<int(ptl_handle_ni_t, ptl_pt_index_t, const ptl_me_t*)> call;
  };
  const Form forms[] = {
      {"PtlMEAppend", [&](ptl_handle_ni_t on, ptl_pt_index_t index,
                          const ptl_me_t* like) { return PtlMEAppend(on, index, like, PTL_OVERFLOW_LIST, nullptr, &handle); }},
      {"PtlMESearch", [&](ptl_handle_ni_t on, ptl_pt_index_t index,
                          const ptl_me_t* like) { return PtlMESearch(on, index, like, PTL_SEARCH_DELETE, nullptr); }},
      {"PtlTriggeredMEAppend",
       [&](ptl_handle_ni_t on, ptl_pt_index_t index, const ptl_me_t* like) {
         return PtlTriggeredMEAppend(on, index, const_cast<ptl_me_t*>(like), PTL_OVERFLOW_LIST, nullptr, &handle, ct, 1);
       }},
      {"PtlxTriggeredMEAppend",
       [&](ptl_handle_ni_t on, ptl_pt_index_t index, const ptl_me_t* like) {
         return PtlxTriggeredMEAppend(on, index, like, PTL_OVERFLOW_LIST, nullptr, &handle, ct, 1);
       }},
  };
  for (const Form& form : forms) {
    rows.push_back({form.name, "ni_handle", [&] { return form.call(PTL_INVALID_HANDLE, pt, &me); }});
    rows.push_back({form.name, "me", [&] { return form.call(ni, pt, nullptr); }});
    rows.push_back({form.name, "pt_index", [&] { return form.call(ni, pt + 1, &me); }});
    rows.push_back({form.name, "pt_index", [&] { return form.call(ni, PTL_PT_ANY, &me); }});
    rows.push_back({form.name, "options", [&] { return form.call(ni, pt, &odd); }});
    rows.push_back({form.name, "ct_handle", [&] { return form.call(ni, pt, &no_counter); }});
    rows.push_back({form.name, "ct_handle", [&] { return form.call(ni, pt, &foreign); }});
    rows.push_back({form.name, "ct_handle", [&] { return form.call(ni, pt, &stale); }});
    rows.push_back({form.name, "length", [&] { return form.call(ni, pt, &pieced); }});
    rows.push_back({form.name, "start", [&] { return form.call(ni, pt, &nowhere); }});
  }
  rows.push_back({"PtlMEAppend", "ptl_list", [&] { return PtlMEAppend(ni, pt, &me, 2, nullptr, &handle); }});
  rows.push_back({"PtlMEAppend", "me_handle", [&] { return PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, nullptr); }});
  rows.push_back({"PtlMESearch", "ptl_search_op", [&] { return PtlMESearch(ni, pt, &me, 2, nullptr); }});
  rows.push_back({"PtlTriggeredMEAppend", "trig_ct_handle",
                  [&] { return PtlTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle, other_ct, 1); }});
  rows.push_back({"PtlTriggeredMEAppend", "trig_ct_handle",
                  [&] { return PtlTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle, PTL_CT_NONE, 1); }});
  check(rows);
}

TEST_F(Arguments, OfCountingEvents) {
  const ptl_handle_ct_t mixed[2] = {ct, other_ct}, gone[2] = {ct, stale_ct};
  const ptl_size_t ones[2] = {1, 1};
  const auto poll = [&](const ptl_handle_ct_t* handles, unsigned n) { return PtlCTPoll(handles, ones, n, 0, &count, &which); };
  std::vector<Row> rows = {
      {"PtlCTAlloc", "ni_handle", [&] { return PtlCTAlloc(PTL_INVALID_HANDLE, &handle); }},
      {"PtlCTAlloc", "ct_handle", [&] { return PtlCTAlloc(ni, nullptr); }},
      {"PtlCTGet", "event", [&] { return PtlCTGet(ct, nullptr); }},
      {"PtlCTWait", "event", [&] { return PtlCTWait(ct, 0, nullptr); }},
      {"PtlCTPoll", "ct_handles", [&] { return poll(nullptr, 1); }},
      {"PtlCTPoll", "size", [&] { return poll(&ct, 0); }},
      {"PtlCTPoll", "ct_handles", [&] { return poll(mixed, 2); }},
      {"PtlCTPoll", "ct_handles", [&] { return poll(gone, 2); }},
      {"PtlCTPoll", "tests", [&] { return PtlCTPoll(&ct, nullptr, 1, 0, &count, &which); }},
      {"PtlCTPoll", "event", [&] { return PtlCTPoll(&ct, ones, 1, 0, nullptr, &which); }},
      {"PtlCTPoll", "which", [&] { return PtlCTPoll(&ct, ones, 1, 0, &count, nullptr); }},
      {"PtlCTInc", "increment",
       [&] {
         return PtlCTInc(ct, {1, 1});
       }},
      {"PtlTriggeredCTInc", "increment",
       [&] {
         return PtlTriggeredCTInc(ct, {1, 1}, ct, 1);
       }},
  };
  for (const ptl_handle_ct_t bad : {ptl_handle_ct_t{PTL_CT_NONE}, ptl_handle_ct_t{PTL_INVALID_HANDLE}, stale_ct, eq}) {
    rows.push_back({"PtlCTFree", "ct_handle", [=] { return PtlCTFree(bad); }});
    rows.push_back({"PtlCTCancelTriggered", "ct_handle", [=] { return PtlCTCancelTriggered(bad); }});
    rows.push_back({"PtlCTGet", "ct_handle", [=, this] { return PtlCTGet(bad, &count); }});
    rows.push_back({"PtlCTWait", "ct_handle", [=, this] { return PtlCTWait(bad, 0, &count); }});
    rows.push_back({"PtlCTSet", "ct_handle", [=] { return PtlCTSet(bad, {1, 0}); }});
    rows.push_back({"PtlCTInc", "ct_handle", [=] { return PtlCTInc(bad, {1, 0}); }});
    rows.push_back({"PtlTriggeredCTInc", "ct_handle", [=, this] { return PtlTriggeredCTInc(bad, {1, 0}, ct, 1); }});
    rows.push_back({"PtlTriggeredCTSet", "ct_handle", [=, this] { return PtlTriggeredCTSet(bad, {1, 0}, ct, 1); }});
    rows.push_back({"PtlTriggeredCTInc", "trig_ct_handle", [=, this] { return PtlTriggeredCTInc(ct, {1, 0}, bad, 1); }});
    rows.push_back({"PtlTriggeredCTSet", "trig_ct_handle", [=, this] { return PtlTriggeredCTSet(ct, {1, 0}, bad, 1); }});
  }
  rows.push_back({"PtlTriggeredCTInc", "trig_ct_handle", [&] { return PtlTriggeredCTInc(ct, {1, 0}, other_ct, 1); }});
  check(rows);
}

TEST_F(Arguments, OfEventQueues) {
  const ptl_handle_eq_t mixed[2] = {eq, other_eq}, gone[2] = {eq, stale_eq}, none[1] = {PTL_EQ_NONE};
  const auto poll = [&](const ptl_handle_eq_t* handles, unsigned n) { return PtlEQPoll(handles, n, 0, &event, &which); };
  std::vector<Row> rows = {
      {"PtlEQAlloc", "ni_handle", [&] { return PtlEQAlloc(PTL_INVALID_HANDLE, 1, &handle); }},
      {"PtlEQAlloc", "eq_handle", [&] { return PtlEQAlloc(ni, 1, nullptr); }},
      {"PtlEQGet", "event", [&] { return PtlEQGet(eq, nullptr); }},
      {"PtlEQWait", "event", [&] { return PtlEQWait(eq, nullptr); }},
      {"PtlEQPoll", "eq_handles", [&] { return poll(nullptr, 1); }},
      {"PtlEQPoll", "size", [&] { return poll(&eq, 0); }},
      {"PtlEQPoll", "eq_handles", [&] { return poll(mixed, 2); }},
      {"PtlEQPoll", "eq_handles", [&] { return poll(gone, 2); }},
      {"PtlEQPoll", "eq_handles", [&] { return poll(none, 1); }},
      {"PtlEQPoll", "event", [&] { return PtlEQPoll(&eq, 1, 0, nullptr, &which); }},
      {"PtlEQPoll", "which", [&] { return PtlEQPoll(&eq, 1, 0, &event, nullptr); }},
      {"PtlxEQHolds", "eq_handle",
       [&] {
         int holds;
         return PtlxEQHolds(stale_eq, &holds);
       }},
      {"PtlxEQHolds", "holds", [&] { return PtlxEQHolds(eq, nullptr); }},
      {"PtlxEQTake", "eq_handle", [&] { return PtlxEQTake(stale_eq, 0, &event, 1, &which, nullptr, nullptr, nullptr); }},
      {"PtlxEQTake", "most", [&] { return PtlxEQTake(eq, 0, &event, 0, &which, nullptr, nullptr, nullptr); }},
      {"PtlxEQTake", "events", [&] { return PtlxEQTake(eq, 0, nullptr, 1, &which, nullptr, nullptr, nullptr); }},
      {"PtlxEQTake", "taken", [&] { return PtlxEQTake(eq, 0, &event, 1, nullptr, nullptr, nullptr, nullptr); }},
  };
  for (const ptl_handle_eq_t bad : {ptl_handle_eq_t{PTL_EQ_NONE}, ptl_handle_eq_t{PTL_INVALID_HANDLE}, stale_eq, ct}) {
    rows.push_back({"PtlEQFree", "eq_handle", [=] { return PtlEQFree(bad); }});
    rows.push_back({"PtlEQGet", "eq_handle", [=, this] { return PtlEQGet(bad, &event); }});
    rows.push_back({"PtlEQWait", "eq_handle", [=, this] { return PtlEQWait(bad, &event); }});
  }
  check(rows);
}

TEST_F(Arguments, OfDataMovement) {
  using Call = std::function<int(const Move&)>;
  struct Form {
    const char* name;
    bool acks, atomic, fetches, swaps, triggered;
    Call call;
  };
  const Form forms[] = {
      {"PtlPut", true, false, false, false, false,
       [&](const Move& m) { return PtlPut(m.md, m.offset, m.length, m.ack, m.target, 60, 0, 0, nullptr, 0); }},
      {"PtlTriggeredPut", true, false, false, false, true,
       [&](const Move& m) { return PtlTriggeredPut(m.md, m.offset, m.length, m.ack, m.target, 60, 0, 0, nullptr, 0, m.trigger, 1); }},
      {"PtlGet", false, false, false, false, false,
       [&](const Move& m) { return PtlGet(m.md, m.offset, m.length, m.target, 60, 0, 0, nullptr); }},
      {"PtlTriggeredGet", false, false, false, false, true,
       [&](const Move& m) { return PtlTriggeredGet(m.md, m.offset, m.length, m.target, 60, 0, 0, nullptr, m.trigger, 1); }},
      {"PtlAtomic", true, true, false, false, false,
       [&](const Move& m) { return PtlAtomic(m.md, m.offset, m.length, m.ack, m.target, 60, 0, 0, nullptr, 0, m.op, m.type); }},
      {"PtlTriggeredAtomic", true, true, false, false, true,
       [&](const Move& m) {
         return PtlTriggeredAtomic(m.md, m.offset, m.length, m.ack, m.target, 60, 0, 0, nullptr, 0, m.op, m.type, m.trigger, 1);
       }},
      {"PtlFetchAtomic", false, true, true, false, false,
       [&](const Move& m) {
         return PtlFetchAtomic(m.get_md, m.get_offset, m.md, m.offset, m.length, m.target, 60, 0, 0, nullptr, 0, m.op, m.type);
       }},
      {"PtlTriggeredFetchAtomic", false, true, true, false, true,
       [&](const Move& m) {
         return PtlTriggeredFetchAtomic(m.get_md, m.get_offset, m.md, m.offset, m.length, m.target, 60, 0, 0, nullptr, 0, m.op, m.type,
                                        m.trigger, 1);
       }},
      {"PtlSwap", false, true, true, true, false,
       [&](const Move& m) {
         return PtlSwap(m.get_md, m.get_offset, m.md, m.offset, m.length, m.target, 60, 0, 0, nullptr, 0, m.operand, m.swap, m.type);
       }},
      {"PtlTriggeredSwap", false, true, true, true, true,
       [&](const Move& m) {
         return PtlTriggeredSwap(m.get_md, m.get_offset, m.md, m.offset, m.length, m.target, 60, 0, 0, nullptr, 0, m.operand, m.swap,
                                 m.type, m.trigger, 1);
       }},
  };
  std::vector<Row> rows;
  for (const Form& form : forms) {
    const auto row = [&](const char* argument, const std::function<void(Move&)>& change) {
      Move move = good();
      change(move);
      rows.push_back({form.name, argument, [&form, move] { return form.call(move); }});
    };
    const char* const handle_name = form.fetches ? "put_md_handle" : "md_handle";
    const char* const offset_name = form.fetches ? "local_put_offset" : "local_offset";
    for (const ptl_handle_md_t bad : {ptl_handle_md_t{PTL_INVALID_HANDLE}, stale_md, ct}) row(handle_name, [=](Move& m) { m.md = bad; });
    row(offset_name, [&](Move& m) { m.md = small, m.offset = 1; });
    row(offset_name, [&](Move& m) { m.md = small, m.offset = PTL_SIZE_MAX; });
    row(offset_name, [&](Move& m) { m.md = small, m.offset = 0, m.length = 16, m.swap = PTL_SWAP; });
    row(offset_name, [&](Move& m) { m.offset = PTL_SIZE_MAX - 4; });
    row("length", [](Move& m) { m.length = 4104, m.swap = PTL_SWAP; });
    row("target_id", [&](Move& m) { m.md = m.get_md = logical_md, m.target.rank = 1; });
    row("target_id", [&](Move& m) { m.md = m.get_md = logical_md, m.target.rank = PTL_RANK_ANY; });
    if (form.acks) {
      row("ack_req", [](Move& m) { m.ack = 4; });
      row("ack_req", [](Move& m) { m.ack = PTL_ACK_REQ; });
      row("ack_req", [](Move& m) { m.ack = PTL_CT_ACK_REQ; });
      row("ack_req", [&](Move& m) { m.md = unreliable, m.ack = PTL_ACK_REQ; });
    }
    if (form.atomic) {
      row("operation", [](Move& m) { m.op = PTL_OP_LAST, m.swap = PTL_OP_LAST; });
      row("operation", [](Move& m) { m.op = PTL_SWAP, m.swap = PTL_SUM; });
      row("operation", [](Move& m) { m.op = PTL_BOR, m.swap = PTL_MSWAP, m.type = PTL_DOUBLE; });
      row("operation", [](Move& m) { m.op = PTL_MIN, m.swap = PTL_CSWAP_LE, m.type = PTL_FLOAT_COMPLEX; });
      row("operation", [](Move& m) { m.type = PTL_DATATYPE_LAST; });
      row("length", [](Move& m) { m.length = 1032, m.swap = PTL_SWAP; });
    }
    if (form.fetches) {
      for (const ptl_handle_md_t bad : {ptl_handle_md_t{PTL_INVALID_HANDLE}, stale_md})
        row("get_md_handle", [=](Move& m) { m.get_md = bad; });
      row("get_md_handle", [&](Move& m) { m.get_md = logical_md; });
      row("local_get_offset", [&](Move& m) { m.get_md = small, m.get_offset = 1; });
    }
    if (form.swaps) {
      row("operand", [](Move& m) { m.operand = nullptr; });
      row("length", [](Move& m) { m.length = 16; });
    }
    if (form.triggered)
      for (const ptl_handle_ct_t bad : {ptl_handle_ct_t{PTL_CT_NONE}, ptl_handle_ct_t{PTL_INVALID_HANDLE}, stale_ct, other_ct})
        row("trig_ct_handle", [=](Move& m) { m.trigger = bad; });
  }
  check(rows);
}

TEST_F(Arguments, OfExtensions) {
  void* base = nullptr;
  uint64_t out[2];
  const auto local = [&](ptlx_local_op_t op, ptl_datatype_t type, void* dst, const void* a, const void* b, ptl_handle_ct_t done) {
    return PtlxTriggeredLocal(ni, op, type, dst, a, b, 2, done, ct, 1);
  };
  ptl_iovec_t piece{out, sizeof out[0]};
  const ptlx_memory_t whole{out, 0}, few{&piece, 1};  // of two words
  const auto vector = [&](const ptlx_memory_t* dst, const ptlx_memory_t* a) {
    return PtlxTriggeredLocalVector(ni, PTLX_COPY, PTL_UINT64_T, dst, a, nullptr, 2, PTL_CT_NONE, ct, 1);
  };
  const uint32_t pending = 0;
  ptl_match_bits_t bits;
  const ptlx_long_wait_t without_texts{};
  const auto does = [](void*, void*) { return 0; };
  const auto is_ready = [](void*) { return 0; };
  const ptlx_stepper_t without_step{nullptr, is_ready, nullptr, &pending}, without_ready{does, nullptr, nullptr, &pending},
      without_word{does, is_ready, nullptr, nullptr};
  const ptlx_poller_t without_look{nullptr, nullptr, &pending, 0}, without_pending{[](void*) { return 0; }, nullptr, nullptr, 0};
  check({
      {"PtlxTriggeredLocal", "ni_handle",
       [&] { return PtlxTriggeredLocal(PTL_INVALID_HANDLE, PTLX_ADD, PTL_UINT64_T, out, out, out, 1, PTL_CT_NONE, ct, 1); }},
      {"PtlxTriggeredLocal", "op", [&] { return local(static_cast<ptlx_local_op_t>(99), PTL_UINT64_T, out, out, out, PTL_CT_NONE); }},
      {"PtlxTriggeredLocal", "op", [&] { return local(PTLX_AND, PTL_DOUBLE, out, out, out, PTL_CT_NONE); }},
      {"PtlxTriggeredLocal", "dst", [&] { return local(PTLX_ADD, PTL_UINT64_T, nullptr, out, out, PTL_CT_NONE); }},
      {"PtlxTriggeredLocal", "a", [&] { return local(PTLX_COPY, PTL_UINT64_T, out, nullptr, nullptr, PTL_CT_NONE); }},
      {"PtlxTriggeredLocal", "b", [&] { return local(PTLX_ADD, PTL_UINT64_T, out, out, nullptr, PTL_CT_NONE); }},
      {"PtlxTriggeredLocal", "completion", [&] { return local(PTLX_ADD, PTL_UINT64_T, out, out, out, other_ct); }},
      {"PtlxTriggeredLocal", "trig_ct_handle",
       [&] { return PtlxTriggeredLocal(ni, PTLX_DELAY, 0, nullptr, nullptr, nullptr, 5, ct, PTL_CT_NONE, 1); }},
      {"PtlxTriggeredAwait", "ni_handle",
       [&] { return PtlxTriggeredAwait(PTL_INVALID_HANDLE, out, PTL_UINT64_T, PTLX_EQUAL, out, 0, ct, ct, 1); }},
      {"PtlxTriggeredAwait", "type", [&] { return PtlxTriggeredAwait(ni, out, PTL_DOUBLE, PTLX_EQUAL, out, 0, ct, ct, 1); }},
      {"PtlxTriggeredAwait", "word", [&] { return PtlxTriggeredAwait(ni, nullptr, PTL_UINT64_T, PTLX_EQUAL, out, 0, ct, ct, 1); }},
      {"PtlxTriggeredAwait", "word",
       [&] { return PtlxTriggeredAwait(ni, reinterpret_cast<char*>(out) + 1, PTL_UINT64_T, PTLX_EQUAL, out, 0, ct, ct, 1); }},
      {"PtlxTriggeredAwait", "comparison",
       [&] { return PtlxTriggeredAwait(ni, out, PTL_UINT64_T, static_cast<ptlx_comparison_t>(6), out, 0, ct, ct, 1); }},
      {"PtlxTriggeredAwait", "value", [&] { return PtlxTriggeredAwait(ni, out, PTL_UINT64_T, PTLX_EQUAL, nullptr, 0, ct, ct, 1); }},
      {"PtlxTriggeredAwait", "completion",
       [&] { return PtlxTriggeredAwait(ni, out, PTL_UINT64_T, PTLX_EQUAL, out, 0, PTL_CT_NONE, ct, 1); }},
      {"PtlxTriggeredAwait", "completion", [&] { return PtlxTriggeredAwait(ni, out, PTL_UINT64_T, PTLX_EQUAL, out, 0, other_ct, ct, 1); }},
      {"PtlxTriggeredAwait", "trig_ct_handle",
       [&] { return PtlxTriggeredAwait(ni, out, PTL_UINT64_T, PTLX_EQUAL, out, 0, ct, PTL_CT_NONE, 1); }},
      {"PtlxTriggeredCall", "ni_handle", [&] { return PtlxTriggeredCall(PTL_INVALID_HANDLE, is_ready, nullptr, ct, ct, 1); }},
      {"PtlxTriggeredCall", "work", [&] { return PtlxTriggeredCall(ni, nullptr, nullptr, ct, ct, 1); }},
      {"PtlxTriggeredCall", "completion", [&] { return PtlxTriggeredCall(ni, is_ready, nullptr, other_ct, ct, 1); }},
      {"PtlxTriggeredCall", "trig_ct_handle", [&] { return PtlxTriggeredCall(ni, is_ready, nullptr, ct, PTL_CT_NONE, 1); }},
      {"PtlxTriggeredLocalVector", "dst", [&] { return vector(nullptr, &whole); }},
      {"PtlxTriggeredLocalVector", "dst", [&] { return vector(&few, &whole); }},
      {"PtlxTriggeredLocalVector", "a", [&] { return vector(&whole, &few); }},
      {"PtlxTriggeredLocalVector", "dst",
       [&] { return PtlxTriggeredLocalVector(ni, PTLX_TIMESTAMP, 0, &few, nullptr, nullptr, 1, PTL_CT_NONE, ct, 1); }},
      {"PtlxTriggeredLocalVector", "count",
       [&] { return PtlxTriggeredLocalVector(ni, PTLX_COPY, PTL_UINT64_T, &whole, &whole, nullptr, PTL_SIZE_MAX, PTL_CT_NONE, ct, 1); }},
      {"PtlxNodeAlloc", "base", [&] { return PtlxNodeAlloc(ni, 4096, nullptr, &number); }},
      {"PtlxNodeAlloc", "size", [&] { return PtlxNodeAlloc(ni, 0, &base, &number); }},
      {"PtlxNodeAlloc", "block", [&] { return PtlxNodeAlloc(ni, 4096, &base, nullptr); }},
      {"PtlxNodeAlloc", "ni_handle", [&] { return PtlxNodeAlloc(ct, 4096, &base, &number); }},
      {"PtlxNodeShare", "start", [&] { return PtlxNodeShare(ni, reinterpret_cast<void*>(1), 4096, &number); }},
      {"PtlxNodeMap", "block", [&] { return PtlxNodeMap(ni, self, 99, &base, &size); }},
      {"PtlxJobInit", "job", [&] { return PtlxJobInit(nullptr); }},
      {"PtlxJobPut", "key", [&] { return PtlxJobPut(nullptr, "x", 1); }},
      {"PtlxJobMap", "the job", [&] { return PtlxJobMap(logical); }},
      {"PtlxEngineInfo", "info", [&] { return PtlxEngineInfo(nullptr); }},
      {"PtlxMEGet", "match_bits", [&] { return PtlxMEGet(ct, nullptr, &bits); }},
      {"PtlxMEGet", "ignore_bits", [&] { return PtlxMEGet(ct, &bits, nullptr); }},
      {"PtlxMEGet", "me", [&] { return PtlxMEGet(ct, &bits, &bits); }},
      {"PtlxMEGet", "me", [&] { return PtlxMEGet(PTL_INVALID_HANDLE, &bits, &bits); }},
      {"PtlxTellWait", "wait", [&] { return PtlxTellWait(nullptr); }},
      {"PtlxTellWait", "wait", [&] { return PtlxTellWait(&without_texts); }},
      {"PtlxPollerAdd", "poller", [&] { return PtlxPollerAdd(nullptr); }},
      {"PtlxPollerAdd", "look", [&] { return PtlxPollerAdd(&without_look); }},
      {"PtlxPollerAdd", "pending", [&] { return PtlxPollerAdd(&without_pending); }},
      {"PtlxStepperRun", "stepper", [&] { return PtlxStepperRun(nullptr, nullptr); }},
      {"PtlxStepperRun", "step", [&] { return PtlxStepperRun(&without_step, nullptr); }},
      {"PtlxStepperRun", "ready", [&] { return PtlxStepperRun(&without_ready, nullptr); }},
      {"PtlxStepperRun", "pending", [&] { return PtlxStepperRun(&without_word, nullptr); }},
  });
  EXPECT_EQ(base, nullptr);
}

TEST_F(Arguments, NothingIsSaidWithoutPtlDebug) {
  unsetenv("PTL_DEBUG");
  testing::internal::CaptureStderr();
  EXPECT_EQ(PtlCTFree(PTL_CT_NONE), PTL_ARG_INVALID);
  setenv("PTL_DEBUG", "0", 1);
  EXPECT_EQ(PtlCTFree(PTL_CT_NONE), PTL_ARG_INVALID);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Arguments, TheOperandOfAPlainSwapIsNotLookedAt) {
  EXPECT_EQ(PtlSwap(bare, at(memory), bare, at(memory + 1), 8, self, 60, 0, 0, nullptr, 0, nullptr, PTL_SWAP, PTL_UINT64_T), PTL_OK);
  EXPECT_EQ(
      PtlSwap(bare, at(memory), bare, at(memory + 1), 8, self, 60, 0, 0, nullptr, 0, reinterpret_cast<void*>(8), PTL_SWAP, PTL_UINT64_T),
      PTL_OK);
}

TEST_F(Arguments, AnAckForTheCountAloneIsNeverRefused) {
  // OC_ACK_REQ asks for nothing that the descriptor would have to have.
  EXPECT_EQ(PtlPut(bare, at(memory), 8, PTL_OC_ACK_REQ, self, 60, 0, 0, nullptr, 0), PTL_OK);
}

TEST_F(Arguments, FlowControlNeedsAnEventQueue) {
  EXPECT_EQ(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, PTL_PT_ANY, &number), PTL_PT_EQ_NEEDED);
}

}  // namespace
}  // namespace portals_test
