// node_test.cpp: what the node transport promises beyond the suite of all transports: deaths, last words, and whom it trusts.
#include <fcntl.h>
#include <sys/stat.h>

#include <map>
#include <random>
#include <vector>

#include "tests/engine/node/node_process.hpp"
#include "tests/support/rig.hpp"

namespace portunus {
namespace {

// --- records of the dead ---

// Reserves a record in the ring of `to` and never publishes it, like a process that dies between the two.
void reserve(NodeTransport& from, ProcessId to, uint64_t lines, bool claim_only = false) {
  from.connect(to)->peer = Recorder::somebody();
  SegmentHeader& header = from.segment_of(to)->header();
  const uint64_t tail = header.tail.load();
  header.sender[header.senders.load() - 1].claim.store(claim_of(tail, lines));
  if (!claim_only) header.tail.store(tail + lines);
}

TEST(Node, ARecordThatADeadProcessReservedAndNeverPublishedIsSteppedOver) {
  End receiver(address(0)), other(address(1));
  receiver.share_ring();
  Child child([](Child& self) {
    End dying(address(2));
    dying.send(address(0), 1);
    reserve(dying.transport, address(0), 3);
    self.tell();
    self.wait();
    kill(getpid(), SIGKILL);
  });
  other.send(address(0), 2);
  receiver.transport.poll(16);
  EXPECT_TRUE(receiver.transport.needs_housekeeping());
  for (int i = 0; i < 100; ++i) receiver.transport.housekeeping(true), receiver.transport.poll(16);
  EXPECT_EQ(receiver.sink.arrivals.size(), 1u) << "its owner lives and may still publish it";
  child.end();
  receiver.transport.housekeeping(false);  // whoever waits for nobody must still be reached by others
  receiver.transport.poll(16);
  ASSERT_EQ(receiver.sink.arrivals.size(), 2u);
  EXPECT_EQ(receiver.sink.arrivals[1].header.match_bits, 2u);
  EXPECT_EQ(receiver.stats.abandoned.read(), 1u);
  EXPECT_FALSE(receiver.transport.needs_housekeeping());
  unlink(path_of(address(2)).c_str());
}

TEST(Node, ARecordThatALivingProcessMayHaveReservedIsWaitedFor) {
  End receiver(address(0)), living(address(1));
  receiver.share_ring();
  reserve(living.transport, address(0), 2, /*claim_only=*/true);
  Child child([](Child& self) {
    End dying(address(2));
    reserve(dying.transport, address(0), 3);
    self.tell();
    kill(getpid(), SIGKILL);
  });
  child.end();
  receiver.transport.housekeeping(true);
  EXPECT_EQ(receiver.stats.abandoned.read(), 0u);
  living.send(address(0), 5);  // the living one had lost the race, and claims anew
  receiver.transport.housekeeping(true);
  receiver.transport.poll(16);
  EXPECT_EQ(receiver.stats.abandoned.read(), 1u);
  ASSERT_EQ(receiver.sink.arrivals.size(), 1u);
  unlink(path_of(address(2)).c_str());
}

// Killed anywhere in the middle of sending: most of that time goes into copying, between reserving and publishing.
TEST(Node, WhoeverIsKilledWhileItSendsLeavesTheRingToTheOthers) {
  End receiver(address(0)), other(address(1));
  receiver.share_ring();
  const std::vector<std::byte> block(NodeTransport::kEager);
  for (uint64_t round = 0; round < 100; ++round) {
    Child child([&](Child& self) {
      End flood(address(2));
      Link* link = flood.transport.connect(address(0));
      link->peer = Recorder::somebody();
      wire::Header header = put(1);
      header.payload_size = static_cast<uint16_t>(block.size());
      const iovec piece{const_cast<std::byte*>(block.data()), block.size()};
      self.tell();
      for (;;) (void)flood.transport.send(*link, header, {&piece, 1});
    });
    for (uint64_t polls = 0; polls < 50 + 7 * round; ++polls) receiver.transport.poll(16);
    child.end(SIGKILL);
    other.send_when_there_is_room(address(0), 1000 + round, receiver);
    receiver.sink.arrivals.clear();
    for (int looks = 0; looks < 3; ++looks) {
      receiver.transport.housekeeping(true);
      while (receiver.transport.poll(16) > 0) {
      }
    }
    ASSERT_FALSE(receiver.sink.arrivals.empty()) << "round " << round;
    EXPECT_EQ(receiver.sink.arrivals.back().header.match_bits, 1000 + round);
    EXPECT_FALSE(receiver.transport.needs_housekeeping());
    unlink(path_of(address(2)).c_str());
  }
  RecordProperty("abandoned", static_cast<int>(receiver.stats.abandoned.read()));
}

// --- deaths ---

TEST(Node, AKilledProcessIsLostAfterItsLastWordsEvenWhileAChildHoldsItsDescriptors) {
  for (const bool reaped : {false, true}) {
    End survivor(address(0));
    int orphan[2];
    ASSERT_EQ(pipe(orphan), 0);
    Child child([&](Child& self) {
      End victim(address(1));
      victim.send(address(0), 1);
      if (fork() == 0) {  // inherits the lock on the segment
        close(orphan[1]);
        char byte;
        (void)!read(orphan[0], &byte, 1);
        _exit(0);
      }
      self.tell();
      self.wait();
    });
    Link* link = survivor.transport.connect(address(1));
    ASSERT_NE(link, nullptr);
    link->peer = Recorder::somebody();
    survivor.transport.housekeeping(true);
    EXPECT_TRUE(survivor.sink.losses.empty());
    kill(child.pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT);
    if (reaped) child.end();
    survivor.transport.housekeeping(true);
    EXPECT_TRUE(survivor.sink.losses.empty()) << "its message has not been delivered yet";
    survivor.transport.poll(16);
    EXPECT_EQ(survivor.sink.arrivals.size(), 1u);
    EXPECT_EQ(survivor.sink.losses, std::vector<Link*>{link});
    EXPECT_EQ(survivor.transport.send(*link, put(1), {}), Sent::failed);
    EXPECT_EQ(survivor.transport.connect(address(1)), link) << "its file is still there, but nobody lives in it";
    close(orphan[0]);
    close(orphan[1]);
    unlink(path_of(address(1)).c_str());
  }
}

TEST(Node, NobodyIsLookedForWhileNothingIsExpected) {
  End survivor(address(0));
  auto peer = std::make_unique<End>(address(1));
  survivor.send(address(1), 1);
  peer.reset();
  survivor.transport.housekeeping(false);
  EXPECT_TRUE(survivor.sink.losses.empty());
  survivor.transport.housekeeping(true);
  EXPECT_EQ(survivor.sink.losses.size(), 1u);
}

TEST(Node, MemoryOfADeadProcessIsNotPulled) {
  End survivor(address(0));
  auto peer = std::make_unique<End>(address(1));
  survivor.send(address(1), 1);
  Link* link = survivor.transport.connect(address(1));
  peer.reset();
  survivor.transport.housekeeping(true);
  char byte = 0;
  EXPECT_EQ(survivor.transport.pull(*link, {reinterpret_cast<uint64_t>(&byte), 0}, &byte, 1, nullptr), Moved::failed);
}

TEST(Node, AProcessWithTheAddressOfADeadOneIsANewLink) {
  End server(address(0));
  auto first = std::make_unique<End>(address(1));
  first->send(address(0), 1);
  server.transport.poll(16);
  server.send(address(1), 2);
  Link* old_link = server.sink.arrivals.front().from;
  first.reset();
  auto second = std::make_unique<End>(address(1));
  second->send(address(0), 3);
  server.transport.poll(16);
  ASSERT_EQ(server.sink.arrivals.size(), 2u);
  Link* new_link = server.sink.arrivals.back().from;
  EXPECT_NE(new_link, old_link);
  EXPECT_EQ(server.sink.losses, std::vector<Link*>{old_link});
  EXPECT_EQ(server.transport.send(*old_link, put(4), {}), Sent::failed);
  server.send(address(1), 5);
  second->transport.poll(16);
  EXPECT_EQ(second->sink.arrivals.size(), 1u);
}

TEST(Node, AProcessWithTheAddressOfADeadOneHasAPlaceThatIsGivenToNobodyElse) {
  End server(address(0));
  auto first = std::make_unique<End>(address(1));
  first->send(address(0), 1);
  server.transport.poll(16);
  first.reset();
  auto second = std::make_unique<End>(address(1));
  second->send(address(0), 2);
  server.transport.poll(16);
  End third(address(2)), fourth(address(3));
  for (uint32_t i = 0; i < 3; ++i) {
    for (End* each : {second.get(), &third, &fourth}) each->send(address(0), 10 + i);
    while (server.transport.poll(16) != 0) {
    }
  }
  std::map<uint32_t, std::vector<uint64_t>> from;
  for (const auto& arrival : server.sink.arrivals) from[arrival.from->process.pid].push_back(arrival.header.match_bits);
  EXPECT_EQ(from[address(1).pid], (std::vector<uint64_t>{1, 2, 10, 11, 12}));
  EXPECT_EQ(from[address(2).pid], (std::vector<uint64_t>{10, 11, 12}));
  EXPECT_EQ(from[address(3).pid], (std::vector<uint64_t>{10, 11, 12}));
}

TEST(Node, ThePlaceAndTheBoxOfAProcessThatHasGoneAreGivenToANewOne) {
  End server(address(0));
  std::vector<std::unique_ptr<End>> senders;
  for (uint32_t i = 0; i <= kBoxes; ++i) senders.emplace_back(std::make_unique<End>(address(1 + i)))->send(address(0), i);
  while (server.transport.poll(16) != 0) {
  }
  SegmentHeader& header = server.transport.segment().header();
  ASSERT_EQ(header.senders.load(), kBoxes + 1);
  for (uint32_t i = 0; i < 40; ++i) {  // so that the box is not where it began
    senders[3]->send(address(0), 100 + i);
    server.transport.poll(16);
  }
  server.sink.losses.clear();
  senders[3].reset();
  for (uint32_t i = 0; i < 4; ++i) server.transport.housekeeping(false);  // a part of the senders each time
  EXPECT_EQ(server.sink.losses.size(), 1u);
  End fresh(address(kBoxes + 10));
  for (uint32_t i = 0; i < 5000; ++i) {
    const size_t before = server.sink.arrivals.size();
    fresh.send(address(0), 1000 + i);
    server.transport.poll(16);
    ASSERT_EQ(server.sink.arrivals.size(), before + 1);
    ASSERT_EQ(server.sink.arrivals.back().from->process, address(kBoxes + 10));
    ASSERT_EQ(server.sink.arrivals.back().header.match_bits, 1000u + i);
  }
  EXPECT_EQ(header.senders.load(), kBoxes + 1);
  EXPECT_EQ(header.sender[3].pid, address(kBoxes + 10).pid);
  EXPECT_EQ(header.vacant.load(), 0u);
}

// With more senders than boxes, those that have gone are looked for; a sender whose file has no name any more has not.
TEST(Node, ASenderWhoseNameIsRemovedLivesUntilItsProcessEnds) {
  End server(address(0));
  std::vector<std::unique_ptr<End>> others;
  for (uint32_t i = 0; i < kBoxes; ++i) others.emplace_back(std::make_unique<End>(address(2 + i)))->send(address(0), i);
  Child child([](Child& self) {
    End sender(address(1));
    sender.send(address(0), 77);
    sender.transport.segment().remove_name();
    self.tell();
    self.wait();
    kill(getpid(), SIGKILL);
  });
  while (server.transport.poll(16) != 0) {
  }
  ASSERT_EQ(server.sink.arrivals.size(), kBoxes + 1);
  for (int i = 0; i < 4; ++i) server.transport.housekeeping(true);
  EXPECT_TRUE(server.sink.losses.empty());
  kill(child.pid, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT);
  for (int i = 0; i < 4; ++i) server.transport.housekeeping(true);
  ASSERT_EQ(server.sink.losses.size(), 1u);
  EXPECT_EQ(server.sink.losses.front()->process, address(1));
}

// The name of a segment goes when all ranks of a job have mapped it; who comes later is told where it lies.
TEST(Node, AProcessWhoseNameIsRemovedIsMetByItsPlaceAndMeetsTheSender) {
  End one(address(0)), other(address(1));
  const SegmentPlace place = other.transport.segment().header().place;
  for (End* end : {&one, &other}) end->transport.segment().remove_name();
  EXPECT_EQ(one.transport.connect(address(1)), nullptr);
  SegmentPlace wrong = place;
  wrong.incarnation += 2;
  EXPECT_EQ(one.transport.acquaint(address(1), wrong), Acquaintance::none);
  wrong = place;
  wrong.descriptor = 0;
  EXPECT_EQ(one.transport.acquaint(address(1), wrong), Acquaintance::none);
  EXPECT_EQ(one.transport.acquaint(address(1), place), Acquaintance::made);
  EXPECT_EQ(one.transport.acquaint(address(1), place), Acquaintance::made);
  one.send(address(1), 7);
  other.transport.poll(16);
  ASSERT_EQ(other.sink.arrivals.size(), 1u);
  other.send(address(0), 8);  // to one that it knows by its message alone
  one.transport.poll(16);
  ASSERT_EQ(one.sink.arrivals.size(), 1u);
  EXPECT_EQ(one.sink.arrivals[0].header.match_bits, 8u);
  wrong = place;
  wrong.incarnation += 2;  // who is there lives: it is the other that has gone
  EXPECT_EQ(one.transport.acquaint(address(1), wrong), Acquaintance::none);
}

TEST(Node, WhoHasTheAddressOfOneThatHasEndedIsMetAfterItsBurial) {
  End one(address(0));
  auto first = std::make_unique<End>(address(1));
  EXPECT_EQ(one.transport.acquaint(address(1), first->transport.segment().header().place), Acquaintance::made);
  first.reset();
  End second(address(1));
  second.transport.segment().remove_name();
  const SegmentPlace place = second.transport.segment().header().place;
  EXPECT_EQ(one.transport.acquaint(address(1), place), Acquaintance::later);
  one.transport.housekeeping(true);
  ASSERT_EQ(one.sink.losses.size(), 1u);
  EXPECT_EQ(one.transport.acquaint(address(1), place), Acquaintance::made);
  one.send(address(1), 9);
  second.transport.poll(16);
  EXPECT_EQ(second.sink.arrivals.size(), 1u);
}

TEST(Node, MoreSendersThanThereArePlacesAreServedOneAfterAnother) {
  End server(address(0));
  server.transport.segment().header().senders.store(kMaxSenders - 1);
  for (uint32_t i = 0; i < 5; ++i) {
    {
      End sender(address(1 + i)), late(address(10));
      sender.send(address(0), i);
      EXPECT_EQ(late.transport.connect(address(0)), nullptr);  // no place now
      server.transport.poll(16);
    }
    ASSERT_EQ(server.sink.arrivals.size(), i + 1);
    server.transport.housekeeping(false);
  }
}

// The engine: operations towards the dead end, and what the dead have said still counts.
struct Member : test::Node {
  Member(SelfHub& hub, ProcessId id) : test::Node(hub, id) {
    auto transport = std::make_unique<NodeTransport>(engine, engine.stats(), id, geteuid(), kRing);
    engine.peers().add_transport(std::move(transport));
    Interface& interface = engine.interface(0);
    interface.options = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
    interface.limits.max_pt_index = 63;
    interface.limits.max_unexpected_headers = 100;
    interface.open.store(true);
  }
  Command to(ProcessId id, Command command) {
    command.target.phys = {id.nid, id.pid};
    return command;
  }
};

TEST(Node, AMessageOfAProcessThatHasGoneSinceIsStillDelivered) {
  SelfHub hub, other_hub;
  Member target(hub, address(0));
  auto initiator = std::make_unique<Member>(other_hub, address(1));
  uint64_t memory = 0;
  const uint32_t eq = target.queue();
  target.portal(eq);
  target.append({.start = &memory, .length = 8, .options = PTL_ME_OP_PUT});
  const uint64_t value = 77;
  initiator->run(initiator->to(address(0), initiator->put(&value, 8, 0)));
  initiator.reset();
  target.engine.step(0);
  EXPECT_EQ(memory, 77u);
  EXPECT_EQ(target.kinds(eq), (std::vector<int>{PTL_EVENT_LINK, PTL_EVENT_PUT}));
}

TEST(Node, ALargeMessageWhoseInitiatorDiesBeforeItIsPulledIsReportedByTheTarget) {
  SelfHub hub;
  Member target(hub, address(0));
  std::vector<char> memory(1 << 20);
  const uint32_t eq = target.queue();
  target.portal(eq);
  target.append({.start = memory.data(), .length = memory.size(), .options = PTL_ME_OP_PUT});
  Child child([&](Child& self) {
    SelfHub other_hub;
    Member initiator(other_hub, address(1));
    initiator.run(initiator.to(address(0), initiator.put(memory.data(), memory.size(), 0)));
    self.tell();
    self.wait();
  });
  child.end(SIGKILL);
  for (uint64_t now = 0; now == 0 || target.engine.max_idle_ns() >= 0; now += 1'000'000'000) target.engine.step(now);
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].type, PTL_EVENT_PUT);
  EXPECT_EQ(events[1].ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_EQ(events[1].mlength, 0u);
  unlink(path_of(address(1)).c_str());
}

TEST(Node, AProcessThatTakesTheAddressOfALostOneIsReachedBeforeItSpeaks) {
  SelfHub hub, other_hub, third_hub;
  Member initiator(hub, address(0));
  auto lost = std::make_unique<Member>(other_hub, address(1));
  const uint64_t value = 77;
  const uint32_t eq = initiator.queue();
  Command command = initiator.put(&value, 8, 0);
  command.source.eq = eq;
  command.ack = PTL_ACK_REQ;
  const auto put = [&] { initiator.run(initiator.to(address(1), command)); };
  put();
  lost.reset();
  for (uint64_t now = 1; !initiator.engine.peer(address(1))->failed; now += 1'000'000'000) initiator.engine.step(now);
  put();  // nobody has the address now
  EXPECT_TRUE(initiator.engine.peer(address(1))->failed);
  Member second(third_hub, address(1));
  uint64_t memory = 0;
  second.portal(second.queue());
  second.append({.start = &memory, .length = 8, .options = PTL_ME_OP_PUT});
  put();
  second.engine.step(0);
  EXPECT_EQ(memory, 77u);
}

TEST(Node, EveryKindOfOperationTowardsADeadProcessFailsOnce) {
  SelfHub hub, other_hub;
  Member survivor(hub, address(0));
  auto victim = std::make_unique<Member>(other_hub, address(1));
  std::vector<char> data(1 << 20);
  const uint32_t eq = survivor.queue(8192), ct = survivor.counter();
  int issued = 0;
  const auto issue = [&](Verb verb, uint64_t length, uint8_t ack) {
    Command command = survivor.to(address(1), survivor.put(data.data(), length, 0));
    command.verb = verb;
    command.ack = ack;
    command.source.eq = command.result.eq = eq;
    command.source.ct = command.result.ct = ct;
    command.source.options = command.result.options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY;
    command.result.base = data.data();
    command.op = verb == Verb::swap ? PTL_SWAP : PTL_SUM;
    command.datatype = PTL_UINT64_T;
    survivor.run(command);
    ++issued;
  };
  issue(Verb::put, 8, PTL_ACK_REQ);
  issue(Verb::put, data.size(), PTL_ACK_REQ);
  issue(Verb::get, 8, PTL_NO_ACK_REQ);
  issue(Verb::get, data.size(), PTL_NO_ACK_REQ);
  issue(Verb::atomic, 8, PTL_ACK_REQ);
  issue(Verb::fetch_atomic, 8, PTL_NO_ACK_REQ);
  issue(Verb::swap, 8, PTL_NO_ACK_REQ);
  for (int i = 0; i < 50; ++i) issue(Verb::put, 8000, PTL_ACK_REQ);  // more than the ring takes: the rest is held back
  EXPECT_GT(survivor.engine.stats().back_pressure.read(), 0u);
  victim.reset();
  EXPECT_GE(survivor.engine.max_idle_ns(), 0);
  for (uint64_t now = 0; survivor.engine.max_idle_ns() >= 0; now += 1'000'000'000) survivor.engine.step(now);
  EXPECT_EQ(survivor.value(ct).failure, static_cast<uint64_t>(issued));
  EXPECT_EQ(survivor.value(ct).success, 0u);
  int ends = 0;
  for (const ptl_event_t& event : survivor.events(eq)) {
    if (event.type == PTL_EVENT_SEND) continue;
    ++ends;
    EXPECT_EQ(event.ni_fail_type, PTL_NI_UNDELIVERABLE);
  }
  EXPECT_EQ(ends, issued);
  issue(Verb::put, 8, PTL_ACK_REQ);
  EXPECT_EQ(survivor.value(ct).failure, static_cast<uint64_t>(issued));
  EXPECT_EQ(survivor.engine.max_idle_ns(), -1);
}

TEST(Node, ARecordThatMakesNoSenseHarmsNobody) {
  End receiver(address(0)), sender(address(1));
  receiver.share_ring();
  sender.send(address(0), 1);
  receiver.transport.poll(16);
  SegmentHeader& header = receiver.transport.segment().header();
  auto* record = reinterpret_cast<wire::Header*>(receiver.transport.segment().ring() + kLine);
  // Records of senders that are not there; then records whose length is not that of their payload.
  for (const auto& [source, payload] : {std::pair<uint32_t, uint16_t>{999, 0}, {~0u, 0}, {0, 65535}, {0, 9}}) {
    header.tail.fetch_add(1);
    record->kind = wire::Kind::put;
    record->source = source;
    record->payload_size = payload;
    std::atomic_ref<uint32_t>(record->ready).store(1);
    EXPECT_EQ(receiver.transport.poll(16), 1);
    ++record;
  }
  EXPECT_EQ(receiver.sink.arrivals.size(), 1u);
  EXPECT_EQ(receiver.stats.malformed.read(), 4u);
  sender.send(address(0), 2);
  receiver.transport.poll(16);
  EXPECT_EQ(receiver.sink.arrivals.size(), 2u);
  // A record of more lines than there can be: where the next one begins is unknown, so nothing more is taken from this ring.
  std::atomic_ref<uint32_t>(record[1].ready).store(0x7fffffff);
  EXPECT_EQ(receiver.transport.poll(16), 0);
  EXPECT_TRUE(receiver.transport.idle());
  EXPECT_EQ(receiver.stats.malformed.read(), 5u);
  EXPECT_EQ(receiver.sink.losses.size(), 1u) << "it ends what is between them";
}

TEST(Node, RecordsOfChanceHarmNobody) {
  std::mt19937 chance(1);
  for (int round = 0; round < 100; ++round) {
    End receiver(address(0)), sender(address(1));
    receiver.share_ring();
    sender.send(address(0), 1);
    std::byte* ring = receiver.transport.segment().ring();
    for (size_t i = 0; i < kRing; ++i) ring[i] = static_cast<std::byte>(chance());
    for (size_t line = 0; line < kRing / kLine;) {
      auto& header = *reinterpret_cast<wire::Header*>(ring + line * kLine);
      header.payload_size = static_cast<uint16_t>(chance() % 40'000);
      header.source = chance() % 8 ? kBoxes : chance() % 5000;
      const size_t fitting = header.payload_size <= 8 ? 1 : 1 + (header.payload_size + kLine - 1u) / kLine;
      header.ready = static_cast<uint32_t>(chance() % 8 ? fitting : chance() % 200);
      line += header.ready ? header.ready : 1;
    }
    receiver.transport.segment().header().tail.store(kRing / kLine);
    for (int i = 0; i < 10'000 && receiver.transport.poll(16) > 0; ++i) {
    }
    receiver.transport.housekeeping(true);
    for (const Recorder::Arrival& arrival : receiver.sink.arrivals) EXPECT_LE(arrival.header.payload_size, NodeTransport::kEager);
  }
}

}  // namespace
}  // namespace portunus
