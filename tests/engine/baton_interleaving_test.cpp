// Baton: in all interleavings of a few threads at most one holds it, and no command is left behind. Without the fence of who pushes a
// command one is.
#include <gtest/gtest.h>

#include <iostream>

#include "engine/progress/baton.hpp"
#include "tests/support/interleave.hpp"
#include "tests/support/store_buffers.hpp"
#include "tests/support/views.hpp"

namespace portunus {
namespace {

using interleave::Cell;
using interleave::kFinished;

// The word of a baton comes first.
struct Shared {
  interleave::Program program;
  BasicBaton<interleave::Memory> baton;
  Cell data{"data"}, queue{"queue"};
  Cell done[3] = {Cell{"done by the first"}, Cell{"done by the second"}, Cell{"done by the third"}};

  Shared() {
    program.names[0] = "word";
    for (Cell& cell : done) program.alone[cell.where()] = true;
  }
  // The steps that only the holder may do.
  void use(int thread) {
    data.store(data.load_relaxed() + 1);
    done[thread].store(done[thread].load_relaxed() + 1);
  }
};

template <class Model>
struct Scenarios {
  using Ending = interleave::Ending<Model>;

  static bool wrong(Shared& shared, typename interleave::Explorer<Model>::Right right) {
    const interleave::Found found = interleave::Explorer<Model>(shared.program, std::move(right)).run();
    std::cout << found.states << " states\n" << found.interleaving;
    return found.lost;
  }
  static bool adds_up(Shared& s, const Ending& end) {
    return end.value(s.data) == end.value(s.done[0]) + end.value(s.done[1]) + end.value(s.done[2]);
  }

  // One thread uses the baton twice; others want it once.
  static bool exclusion(int others) {
    Shared s;
    s.program.thread("first", [&s](uint32_t) -> uint32_t {
      for (int i = 0; i < 2; ++i) {
        if (!s.baton.try_take()) continue;
        s.use(0);
        s.baton.release();
      }
      return kFinished;
    });
    for (int i = 1; i <= others; ++i)
      s.program.thread("other", [&s, i](uint32_t) -> uint32_t {
        if (!s.baton.try_take()) return kFinished;
        s.use(i);
        return s.baton.release(), kFinished;
      });
    return wrong(s, [&s](const Ending& end) { return adds_up(s, end); });
  }

  // A thread looks at a condition under the baton, and that steps the engine if nobody else does: it asks for what it holds.
  static bool entered_again() {
    Shared s;
    s.program.thread("holder", [&s](uint32_t) -> uint32_t {
      if (!s.baton.try_take()) return kFinished;
      if (s.baton.try_take()) {
        s.use(1);
        s.baton.release();
      }
      s.use(0);
      return s.baton.release(), kFinished;
    });
    s.program.thread("other", [&s](uint32_t) -> uint32_t {
      if (!s.baton.try_take()) return kFinished;
      s.use(2);
      return s.baton.release(), kFinished;
    });
    return wrong(s, [&s](const Ending& end) { return adds_up(s, end) && end.value(s.done[1]) == 0; });
  }

  // Another thread pushes a command while the holder may be inside.
  static bool push(bool fences) {
    Shared s;
    auto leave = [&s](int thread) {
      for (;;) {
        s.baton.release();
        if (s.queue.load() == 0 || !s.baton.try_take()) return;
        if (s.data.load_relaxed() == 0) s.use(thread);
        else return s.baton.release();
      }
    };
    s.program.thread("holder", [&s, leave](uint32_t) -> uint32_t {
      if (s.baton.try_take()) leave(0);
      return kFinished;
    });
    s.program.thread(
        "pusher",
        [&s, leave](uint32_t) -> uint32_t {
          s.queue.store_release(1);
          interleave::Memory::fence();
          while (!s.baton.held()) {
            if (!s.baton.try_take()) continue;
            if (s.data.load_relaxed() == 0) s.use(1);
            return leave(1), kFinished;
          }
          return kFinished;
        },
        fences);
    return wrong(s, [&s](const Ending& end) { return end.value(s.data) == 1; });
  }
};

using X86 = Scenarios<interleave::StoreBuffers>;
using Cpp = Scenarios<interleave::Views>;

TEST(BatonInterleaving, AtMostOneHoldsIt) {
  for (int others : {1, 2}) EXPECT_FALSE(X86::exclusion(others));
  EXPECT_FALSE(Cpp::exclusion(1));
}
TEST(BatonInterleaving, WhoHoldsItIsRefusedAndKeepsIt) {
  EXPECT_FALSE(X86::entered_again());
  EXPECT_FALSE(Cpp::entered_again());
}
TEST(BatonInterleaving, NoCommandIsLeftBehind) {
  EXPECT_FALSE(X86::push(true));
  EXPECT_FALSE(Cpp::push(true));
}
TEST(BatonInterleaving, WithoutAFenceAPusherLeavesACommandBehind) {
  EXPECT_TRUE(X86::push(false));
  EXPECT_TRUE(Cpp::push(false));
}

}  // namespace
}  // namespace portunus
