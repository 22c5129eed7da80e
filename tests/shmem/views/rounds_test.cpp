// Round trips between processes of different nodes: how many are waited for, and that short data come ahead of being asked for. On a node
// there are none.
#include "tests/shmem/views/process.hpp"

namespace {

uint64_t rounds() { return counted("vdc_rounds"); }

// A view that process `manager` manages.
int view_managed_by(int manager) {
  int view = fresh_view();
  while (view % count() != manager) view = fresh_view();
  return view;
}

void fill(char* data, size_t bytes, int number) {
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(number * 31 + static_cast<int>(i % 101));
}
bool holds(const char* data, size_t bytes, int number) {
  for (size_t i = 0; i < bytes; ++i)
    if (data[i] != static_cast<char>(number * 31 + static_cast<int>(i % 101))) return false;
  return true;
}

// Its place in the queue is the manager's word; all else is asked for together with the announcement.
TEST(Rounds, ADeclaredViewThatIsSeenForTheFirstTimeComesWithTheAnnouncement) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  for (const size_t bytes : {size_t{64}, size_t{1000}, size_t{30'000}})
    for (const int manager : {0, 1}) {
      auto* data = shared<char>(bytes);
      const int view = view_managed_by(manager);
      declare(view, data, bytes, VDCX_WHOLE);
      if (me() == 0) {
        EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
        fill(data, bytes, manager);
        EXPECT_OK(Vdcx_release(view));
      }
      together();
      if (me() == 1) {
        const uint64_t before = rounds();
        EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
        EXPECT_LE(rounds() - before, manager == 1 ? 1u : 2u) << bytes;
        EXPECT_TRUE(holds(data, bytes, manager)) << bytes;
        EXPECT_OK(Vdcx_release(view));
      }
      together();
    }
}

// A look, the bit together with a look behind it: two rounds. When it is told: the data, and nobody waits for what says that they are read.
TEST(Rounds, AReaderWhoWaitsAsksAndLooksAtOnce) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr size_t kBytes = 5000;
  auto* data = shared<char>(kBytes);
  const int view = view_managed_by(0);
  declare(view, data, kBytes, VDCX_WHOLE);
  uint64_t fewest_to_wait = ~uint64_t{0}, fewest_to_read = ~uint64_t{0};
  for (int round = 0; round < 4; ++round) {
    if (me() == 0) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
      fill(data, kBytes, round);
    }
    together();
    const uint64_t before = rounds();
    if (me() == 1) {
      EXPECT_EQ(Vdcx_acquire(view, VDCX_READ, 0), VDCX_ERR_TIMEOUT);
    }
    const uint64_t waits = rounds();
    together();
    if (me() == 0) {
      EXPECT_OK(Vdcx_release(view));
    }
    if (me() == 1) {
      EXPECT_OK(Vdcx_acquire(view, VDCX_READ, -1));
      EXPECT_TRUE(holds(data, kBytes, round));
      EXPECT_OK(Vdcx_release(view));
      fewest_to_wait = std::min(fewest_to_wait, waits - before);
      fewest_to_read = std::min(fewest_to_read, rounds() - waits);
    }
    together();
  }
  if (me() == 1) {
    EXPECT_LE(fewest_to_wait, 2u);
    EXPECT_LE(fewest_to_read, 1u);
  }
}

// A process that waits, to write or to read, needs to ask for nothing any more when it is told, if the view is short; a longer one is one
// round. Pieces, and a view that the next holder has changed in part, come as they are.
TEST(Rounds, DataOfAShortViewComeWithTheWordThatTellsOfThem) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr size_t kMost = 968;  // bytes of a short view
  for (const size_t bytes : {size_t{1}, size_t{65}, size_t{500}, kMost, kMost + 1, size_t{5000}})
    for (const Vdcx_mode mode : {VDCX_WRITE, VDCX_READ}) {
      const size_t first = bytes / 3;
      auto* data = shared<char>(bytes + 100);
      const int view = fresh_view();
      const Vdcx_piece pieces[] = {{data, first, 1, 0}, {data + first + 100, bytes - first, 1, 0}};
      EXPECT_OK(Vdcx_declare(view, first == 0 ? pieces + 1 : pieces, first == 0 ? 1 : 2, VDCX_WHOLE));
      const auto fill_both = [&](int number) {
        fill(data, first, number);
        fill(data + first + 100, bytes - first, number + 1);
      };
      uint64_t fewest = ~uint64_t{0};
      for (int round = 0; round < 4; ++round) {
        if (me() == 0) {
          EXPECT_OK(Vdcx_acquire(view, VDCX_WRITE, -1));
          fill_both(round);
        }
        together();
        if (me() == 1) {
          EXPECT_EQ(Vdcx_acquire(view, mode, 0), VDCX_ERR_TIMEOUT);  // it stays in the queue
        }
        together();
        if (me() == 0) {
          EXPECT_OK(Vdcx_release(view));
        }
        if (me() == 1) {
          const uint64_t before = rounds();
          EXPECT_OK(Vdcx_acquire(view, mode, -1));
          fewest = std::min(fewest, rounds() - before);
          EXPECT_TRUE(holds(data, first, round)) << bytes << ", round " << round;
          EXPECT_TRUE(holds(data + first + 100, bytes - first, round + 1)) << bytes << ", round " << round;
          EXPECT_OK(Vdcx_release(view));
        }
        together();
      }
      if (me() == 1) {
        EXPECT_LE(fewest, bytes <= kMost ? 0u : 1u) << bytes;
      }
    }
}

// The place for such data is one for all views: those that were told of first are overwritten, and asked for.
TEST(Rounds, ShortViewsThatAreReleasedOneAfterTheOtherAllCome) {
  if (count() < 2) GTEST_SKIP() << "needs two processes";
  constexpr int kViews = 6;
  constexpr size_t kBytes = 200;
  char* data[kViews];
  int views[kViews];
  for (int v = 0; v < kViews; ++v) {
    data[v] = shared<char>(kBytes);
    views[v] = fresh_view();
    declare(views[v], data[v], kBytes, VDCX_WHOLE);
  }
  for (int round = 0; round < 10; ++round) {
    if (me() == 0)
      for (int v = 0; v < kViews; ++v) {
        EXPECT_OK(Vdcx_acquire(views[v], VDCX_WRITE, -1));
        fill(data[v], kBytes, round * kViews + v);
      }
    together();
    for (const int view : views)
      if (me() == 1) {
        EXPECT_EQ(Vdcx_acquire(view, VDCX_WRITE, 0), VDCX_ERR_TIMEOUT);
      }
    together();
    for (const int view : views)
      if (me() == 0) {
        EXPECT_OK(Vdcx_release(view));
      }
    together();
    if (me() == 1)
      for (int v = 0; v < kViews; ++v) {
        EXPECT_OK(Vdcx_acquire(views[v], VDCX_WRITE, -1));
        EXPECT_TRUE(holds(data[v], kBytes, round * kViews + v)) << "view " << v << ", round " << round;
        EXPECT_OK(Vdcx_release(views[v]));
      }
    together();
  }
}

}  // namespace
