// Data that follow their header: matched first, then pulled, pushed or streamed. Two engines, stepped by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

struct Bulk : TwoEngines {};

TEST_F(Bulk, BulkPutIsMatchedFirstAndThenPulledAndSendComesWithTheAnswer) {
  std::vector<int> source(100'000), sink(100'000);
  std::iota(source.begin(), source.end(), 1);
  target.append({.start = sink.data(), .length = 400'000});
  Command command = put_with_ack(400'000);
  command.source.base = source.data();
  initiator.run(command);
  EXPECT_TRUE(initiator.events(initiator_eq).empty());
  rig.settle();
  EXPECT_EQ(initiator.kinds(initiator_eq), (Kinds{PTL_EVENT_SEND, PTL_EVENT_ACK}));
  EXPECT_EQ(sink, source);
}

TEST_F(Bulk, ABulkPutWithoutAMatchFreesItsSourceAndSaysSo) {
  std::vector<char> source(400'000);
  Command command = put_with_ack(400'000, 0, PTL_NO_ACK_REQ);
  command.source.base = source.data();
  initiator.run(command);
  rig.settle();
  auto events = initiator.events(initiator_eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_SEND);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_OK);
}

TEST_F(Bulk, BulkDataOfManyIovecElementsIsStreamedBothWays) {
  std::vector<char> a(150'000), b(150'000), sink(300'000);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<char>(i * 7), b[i] = static_cast<char>(i * 13);
  ptl_iovec_t iov[2] = {{a.data(), a.size()}, {b.data(), b.size()}};
  target.append({.start = sink.data(), .length = sink.size()});
  Command put = put_with_ack(300'000);
  put.source.base = iov;
  put.source.iov_count = 2;
  initiator.run(put);
  rig.settle();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), sink.begin()));
  EXPECT_TRUE(std::equal(b.begin(), b.end(), sink.begin() + 150'000));
  std::vector<char> c(150'000), d(150'000);
  ptl_iovec_t into[2] = {{c.data(), c.size()}, {d.data(), d.size()}};
  Command get = put;
  get.verb = Verb::get;
  get.source.base = into;
  initiator.run(get);
  rig.settle();
  EXPECT_EQ(c, a);
  EXPECT_EQ(d, b);
}

TEST_F(Bulk, NoMoreIsStreamedOutAtATimeThanOneWindow) {
  std::vector<char> source(8 << 20);
  ptl_iovec_t parts[] = {{source.data(), source.size()}};  // cannot be exposed, so the target asks for it
  Command command = initiator.put(nullptr, source.size(), 1);
  command.source.base = parts;
  command.source.iov_count = 1;
  command.ack = PTL_ACK_REQ;
  initiator.run(command);
  Link* link = initiator.engine.peer({0x7f000001, 1001})->link;
  wire::Header header{};
  header.kind = wire::Kind::stream_request;
  header.token = uint64_t{1} << 32 | 1;  // the first operation
  header.rlength = source.size();
  initiator.engine.arrived(*link, header, nullptr);
  EXPECT_EQ(initiator.engine.stats().malformed.read(), 1u);
  header.kind = wire::Kind::ack;
  header.flags = wire::kSourceRead;  // but the acknowledgement that was asked for is still due
  header.rlength = 0;
  initiator.engine.arrived(*link, header, nullptr);
  EXPECT_EQ(initiator.engine.stats().malformed.read(), 2u);
  EXPECT_FALSE(initiator.engine.flushed());
}

}  // namespace
}  // namespace portunus::test
