// alone.hpp: what the Portals tests in a single process share: the library opened and closed by each test, one interface
// with everything that a call may need, and the own process as the only peer.
//
// Thread: one. The program is run with PTL_DEBUG=no-fabric: a process alone needs no network.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portals_test {

constexpr unsigned kMatching = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
constexpr unsigned kNonMatching = PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL;
constexpr unsigned kMatchingLogical = PTL_NI_MATCHING | PTL_NI_LOGICAL;
constexpr unsigned kNonMatchingLogical = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL;

struct Library : ::testing::Test {
  void SetUp() override { ASSERT_EQ(PtlInit(), PTL_OK); }
  void TearDown() override { PtlFini(); }

  static ptl_handle_ni_t open(unsigned options, const ptl_ni_limits_t* desired = nullptr, ptl_ni_limits_t* actual = nullptr) {
    ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
    EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, desired, actual, &ni), PTL_OK);
    return ni;
  }
};

// A physical interface, by default a matching one.
struct Alone : Library {
  unsigned options = kMatching;
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_ni_limits_t limits{};
  ptl_process_t self{};

  void SetUp() override {
    Library::SetUp();
    ni = open(options, nullptr, &limits);
    ASSERT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
  }

  ptl_handle_ct_t counter() { return counter(ni); }
  static ptl_handle_ct_t counter(ptl_handle_ni_t of) {
    ptl_handle_ct_t ct = PTL_INVALID_HANDLE;
    EXPECT_EQ(PtlCTAlloc(of, &ct), PTL_OK);
    return ct;
  }
  ptl_handle_eq_t queue(ptl_size_t count = 64) { return queue_of(ni, count); }
  static ptl_handle_eq_t queue_of(ptl_handle_ni_t of, ptl_size_t count = 64) {
    ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
    EXPECT_EQ(PtlEQAlloc(of, count, &eq), PTL_OK);
    return eq;
  }
  ptl_pt_index_t portal(ptl_handle_eq_t eq = PTL_EQ_NONE, unsigned pt_options = 0) {
    ptl_pt_index_t pt = PTL_PT_ANY;
    EXPECT_EQ(PtlPTAlloc(ni, pt_options, eq, PTL_PT_ANY, &pt), PTL_OK);
    return pt;
  }
  // All memory, by absolute addresses.
  ptl_handle_md_t descriptor(unsigned md_options = 0, ptl_handle_ct_t ct = PTL_CT_NONE, ptl_handle_eq_t eq = PTL_EQ_NONE) {
    const ptl_md_t md{nullptr, PTL_SIZE_MAX, md_options, eq, ct};
    ptl_handle_md_t handle = PTL_INVALID_HANDLE;
    EXPECT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
    return handle;
  }
  static ptl_me_t any_me(void* start = nullptr, ptl_size_t length = 0, unsigned me_options = PTL_ME_OP_PUT | PTL_ME_OP_GET,
                         ptl_handle_ct_t ct = PTL_CT_NONE) {
    ptl_me_t me{};
    me.start = start;
    me.length = length;
    me.ct_handle = ct;
    me.uid = PTL_UID_ANY;
    me.options = me_options | PTL_ME_EVENT_LINK_DISABLE;
    me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
    return me;
  }
  static ptl_size_t at(const void* memory) { return reinterpret_cast<ptl_size_t>(memory); }
};

}  // namespace portals_test
