// extensions.hpp: what the tests of extensions begin with: words sent to oneself, entries for one message, counters.
#pragma once

#include <cstdint>

#include "tests/portals/job.hpp"

namespace portals_test {

struct Extensions : Portals {
  ptl_process_t self() { return process(rank()); }
  ptl_ct_event_t value(ptl_handle_ct_t ct) {
    ptl_ct_event_t now{};
    EXPECT_EQ(PtlCTGet(ct, &now), PTL_OK);
    return now;
  }
  void add(ptl_handle_ct_t ct, uint64_t success, uint64_t failure = 0) { EXPECT_EQ(PtlCTInc(ct, {success, failure}), PTL_OK); }
  // Sends a word to this process itself.
  void put_word(uint64_t& word, uint64_t bits) {
    const ptl_handle_ct_t sent = counter();
    const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_SEND, sent);
    EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(&word), sizeof word, PTL_NO_ACK_REQ, self(), pt, bits, 0, nullptr, 0), PTL_OK);
    wait(sent, 1);
    EXPECT_EQ(PtlMDRelease(md), PTL_OK);
  }
  // Messages that come before their entry are kept.
  void hold(unsigned more = 0, ptl_handle_ct_t ct = PTL_CT_NONE) {
    ptl_me_t all{};
    all.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE | more;
    all.uid = PTL_UID_ANY;
    all.ct_handle = ct;
    all.match_id.rank = PTL_RANK_ANY;
    all.ignore_bits = ~uint64_t{0};
    ptl_handle_me_t kept;
    EXPECT_EQ(PtlMEAppend(ni, pt, &all, PTL_OVERFLOW_LIST, nullptr, &kept), PTL_OK);
  }
  ptl_me_t once(void* start, size_t length, uint64_t bits, ptl_handle_ct_t ct, unsigned more = 0) {
    ptl_me_t me{};
    me.start = start;
    me.length = length;
    me.ct_handle = ct;
    me.uid = PTL_UID_ANY;
    me.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_LINK_DISABLE | more;
    me.match_id = process(0);
    me.match_id.rank = PTL_RANK_ANY;
    me.match_bits = bits;
    return me;
  }
};

}  // namespace portals_test
