// Handlers of libraries below us, and signals that come while those are in place.
#include "engine/host/kept_signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace portunus {
namespace {

int ours = 0, theirs = 0;

TEST(KeptSignals, ASignalThatComesWhileOthersHandlersAreThereMeetsOurs) {
  signal(SIGTERM, [](int) { ++ours; });
  {
    const HeldSignals held;
    const KeptSignals kept;
    signal(SIGTERM, [](int) { ++theirs; });
    raise(SIGTERM);
    EXPECT_EQ(ours + theirs, 0);
  }
  EXPECT_EQ(ours, 1);
  EXPECT_EQ(theirs, 0);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace portunus
