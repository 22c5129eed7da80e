// target_twins_test.cpp: the short ways of a put at its target (Target::put_at_once, record, hold) and the general one (Target::receive) do
// the same: the same random puts, at the same random entries, go one way each. Memory that may not be there goes the general way, and what
// comes early does where the entry that holds it tells of its end.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

// The traces of a put at its target.
struct Outcome {
  std::vector<ptl_event_t> events, acknowledged;  // at the target, at the initiator
  ptl_ct_event_t count{}, acknowledged_count{}, held_count{};
  std::array<char, 64> memory{};
  ptlx_sender_record_t record{};
  uint64_t mismatches = 0;
  uint32_t headers = 0;  // still held
  bool on_list = false;  // a second put finds the entry
};

struct Case {
  Node::Entry entry;
  uint64_t length, offset, hdr_data;
  bool counts, flow_control, queue;
  bool early;  // the put comes before its entry
  ptl_ack_req_t ack;
};

Case draw(std::mt19937_64& random) {
  const auto one_of = [&](uint32_t option) { return random() % 2 ? option : 0u; };
  Case c{};
  c.entry.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | one_of(PTL_ME_USE_ONCE) | one_of(PTL_ME_EVENT_CT_COMM) |
                    one_of(PTL_ME_EVENT_CT_BYTES) | one_of(PTL_ME_EVENT_UNLINK_DISABLE);
  switch (random() % 5) {
    case 0: c.entry.options |= PTL_ME_EVENT_COMM_DISABLE; break;
    case 1: c.entry.options |= PTL_ME_EVENT_SUCCESS_DISABLE; break;
    case 2: c.entry.options |= PTLX_ME_RECORD | one_of(PTLX_ME_RECORD_SENDER); break;
    case 3: c.entry.options |= PTLX_ME_COUNT_MISMATCHES | PTL_ME_EVENT_COMM_DISABLE; break;
    default: break;
  }
  c.entry.length = random() % 65;
  c.length = random() % 44;
  c.offset = random() % 3 ? random() % 20 : 0;
  c.hdr_data = random();
  c.counts = random() % 4 != 0;
  c.flow_control = random() % 2;
  c.queue = random() % 4 != 0;
  c.early = random() % 2;
  c.ack = std::array{PTL_NO_ACK_REQ, PTL_ACK_REQ, PTL_CT_ACK_REQ, PTL_OC_ACK_REQ}[random() % 4];
  return c;
}

Outcome run(const Case& c, bool general) {
  Rig rig{2};
  Node &initiator = rig[0], &target = rig[1];
  const uint32_t eq = c.queue ? target.queue() : uint32_t{PTL_EQ_NONE};
  target.portal(eq, c.flow_control ? PTL_PT_FLOWCTRL : 0);
  Outcome outcome;
  Node::Entry entry = c.entry;
  entry.start = outcome.memory.data();
  if (c.counts) entry.ct = target.counter();
  if (entry.options & PTLX_ME_RECORD) entry.user_ptr = &outcome.record;
  else if (entry.options & PTLX_ME_COUNT_MISMATCHES) entry.user_ptr = &outcome.mismatches;
  else entry.user_ptr = &initiator;
  const uint32_t held = target.counter();
  const auto append = [&] {
    const uint32_t handle = target.claim(entry);
    target.objects.entries.find(handle)->may_fault = general;
    target.append_claimed(handle);
  };
  if (c.early) {
    entry.options |= PTLX_ME_COMPLETE_UNEXPECTED;
    target.append({.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE |
                              (general ? 0u : uint32_t{PTL_ME_EVENT_UNLINK_DISABLE}),
                   .ct = held,
                   .list = PTL_OVERFLOW_LIST});
  } else {
    append();
  }
  const char data[64] = "the quick brown fox jumps over the lazy dog";
  Command command = initiator.put(data, c.length, 1);
  command.ack = c.ack;
  command.remote_offset = c.offset;
  command.hdr_data = c.hdr_data;
  const uint32_t own_queue = command.source.eq = initiator.queue();
  const uint32_t own_count = command.source.ct = initiator.counter();
  initiator.run(command);
  rig.settle();
  if (c.early) {
    append();
    rig.settle();
  }
  outcome.held_count = target.value(held);
  outcome.headers = target.engine.interface(0).unexpected_headers;
  if (c.queue) outcome.events = target.events(eq);
  outcome.acknowledged = initiator.events(own_queue);
  outcome.acknowledged_count = initiator.value(own_count);
  if (c.counts) outcome.count = target.value(entry.ct);
  const uint64_t before = target.engine.stats().matches.read();
  initiator.run(initiator.put(data, 0, 1));
  rig.settle();
  outcome.on_list = target.engine.stats().matches.read() != before;
  // Addresses differ from run to run; places in memory do not.
  for (ptl_event_t& event : outcome.events) {
    if (event.start) event.start = reinterpret_cast<void*>(static_cast<char*>(event.start) - outcome.memory.data() + 1);
    event.user_ptr = event.user_ptr == entry.user_ptr ? nullptr : event.user_ptr;
  }
  return outcome;
}

void expect_alike(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.events.size(), b.events.size());
  for (size_t i = 0; i < a.events.size(); ++i) {
    const ptl_event_t &x = a.events[i], &y = b.events[i];
    EXPECT_EQ(x.type, y.type);
    EXPECT_EQ(x.ni_fail_type, y.ni_fail_type);
    EXPECT_EQ(x.user_ptr, y.user_ptr);
    EXPECT_EQ(x.pt_index, y.pt_index);
    if (x.type != PTL_EVENT_PUT) continue;
    EXPECT_EQ(x.start, y.start);
    EXPECT_EQ(x.initiator.rank, y.initiator.rank);
    EXPECT_EQ(x.uid, y.uid);
    EXPECT_EQ(x.rlength, y.rlength);
    EXPECT_EQ(x.mlength, y.mlength);
    EXPECT_EQ(x.remote_offset, y.remote_offset);
    EXPECT_EQ(x.match_bits, y.match_bits);
    EXPECT_EQ(x.hdr_data, y.hdr_data);
    EXPECT_EQ(x.ptl_list, y.ptl_list);
  }
  ASSERT_EQ(a.acknowledged.size(), b.acknowledged.size());
  for (size_t i = 0; i < a.acknowledged.size(); ++i) {
    EXPECT_EQ(a.acknowledged[i].type, b.acknowledged[i].type);
    EXPECT_EQ(a.acknowledged[i].ni_fail_type, b.acknowledged[i].ni_fail_type);
    EXPECT_EQ(a.acknowledged[i].mlength, b.acknowledged[i].mlength);
    EXPECT_EQ(a.acknowledged[i].remote_offset, b.acknowledged[i].remote_offset);
    EXPECT_EQ(a.acknowledged[i].ptl_list, b.acknowledged[i].ptl_list);
  }
  EXPECT_EQ(a.acknowledged_count.success, b.acknowledged_count.success);
  EXPECT_EQ(a.acknowledged_count.failure, b.acknowledged_count.failure);
  EXPECT_EQ(a.count.success, b.count.success);
  EXPECT_EQ(a.count.failure, b.count.failure);
  EXPECT_EQ(a.held_count.success, b.held_count.success);
  EXPECT_EQ(a.headers, b.headers);
  EXPECT_EQ(a.memory, b.memory);
  EXPECT_EQ(a.record.message.ni_fail_type, b.record.message.ni_fail_type);
  EXPECT_EQ(a.record.message.match_bits, b.record.message.match_bits);
  EXPECT_EQ(a.record.message.mlength, b.record.message.mlength);
  EXPECT_EQ(a.record.initiator.rank, b.record.initiator.rank);
  EXPECT_EQ(a.record.hdr_data, b.record.hdr_data);
  EXPECT_EQ(a.record.ptl_list, b.record.ptl_list);
  EXPECT_EQ(a.mismatches, b.mismatches);
  EXPECT_EQ(a.on_list, b.on_list);
}

TEST(TargetTwins, TheShortWayDoesWhatTheGeneralOneDoes) {
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 2'000; ++i) {
    const Case c = draw(random);
    SCOPED_TRACE("case " + std::to_string(i) + ", options " + std::to_string(c.entry.options) + ", " + std::to_string(c.length) +
                 " bytes at " + std::to_string(c.offset) + " of " + std::to_string(c.entry.length));
    expect_alike(run(c, false), run(c, true));
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace portunus::test
