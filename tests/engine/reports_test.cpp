// Counts and events, to objects that are there and to some that are gone. The class alone, without an engine.
#include "engine/core/reports.hpp"

#include <gtest/gtest.h>

namespace portunus::test {
namespace {

struct Reporting : ::testing::Test {
  Objects objects;
  Stats stats;
  Core core{objects, stats, 1000};
  Triggers triggers{core};
  Reports reports{core, triggers};

  uint32_t counter() {
    const uint32_t index = objects.counters.claim();
    objects.counters.at(index).reset();
    return objects.counters.publish(index);
  }
  uint32_t queue() {
    const uint32_t index = objects.queues.claim();
    objects.queues.at(index).open(8);
    return objects.queues.publish(index);
  }
  ptl_ct_event_t value(uint32_t ct) { return objects.counters.find(ct)->read(); }
};

TEST_F(Reporting, ACountIsSeenAndRipensWhatWaitsForIt) {
  const uint32_t ct = counter();
  Command command;
  command.verb = Verb::arm;
  command.armed = Verb::counter_add;
  command.trigger_ct = ct;
  command.threshold = 2;
  triggers.arm(command);
  reports.count(ct, 1, 0);
  EXPECT_TRUE(core.posted);
  EXPECT_FALSE(triggers.ready());
  EXPECT_FALSE(core.maybe_busy);
  reports.count(ct, 0, 1);
  EXPECT_TRUE(triggers.ready());
  EXPECT_TRUE(core.maybe_busy);
  EXPECT_EQ(triggers.take_ready().command.verb, Verb::counter_add);
  EXPECT_FALSE(triggers.ready());
}

TEST_F(Reporting, FailuresOfAGuardedCounterAreSuccessesOfAnother) {
  const uint32_t ct = counter(), errors = counter();
  objects.counters.find(ct)->errors = errors;
  reports.count(ct, 0, 3);
  EXPECT_EQ(value(ct).failure, 3u);
  EXPECT_EQ(value(errors).success, 3u);
}

TEST_F(Reporting, ReportsToWhatIsGoneAreCountedAndDoNothing) {
  const uint32_t ct = counter(), eq = queue();
  objects.counters.retire(ct);
  objects.queues.retire(eq);
  reports.count(ct, 1, 0);
  reports.post(eq, ptl_event_t{});
  EXPECT_EQ(stats.stale_events.read(), 2u);
  EXPECT_FALSE(core.posted);
  reports.count(PTL_CT_NONE, 1, 0);
  reports.post(PTL_EQ_NONE, ptl_event_t{});
  EXPECT_EQ(stats.stale_events.read(), 2u);
}

TEST_F(Reporting, SendCountsBytesOrMessagesAndSaysNothingThatWasDisabled) {
  Local local;
  local.eq = queue();
  local.ct = counter();
  local.options = PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_BYTES;
  reports.sent(local, 40, &local, PTL_NI_OK);
  EXPECT_EQ(value(local.ct).success, 40u);
  ptl_event_t event;
  ASSERT_EQ(objects.queues.find(local.eq)->take(event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_SEND);
  EXPECT_EQ(event.mlength, 40u);
  EXPECT_EQ(event.user_ptr, &local);
  local.options = PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_SUCCESS_DISABLE;
  reports.sent(local, 40, nullptr, PTL_NI_OK);
  EXPECT_EQ(value(local.ct).success, 41u);
  EXPECT_EQ(objects.queues.find(local.eq)->take(event), PTL_EQ_EMPTY);
  reports.sent(local, 40, nullptr, PTL_NI_UNDELIVERABLE);
  EXPECT_EQ(value(local.ct).failure, 1u);
  ASSERT_EQ(objects.queues.find(local.eq)->take(event), PTL_OK);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_UNDELIVERABLE);
}

}  // namespace
}  // namespace portunus::test
