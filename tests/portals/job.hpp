// job.hpp: what the Portals tests on several ranks share: one job, one interface of each kind, a fence.
//
// Every rank runs the same tests in the same order; checks are EXPECTs, so that no rank leaves while others wait.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"
#include "tests/support/payload.hpp"

namespace portals_test {

inline ptlx_job_t& job() {
  static ptlx_job_t job;
  return job;
}
inline int rank() { return job().rank; }
inline int ranks() { return job().size; }
inline ptl_process_t process(int of_rank) {
  ptl_process_t id;
  id.phys = {0, 0};
  id.rank = static_cast<ptl_rank_t>(of_rank);
  return id;
}
inline ptl_process_t right() { return process((rank() + 1) % ranks()); }
inline int left_rank() { return (rank() + ranks() - 1) % ranks(); }
inline void fence() { ASSERT_EQ(PtlxJobFence(), PTL_OK); }

struct Portals : ::testing::Test {
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_handle_eq_t eq = PTL_EQ_NONE;
  ptl_pt_index_t pt = 0;
  ptl_ni_limits_t limits{};
  unsigned options = PTL_NI_MATCHING | PTL_NI_LOGICAL;
  const ptl_ni_limits_t* wish = nullptr;

  void SetUp() override {
    ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, wish, &limits, &ni), PTL_OK);
    ASSERT_EQ(PtlxJobMap(ni), PTL_OK);
    ASSERT_EQ(PtlEQAlloc(ni, 8192, &eq), PTL_OK);
    ASSERT_EQ(PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt), PTL_OK);
    EXPECT_EQ(pt, 0u);
  }
  void TearDown() override {
    fence();
    EXPECT_EQ(PtlNIFini(ni), PTL_OK);
    fence();
  }

  ptl_handle_ct_t counter() {
    ptl_handle_ct_t ct;
    EXPECT_EQ(PtlCTAlloc(ni, &ct), PTL_OK);
    return ct;
  }
  // All memory, reporting to ct and queue.
  ptl_handle_md_t descriptor(unsigned md_options, ptl_handle_ct_t ct, ptl_handle_eq_t queue = PTL_EQ_NONE) {
    ptl_md_t md{nullptr, PTL_SIZE_MAX, md_options, queue, ct};
    ptl_handle_md_t handle;
    EXPECT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
    return handle;
  }
  ptl_handle_me_t entry(void* start, size_t length, unsigned me_options, ptl_handle_ct_t ct = PTL_CT_NONE, uint64_t bits = 0,
                        uint64_t ignore = 0, ptl_list_t list = PTL_PRIORITY_LIST, void* user_ptr = nullptr) {
    ptl_me_t me{};
    me.start = start;
    me.length = length;
    me.ct_handle = ct;
    me.uid = PTL_UID_ANY;
    me.options = me_options | PTL_ME_EVENT_LINK_DISABLE;
    me.match_id = process(0);
    me.match_id.rank = PTL_RANK_ANY;
    me.match_bits = bits;
    me.ignore_bits = ignore;
    ptl_handle_me_t handle;
    EXPECT_EQ(PtlMEAppend(ni, pt, &me, list, user_ptr, &handle), PTL_OK);
    return handle;
  }
  int put(ptl_handle_md_t md, const void* from, size_t length, ptl_process_t target, uint64_t bits = 0, uint64_t offset = 0,
          ptl_ack_req_t ack = PTL_NO_ACK_REQ) {
    return PtlPut(md, reinterpret_cast<ptl_size_t>(from), length, ack, target, pt, bits, offset, nullptr, 0);
  }
  ptl_ct_event_t wait(ptl_handle_ct_t ct, uint64_t test) {
    ptl_ct_event_t value{};
    EXPECT_EQ(PtlCTWait(ct, test, &value), PTL_OK);
    return value;
  }
};

inline unsigned char pattern(int source, size_t i) {
  return static_cast<unsigned char>(source * 131 + static_cast<int>(i) * 7 + static_cast<int>(i >> 8));
}
inline std::vector<unsigned char> data_of(int source, size_t size) {
  std::vector<unsigned char> data(size);
  portunus::test::fill_ramp(source * 131, data.data(), size);
  return data;
}

}  // namespace portals_test
