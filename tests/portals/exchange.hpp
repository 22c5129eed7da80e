// exchange.hpp: tests in which every rank offers entries and sends to its right neighbour, and so hears from the left one.
//
// The pattern: append, fence, send and wait for the answers, fence, look at what arrived. Buffers live in the fixture,
// which nobody destroys before all ranks are done.
#pragma once

#include <string>

#include "tests/portals/job.hpp"

namespace portals_test {

using Kinds = std::vector<int>;

struct Exchange : Portals {
  static constexpr unsigned kQuiet = PTL_ME_EVENT_LINK_DISABLE;
  static constexpr unsigned kPut = PTL_ME_OP_PUT | kQuiet;
  static constexpr unsigned kGet = PTL_ME_OP_GET | kQuiet;
  static constexpr unsigned kAtomic = PTL_ME_OP_PUT | PTL_ME_OP_GET | kQuiet;
  static constexpr ptl_time_t kPatience = 20'000;  // ms; only a failing test waits that long

  unsigned char memory[4096] = {}, overflow[4096] = {}, data[4096] = {};
  ptl_handle_eq_t own = PTL_EQ_NONE;  // for what this rank initiates
  ptl_handle_md_t out = PTL_INVALID_HANDLE;
  ptl_handle_ct_t done = PTL_CT_NONE;

  void SetUp() override {
    Portals::SetUp();
    ASSERT_EQ(PtlEQAlloc(ni, 1024, &own), PTL_OK);
    out = descriptor(0, PTL_CT_NONE, own);
    done = counter();
    for (size_t i = 0; i < sizeof data; ++i) data[i] = pattern(rank(), i);
  }

  struct Me {
    void* start = nullptr;
    ptl_size_t length = 0;
    unsigned options = kPut;
    ptl_match_bits_t bits = 0, ignore = 0;
    ptl_list_t list = PTL_PRIORITY_LIST;
    void* user_ptr = nullptr;
    ptl_handle_ct_t ct = PTL_CT_NONE;
    ptl_size_t min_free = 0;
    ptl_uid_t uid = PTL_UID_ANY;
    ptl_rank_t source = PTL_RANK_ANY;
  };
  static ptl_me_t as_me(const Me& want) {
    ptl_me_t me{};
    me.start = want.start;
    me.length = want.length;
    me.ct_handle = want.ct;
    me.uid = want.uid;
    me.options = want.options;
    me.match_id.phys = {0, 0};
    me.match_id.rank = want.source;
    me.match_bits = want.bits;
    me.ignore_bits = want.ignore;
    me.min_free = want.min_free;
    return me;
  }
  ptl_handle_me_t append(const Me& want) {
    const ptl_me_t me = as_me(want);
    ptl_handle_me_t handle = PTL_INVALID_HANDLE;
    EXPECT_EQ(PtlMEAppend(ni, pt, &me, want.list, want.user_ptr, &handle), PTL_OK);
    return handle;
  }
  // Messages without a priority entry are packed here.
  ptl_handle_me_t catch_all(unsigned more = 0, ptl_size_t length = sizeof(overflow), ptl_size_t min_free = 0) {
    return append({.start = overflow,
                   .length = length,
                   .options = kPut | PTL_ME_MANAGE_LOCAL | more,
                   .ignore = ~0ull,
                   .list = PTL_OVERFLOW_LIST,
                   .min_free = min_free});
  }
  int search(const Me& want, ptl_search_op_t op) {
    const ptl_me_t me = as_me(want);
    return PtlMESearch(ni, pt, &me, op, want.user_ptr);
  }

  // The next event of a queue. A test that waits in vain fails.
  ptl_event_t next(ptl_handle_eq_t queue) {
    ptl_event_t event{};
    unsigned which;
    EXPECT_EQ(PtlEQPoll(&queue, 1, kPatience, &event, &which), PTL_OK);
    return event;
  }
  Kinds kinds(ptl_handle_eq_t queue, size_t count) {
    Kinds all;
    while (all.size() < count && !HasFailure()) all.push_back(next(queue).type);
    return all;
  }
  // All that is in the queue once what this rank asked for so far has been done.
  Kinds rest(ptl_handle_eq_t queue) {
    EXPECT_EQ(PtlCTInc(done, {1, 0}), PTL_OK);
    Kinds all;
    ptl_event_t event;
    while (PtlEQGet(queue, &event) != PTL_EQ_EMPTY) all.push_back(event.type);
    return all;
  }
  ptl_ct_event_t read(ptl_handle_ct_t ct) {
    EXPECT_EQ(PtlCTInc(done, {1, 0}), PTL_OK);
    ptl_ct_event_t value{};
    EXPECT_EQ(PtlCTGet(ct, &value), PTL_OK);
    return value;
  }

  static ptl_size_t at(const void* memory) { return reinterpret_cast<ptl_size_t>(memory); }
  // A put of data[0..length) to the right; its ACK.
  ptl_event_t acked(size_t length, ptl_match_bits_t bits = 0, ptl_size_t offset = 0, ptl_hdr_data_t hdr_data = 0) {
    EXPECT_EQ(PtlPut(out, at(data), length, PTL_ACK_REQ, right(), pt, bits, offset, nullptr, hdr_data), PTL_OK);
    EXPECT_EQ(next(own).type, PTL_EVENT_SEND);
    const ptl_event_t ack = next(own);
    EXPECT_EQ(ack.type, PTL_EVENT_ACK);
    return ack;
  }
  // A get to `into` from the right; its REPLY.
  ptl_event_t replied(void* into, size_t length, ptl_match_bits_t bits = 0, ptl_size_t offset = 0) {
    EXPECT_EQ(PtlGet(out, at(into), length, right(), pt, bits, offset, nullptr), PTL_OK);
    const ptl_event_t reply = next(own);
    EXPECT_EQ(reply.type, PTL_EVENT_REPLY);
    return reply;
  }
  bool holds(const void* start, size_t length, size_t from = 0) const {
    const auto* bytes = static_cast<const unsigned char*>(start);
    for (size_t i = 0; i < length; ++i)
      if (bytes[i] != pattern(left_rank(), from + i)) return false;
    return true;
  }
};

}  // namespace portals_test
